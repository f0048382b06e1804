// SPDX-License-Identifier: Apache-2.0

// This file takes snapshots: what the journal before them has said, so that it can be cut.

package shard

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/table"
)

const (
	manifestFile  = "snapshot.json"
	manifestTwin  = "snapshot-twin.json"
	imagesPrefix  = "images-"
	layoutVersion = 1 // of the manifest
)

// flushBytes is after how many bytes of images the disk is waited for.
const flushBytes = 8 << 20

// manifest is what a snapshot is: the namespaces, each as of a position of the journal, and files with their images. An image may have later
// commits: to bring them in again, in the same order, changes nothing.
type manifest struct {
	Version    int
	Position   uint64 // the journal is needed from here
	Number     uint64 // of the newest file of images
	Namespaces []saved
}

// Snapshot takes a snapshot now, while changes go on. A namespace that has not changed since the last one keeps its file.
func (s *Store) Snapshot(ctx context.Context) error {
	s.snapshots.Lock()
	defer s.snapshots.Unlock()
	began := time.Now()
	next := manifest{Version: layoutVersion, Position: s.journal.End(), Number: s.kept.Number + 1}
	s.spoilWaste()
	file := &imagesFile{path: filepath.Join(s.config.Dir, fmt.Sprintf("%s%016x", imagesPrefix, next.Number))}
	old := map[uint64]saved{}
	for _, o := range s.kept.Namespaces {
		old[o.ID] = o
	}
	s.mu.Lock()
	var all []*namespace
	for _, n := range s.ids {
		all = append(all, n)
	}
	s.mu.Unlock()
	for _, n := range all {
		one, ok, err := s.save(ctx, n, old[n.id], file)
		if err != nil {
			return fmt.Errorf("snapshot: %w", errors.Join(full(err), file.close(), file.remove()))
		}
		if ok {
			next.Position = min(next.Position, one.Position)
			next.Namespaces = append(next.Namespaces, one)
		}
	}
	if err := file.close(); err != nil {
		return fmt.Errorf("snapshot: %w", full(err))
	}
	if err := s.writeManifest(next); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	s.kept = next
	clear(s.spoiled)
	s.mu.Lock()
	s.taken = next.Position
	s.mu.Unlock()
	s.sweepImages()
	s.log.Debug("snapshot taken", zap.Int("namespaces", len(next.Namespaces)), zap.Duration("took", time.Since(began)))
	return s.journal.Truncate(next.Position)
}

// imagesFile is the file that a snapshot writes; it is made with the first image.
type imagesFile struct {
	path string
	f    *os.File
	out  *bufio.Writer
	size int64

	broken error // why it cannot be written
}

// add writes an image: u64 length, bytes.
func (f *imagesFile) add(image []byte) error {
	f.broken = f.write(image)
	return f.broken
}

func (f *imagesFile) write(image []byte) (err error) {
	if f.f == nil {
		if f.f, err = os.OpenFile(f.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return err
		}
		f.out = bufio.NewWriterSize(f.f, 1<<20)
	}
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(image)))
	_, err = f.out.Write(length[:])
	if err == nil {
		_, err = f.out.Write(image)
	}
	before := f.size
	f.size += 8 + int64(len(image))
	if err == nil && f.size/flushBytes > before/flushBytes { // what waits for the disk holds up the journal
		err = errors.Join(f.out.Flush(), unix.Fdatasync(int(f.f.Fd())))
	}
	return err
}

// close makes the file durable.
func (f *imagesFile) close() error {
	if f.f == nil {
		return nil
	}
	err := errors.Join(f.out.Flush(), f.f.Sync(), f.f.Close())
	f.f = nil
	return err
}

func (f *imagesFile) remove() error {
	if f.size == 0 {
		return nil
	}
	return os.Remove(f.path)
}

