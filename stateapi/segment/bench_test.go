// SPDX-License-Identifier: Apache-2.0

// This file measures segments beside Go's maps, in a directory like the table's.

package segment

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hashed is a table without what makes one safe: segments in shared memory, found by the hash's top bits.
type hashed struct {
	tb      testing.TB
	memory  []byte
	slots   [][]byte // free ones
	depth   uint8
	segs    [][]byte
	longest time.Duration // a rebuild or split
	moved   int
	length  int // of all segments
}

func newHashed(tb testing.TB, bytes int) *hashed {
	tb.Helper()
	memory, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = unix.Munmap(memory) })
	h := &hashed{tb: tb, memory: memory}
	h.segs = [][]byte{h.make(Choose(Stats{}), 0, 0)}
	return h
}

func (h *hashed) make(s Shape, prefix uint64, depth uint8) []byte {
	var slot []byte
	if n := len(h.slots); n > 0 {
		slot, h.slots = h.slots[n-1], h.slots[:n-1]
	} else {
		slot, h.memory = h.memory[:SlotSize], h.memory[SlotSize:]
	}
	Init(slot, s, 1, prefix, depth)
	h.length += int(s.Length)
	return slot
}

func (h *hashed) free(seg []byte) {
	h.length -= Length(seg)
	h.slots = append(h.slots, seg)
}

func (h *hashed) seg(hash uint64) []byte { return h.segs[hash>>1>>(63-h.depth)] }

func (h *hashed) put(key, value []byte) {
	hash := Hash(key)
	seg := h.seg(hash)
	if r := Put(seg, hash, key, Value{Bytes: value}, noUndo); r <= Replaced {
		return
	}
	start := time.Now()
	for try := 0; ; try++ {
		h.grow(hash, len(key), len(value), try)
		if r := Put(h.seg(hash), hash, key, Value{Bytes: value}, noUndo); r <= Replaced {
			break
		}
	}
	h.longest = max(h.longest, time.Since(start))
}

func noUndo(int, int) {}

func (h *hashed) grow(hash uint64, keyLength, valueLength, try int) {
	seg := h.seg(hash)
	s, err := Measure(seg)
	if err != nil {
		h.tb.Fatal(err)
	}
	h.moved += s.Entries
	s.Add(keyLength, valueLength, 0)
	shape := Choose(s)
	for range try {
		shape = shape.Larger()
	}
	if s.Entries > MaxEntries || shape.Length > SlotSize {
		h.split(seg)
		return
	}
	for ; shape.Length <= SlotSize; shape = shape.Larger() {
		to := h.make(shape, Prefix(seg), Depth(seg))
		if ok, err := Rebuild([][]byte{to}, seg); err != nil {
			h.tb.Fatal(err)
		} else if ok {
			h.replace(seg, to)
			return
		}
		h.free(to)
	}
	h.split(seg)
}

func (h *hashed) replace(seg []byte, by ...[]byte) {
	first := int(Prefix(seg) >> 1 >> (63 - h.depth))
	each := 1 << (h.depth - Depth(by[0]))
	for i, b := range by {
		for j := range each {
			h.segs[first+i*each+j] = b
		}
	}
	h.free(seg)
}

func (h *hashed) split(seg []byte) {
	halves, err := MeasureHalves(seg)
	if err != nil {
		h.tb.Fatal(err)
	}
	depth := Depth(seg) + 1
	if depth > h.depth {
		wider := make([][]byte, 0, 2*len(h.segs))
		for _, s := range h.segs {
			wider = append(wider, s, s)
		}
		h.segs, h.depth = wider, depth
	}
	shapes := [2]Shape{Choose(halves[0]), Choose(halves[1])}
	for {
		low, high := h.make(shapes[0], Prefix(seg), depth), h.make(shapes[1], Prefix(seg)|1<<(64-depth), depth)
		if ok, err := Rebuild([][]byte{low, high}, seg); err != nil {
			h.tb.Fatal(err)
		} else if ok {
			h.replace(seg, low, high)
			return
		}
		h.free(low)
		h.free(high)
		shapes[0], shapes[1] = shapes[0].Larger(), shapes[1].Larger()
	}
}

func (h *hashed) entries() (n int) {
	for i, seg := range h.segs {
		if i == 0 || &seg[0] != &h.segs[i-1][0] {
			n += Entries(seg)
		}
	}
	return n
}

// wanted is how many entries benchmarks use.
const wanted = 4 << 20

// scattered is a number of i that no pattern is left in.
func scattered(i uint64) uint64 { return i * 0x9E3779B97F4A7C15 }

func benchKey16(key []byte, i uint64) []byte {
	const hex = "0123456789abcdef"
	x := scattered(i)
	key = key[:16]
	for j := range key {
		key[j] = hex[x>>(4*j)&15]
	}
	return key
}

