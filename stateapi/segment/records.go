// SPDX-License-Identifier: Apache-2.0

// This file is kind Records: an index of words that lead to records.

package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Index words that do not lead to a record.
const (
	wordFree    = 0
	wordDeleted = 1
)

// recordUnit is what records are padded to, and the unit of their offsets.
const recordUnit = 4

// mostWords is more index words than a segment can have. In numbers below it nothing overflows.
const mostWords = SlotSize / 4

func recordStart(words uint32) uint32 { return HeaderSize + 4*words }

func word(seg []byte, i uint32) uint32 { return binary.LittleEndian.Uint32(seg[HeaderSize+4*i:]) }

func setWord(seg []byte, i, w uint32) { binary.LittleEndian.PutUint32(seg[HeaderSize+4*i:], w) }

// recordTag is what of an index word is the key's, in place.
func recordTag(hash uint64) uint32 { return uint32(hash) << 16 }

func wordOffset(w uint32) uint32 { return w & 0xffff * recordUnit }

// record is a record's parts; size includes its padding.
type record struct {
	key, value []byte
	flags      byte
	size       int
}

// parseRecord reads the record at the start of b.
func parseRecord(b []byte) (record, bool) {
	if len(b) < 3 {
		return record{}, false
	}
	at, keyLength, valueLength := 3, uint64(b[1]), uint64(b[2])
	if b[1]|b[2] >= 0x80 {
		n, m := 0, 0
		keyLength, n = binary.Uvarint(b[1:])
		if n <= 0 {
			return record{}, false
		}
		if valueLength, m = binary.Uvarint(b[1+n:]); m <= 0 {
			return record{}, false
		}
		at = 1 + n + m
	}
	room := uint64(len(b) - at)
	if keyLength > room || valueLength > room-keyLength {
		return record{}, false
	}
	middle := at + int(keyLength)
	end := middle + int(valueLength)
	return record{key: b[at:middle:middle], value: b[middle:end:end], flags: b[0], size: pad(end)}, true
}

func pad(n int) int { return (n + recordUnit - 1) &^ (recordUnit - 1) }

// recordSize is the size of a record, padding included.
func recordSize(keyLength, valueLength int) int {
	return pad(1 + uvarintSize(keyLength) + uvarintSize(valueLength) + keyLength + valueLength)
}

func uvarintSize(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

func writeRecord(b, key []byte, v Value) {
	b[0] = v.Flags
	at := 1 + binary.PutUvarint(b[1:], uint64(len(key)))
	at += binary.PutUvarint(b[at:], uint64(len(v.Bytes)))
	at += copy(b[at:], key)
	at += copy(b[at:], v.Bytes)
	clear(b[at:pad(at)])
}

// recordsLimit is how many of n index words may be in use.
func recordsLimit(words uint32) uint32 { return words - words/8 }

// recordsSearch walks the index. Found or not, at is a word: the key's, or the one that it can get; a free word is nowhere if at is the number of words.
func recordsSearch(seg []byte, hash uint64, key []byte) (at uint32, r record, found bool) {
	words, end := get32(seg, atBlocks), get32(seg, atUsed)
	tag, i, free := recordTag(hash), Place(hash, seg[atDepth], words), words
	if words > mostWords || recordStart(words) > uint32(len(seg)) || uint64(end) > uint64(len(seg)) {
		return words, record{}, false
	}
	index := seg[HeaderSize:recordStart(words)]
	for range words {
		w := binary.LittleEndian.Uint32(index[4*i:])
		switch {
		case w == wordFree:
			if free == words {
				free = i
			}
			return free, record{}, false
		case w == wordDeleted:
			if free == words {
				free = i
			}
		case w&^0xffff == tag:
			if start := wordOffset(w); start < end {
				if r, ok := parseRecord(seg[start:end]); ok && bytes.Equal(r.key, key) {
					return i, r, true
				}
			}
		}
		if i++; i == words {
			i = 0
		}
	}
	return free, record{}, false
}

func recordsFind(seg []byte, hash uint64, key []byte) (Value, bool) {
	_, r, found := recordsSearch(seg, hash, key)
	return Value{Bytes: r.value, Flags: r.flags}, found
}

func recordsPut(seg []byte, hash uint64, key []byte, v Value) Result {
	at, old, found := recordsSearch(seg, hash, key)
	if found && len(old.value) == len(v.Bytes) && old.flags == v.Flags {
		copy(old.value, v.Bytes)
		return Replaced
	}
	if !found && !recordsRoom(seg, at) {
		return Full
	}
	if !recordsAppend(seg, at, hash, key, v) {
		return Full
	}
	if found {
		add32(seg, atDead, old.size)
		return Replaced
	}
	return Added
}

// recordsRoom says whether the index can take one more word.
func recordsRoom(seg []byte, at uint32) bool {
	words, entries := get32(seg, atBlocks), get32(seg, atEntries)
	return at < words && entries < MaxEntries && entries < recordsLimit(words) && entries+get32(seg, atDeleted) < words-words/16
}

// recordsAppend writes a record behind the others and then the index word at. It counts a new entry if that word led nowhere.
func recordsAppend(seg []byte, at uint32, hash uint64, key []byte, v Value) bool {
	start, size := get32(seg, atUsed), recordSize(len(key), len(v.Bytes))
	if int(start)+size > Length(seg) {
		return false
	}
	writeRecord(seg[start:], key, v)
	set32(seg, atUsed, start+uint32(size))
	before := word(seg, at)
	setWord(seg, at, recordTag(hash)|start/recordUnit)
	if before <= wordDeleted {
		add32(seg, atEntries, 1)
		add32(seg, atDeleted, -int(before))
	}
	return true
}

func recordsDelete(seg []byte, hash uint64, key []byte) bool {
	at, r, found := recordsSearch(seg, hash, key)
	if !found {
		return false
	}
	words := get32(seg, atBlocks)
	next, before := at+1, at
	if next == words {
		next = 0
	}
	if word(seg, next) == wordFree {
		// Nobody searches on from here, so this word and the deleted ones before it are free again.
		setWord(seg, at, wordFree)
		for {
			if before--; before >= words {
				before = words - 1
			}
			if word(seg, before) != wordDeleted {
				break
			}
			setWord(seg, before, wordFree)
			add32(seg, atDeleted, -1)
		}
	} else {
		setWord(seg, at, wordDeleted)
		add32(seg, atDeleted, 1)
	}
	add32(seg, atEntries, -1)
	add32(seg, atDead, r.size)
	return true
}

func recordsEach(seg []byte, yield func(key []byte, v Value) bool) error {
	words, end := get32(seg, atBlocks), get32(seg, atUsed)
	for i := range words {
		w := word(seg, i)
		if w <= wordDeleted {
			continue
		}
		r, err := recordAt(seg, w, end)
		if err != nil {
			return fmt.Errorf("index word %d: %w", i, err)
		}
		if !yield(r.key, Value{Bytes: r.value, Flags: r.flags}) {
			return nil
		}
	}
	return nil
}

// recordAt reads the record that an index word leads to and checks that it is inside of the records in use.
func recordAt(seg []byte, w, end uint32) (record, error) {
	start := wordOffset(w)
	if start < recordStart(get32(seg, atBlocks)) || start >= end {
		return record{}, fmt.Errorf("record at %d of %d bytes in use: %w", start, end, ErrCorrupt)
	}
	r, ok := parseRecord(seg[start:end])
	if !ok || start+uint32(r.size) > end {
		return record{}, fmt.Errorf("record at %d passes the end of use at %d: %w", start, end, ErrCorrupt)
	}
	return r, nil
}