// spoilWaste has namespaces written anew whose file is for the most part of no more use.
func (s *Store) spoilWaste() {
	live := map[string]int64{}
	for i := range s.kept.Namespaces {
		live[s.kept.Namespaces[i].File] += s.kept.Namespaces[i].Length
	}
	delete(live, "")
	for name, bytes := range live {
		if info, err := os.Stat(filepath.Join(s.config.Dir, name)); err != nil || 2*bytes < info.Size() {
			s.spoiled[name] = true
		}
	}
}

// save writes one namespace's images, if there is a commit that its old ones have not. Not ok: it is gone, or was never opened.
func (s *Store) save(ctx context.Context, n *namespace, old saved, file *imagesFile) (one saved, ok bool, err error) {
	// What the journal has before the snapshot's position must be in what is read: a change that is being made now ends first.
	if err := n.settle(ctx); err != nil {
		return one, false, err
	}
	defer n.mu.Unlock()
	one = n.saved
	one.Changes = append([]Change(nil), n.saved.Changes...)
	one.Position = s.journal.End() // nothing of the namespace is under way: mu is held
	switch {
	case n.gone, one.Session == 0 && one.Mark == nil:
		return one, false, nil
	case one.Damaged != "": // what there is stays as it is
		one.File, one.Offset, one.Length = old.File, old.Offset, old.Length
		return one, true, nil
	case n.fault != nil && old.ID == one.ID: // the older one and the journal stay
		return old, true, nil
	case n.fault != nil:
		return saved{ID: one.ID, Position: n.born, Def: one.Def}, true, nil
	case old.ID == one.ID && old.Commit == one.Commit && !s.spoiled[old.File]:
		one.File, one.Offset, one.Length = old.File, old.Offset, old.Length
		return one, true, nil
	}
	one.File, one.Offset = filepath.Base(file.path), file.size
	n.mu.Unlock()
	err = writeImages(ctx, n, file)
	n.mu.Lock()
	if one.Length = file.size - one.Offset; one.Length == 0 {
		one.File, one.Offset = "", 0
	}
	switch {
	case errors.Is(err, errGone):
		return one, false, nil
	case errors.Is(err, stateapi.ErrCorrupt) && file.broken == nil: // its memory is damaged: that holds up no other
		n.fault = err
		s.log.Error("a state is damaged in memory", zap.Any("state", one.Def.Name), zap.Error(err))
		if old.ID == one.ID {
			return old, true, nil
		}
		return saved{ID: one.ID, Position: n.born, Def: one.Def}, true, nil
	}
	return one, true, err
}

var errGone = errors.New("removed meanwhile")

// writeImages writes every segment's image. The namespace is locked for one segment at a time.
func writeImages(ctx context.Context, n *namespace, file *imagesFile) error {
	var image table.Image
	for hash := uint64(0); ; {
		var ok bool
		var err error
		n.mu.Lock()
		if n.gone {
			err = errGone
		} else {
			image, ok, err = n.table.Image(image.Bytes[:0], hash)
		}
		n.mu.Unlock()
		if err == nil && ok {
			err = file.add(image.Bytes)
		}
		if err == nil {
			err = ctx.Err()
		}
		if hash = image.Next; hash == 0 || err != nil {
			return err
		}
	}
}

// eachImage reads what writeImages wrote of a namespace; an image is overwritten by the next.
func (s *Store) eachImage(ctx context.Context, of *saved, do func(image []byte) error) error {
	if of.File == "" {
		return nil
	}
	path := filepath.Join(s.config.Dir, of.File)
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	in := bufio.NewReaderSize(io.NewSectionReader(f, of.Offset, of.Length), 64<<10)
	var image []byte
	for at := of.Offset; ctx.Err() == nil; at += 8 + int64(len(image)) {
		var length [8]byte
		if _, err := io.ReadFull(in, length[:]); errors.Is(err, io.EOF) {
			if at != of.Offset+of.Length {
				return fmt.Errorf("%s ends at offset %d: %w", path, at, stateapi.ErrCorrupt)
			}
			return nil
		} else if err != nil {
			return fmt.Errorf("%s, offset %d: %w: %w", path, at, stateapi.ErrCorrupt, err)
		}
		n := binary.LittleEndian.Uint64(length[:])
		if n > uint64(of.Length) {
			return fmt.Errorf("%s, offset %d: an image of %d bytes: %w", path, at, n, stateapi.ErrCorrupt)
		}
		if uint64(cap(image)) < n {
			image = make([]byte, n)
		}
		image = image[:n]
		if _, err := io.ReadFull(in, image); err != nil {
			return fmt.Errorf("%s: %w: %w", path, stateapi.ErrCorrupt, err)
		}
		if err := do(image); err != nil {
			return fmt.Errorf("%s, offset %d: %w", path, at, err)
		}
	}
	return ctx.Err()
}

