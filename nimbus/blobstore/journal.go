// SPDX-License-Identifier: Apache-2.0

// This file holds the journal, by which the small blobs of one Put become durable with one wait for the disk.
//
// A Put appends one record with all its blobs and syncs it; the blobs' own files are then written without a sync. Load
// writes the files of every record again, so that a crash of the machine loses nothing. When the journal has grown, the
// file system is synced once and the journal begins anew. A key that is deleted or changed while its record is still
// there gets a record of its deletion, or the journal begins anew before the change.

package blobstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/internal/regular"
)

const (
	journalHead   = "gust blobs 1\n"
	recordHead    = 8       // length and CRC-32C of what follows
	maxRecord     = 4 << 20 // a Put of more bytes goes without the journal
	maxJournal    = 8 << 20 // at this size the journal begins anew
	recordPut     = 'p'
	recordDelete  = 'd'
	journalSuffix = ".journal" // beside the folder: inside, every name is a bucket

	// journalAdvice is what can be done without the journal. The files of its blobs were written too, only not synced.
	journalAdvice = "move it away and start again: nothing is lost unless the machine itself crashed since the last submits, " +
		"whose topologies must be submitted again then"
)

type journal struct {
	mu   sync.Mutex // held from a record's append until the files say the same; taken before Store.mu
	file *os.File   // nil before Load
	size int64
	keys map[string]bool // keys with a record
}

// stored is one blob of a record.
type stored struct {
	key  string
	meta []byte
	data []byte
}

func encodeRecord(op byte, blobs ...stored) []byte {
	payload := []byte{op}
	for _, b := range blobs {
		for _, part := range [][]byte{[]byte(b.key), b.meta, b.data} {
			payload = binary.BigEndian.AppendUint32(payload, uint32(len(part)))
			payload = append(payload, part...)
		}
	}
	record := binary.BigEndian.AppendUint32(make([]byte, 0, recordHead+len(payload)), uint32(len(payload)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli)))
	return append(record, payload...)
}

func decodeRecord(payload []byte) (op byte, blobs []stored, err error) {
	in := bytes.NewBuffer(payload[1:])
	part := func() []byte {
		if head := in.Next(4); len(head) == 4 {
			size := int(binary.BigEndian.Uint32(head))
			if piece := in.Next(size); len(piece) == size {
				return piece
			}
		}
		err = errors.New("a part is longer than its record")
		return nil
	}
	for in.Len() > 0 && err == nil {
		blobs = append(blobs, stored{key: string(part()), meta: part(), data: part()})
	}
	return payload[0], blobs, err
}

// append makes a record durable. The caller holds mu and, when it cannot follow the record with its files, calls cut.
func (j *journal) append(record []byte) error {
	if _, err := j.file.WriteAt(record, j.size); err != nil {
		return errors.Join(err, j.cut(j.size))
	}
	if err := unix.Fdatasync(int(j.file.Fd())); err != nil {
		return errors.Join(err, j.cut(j.size))
	}
	j.size += int64(len(record))
	return nil
}

// cut takes back what lies behind size.
func (j *journal) cut(size int64) error {
	if err := j.file.Truncate(size); err != nil {
		return err
	}
	j.size = size
	return j.file.Sync()
}

// renew makes all files durable and begins the journal anew. The caller holds mu.
func (j *journal) renew() error {
	if err := unix.Syncfs(int(j.file.Fd())); err != nil {
		return fmt.Errorf("sync the file system of %s: %w", j.file.Name(), err)
	}
	if err := j.cut(int64(len(journalHead))); err != nil {
		return fmt.Errorf("begin %s anew: %w", j.file.Name(), err)
	}
	clear(j.keys)
	return nil
}

// forget sees to it that no record of a key is left that a replay would take for the truth. The caller holds mu.
func (j *journal) forget(key string) error {
	if !j.keys[key] {
		return nil
	}
	return j.renew()
}

// openJournal opens the journal, does again what its records say, and begins it anew.
func (s *Store) openJournal() error {
	j := &s.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		file, err := regular.OpenFile(s.dir+journalSuffix, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		j.file, j.keys = file, map[string]bool{}
	}
	text, err := io.ReadAll(io.NewSectionReader(j.file, 0, 1<<32))
	if err != nil {
		return err
	}
	if len(text) < len(journalHead) { // new, or its first write was cut short
		if err := j.cut(0); err != nil {
			return err
		}
		_, err := j.file.WriteAt([]byte(journalHead), 0)
		return errors.Join(err, j.renew(), regular.SyncDir(filepath.Dir(s.dir)))
	}
	if string(text[:len(journalHead)]) != journalHead {
		return fmt.Errorf("%s is no journal of this version; if a newer gust wrote it, start that one, else %s", j.file.Name(), journalAdvice)
	}
	if err := s.replay(text); errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%s: %w; restore it from a backup, or %s", j.file.Name(), err, journalAdvice)
	} else if err != nil {
		return fmt.Errorf("%s: %w", j.file.Name(), err)
	}
	return j.renew()
}

// replay does again what the records say. A last record that is not whole was never acknowledged; damage before it is an
// error.
func (s *Store) replay(text []byte) error {
	for at := len(journalHead); at+recordHead < len(text); {
		size := int(binary.BigEndian.Uint32(text[at:]))
		end := at + recordHead + size
		if size == 0 || end > len(text) {
			return nil
		}
		payload := text[at+recordHead : end]
		if crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(text[at+4:]) {
			if end == len(text) {
				return nil
			}
			return fmt.Errorf("%w: the record at byte %d does not fit its checksum", ErrDamaged, at)
		}
		op, blobs, err := decodeRecord(payload)
		if err != nil {
			return fmt.Errorf("%w: the record at byte %d: %w", ErrDamaged, at, err)
		}
		for _, b := range blobs {
			if err := s.redo(op, b); err != nil {
				return err
			}
		}
		at = end
	}
	return nil
}

func (s *Store) redo(op byte, b stored) error {
	if err := CheckKey(b.key); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if op == recordDelete {
		s.release(b.key)
		return s.removeFiles(b.key)
	}
	u, err := s.upload(b.key)
	if err != nil {
		return err
	}
	defer u.Abort()
	u.meta, u.lazy = b.meta, true
	if _, err := u.Write(b.data); err != nil {
		return err
	}
	return errors.Join(u.seal(), u.show())
}

// putJournaled takes uploads through the journal. Their content is in the temporary files and in blobs.
func (s *Store) putJournaled(uploads []*Upload, blobs []stored) error {
	j := &s.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.size
	if err := j.append(encodeRecord(recordPut, blobs...)); err != nil {
		return fmt.Errorf("write %s: %w", j.file.Name(), err)
	}
	for _, u := range uploads {
		if err := errors.Join(u.seal(), u.show()); err != nil {
			return errors.Join(err, j.cut(before))
		}
	}
	for _, b := range blobs {
		j.keys[b.key] = true
	}
	if j.size > maxJournal {
		return j.renew()
	}
	return nil
}
