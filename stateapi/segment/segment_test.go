// SPDX-License-Identifier: Apache-2.0

// This file compares segments with a map.

package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// stored is a value of the model.
type stored struct {
	bytes string
	flags byte
}

// grower is a segment with what the table does about it: it grows, changes kind and shrinks.
type grower struct {
	seg   []byte
	model map[string]stored
	kinds map[uint8]bool
}

func newGrower() *grower {
	g := &grower{model: map[string]stored{}, kinds: map[uint8]bool{}}
	g.seg = fresh(Choose(Stats{}), 0, 0)
	return g
}

// fresh is an empty segment in memory that was something else before.
func fresh(s Shape, prefix uint64, depth uint8) []byte {
	seg := bytes.Repeat([]byte{0xa5}, int(s.Length))
	Init(seg, s, 7, prefix, depth)
	return seg
}

// rebuild makes a segment for what is in seg and one entry more.
func rebuild(seg []byte, add func(*Stats), shape func(Stats) Shape) ([]byte, error) {
	s, err := Measure(seg)
	if err != nil {
		return nil, err
	}
	add(&s)
	for want := shape(s); want.Length <= SlotSize; want = want.Larger() {
		to := fresh(want, Prefix(seg), Depth(seg))
		ok, err := Rebuild([][]byte{to}, seg)
		if err != nil {
			return nil, err
		}
		if ok {
			return to, nil
		}
	}
	return nil, fmt.Errorf("%d entries do not fit", s.Entries)
}

// put sets a value the way the table does; it says no when the segment would have to split.
func (g *grower) put(key, value []byte, flags byte) (bool, error) {
	v := Value{Bytes: value, Flags: flags}
	shape := Choose
	for range 100 {
		switch r := Put(g.seg, Hash(key), key, v, saved(g.seg)); r {
		case Added, Replaced:
			if _, was := g.model[string(key)]; was != (r == Replaced) {
				return false, fmt.Errorf("put answers %d, key was there: %t", r, was)
			}
			g.model[string(key)] = stored{string(value), flags}
			return true, nil
		case Full, Unfit:
			if len(g.model) >= MaxEntries {
				return false, nil
			}
			to, err := rebuild(g.seg, func(s *Stats) { s.Add(len(key), len(value), flags) }, shape)
			if err != nil {
				return false, err
			}
			g.seg = to
			g.kinds[Kind(to)] = true
			now := ShapeOf(to)
			shape = func(Stats) Shape { return now.Larger() }
		}
	}
	return false, fmt.Errorf("put of %d and %d bytes never fits in %+v", len(key), len(value), ShapeOf(g.seg))
}

// saved is an Undo that sees to it that what is saved is inside of the segment.
func saved(seg []byte) Undo {
	return func(start, length int) {
		_ = bytes.Clone(seg[start : start+length])
	}
}

func (g *grower) delete(key []byte) error {
	_, was := g.model[string(key)]
	if got := Delete(g.seg, Hash(key), key, saved(g.seg)); got != was {
		return fmt.Errorf("delete answers %t, want %t", got, was)
	}
	delete(g.model, string(key))
	if !Sparse(g.seg) {
		return nil
	}
	before := Length(g.seg)
	to, err := rebuild(g.seg, func(*Stats) {}, Choose)
	if err == nil {
		g.seg = to
		if len(to) >= before {
			return fmt.Errorf("a sparse segment of %d bytes became %d", before, len(to))
		}
	}
	return err
}

// check compares the whole segment, by every way of reading it.
func (g *grower) check() error {
	if err := Verify(g.seg); err != nil {
		return err
	}
	got := map[string]stored{}
	if err := Each(g.seg, func(key []byte, v Value) bool {
		got[string(key)] = stored{string(v.Bytes), v.Flags}
		return true
	}); err != nil {
		return err
	}
	if diff := cmp.Diff(g.model, got, cmp.AllowUnexported(stored{})); diff != "" {
		return fmt.Errorf("entries (-want +got):\n%s", diff)
	}
	var c Copy
	for key, want := range g.model {
		hash := Hash([]byte(key))
		v, ok := Find(g.seg, hash, []byte(key))
		if !ok || string(v.Bytes) != want.bytes || v.Flags != want.flags {
			return fmt.Errorf("find %q: %v, %t, want %v", key, v, ok, want)
		}
		v, ok, err := FindCopied(g.seg, &c, hash, []byte(key))
		if err != nil || !ok || string(v.Bytes) != want.bytes || v.Flags != want.flags {
			return fmt.Errorf("find copied %q: %v, %t, %w, want %v", key, v, ok, err, want)
		}
		absent := []byte(key + "~")
		if _, there := g.model[string(absent)]; there {
			continue
		}
		if _, ok := Find(g.seg, Hash(absent), absent); ok {
			return fmt.Errorf("found %q", absent)
		}
		if _, ok, err := FindCopied(g.seg, &c, Hash(absent), absent); ok || err != nil {
			return fmt.Errorf("found %q: %w", absent, err)
		}
	}
	return nil
}