// writeManifest puts a manifest in the place of the last one: a line with the CRC-32C of what follows, then JSON. A twin stands in for it when it
// is damaged.
func (s *Store) writeManifest(m manifest) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	for _, name := range []string{manifestFile, manifestTwin} {
		if err := s.replaceFile(filepath.Join(s.config.Dir, name), data); err != nil {
			return full(err)
		}
	}
	return nil
}

// full says of a disk without room that there is none.
func full(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %w", stateapi.ErrNoRoom, err)
	}
	return err
}

func (s *Store) replaceFile(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%08x\n%s", checksum(data), data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return regular.SyncDir(s.config.Dir)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// readManifest reads the last snapshot's manifest; none is an empty one.
func (s *Store) readManifest() (m manifest, err error) {
	if m, err = s.readOne(manifestFile); !errors.Is(err, stateapi.ErrCorrupt) && (err != nil || m.Position != 0) {
		return m, err
	}
	twin, fault := s.readOne(manifestTwin)
	if err != nil && fault == nil && twin.Position != 0 {
		s.log.Error("a snapshot's manifest is damaged, its twin is whole", zap.Error(err))
		return twin, nil
	}
	return m, errors.Join(err, fault)
}

func (s *Store) readOne(name string) (m manifest, err error) {
	path := filepath.Join(s.config.Dir, name)
	data, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return manifest{Version: layoutVersion}, nil
	}
	if err != nil {
		return m, err
	}
	sum, body, ok := strings.Cut(string(data), "\n")
	if !ok || sum != fmt.Sprintf("%08x", checksum([]byte(body))) {
		return m, fmt.Errorf("%s: its checksum is wrong: %w", path, stateapi.ErrCorrupt)
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, fmt.Errorf("%s: %w: %w", path, stateapi.ErrCorrupt, err)
	}
	if m.Version != layoutVersion {
		return m, fmt.Errorf("%s has layout version %d, this program reads %d: use the program that wrote it", path, m.Version, layoutVersion)
	}
	return m, nil
}

// sweepImages removes files that the manifest does not name.
func (s *Store) sweepImages() {
	named := map[string]bool{}
	for _, n := range s.kept.Namespaces {
		named[n.File] = true
	}
	entries, err := os.ReadDir(s.config.Dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), imagesPrefix) && !named[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(s.config.Dir, e.Name())))
		}
	}
	if err != nil {
		s.log.Warn("files of old snapshots are left", zap.Error(err))
	}
}

// verifyDisk checks every image of the newest snapshot, and the journal.
func (s *Store) verifyDisk(ctx context.Context) error {
	s.snapshots.Lock()
	defer s.snapshots.Unlock()
	_, damage := s.readManifest()
	for _, err := range s.journal.Read(s.kept.Position) {
		damage = errors.Join(damage, err)
		if ctx.Err() != nil {
			return errors.Join(damage, ctx.Err())
		}
	}
	for i := range s.kept.Namespaces {
		n := &s.kept.Namespaces[i]
		err := s.eachImage(ctx, n, func(image []byte) error {
			_, err := table.CheckImage(image)
			return err
		})
		if err != nil {
			s.spoiled[n.File] = true
			damage = errors.Join(damage, err)
		}
	}
	return damage
}

func compareNames(a, b stateapi.Name) int {
	return cmp.Or(cmp.Compare(a.Topology, b.Topology), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Task, b.Task))
}
