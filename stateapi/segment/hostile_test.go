// SPDX-License-Identifier: Apache-2.0

// This file gives segments of unknown origin to all that reads them.

package segment

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// FuzzSegment feeds bytes to every reader. They may say anything but nothing out of bounds, and what Verify accepts is a segment in every respect.
func FuzzSegment(f *testing.F) {
	for _, g := range goldens() {
		seg := g.build()
		f.Add(seg, []byte("key"))
		f.Add(seg[:len(seg)-1], []byte{})
		for _, at := range []int{atDepth, atKind, atKeySize, atBlocks, atBlocks + 3, atUsed, atLength + 1, HeaderSize, HeaderSize + 15} {
			damaged := bytes.Clone(seg)
			damaged[at] ^= 0x41
			f.Add(damaged, []byte("key"))
		}
		many := bytes.Clone(seg)
		set32(many, atBlocks, 1<<30) // times four it is 0 in 32 bits
		f.Add(many, []byte("key"))
	}
	f.Fuzz(func(t *testing.T, seg, key []byte) {
		// Exactly as long as it is: what passes the end shows.
		hostile(t, slices.Clip(bytes.Clone(seg)), key)
	})
}

// fataler is what fails a test or a property.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// hostile reads seg in every way.
func hostile(t fataler, seg, key []byte) {
	t.Helper()
	verified := Verify(seg)
	faults := []error{verified, CheckSum(seg), Each(seg, func([]byte, Value) bool { return true })}
	_, err := Measure(seg)
	faults = append(faults, err)
	_, err = MeasureHalves(seg)
	faults = append(faults, err)
	var c Copy
	for _, hash := range []uint64{Hash(key), 0, 1<<64 - 1} {
		_, _, err = FindCopied(seg, &c, hash, key)
		faults = append(faults, err)
		if len(seg) >= HeaderSize {
			Find(seg, hash, key)
		}
	}
	for _, err := range faults {
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("not a word of damage: %v", err)
		}
	}
	if verified == nil {
		sound(t, seg, key)
	} else if repaired := bytes.Clone(seg); len(seg) >= HeaderSize && Repair(repaired) == nil {
		// After a kill readers and writers go on with what Repair leaves, so this may not fail either.
		Find(repaired, Hash(key), key)
	}
}

// sound checks that a segment that Verify accepts can be read and changed as any other.
func sound(t fataler, seg, key []byte) {
	t.Helper()
	repaired := bytes.Clone(seg)
	if err := Repair(repaired); err != nil || !bytes.Equal(repaired, seg) {
		t.Fatalf("repair changed a sound segment or failed: %v", err)
	}
	g := &grower{seg: bytes.Clone(seg), model: map[string]stored{}, kinds: map[uint8]bool{}}
	if err := Each(seg, func(key []byte, v Value) bool {
		g.model[string(key)] = stored{string(v.Bytes), v.Flags}
		return true
	}); err != nil {
		t.Fatalf("each: %v", err)
	}
	if err := g.check(); err != nil {
		t.Fatalf("%v", err)
	}
	if !belongs(Hash(key), Prefix(seg), Depth(seg)) {
		return
	}
	value := make([]byte, max(int(seg[atValueSize]), 8))
	if _, err := g.put(key, value, 0); err != nil {
		// An entry that is the first of another size may ask for a split, which the model does not know.
		return
	}
	keys := slices.Sorted(maps.Keys(g.model))
	for i, key := range keys {
		if i%2 == 0 {
			continue
		}
		if err := g.delete([]byte(key)); err != nil {
			t.Fatalf("%v", err)
		}
	}
	if err := g.check(); err != nil {
		t.Fatalf("after changes: %v", err)
	}
}

// TestDamageIsNamed flips bytes of sound segments: the checksum sees each flip, and nothing that reads them fails.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			seg := g.build()
			rapid.Check(t, func(t *rapid.T) {
				damaged := bytes.Clone(seg)
				for range rapid.IntRange(1, 4).Draw(t, "flips") {
					// Half of them hit the header and the first of what follows.
					most := rapid.SampledFrom([]int{len(seg) - 1, HeaderSize + 16}).Draw(t, "below")
					damaged[rapid.IntRange(0, most).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
				}
				if CheckSum(damaged) == nil && !bytes.Equal(damaged, seg) {
					t.Fatal("damage has the same checksum")
				}
				hostile(t, damaged, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "key"))
			})
		})
	}
}