// mix is what keys and values a property uses.
type mix struct {
	key, value func(t *rapid.T) []byte
	flags      bool
}

func sized(least, most int) func(t *rapid.T) []byte {
	return func(t *rapid.T) []byte { return rapid.SliceOfN(rapid.Byte(), least, most).Draw(t, "bytes") }
}

func number(size, below int) func(t *rapid.T) []byte {
	return func(t *rapid.T) []byte {
		return binary.LittleEndian.AppendUint64(nil, uint64(rapid.IntRange(0, below).Draw(t, "number")))[:size]
	}
}

func TestSegmentIsAMap(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mix{
		"Fixed8":   {key: number(8, 600), value: number(8, 1<<40)},
		"Fixed1":   {key: number(1, 255), value: sized(0, 0)},
		"Fixed16":  {key: func(t *rapid.T) []byte { return append(number(8, 300)(t), "suffixes"...) }, value: number(8, 9)},
		"Words":    {key: func(t *rapid.T) []byte { return number(2, 300)(t) }, value: sized(0, 4)},
		"Small":    {key: sized(0, 3), value: sized(0, 40)},
		"Mixed":    {key: func(t *rapid.T) []byte { return bytes.Repeat(number(1, 60)(t), 1+int(number(1, 20)(t)[0])) }, value: sized(0, 30)},
		"Long":     {key: func(t *rapid.T) []byte { return append(number(2, 99)(t), make([]byte, 180)...) }, value: sized(0, 300)},
		"Flagged":  {key: number(2, 99), value: sized(16, 16), flags: true},
		"VeryLong": {key: number(1, 3), value: func(t *rapid.T) []byte { return make([]byte, rapid.IntRange(0, LongValue).Draw(t, "length")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				g := newGrower()
				for range rapid.IntRange(1, 12).Draw(t, "rounds") {
					remove := rapid.IntRange(0, 9).Draw(t, "removals of 10")
					for range rapid.IntRange(0, 60).Draw(t, "steps") {
						var err error
						key := m.key(t)
						if rapid.IntRange(0, 9).Draw(t, "what") < remove {
							err = g.delete(key)
						} else {
							flags := byte(0)
							if m.flags {
								flags = byte(rapid.IntRange(0, 3).Draw(t, "flags"))
							}
							_, err = g.put(key, m.value(t), flags)
						}
						if err != nil {
							t.Fatal(err)
						}
					}
					if err := g.check(); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// TestSegmentGrowsAndShrinks fills a segment of each sort up to the most entries and empties it again.
func TestSegmentGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  uint8
		entry func(i uint64) (key, value []byte)
	}{
		"Fixed":   {Fixed, numbers8},
		"Packed":  {Packed, wordCounts},
		"Records": {Records, func(i uint64) (key, value []byte) { return fmt.Appendf(nil, "key %d", i), make([]byte, i%101) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGrower()
			i := uint64(0)
			for ; ; i++ {
				key, value := c.entry(i)
				if ok, err := g.put(key, value, 0); err != nil && i < 2000 {
					t.Fatal(i, err)
				} else if !ok {
					break
				}
			}
			if Kind(g.seg) != c.kind {
				t.Errorf("kind %d, want %d", Kind(g.seg), c.kind)
			}
			if err := g.check(); err != nil {
				t.Fatal(err)
			}
			halves(t, g)
			for _, key := range slices.Sorted(maps.Keys(g.model)) {
				if err := g.delete([]byte(key)); err != nil {
					t.Fatal(err)
				}
				if len(g.model)%512 == 0 {
					if err := g.check(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if len(g.seg) > 1024 {
				t.Errorf("%d bytes for nothing", len(g.seg))
			}
		})
	}
}

func numbers8(i uint64) (key, value []byte) {
	return binary.LittleEndian.AppendUint64(nil, i*0x9E3779B97F4A7C15), binary.LittleEndian.AppendUint64(nil, i)
}

func wordCounts(i uint64) (key, value []byte) {
	return fmt.Appendf(nil, "word%05d", i*7919%100000)[:8+i%2], binary.AppendUvarint(nil, i%300)
}

// halves splits g's segment in two, and joins it again, and compares.
func halves(t *testing.T, g *grower) {
	t.Helper()
	stats, err := MeasureHalves(g.seg)
	if err != nil {
		t.Fatal(err)
	}
	low, high := fresh(Choose(stats[0]), 0, 1), fresh(Choose(stats[1]), 1<<63, 1)
	if ok, err := Rebuild([][]byte{low, high}, g.seg); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := Verify(low); err != nil {
		t.Error(err)
	}
	if err := Verify(high); err != nil {
		t.Error(err)
	}
	a, errA := Measure(low)
	b, errB := Measure(high)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	a.AddAll(b)
	whole := *g
	for shape := Choose(a); shape.Length <= SlotSize; shape = shape.Larger() {
		whole.seg = fresh(shape, 0, 0)
		one, errOne := Rebuild([][]byte{whole.seg}, low)
		two, errTwo := Rebuild([][]byte{whole.seg}, high)
		if errOne != nil || errTwo != nil {
			t.Fatal(errOne, errTwo)
		}
		if one && two {
			if err := whole.check(); err != nil {
				t.Error(err)
			}
			break
		}
	}
	if ok, _ := Rebuild([][]byte{low}, high); ok {
		t.Error("entries of another prefix were taken")
	}
}

// TestDeletedIsGone has keys whose tags differ from a free slot's by one bit, where looking at eight tags at once goes wrong.
func TestDeletedIsGone(t *testing.T) {
	t.Parallel()
	for _, valueSize := range []uint8{8, 4} {
		t.Run(strconv.Itoa(int(valueSize)), func(t *testing.T) {
			t.Parallel()
			var keys [][]byte
			for i := uint64(0); len(keys) < 12; i++ {
				if key, _ := numbers8(i); fixedTag(Hash(key)) == 1 {
					keys = append(keys, key)
				}
			}
			seg := fresh(Shape{Kind: Fixed, KeySize: 8, ValueSize: valueSize, Blocks: 1, Length: HeaderSize + BlockSize}, 0, 0)
			for _, key := range keys {
				if r := Put(seg, Hash(key), key, Value{Bytes: make([]byte, valueSize)}, noUndo); r != Added {
					t.Fatal(r)
				}
			}
			var c Copy
			for i, gone := range keys[:11] {
				Delete(seg, Hash(gone), gone, noUndo)
				for _, key := range keys[:i+1] {
					if _, found := Find(seg, Hash(key), key); found {
						t.Errorf("%x is still found after %d deletes", key, i+1)
					}
					if _, found, err := FindCopied(seg, &c, Hash(key), key); found || err != nil {
						t.Errorf("%x is still found by readers after %d deletes: %v", key, i+1, err)
					}
				}
			}
		})
	}
}

// TestDeletesLeaveNoSpill has blocks let no search pass when nobody is behind them any more.
func TestDeletesLeaveNoSpill(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fixed", "fixed-sixteen", "packed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seg := goldenOf(t, name).build()
			var keys [][]byte
			if err := Each(seg, func(key []byte, _ Value) bool {
				keys = append(keys, bytes.Clone(key))
				return true
			}); err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				Delete(seg, Hash(key), key, noUndo)
			}
			at := packedSpill
			if Kind(seg) == Fixed {
				at = fixedSlots(seg[atKeySize], seg[atValueSize])
			}
			for i := range get32(seg, atBlocks) {
				if b := blockAt(seg, i); b[at] != 0 {
					t.Errorf("block %d has spill %d", i, b[at])
				}
			}
		})
	}
}

// TestSpillThatNobodyCounts has more entries pass a block than a byte counts: it must let searches pass for good.
func TestSpillThatNobodyCounts(t *testing.T) {
	t.Parallel()
	var b block
	for range 300 {
		spill(&b, 0)
	}
	for range 299 {
		unspill(&b, 0)
	}
	if b[0] == 0 {
		t.Error("the one that is left is not found any more")
	}
}

// TestUndo takes back what shifts bytes in a block, as after a kill in the middle of it.
func TestUndo(t *testing.T) {
	t.Parallel()
	key := []byte("b")
	for name, change := range map[string]func(seg []byte, undo Undo){
		"Longer":  func(seg []byte, undo Undo) { Put(seg, Hash(key), key, Value{Bytes: []byte("longer")}, undo) },
		"Shorter": func(seg []byte, undo Undo) { Put(seg, Hash(key), key, Value{}, undo) },
		"Delete": func(seg []byte, undo Undo) {
			Delete(seg, Hash(key), key, func(start, length int) {
				if length > 0 { // what comes after the shift is not cut off here
					undo(start, length)
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seg := fresh(Shape{Kind: Packed, Blocks: 1, Length: HeaderSize + BlockSize}, 0, 0)
			for _, each := range []string{"a", "b", "c"} {
				Put(seg, Hash([]byte(each)), []byte(each), Value{Bytes: []byte("of " + each)}, noUndo)
			}
			before := bytes.Clone(seg)
			var start int
			var saved []byte
			change(seg, func(at, length int) { start, saved = at, bytes.Clone(seg[at:at+length]) })
			if bytes.Equal(seg, before) || len(saved) == 0 {
				t.Fatalf("changed: %t, %d bytes saved", !bytes.Equal(seg, before), len(saved))
			}
			copy(seg[start:], saved)
			if err := Repair(seg); err != nil || !bytes.Equal(seg, before) {
				t.Errorf("not what it was, %v", err)
			}
		})
	}
}
