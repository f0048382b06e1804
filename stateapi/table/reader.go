// SPDX-License-Identifier: Apache-2.0

// This file reads a table that another process writes.

package table

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/segment"
)

// patience is how long a reader tries again.
const patience = 10 * time.Millisecond

// Reader reads a namespace that another process writes. A Reader serves one goroutine.
type Reader struct {
	view     *arena.View
	words    *descriptor
	id       uint64
	copy     segment.Copy
	outside  []byte
	inflater *inflater
}

// NewReader reads the namespace with this id at a descriptor.
func NewReader(view *arena.View, offset, id uint64) (*Reader, error) {
	if offset%arena.DescriptorSize != 0 || id == 0 || view.Bytes(offset, arena.DescriptorSize) == nil {
		return nil, fmt.Errorf("namespace %x at %x: %w", id, offset, stateapi.ErrCorrupt)
	}
	return &Reader{view: view, words: (*descriptor)(unsafe.Pointer(view.Word(offset))), id: id}, nil
}

// Applied is a commit: it and all before it are found by a Get that comes after.
func (r *Reader) Applied() (commit uint64, err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	commit = r.words[wordApplied].Load()
	fence()
	if r.gone() {
		return 0, ErrRetired
	}
	return commit, nil
}

func (r *Reader) gone() bool { return r.view.Retired() || r.words[wordID].Load() != r.id }

// errTorn says that what was read does not fit together.
var errTorn = errors.New("changed while it was read")

// Get appends the value of key to dst. After ErrRetired the namespace must be opened again; after ErrBusy its owner must be asked.
func (r *Reader) Get(dst, key []byte) (value []byte, found bool, err error) {
	hash := segment.Hash(key)
	value, found, err = r.try(dst, hash, key)
	if err == nil {
		return value, found, nil
	}
	return r.insist(dst, hash, key)
}

// insist tries again for a while.
func (r *Reader) insist(dst []byte, hash uint64, key []byte) (value []byte, found bool, err error) {
	for begin := time.Now(); ; runtime.Gosched() {
		if value, found, err = r.try(dst, hash, key); err == nil {
			return value, found, nil
		}
		if errors.Is(err, ErrRetired) {
			return dst, false, err
		}
		if time.Since(begin) > patience {
			if errors.Is(err, errTorn) {
				err = ErrBusy
			}
			return dst, false, fmt.Errorf("read state: %w", err)
		}
	}
}

// try reads once.
func (r *Reader) try(dst []byte, hash uint64, key []byte) (value []byte, found bool, err error) {
	value = dst
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	directory := r.words[wordDirectory].Load()
	if r.gone() {
		return dst, false, ErrRetired
	}
	at := &r.words[wordDirectory]
	if depth := depthOf(directory); depth > 0 {
		if at = r.view.Word(offsetOf(directory) + 8*(hash>>(64-depth))); at == nil {
			return dst, false, errTorn
		}
	}
	e := at.Load()
	offset := offsetOf(e)
	holds := func() bool {
		return at.Load() == e && r.words[wordDirectory].Load() == directory && r.words[wordID].Load() == r.id && !r.view.Retired()
	}
	if offset == 0 {
		if fence(); !holds() {
			return dst, false, errTorn
		}
		return dst, false, nil
	}
	seg := r.view.Bytes(offset, arena.Slot-offset%arena.Slot)
	if len(seg) < segment.HeaderSize || offset%segment.HeaderSize != 0 {
		return dst, false, errTorn
	}
	number := segment.Sequence(seg)
	n := number.Load()
	if n%2 != 0 || !r.belongs(seg, hash, depthOf(e)) {
		return dst, false, errTorn
	}
	v, found, wrong := segment.FindCopied(seg, &r.copy, hash, key)
	if fence(); number.Load() != n || !holds() {
		return dst, false, errTorn
	}
	if wrong != nil || !found {
		return dst, false, wrong
	}
	if v.Flags&segment.Outside != 0 {
		// The reference is good until the number changes, and only then may the run be given back.
		if v.Bytes, wrong = r.copyRun(v.Bytes); wrong != nil {
			return dst, false, wrong
		}
		if fence(); number.Load() != n || !holds() {
			return dst, false, errTorn
		}
	}
	if v.Flags&segment.Deflated == 0 {
		return append(dst, v.Bytes...), true, nil
	}
	if r.inflater == nil {
		r.inflater = newInflater()
	}
	value, err = r.inflater.append(dst, v.Bytes)
	return value, err == nil, err
}

// belongs says whether a segment can have a hash. It may change at the same time.
func (r *Reader) belongs(seg []byte, hash uint64, depth uint8) bool {
	return segment.Namespace(seg) == r.id && segment.Depth(seg) == depth && within(hash, segment.Prefix(seg), depth)
}

func (r *Reader) copyRun(reference []byte) ([]byte, error) {
	if len(reference) != len(run{}) {
		return nil, fmt.Errorf("reference of %d bytes: %w", len(reference), stateapi.ErrCorrupt)
	}
	at := run(reference)
	b := r.view.Bytes(at.offset(), at.length())
	if b == nil || at.length() > MaxValue {
		return nil, fmt.Errorf("value of %d bytes at %x: %w", at.length(), at.offset(), stateapi.ErrCorrupt)
	}
	r.outside = append(r.outside[:0], b...)
	return r.outside, nil
}