// benchEntry makes the entries that benchmarks use.
func benchEntry(kind string) func(key, value []byte, i uint64) (k, v []byte) {
	switch kind {
	case "Numbers":
		return func(key, value []byte, i uint64) (k, v []byte) {
			binary.LittleEndian.PutUint64(key[:8], scattered(i))
			binary.LittleEndian.PutUint64(value[:8], i)
			return key[:8], value[:8]
		}
	case "Strings16":
		return func(key, value []byte, i uint64) (k, v []byte) {
			binary.LittleEndian.PutUint64(value[:8], i)
			return benchKey16(key, i), value[:8]
		}
	case "Strings16Packed": // one value of 64 is shorter, so that Packed it is
		return func(key, value []byte, i uint64) (k, v []byte) {
			binary.LittleEndian.PutUint64(value[:8], i)
			return benchKey16(key, i), value[:8-i%64/63]
		}
	default: // Words: Kryo's coding of 8 characters and a counter
		return func(key, value []byte, i uint64) (k, v []byte) {
			benchKey16(key, i)
			return key[:8], binary.AppendUvarint(value[:0], i%100*(i%100)/50)
		}
	}
}

func BenchmarkSegment(b *testing.B) {
	for _, kind := range []string{"Numbers", "Strings16", "Strings16Packed", "Words"} {
		b.Run(kind, func(b *testing.B) { benchKind(b, kind) })
	}
}

func benchKind(b *testing.B, kind string) {
	b.Helper()
	entry := benchEntry(kind)
	var keyBytes, valueBytes [16]byte
	key, value := keyBytes[:], valueBytes[:]
	h := newHashed(b, 1<<30)
	worst, next := 0.0, 1<<20
	start := time.Now()
	var measuring time.Duration
	for i := range uint64(wanted) {
		h.put(entry(key, value, i))
		if int(i) == next {
			from := time.Now()
			worst = max(worst, float64(h.length)/float64(h.entries()))
			next += next / 16
			measuring += time.Since(from)
		}
	}
	insert := float64((time.Since(start) - measuring).Nanoseconds()) / wanted
	b.Run("Get", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		for b.Loop() {
			k, _ := entry(key, value, r.Uint64N(wanted))
			hash := Hash(k)
			if _, ok := Find(h.seg(hash), hash, k); !ok {
				b.Fatal("lost")
			}
		}
		b.ReportMetric(insert, "ns/insert")
		b.ReportMetric(worst, "worst-B/entry")
		b.ReportMetric(float64(h.moved)/wanted, "moves/entry")
		b.ReportMetric(float64(h.longest.Microseconds()), "longest-us")
	})
	b.Run("Copied", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		var c Copy
		for b.Loop() {
			k, _ := entry(key, value, r.Uint64N(wanted))
			hash := Hash(k)
			if _, ok, _ := FindCopied(h.seg(hash), &c, hash, k); !ok {
				b.Fatal("lost")
			}
		}
	})
	b.Run("Update", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		for b.Loop() {
			h.put(entry(key, value, r.Uint64N(wanted)))
		}
	})
}

// BenchmarkMap is what segments are compared with.
func BenchmarkMap(b *testing.B) {
	b.Run("Numbers", func(b *testing.B) {
		m := map[uint64]uint64{}
		start := time.Now()
		for i := range uint64(wanted) {
			m[scattered(i)] = i
		}
		benchMap(b, m, scattered, time.Since(start))
	})
	b.Run("Strings16", func(b *testing.B) {
		m := map[string]uint64{}
		key := make([]byte, 16)
		start := time.Now()
		for i := range uint64(wanted) {
			m[string(benchKey16(key, i))] = i
		}
		took := time.Since(start)
		b.Run("Get", func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				if _, ok := m[string(benchKey16(key, r.Uint64N(wanted)))]; !ok {
					b.Fatal("lost")
				}
			}
			b.ReportMetric(float64(took.Nanoseconds())/wanted, "ns/insert")
		})
		b.Run("Update", func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				i := r.Uint64N(wanted)
				m[string(benchKey16(key, i))] = i
			}
		})
	})
}

func benchMap(b *testing.B, m map[uint64]uint64, key func(uint64) uint64, insert time.Duration) {
	b.Helper()
	b.Run("Get", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		for b.Loop() {
			if _, ok := m[key(r.Uint64N(wanted))]; !ok {
				b.Fatal("lost")
			}
		}
		b.ReportMetric(float64(insert.Nanoseconds())/wanted, "ns/insert")
	})
	b.Run("Update", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		for b.Loop() {
			i := r.Uint64N(wanted)
			m[key(i)] = i
		}
	})
}

// TestSizes keeps the bytes of an entry at any sixteenth of growth where they are.
func TestSizes(t *testing.T) {
	t.Parallel()
	for kind, most := range map[string]float64{"Numbers": 22, "Strings16": 32, "Strings16Packed": 31.9, "Words": 13.5} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := newHashed(t, 64<<20)
			entry := benchEntry(kind)
			key, value := make([]byte, 16), make([]byte, 16)
			next := 1 << 17
			for i := range uint64(1 << 18) {
				h.put(entry(key, value, i))
				if int(i) != next {
					continue
				}
				next += next / 16
				if size := float64(h.length) / float64(h.entries()); size > most {
					t.Errorf("%d entries: %.2f bytes each, at most %.1f wanted", i, size, most)
				}
			}
			if h.entries() != 1<<18 {
				t.Error(fmt.Sprint(h.entries(), " entries"))
			}
		})
	}
}
