// SPDX-License-Identifier: Apache-2.0

// This file checks segments of unknown origin and mends what a killed writer leaves.

package segment

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
)

// Checksum is the CRC-32C of a segment without its own field, which has it in images.
func Checksum(seg []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(seg[:atChecksum], table), table, seg[HeaderSize:Length(seg)])
}

// Seal makes seg an image: its sequence number is 0 and it has its checksum.
func Seal(seg []byte) {
	clear(seg[atSequence:atNamespace])
	set32(seg, atChecksum, Checksum(seg))
}

// CheckSum says whether an image is as it was sealed.
func CheckSum(seg []byte) error {
	if err := checkHeader(seg); err != nil {
		return err
	}
	if want, got := get32(seg, atChecksum), Checksum(seg); want != got {
		return fmt.Errorf("checksum %08x, content has %08x: %w", want, got, ErrCorrupt)
	}
	return nil
}

// found is an entry that Verify has seen.
type found struct {
	hash uint64
	key  []byte
}

// verifier is what Verify has seen so far.
type verifier struct {
	seg     []byte
	blocks  uint32 // or index words
	entries []found
	// steps has at each block by how many more entries than its left neighbour it was passed; wrapped are those that passed the last one.
	steps   []int32
	wrapped int32
}

// Verify checks everything in a segment but the checksum: each key belongs here, can be found and is there once, and what is counted is right, so that
// Put and Delete may go on with it. The time it takes grows with the bytes, whatever they are.
func Verify(seg []byte) error {
	if err := checkHeader(seg); err != nil {
		return err
	}
	if depth, prefix := Depth(seg), Prefix(seg); prefix<<depth != 0 {
		return fmt.Errorf("prefix %x with more than %d bits: %w", prefix, depth, ErrCorrupt)
	}
	v := verifier{seg: seg, blocks: get32(seg, atBlocks), entries: make([]found, 0, min(Entries(seg), MaxEntries))}
	v.steps = make([]int32, v.blocks)
	if err := v.kind(); err != nil {
		return err
	}
	if len(v.entries) != Entries(seg) {
		return fmt.Errorf("%d entries, header says %d: %w", len(v.entries), Entries(seg), ErrCorrupt)
	}
	return v.once()
}

func (v *verifier) kind() error {
	switch Kind(v.seg) {
	case Fixed:
		return v.fixed()
	case Packed:
		return v.packed()
	default:
		return v.records()
	}
}

// see takes note of an entry in block (or at index word) at.
func (v *verifier) see(at uint32, hash uint64, key []byte) error {
	if prefix, depth := Prefix(v.seg), Depth(v.seg); !belongs(hash, prefix, depth) {
		return fmt.Errorf("key with hash %016x in segment %x/%d: %w", hash, prefix, depth, ErrCorrupt)
	}
	if len(v.entries) == MaxEntries {
		return fmt.Errorf("more than %d entries: %w", MaxEntries, ErrCorrupt)
	}
	v.entries = append(v.entries, found{hash, key})
	home := Place(hash, Depth(v.seg), v.blocks)
	v.steps[home]++
	v.steps[at]--
	if at < home {
		v.wrapped++
	}
	return nil
}

// passed says whether what searches need is there: lets is told how many entries passed a block.
func (v *verifier) passed(lets func(i uint32, passed int32) bool) error {
	passed := v.wrapped
	for i := range v.blocks {
		if passed += v.steps[i]; passed > 0 && !lets(i, passed) {
			return fmt.Errorf("%d entries passed block or word %d, which stops searches or will: %w", passed, i, ErrCorrupt)
		}
	}
	return nil
}

// spills is passed for blocks whose spill byte is at an index.
func (v *verifier) spills(at int) error {
	return v.passed(func(i uint32, passed int32) bool { return int32(blockAt(v.seg, i)[at]) >= min(passed, 255) })
}

// once says whether all keys are different.
func (v *verifier) once() error {
	slices.SortFunc(v.entries, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), bytes.Compare(a.key, b.key))
	})
	for i := 1; i < len(v.entries); i++ {
		if a, b := v.entries[i-1], v.entries[i]; a.hash == b.hash && bytes.Equal(a.key, b.key) {
			return fmt.Errorf("key with hash %016x is there twice: %w", a.hash, ErrCorrupt)
		}
	}
	return nil
}

