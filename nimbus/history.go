// SPDX-License-Identifier: Apache-2.0

// The history of killed topologies, in the file format of Storm's LocalState.

package nimbus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/thrift/storm"
)

const (
	historyEntry = "topo-hist"
	historyClass = "org.apache.storm.generated.LSTopoHistoryList"
	versionMark  = ".version"
	// historyVersions is how many older files are kept.
	historyVersions = 4
	// historyLimit bounds the file in bytes.
	historyLimit = 64 << 20
)

// history holds the topologies that were killed, the oldest first.
type history struct {
	dir string

	mu sync.Mutex
	// guarded by mu
	entries []*storm.LSTopoHistory
}

func newHistory(dir string) *history { return &history{dir: dir} }

// load reads the newest whole file, if there is one.
func (h *history) load(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	versions, err := h.versions()
	if err != nil || len(versions) == 0 {
		return err
	}
	path := filepath.Join(h.dir, strconv.FormatInt(versions[len(versions)-1], 10))
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	var state storm.LocalStateData
	if err := readRaw(ctx, data, &state); err != nil {
		return fmt.Errorf("read history %s: %w", path, err)
	}
	object := state.SerializedParts[historyEntry]
	if object == nil {
		return nil
	}
	var list storm.LSTopoHistoryList
	if err := readRaw(ctx, object.Bits, &list); err != nil {
		return fmt.Errorf("read history %s: %w", path, err)
	}
	h.entries = list.TopoHistory
	return nil
}

// add appends a topology.
func (h *history) add(ctx context.Context, entry *storm.LSTopoHistory) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entry)
	return h.write(ctx)
}

// expire drops what is older than keep.
func (h *history) expire(ctx context.Context, keep time.Duration, now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.entries)
	cut := now.Add(-keep).Unix()
	h.entries = slices.DeleteFunc(h.entries, func(e *storm.LSTopoHistory) bool { return e.TimeStamp <= cut })
	if len(h.entries) == before {
		return nil
	}
	return h.write(ctx)
}

// ids returns the ids of the topologies in it.
func (h *history) ids() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]string, len(h.entries))
	for i, e := range h.entries {
		out[i] = e.TopologyID
	}
	return out
}

// write makes a new version and then its mark, which makes it count. The caller holds mu.
func (h *history) write(ctx context.Context) error {
	bits, err := writeRaw(ctx, &storm.LSTopoHistoryList{TopoHistory: h.entries})
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	data, err := writeRaw(ctx, &storm.LocalStateData{SerializedParts: map[string]*storm.ThriftSerializedObject{
		historyEntry: {Name: historyClass, Bits: bits},
	}})
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	versions, err := h.versions()
	if err != nil {
		return err
	}
	version := time.Now().UnixMilli()
	if len(versions) > 0 {
		version = max(version, versions[len(versions)-1]+1) // the clock may have been set back
	}
	path := filepath.Join(h.dir, strconv.FormatInt(version, 10))
	if err := writeSynced(path, data); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	if err := writeSynced(path+versionMark, nil); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	for len(versions) >= historyVersions {
		old := filepath.Join(h.dir, strconv.FormatInt(versions[0], 10))
		versions = versions[1:]
		_ = os.Remove(old + versionMark) // what stays does no harm: only the newest counts
		_ = os.Remove(old)
	}
	return nil
}

// versions lists the whole versions, ascending.
func (h *history) versions() ([]int64, error) {
	entries, err := os.ReadDir(h.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var out []int64
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), versionMark); ok {
			if v, err := strconv.ParseInt(name, 10, 64); err == nil {
				out = append(out, v)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// writeSynced makes a file that only its owner may read and that is on the disk when this returns.
func writeSynced(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

func readRaw(ctx context.Context, data []byte, value thrift.TStruct) error {
	buffer := &thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(data)}
	return value.Read(ctx, thrift.NewTBinaryProtocolConf(buffer, &thrift.TConfiguration{MaxMessageSize: historyLimit}))
}

func writeRaw(ctx context.Context, value thrift.TStruct) ([]byte, error) {
	buffer := thrift.NewTMemoryBuffer()
	if err := value.Write(ctx, thrift.NewTBinaryProtocolConf(buffer, nil)); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
