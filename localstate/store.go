// SPDX-License-Identifier: Apache-2.0

package localstate

// This file is one LocalState folder: named Thrift records that are read and replaced together.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/thrift/storm"
)

// CorruptError says that a LocalState folder has versions and that none of them can be read.
type CorruptError struct {
	// Dir is the folder.
	Dir string
	// Faults says for each version, newest first, what is wrong; each text holds the file's path.
	Faults []error
}

// Error names every file.
func (e *CorruptError) Error() string {
	texts := make([]string, len(e.Faults))
	for i, fault := range e.Faults {
		texts[i] = fault.Error()
	}
	return "no readable version in " + e.Dir + ": " + strings.Join(texts, "; ")
}

// Unwrap gives the single faults.
func (e *CorruptError) Unwrap() []error { return e.Faults }

// Store is one LocalState folder. It is safe for use by several goroutines of one process; two processes must not write
// the same folder, but one may read while another writes.
type Store struct {
	dir string
	now func() time.Time
	log *zap.Logger

	mu sync.Mutex // held over read-change-write
}

// New returns the store in dir without touching the disk; the folder is made by the first write. now gives the number of
// a new version, logger is told of versions that were passed over.
func New(dir string, now func() time.Time, logger *zap.Logger) *Store {
	return &Store{dir: dir, now: now, log: logger.Named("localstate")}
}

// Dir is the folder.
func (s *Store) Dir() string { return s.dir }

// Get reads the record under key into value and reports whether there is one. value must be of the type that was stored:
// the class name beside the record is checked.
func (s *Store) Get(key string, value thrift.TStruct) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts, err := s.read()
	if err != nil {
		return false, err
	}
	return getPart(s.dir, parts, key, value)
}

// Records is the content of a store while Update changes it.
type Records struct {
	dir   string
	parts map[string]*storm.ThriftSerializedObject
	dirty bool
}

// Get is like Store.Get.
func (r *Records) Get(key string, value thrift.TStruct) (bool, error) {
	return getPart(r.dir, r.parts, key, value)
}

// Put replaces the record under key.
func (r *Records) Put(key string, value thrift.TStruct) error {
	class, err := className(value)
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	bits, err := encode(value)
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	r.parts[key] = &storm.ThriftSerializedObject{Name: class, Bits: bits}
	r.dirty = true
	return nil
}

// Remove drops the record under key.
func (r *Records) Remove(key string) {
	if _, ok := r.parts[key]; ok {
		delete(r.parts, key)
		r.dirty = true
	}
}

// Update lets change alter the records and writes them as one new version, unless nothing was put or removed. Records of
// unknown keys and classes are kept as they are.
func (s *Store) Update(change func(*Records) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts, err := s.read()
	if err != nil {
		return err
	}
	records := &Records{dir: s.dir, parts: parts}
	if err := change(records); err != nil {
		return err
	}
	if !records.dirty {
		return nil
	}
	data, err := encode(&storm.LocalStateData{SerializedParts: records.parts})
	if err != nil {
		return fmt.Errorf("encode %s: %w", s.dir, err)
	}
	if err := writeVersion(s.dir, s.now().UnixMilli(), data); err != nil {
		return fmt.Errorf("write local state: %w", err)
	}
	return nil
}

// SetAside renames the folder, so that a supervisor whose state cannot be read can begin anew without destroying
// evidence. It returns the new name, or "" if there was no folder.
func (s *Store) SetAside() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	aside := s.dir + "-unreadable-" + s.now().UTC().Format("20060102T150405") + "-" + rand.Text()[:6]
	err := os.Rename(s.dir, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("set local state aside: %w", err)
	}
	return aside, nil
}

// read gives the parts of the newest readable version. Callers hold mu. All versions may be dropped between the listing and
// the reading when another process writes, so it looks again then.
func (s *Store) read() (map[string]*storm.ThriftSerializedObject, error) {
	for try := 1; ; try++ {
		parts, vanished, err := s.readOnce()
		if !vanished || try == 10 {
			return parts, err
		}
	}
}

func (s *Store) readOnce() (parts map[string]*storm.ThriftSerializedObject, vanished bool, err error) {
	versions, err := completeVersions(s.dir)
	if err != nil {
		return nil, false, fmt.Errorf("read local state: %w", err)
	}
	var faults []error
	empty, gone := 0, 0
	for _, version := range versions {
		parts, err := readParts(s.dir, version)
		if err == nil {
			return parts, false, nil
		}
		faults = append(faults, err)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			gone++
			continue
		case errors.Is(err, errEmpty):
			empty++
		}
		s.log.Warn("local state version passed over", zap.Error(err))
	}
	if empty < len(faults) {
		return nil, gone == len(faults), &CorruptError{Dir: s.dir, Faults: faults}
	}
	// No version, or only empty files, which Storm takes for no records too.
	return map[string]*storm.ThriftSerializedObject{}, false, nil
}

var errEmpty = errors.New("the file is empty")

func readParts(dir string, version int64) (map[string]*storm.ThriftSerializedObject, error) {
	data, err := readVersion(dir, version)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s: %w", versionPath(dir, version), errEmpty)
	}
	var state storm.LocalStateData
	if err := decode(data, &state); err != nil {
		return nil, fmt.Errorf("%s is not local state: %w", versionPath(dir, version), err)
	}
	if state.SerializedParts == nil {
		state.SerializedParts = map[string]*storm.ThriftSerializedObject{}
	}
	return state.SerializedParts, nil
}

func getPart(dir string, parts map[string]*storm.ThriftSerializedObject, key string, value thrift.TStruct) (bool, error) {
	part, ok := parts[key]
	if !ok {
		return false, nil
	}
	class, err := className(value)
	if err != nil {
		return false, err
	}
	if part.Name != class {
		return false, fmt.Errorf("record %s in %s is a %s, not a %s", key, dir, part.Name, class)
	}
	if err := decode(part.Bits, value); err != nil {
		return false, fmt.Errorf("record %s in %s: %w", key, dir, err)
	}
	return true, nil
}

// className is the name of the Java class whose Thrift struct value is; it stands beside each record.
func className(value thrift.TStruct) (string, error) {
	name, ok := strings.CutPrefix(fmt.Sprintf("%T", value), "*storm.")
	if !ok {
		return "", fmt.Errorf("%T is not one of Storm's structs", value)
	}
	return "org.apache.storm.generated." + name, nil
}

func encode(value thrift.TStruct) ([]byte, error) {
	buffer := thrift.NewTMemoryBuffer()
	protocol := thrift.NewTBinaryProtocolConf(buffer, nil)
	if err := value.Write(context.Background(), protocol); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// decode reads one struct from data, and refuses bytes after its end: they are a sign of a torn or foreign file.
func decode(data []byte, value thrift.TStruct) error {
	buffer := thrift.NewTMemoryBuffer()
	buffer.Write(data)
	limit := &thrift.TConfiguration{MaxMessageSize: int32(len(data))} //nolint:gosec // bounded by maxVersionSize
	if err := value.Read(context.Background(), thrift.NewTBinaryProtocolConf(buffer, limit)); err != nil {
		return err
	}
	if rest := buffer.Len(); rest > 0 {
		return fmt.Errorf("%d bytes after the end of the record", rest)
	}
	return nil
}