func (v *verifier) fixed() error {
	f := formOf(v.seg, 0)
	for i := range v.blocks {
		b := blockAt(v.seg, i)
		for slot, tag := range b[:f.slots] {
			if tag == 0 {
				continue
			}
			start := f.entries + slot*(f.key+f.value)
			key := b[start : start+f.key]
			hash := Hash(key)
			if tag != fixedTag(hash) {
				return fmt.Errorf("block %d slot %d: tag %d is not the key's: %w", i, slot, tag, ErrCorrupt)
			}
			if err := v.see(i, hash, key); err != nil {
				return err
			}
		}
	}
	return v.spills(f.slots)
}

func (v *verifier) packed() error {
	used := 0
	for i := range v.blocks {
		b := blockAt(v.seg, i)
		used += int(b[0])
		if b[0] > packedRoom {
			return fmt.Errorf("block %d holds %d bytes: %w", i, b[0], ErrCorrupt)
		}
		end := packedEnd(b)
		for at := packedStart; at < end; {
			e, ok := parseEntry(b, at, end)
			if !ok || e.end-e.start != packedSize(e.value-e.key, e.end-e.value) {
				return fmt.Errorf("block %d: entry at %d passes the end at %d or is longer than it need be: %w", i, at, end, ErrCorrupt)
			}
			key := b[e.key:e.value]
			if err := v.see(i, Hash(key), key); err != nil {
				return err
			}
			at = e.end
		}
	}
	if used != int(get32(v.seg, atUsed)) {
		return fmt.Errorf("%d bytes in blocks, header says %d: %w", used, get32(v.seg, atUsed), ErrCorrupt)
	}
	return v.spills(packedSpill)
}

func (v *verifier) records() error {
	live, deleted, end := 0, uint32(0), get32(v.seg, atUsed)
	var pieces [][2]int
	for i := range v.blocks {
		w := word(v.seg, i)
		if w <= wordDeleted {
			deleted += w
			continue
		}
		r, err := recordAt(v.seg, w, end)
		if err != nil {
			return fmt.Errorf("index word %d: %w", i, err)
		}
		hash := Hash(r.key)
		if w&^0xffff != recordTag(hash) || r.size != recordSize(len(r.key), len(r.value)) {
			return fmt.Errorf("index word %d: tag is not the key's or the record is longer than it need be: %w", i, ErrCorrupt)
		}
		live += r.size
		if err := v.see(i, hash, r.key); err != nil {
			return err
		}
		pieces = append(pieces, [2]int{int(wordOffset(w)), r.size})
	}
	slices.SortFunc(pieces, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(pieces); i++ {
		if pieces[i-1][0]+pieces[i-1][1] > pieces[i][0] {
			return fmt.Errorf("records at %d and %d overlap: %w", pieces[i-1][0], pieces[i][0], ErrCorrupt)
		}
	}
	dead := int(get32(v.seg, atDead))
	if live+dead != int(end-recordStart(v.blocks)) || deleted != get32(v.seg, atDeleted) {
		return fmt.Errorf("records of %d bytes, %d dead, %d deleted words: header says otherwise: %w", live, dead, deleted, ErrCorrupt)
	}
	return v.passed(func(i uint32, _ int32) bool { return word(v.seg, i) != wordFree })
}

// Repair counts anew what the header counts, after a writer was killed in a segment and what it had saved is put back.
func Repair(seg []byte) error {
	if err := checkHeader(seg); err != nil {
		return err
	}
	entries, packed, records := 0, 0, 0
	err := Each(seg, func(key []byte, v Value) bool {
		entries++
		packed += packedSize(len(key), len(v.Bytes))
		records += recordSize(len(key), len(v.Bytes))
		return true
	})
	if err != nil {
		return err
	}
	set32(seg, atEntries, uint32(entries))
	switch Kind(seg) {
	case Packed:
		set32(seg, atUsed, uint32(packed))
	case Records:
		n, deleted := get32(seg, atBlocks), uint32(0)
		for i := range n {
			if word(seg, i) == wordDeleted {
				deleted++
			}
		}
		set32(seg, atDeleted, deleted)
		set32(seg, atDead, get32(seg, atUsed)-recordStart(n)-uint32(records))
	}
	return nil
}
