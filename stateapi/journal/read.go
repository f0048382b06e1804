// SPDX-License-Identifier: Apache-2.0

// This file reads records, and finds the next one behind damage.

package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/stateapi"
)

// Record is what one Append wrote.
type Record struct {
	Position uint64
	End      uint64 // position of the next record
	Tag      uint64
	Body     []byte
}

// DamageError is a part of the journal that had been durable and cannot be read. It is an stateapi.ErrCorrupt.
type DamageError struct {
	File   string
	Offset int64 // in File
	Start  uint64
	End    uint64 // reading goes on here
	Tag    uint64 // whose record it was, if Known
	Known  bool
}

// Error names file and offset.
func (d *DamageError) Error() string {
	return fmt.Sprintf("%s: damaged at offset %d, %d bytes", d.File, d.Offset, d.End-d.Start)
}

// Unwrap makes it an stateapi.ErrCorrupt.
func (d *DamageError) Unwrap() error { return stateapi.ErrCorrupt }

// span is a file and the positions that it holds.
type span struct {
	path  string
	start uint64
	end   uint64
}

const readBuffer = 256 << 10

// reader goes through files, from the position in its first one.
type reader struct {
	spans    []span
	position uint64
	file     *os.File
	in       *bufio.Reader
	synced   uint64 // of the record read last
	reuse    bool   // records share one buffer
	buf      []byte
}

func (r *reader) close() {
	if r.file != nil {
		_ = r.file.Close() // only read from
		r.file = nil
	}
}

// next returns the next record, or damage and then goes on behind it, or io.EOF.
func (r *reader) next() (Record, error) {
	for len(r.spans) > 0 && r.position >= r.spans[0].end {
		r.close()
		if r.spans = r.spans[1:]; len(r.spans) > 0 {
			r.position = r.spans[0].start
		}
	}
	if len(r.spans) == 0 {
		return Record{}, io.EOF
	}
	if r.file == nil {
		f, err := regular.Open(r.spans[0].path)
		if err != nil {
			return Record{}, fmt.Errorf("journal: %w", err)
		}
		r.file = f
		if r.in == nil {
			r.in = bufio.NewReaderSize(nil, readBuffer)
		}
		r.seek(r.position)
	}
	return r.record()
}

func (r *reader) offset(position uint64) int64 { return int64(position-r.spans[0].start) + headerSize }

// seek makes position the next to read.
func (r *reader) seek(position uint64) {
	r.position = position
	r.in.Reset(io.NewSectionReader(r.file, r.offset(position), math.MaxInt64-r.offset(position)))
}

func (r *reader) record() (Record, error) {
	var raw [headSize]byte
	if _, err := io.ReadFull(r.in, raw[:]); err != nil {
		if !short(err) {
			return Record{}, r.failed(err)
		}
		return r.resync()
	}
	h, ok := parseHead(raw[:], r.position, r.spans[0].end)
	if !ok || h.position != r.position {
		return r.resync()
	}
	record, err := r.body(h)
	if err == nil {
		if _, err := r.in.Discard(headSize); err != nil && !short(err) {
			return Record{}, r.failed(err)
		}
		r.position = h.end()
	}
	return record, err
}

// body reads what lies between h and its twin. After damage reading goes on behind the record.
func (r *reader) body(h head) (Record, error) {
	if uint64(cap(r.buf)) < h.length || !r.reuse {
		r.buf = make([]byte, h.length)
	}
	body := r.buf[:h.length]
	_, err := io.ReadFull(r.in, body)
	if err != nil && !short(err) {
		return Record{}, r.failed(err)
	}
	if err != nil || checksum(body) != h.body {
		d := r.damage(h.end())
		d.Tag, d.Known = h.tag, true
		r.seek(h.end())
		return Record{}, d
	}
	r.synced = h.synced
	return Record{Position: h.position, End: h.end(), Tag: h.tag, Body: body}, nil
}

// resync goes on from a head that is no head: by its twin, else at the next record that can be found.
func (r *reader) resync() (Record, error) {
	h, found, err := r.search()
	if err != nil {
		return Record{}, err
	}
	if found && h.position == r.position {
		r.seek(h.position + headSize)
		r.position = h.position
		record, err := r.body(h)
		if err == nil {
			r.seek(h.end())
		}
		return record, err
	}
	to := r.spans[0].end
	if found {
		to = h.position
	}
	d := r.damage(to)
	r.seek(to)
	return Record{}, d
}

// search looks for the first whole head behind the current position, leading or trailing.
func (r *reader) search() (head, bool, error) {
	from, limit := r.position, r.spans[0].end
	buf := make([]byte, readBuffer)
	for at := from; at < limit; at += readBuffer - headSize + 1 {
		n, err := r.file.ReadAt(buf, r.offset(at))
		if err != nil && !short(err) {
			return head{}, false, r.failed(err)
		}
		last := n - headSize
		if allZero(buf[:n]) { // allocated ahead
			last = -1
		}
		for i := 0; i <= last; i++ {
			here := at + uint64(i)
			position := binary.LittleEndian.Uint64(buf[i+8:])
			if position < from || position > here {
				continue
			}
			if position != here && position+headSize+binary.LittleEndian.Uint64(buf[i+32:]) != here {
				continue
			}
			if h, ok := parseHead(buf[i:i+headSize], from, limit); ok {
				return h, true, nil
			}
		}
		if n < len(buf) {
			break
		}
	}
	return head{}, false, nil
}

func (r *reader) damage(to uint64) *DamageError {
	return &DamageError{File: r.spans[0].path, Offset: r.offset(r.position), Start: r.position, End: to}
}

func (r *reader) failed(err error) error {
	return fmt.Errorf("read %s at %d: %w", r.spans[0].path, r.offset(r.position), err)
}

func short(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// Read yields the records that begin at or after from, up to what has been appended when it begins. An error that is a *DamageError stands for the
// records in it, and the next ones follow; after any other the sequence ends.
func (j *Journal) Read(from uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := &reader{spans: j.spans(from), position: from}
		if len(r.spans) > 0 {
			r.position = max(from, r.spans[0].start)
		}
		defer r.close()
		for {
			record, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			_, damaged := errors.AsType[*DamageError](err)
			if !yield(record, err) || err != nil && !damaged {
				return
			}
		}
	}
}