// TestVerifyNames breaks each rule of the layout once.
func TestVerifyNames(t *testing.T) {
	t.Parallel()
	entry := HeaderSize + slots8 + 1
	for name, c := range map[string]struct {
		golden string
		damage func(seg []byte)
	}{
		"PrefixTooLong":  {"fixed", func(seg []byte) { seg[atPrefix] = 1 }},
		"OtherPrefix":    {"fixed", func(seg []byte) { seg[atPrefix+7], seg[atDepth] = 0x80, 8 }},
		"Kind":           {"fixed", func(seg []byte) { seg[atKind] = 4 }},
		"NoBlocks":       {"fixed", func(seg []byte) { set32(seg, atBlocks, 0) }},
		"ManyBlocks":     {"records", func(seg []byte) { set32(seg, atBlocks, 1<<30) }},
		"Length":         {"packed", func(seg []byte) { set32(seg, atLength, uint32(len(seg)+1)) }},
		"Entries":        {"fixed", func(seg []byte) { add32(seg, atEntries, 1) }},
		"Tag":            {"fixed", func(seg []byte) { seg[firstTag(seg)]++ }},
		"Key":            {"fixed", func(seg []byte) { seg[entry+16*(firstTag(seg)-HeaderSize)] ^= 4 }},
		"Spill":          {"fixed", func(seg []byte) { lowerSpill(seg, slots8) }},
		"PackedSpill":    {"packed", func(seg []byte) { lowerSpill(seg, packedSpill) }},
		"PackedRoom":     {"packed", func(seg []byte) { seg[HeaderSize] = 255 }},
		"PackedUsed":     {"packed", func(seg []byte) { add32(seg, atUsed, 1) }},
		"PackedLengths":  {"packed", func(seg []byte) { seg[HeaderSize+packedStart] += 0x10 }},
		"Index":          {"records", func(seg []byte) { setWord(seg, firstWord(seg), 0) }},
		"IndexBelow":     {"records", func(seg []byte) { setWord(seg, firstWord(seg), word(seg, firstWord(seg))&^0xffff|1) }},
		"IndexAbove":     {"records", func(seg []byte) { setWord(seg, firstWord(seg), word(seg, firstWord(seg))|0xffff) }},
		"RecordTag":      {"records", func(seg []byte) { setWord(seg, firstWord(seg), word(seg, firstWord(seg))^1<<20) }},
		"RecordsUsed":    {"records", func(seg []byte) { add32(seg, atUsed, -4) }},
		"RecordsDead":    {"records", func(seg []byte) { add32(seg, atDead, 4) }},
		"RecordsDeleted": {"records", func(seg []byte) { add32(seg, atDeleted, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seg := goldenOf(t, c.golden).build()
			if err := Verify(seg); err != nil {
				t.Fatal(err)
			}
			c.damage(seg)
			if err := Verify(seg); !errors.Is(err, ErrCorrupt) {
				t.Errorf("verify answers %v", err)
			}
		})
	}
}

func firstTag(seg []byte) int {
	return HeaderSize + bytes.IndexFunc(seg[HeaderSize:], func(r rune) bool { return r != 0 })
}

func firstWord(seg []byte) (i uint32) {
	for word(seg, i) <= wordDeleted {
		i++
	}
	return i
}

// lowerSpill makes the first spill byte that is not 0 one less than entries have passed the block.
func lowerSpill(seg []byte, at int) {
	for i := range get32(seg, atBlocks) {
		if b := blockAt(seg, i); b[at] > 0 {
			b[at]--
			return
		}
	}
}

// TestVerifyNamesTwins has the same key twice, once with two records, once with two words for one.
func TestVerifyNamesTwins(t *testing.T) {
	t.Parallel()
	seg := fresh(Shape{Kind: Records, Blocks: 16, Length: 1024}, 0, 0)
	key := []byte("twin")
	at := Place(Hash(key), 0, 16)
	for i := range uint32(2) {
		if !recordsAppend(seg, (at+i)%16, Hash(key), key, Value{Bytes: []byte{1}}) {
			t.Fatal("no room")
		}
	}
	if err := Verify(seg); !errors.Is(err, ErrCorrupt) {
		t.Errorf("two records: %v", err)
	}
	setWord(seg, (at+1)%16, word(seg, at))
	set32(seg, atDead, 0)
	if err := Verify(seg); !errors.Is(err, ErrCorrupt) {
		t.Errorf("two words: %v", err)
	}
}

// TestVerifyNamesOverlap has a record that begins inside of the value of another.
func TestVerifyNamesOverlap(t *testing.T) {
	t.Parallel()
	seg := fresh(Shape{Kind: Records, Blocks: 16, Length: 1024}, 0, 0)
	// The outer record has four bytes before its value, which so begins at a multiple of four.
	inner := []byte{0, 1, 1, 'b', 'v', 0, 0, 0}
	if Put(seg, Hash([]byte("a")), []byte("a"), Value{Bytes: inner}, noUndo) != Added {
		t.Fatal("no room")
	}
	start := recordStart(16) + 4
	at := Place(Hash([]byte("b")), 0, 16)
	for word(seg, at) != wordFree {
		at = (at + 1) % 16
	}
	setWord(seg, at, recordTag(Hash([]byte("b")))|start/recordUnit)
	add32(seg, atEntries, 1)
	add32(seg, atUsed, 8) // so that the sum is right
	if v, found := Find(seg, Hash([]byte("b")), []byte("b")); !found || string(v.Bytes) != "v" {
		t.Fatalf("found %q, %t: the test is wrong", v.Bytes, found)
	}
	if err := Verify(seg); !errors.Is(err, ErrCorrupt) {
		t.Errorf("verify answers %v", err)
	}
}
