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

// Verify checks everything in a segment but the checksum: each key belongs here, can be found and is there once, and the header counts right. The
// time it takes grows with the bytes, whatever they are.
func Verify(seg []byte) error {
	if err := checkHeader(seg); err != nil {
		return err
	}
	depth, prefix := Depth(seg), Prefix(seg)
	if depth < 64 && prefix<<depth != 0 {
		return fmt.Errorf("prefix %x with more than %d bits: %w", prefix, depth, ErrCorrupt)
	}
	entries := make([]found, 0, min(Entries(seg), MaxEntries))
	var wrong error
	see := func(at uint32, reach []uint32, key []byte) bool {
		hash := Hash(key)
		n := uint32(len(reach))
		switch home := Place(hash, depth, n); {
		case !belongs(hash, prefix, depth):
			wrong = fmt.Errorf("key with hash %016x in segment %x/%d: %w", hash, prefix, depth, ErrCorrupt)
		case (at+n-home)%n > reach[at]:
			wrong = fmt.Errorf("key with hash %016x at %d is not found from %d: %w", hash, at, home, ErrCorrupt)
		case len(entries) == MaxEntries:
			wrong = fmt.Errorf("more than %d entries: %w", MaxEntries, ErrCorrupt)
		default:
			entries = append(entries, found{hash, key})
			return true
		}
		return false
	}
	err := verifyEntries(seg, see)
	if err == nil {
		err = wrong
	}
	if err == nil && len(entries) != Entries(seg) {
		err = fmt.Errorf("%d entries, header says %d: %w", len(entries), Entries(seg), ErrCorrupt)
	}
	if err != nil {
		return err
	}
	return once(entries)
}

// once says whether all keys are different.
func once(entries []found) error {
	slices.SortFunc(entries, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), bytes.Compare(a.key, b.key))
	})
	for i := 1; i < len(entries); i++ {
		if entries[i].hash == entries[i-1].hash && bytes.Equal(entries[i].key, entries[i-1].key) {
			return fmt.Errorf("key with hash %016x is there twice: %w", entries[i].hash, ErrCorrupt)
		}
	}
	return nil
}

// verifyEntries calls see for each entry with the block or index word it is at and, for each of those, how many of them before it a search passes.
func verifyEntries(seg []byte, see func(at uint32, reach []uint32, key []byte) bool) error {
	n := get32(seg, atBlocks)
	switch Kind(seg) {
	case Fixed:
		return verifyFixed(seg, n, see)
	case Packed:
		return verifyPacked(seg, n, see)
	default:
		return verifyRecords(seg, n, see)
	}
}

// reaches counts for each of n places those directly before it, round the end, that let a search pass.
func reaches(n uint32, passes func(i uint32) bool) []uint32 {
	reach := make([]uint32, n)
	run := uint32(0)
	for i := range 2 * n {
		at := i % n
		reach[at] = min(run, n-1)
		if passes(at) {
			run++
		} else {
			run = 0
		}
	}
	return reach
}

func verifyFixed(seg []byte, n uint32, see func(uint32, []uint32, []byte) bool) error {
	f := formOf(seg, 0)
	reach := reaches(n, func(i uint32) bool { return blockAt(seg, i)[f.slots] != 0 })
	for i := range n {
		b := blockAt(seg, i)
		for slot, tag := range b[:f.slots] {
			if tag == 0 {
				continue
			}
			start := f.entries + slot*(f.key+f.value)
			key := b[start : start+f.key]
			if tag != fixedTag(Hash(key)) {
				return fmt.Errorf("block %d slot %d: tag %d is not the key's: %w", i, slot, tag, ErrCorrupt)
			}
			if !see(i, reach, key) {
				return nil
			}
		}
	}
	return nil
}

func verifyPacked(seg []byte, n uint32, see func(uint32, []uint32, []byte) bool) error {
	reach := reaches(n, func(i uint32) bool { return blockAt(seg, i)[packedSpill] != 0 })
	used := 0
	for i := range n {
		b := blockAt(seg, i)
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
			if !see(i, reach, b[e.key:e.value]) {
				return nil
			}
			at = e.end
		}
	}
	if used != int(get32(seg, atUsed)) {
		return fmt.Errorf("%d bytes in blocks, header says %d: %w", used, get32(seg, atUsed), ErrCorrupt)
	}
	return nil
}

func verifyRecords(seg []byte, n uint32, see func(uint32, []uint32, []byte) bool) error {
	reach := reaches(n, func(i uint32) bool { return word(seg, i) != wordFree })
	live, deleted, end := 0, uint32(0), get32(seg, atUsed)
	for i := range n {
		w := word(seg, i)
		if w <= wordDeleted {
			deleted += w
			continue
		}
		r, err := recordAt(seg, w, end)
		if err != nil {
			return fmt.Errorf("index word %d: %w", i, err)
		}
		if w&^0xffff != recordTag(Hash(r.key)) || r.size != recordSize(len(r.key), len(r.value)) {
			return fmt.Errorf("index word %d: tag is not the key's or the record is longer than it need be: %w", i, ErrCorrupt)
		}
		live += r.size
		if !see(i, reach, r.key) {
			return nil
		}
	}
	dead := int(get32(seg, atDead))
	if live+dead != int(end-recordStart(n)) || deleted != get32(seg, atDeleted) {
		return fmt.Errorf("records of %d bytes, %d dead, %d deleted words: header says otherwise: %w", live, dead, deleted, ErrCorrupt)
	}
	return nil
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
