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
	next := manifest{Version: layoutVersion, Position: s.journal.End(), Number: s.kept.Number}
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
		one, ok, err := s.save(ctx, n, old[n.id], &next.Number)
		if err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		if ok {
			next.Position = min(next.Position, one.Position)
			next.Namespaces = append(next.Namespaces, one)
		}
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

// save writes one namespace's images, if there is a commit that its old file has not. Not ok: it is gone, or was never opened.
func (s *Store) save(ctx context.Context, n *namespace, old saved, number *uint64) (one saved, ok bool, err error) {
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
		one.File = old.File
		return one, true, nil
	case n.fault != nil && old.ID == one.ID: // the older one and the journal stay
		return old, true, nil
	case n.fault != nil:
		return saved{ID: one.ID, Position: n.born, Def: one.Def}, true, nil
	case old.ID == one.ID && old.Commit == one.Commit && !s.spoiled[old.File]:
		one.File = old.File
		return one, true, nil
	}
	*number++
	one.File = fmt.Sprintf("%s%016x", imagesPrefix, *number)
	n.mu.Unlock()
	path := filepath.Join(s.config.Dir, one.File)
	bytes, err := s.writeImages(ctx, n, path)
	n.mu.Lock()
	if err == nil && bytes == 0 {
		err = os.Remove(path)
		one.File = ""
	}
	if errors.Is(err, errGone) {
		return one, false, nil
	}
	return one, true, err
}

var errGone = errors.New("removed meanwhile") //nolint:gochecknoglobals // a sentinel

// writeImages writes every segment's image: u64 length, bytes.
func (s *Store) writeImages(ctx context.Context, n *namespace, path string) (written int64, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	var image table.Image
	for hash := uint64(0); err == nil; {
		n.mu.Lock()
		ok := false
		if n.gone {
			err = errGone
		} else {
			image, ok, err = n.table.Image(image.Bytes[:0], hash)
		}
		n.mu.Unlock()
		if err == nil && ok {
			_, err = out.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(image.Bytes))))
			written += 8 + int64(len(image.Bytes))
		}
		if err == nil && ok {
			_, err = out.Write(image.Bytes)
		}
		if hash = image.Next; hash == 0 || err != nil {
			break
		}
		err = ctx.Err()
	}
	return written, errors.Join(err, out.Flush(), f.Sync(), f.Close())
}

// eachImage reads what writeImages wrote; an image is overwritten by the next.
func eachImage(ctx context.Context, path string, do func(image []byte) error) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(f, 1<<20)
	var image []byte
	for at := int64(0); ctx.Err() == nil; at += 8 + int64(len(image)) {
		var length [8]byte
		if _, err := io.ReadFull(in, length[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w: %w", path, stateapi.ErrCorrupt, err)
		}
		n := binary.LittleEndian.Uint64(length[:])
		if n > uint64(info.Size()) {
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
	for _, n := range s.kept.Namespaces {
		if n.File == "" {
			continue
		}
		err := eachImage(ctx, filepath.Join(s.config.Dir, n.File), func(image []byte) error {
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
