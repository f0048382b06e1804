// SPDX-License-Identifier: Apache-2.0

// This file has the Java reader find what Go has laid out.

package state

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/gust-stream/gust/stateapi/segment"
)

const (
	slot       = segment.SlotSize
	region     = 1 << 30
	arenaID    = 0xF123456789ABCDEF
	namespace  = 0xE0000000000000AB
	descriptor = slot + 64
	spillRun   = 100 * slot
)

// plan is an arena of one namespace, laid out by hand.
type plan struct {
	path string
	data []byte
	next int // first slot that is free
}

func newPlan(t testing.TB) *plan {
	t.Helper()
	p := &plan{path: filepath.Join(t.TempDir(), "arena"), next: 2}
	file, err := os.OpenFile(p.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // the mapping stays
	if err := file.Truncate(2 * region); err != nil {
		t.Fatal(err)
	}
	if p.data, err = syscall.Mmap(int(file.Fd()), 0, 2*region, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(p.data); err != nil {
			t.Error(err)
		}
	})
	copy(p.data, "GUSTARNA")
	binary.LittleEndian.PutUint32(p.data[8:], 1)
	binary.LittleEndian.PutUint32(p.data[12:], 4096)
	p.word(16, arenaID)
	p.word(24, 2*region)
	p.word(48, slot)
	p.word(descriptor+8, namespace)
	return p
}

func (p *plan) directory() *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&p.data[descriptor]))
}

func (p *plan) word(at int, v uint64) { binary.LittleEndian.PutUint64(p.data[at:], v) }

// segment lays out entries in one segment and says where.
func (p *plan) segment(t testing.TB, shape segment.Shape, prefix uint64, depth uint8, entries map[string]segment.Value) int {
	t.Helper()
	at := p.next * slot
	p.next++
	seg := p.data[at : at+int(shape.Length)]
	segment.Init(seg, shape, namespace, prefix, depth)
	segment.Sequence(seg).Store(6)
	for key, v := range entries {
		if r := segment.Put(seg, segment.Hash([]byte(key)), []byte(key), v, func(int, int) {}); r != segment.Added {
			t.Fatalf("%d entries in shape %+v: put says %v", len(entries), shape, r)
		}
	}
	return at
}

// lay makes entries all that the namespace has, in segments of one depth.
func (p *plan) lay(t testing.TB, depth uint8, entries map[string]segment.Value) {
	t.Helper()
	parts := make([]map[string]segment.Value, 1<<depth)
	stats := make([]segment.Stats, 1<<depth)
	for i := range parts {
		parts[i] = map[string]segment.Value{}
	}
	for key, v := range entries {
		i := 0
		if depth > 0 {
			i = int(segment.Hash([]byte(key)) >> (64 - depth))
		}
		parts[i][key] = v
		stats[i].Add(len(key), len(v.Bytes), v.Flags)
	}
	directory := p.next * slot
	if depth > 0 {
		p.next++
	}
	for i, part := range parts {
		offset := uint64(0)
		if len(part) > 0 {
			prefix := uint64(0)
			if depth > 0 {
				prefix = uint64(i) << (64 - depth)
			}
			offset = uint64(p.segment(t, segment.Choose(stats[i]), prefix, depth, part)) | uint64(depth)<<56
		}
		if depth == 0 {
			p.word(descriptor, offset)
			return
		}
		p.word(directory+8*i, offset)
	}
	p.word(descriptor, uint64(depth)<<56|uint64(directory))
}

func (d *driver) reader(t testing.TB, p *plan) uint32 {
	t.Helper()
	handle, err := d.open(doReader, 0, p.path, strconv.FormatUint(arenaID, 10), strconv.Itoa(descriptor), strconv.FormatUint(namespace, 10))
	if err != nil {
		t.Fatal(err)
	}
	return handle
}

func (d *driver) finds(t *testing.T, reader uint32, want map[string]string) {
	t.Helper()
	for key, value := range want {
		got, err := d.ask(doReaderGet, reader, 0, []byte(key), nil, nil)
		if err != nil || string(got) != value {
			t.Fatalf("key %.40q of %d bytes: %.40q of %d bytes, %v; want %.40q of %d bytes", key, len(key), got, len(got), err, value, len(value))
		}
	}
	for i := range 200 {
		key := fmt.Sprintf("no key %d", i)
		if _, ok := want[key]; ok {
			continue
		}
		if got, err := d.ask(doReaderGet, reader, 0, []byte(key), nil, nil); !errors.Is(err, errNothing) {
			t.Fatalf("%s: found %q, %v", key, got, err)
		}
	}
}

func letters(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func TestReader(t *testing.T) {
	d := startDriver(t)
	r := rand.New(rand.NewPCG(1, 2))
	t.Run("hash", func(t *testing.T) {
		for n := range 200 {
			key := letters(r, n)
			got, err := d.ask(doHash, 0, 0, []byte(key), nil, nil)
			if err != nil || string(got) != strconv.FormatUint(segment.Hash([]byte(key)), 10) {
				t.Fatalf("hash of %d bytes: %s, %v", n, got, err)
			}
		}
	})
	for _, c := range []struct {
		name       string
		kind       uint8
		count      int
		depth      uint8
		key, value func(i int) string
	}{
		{"no entries", 0, 0, 0, nil, nil},
		{"fixed", segment.Fixed, 5000, 0, func(int) string { return letters(r, 8) }, func(int) string { return letters(r, 8) }},
		{"fixed of odd sizes in a directory", segment.Fixed, 9000, 3, func(int) string { return letters(r, 11) }, func(int) string { return letters(r, 3) }},
		{"keys of one size without values", segment.Packed, 3000, 0, func(int) string { return letters(r, 5) }, func(int) string { return "" }},
		{"packed", segment.Packed, 4000, 0, func(i int) string { return strconv.Itoa(i) }, func(int) string { return letters(r, r.IntN(40)) }},
		{"packed in a directory", segment.Packed, 20000, 5, func(int) string { return letters(r, 4+r.IntN(20)) }, func(int) string { return letters(r, r.IntN(9)) }},
		{"records", segment.Records, 700, 0, func(i int) string { return strconv.Itoa(i) + letters(r, r.IntN(300)) }, func(int) string { return letters(r, r.IntN(300)) }},
		{"records in a directory", segment.Records, 400, 4, func(i int) string { return strconv.Itoa(i) + letters(r, r.IntN(1500)) }, func(int) string { return letters(r, r.IntN(5000)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, want, entries := newPlan(t), map[string]string{}, map[string]segment.Value{}
			for i := range c.count {
				key, value := c.key(i), c.value(i)
				want[key], entries[key] = value, segment.Value{Bytes: []byte(value)}
			}
			p.lay(t, c.depth, entries)
			if last := p.data[(p.next-1)*slot:]; c.count > 0 && segment.Kind(last) != c.kind {
				t.Fatalf("segments of kind %d, want %d", segment.Kind(last), c.kind)
			}
			d.finds(t, d.reader(t, p), want)
		})
	}
	t.Run("long and deflated values", func(t *testing.T) { longValues(t, d, r) })
	t.Run("retired", func(t *testing.T) {
		p := newPlan(t)
		p.lay(t, 0, map[string]segment.Value{"k": {Bytes: []byte("v")}})
		reader := d.reader(t, p)
		d.finds(t, reader, map[string]string{"k": "v"})
		p.word(32, 1)
		var f *fault
		if _, err := d.ask(doReaderGet, reader, 0, []byte("k"), nil, nil); !errors.As(err, &f) || f.reason != "Retired" {
			t.Errorf("a retired arena: %v", err)
		}
	})
	t.Run("nonsense", func(t *testing.T) { nonsense(t, d, r) })
	t.Run("packed entries change", func(t *testing.T) {
		changing(t, d, r, segment.Shape{Kind: segment.Packed, Blocks: 30, Length: 64 + 30*256}, 60)
	})
	t.Run("records change", func(t *testing.T) {
		changing(t, d, r, segment.Shape{Kind: segment.Records, Blocks: 200, Length: slot}, 1200)
	})
}

func longValues(t *testing.T, d *driver, r *rand.Rand) {
	p := newPlan(t)
	run := letters(r, 3<<20)
	copy(p.data[region+spillRun:], run)
	where := binary.LittleEndian.AppendUint64(nil, region+spillRun)
	where = binary.LittleEndian.AppendUint32(where, uint32(len(run)))
	where = binary.LittleEndian.AppendUint32(where, 0)
	plain := bytes.Repeat([]byte("gust and "), 3000)
	var deflated bytes.Buffer
	deflated.Write(binary.AppendUvarint(nil, uint64(len(plain))))
	w, err := flate.NewWriter(&deflated, 6)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p.lay(t, 0, map[string]segment.Value{
		"run": {Bytes: where, Flags: 2}, "deflated": {Bytes: deflated.Bytes(), Flags: 1}, "": {Bytes: []byte("no key")}, "no value": {},
	})
	d.finds(t, d.reader(t, p), map[string]string{"run": run, "deflated": string(plain), "": "no key", "no value": ""})
}

// nonsense has the reader look at anything: it may find nothing or give up, but ends.
func nonsense(t *testing.T, d *driver, r *rand.Rand) {
	entries := map[string]segment.Value{}
	for i := range 300 {
		entries[strconv.Itoa(i)] = segment.Value{Bytes: []byte(letters(r, r.IntN(200)))}
	}
	p := newPlan(t)
	p.lay(t, 1, entries)
	reader := d.reader(t, p)
	whole := bytes.Clone(p.data[:5*slot])
	for range 60 {
		copy(p.data, whole)
		for range 1 + r.IntN(400) {
			at := 2*slot + r.IntN(3)*slot + r.IntN(3000)
			p.data[at] = byte(r.Uint32())
		}
		for range 3 {
			_, err := d.ask(doReaderGet, reader, 0, []byte(strconv.Itoa(r.IntN(300))), nil, nil)
			var f *fault
			if errors.As(err, &f) && f.reason != "Busy" {
				t.Fatal(err)
			}
		}
	}
}

// changing has a writer change, move and drop entries while the driver reads.
func changing(t *testing.T, d *driver, r *rand.Rand, shape segment.Shape, longest int) {
	const keys = 100
	p := newPlan(t)
	all := map[string]segment.Value{}
	for i := range keys {
		all[strconv.Itoa(i)] = segment.Value{Bytes: bytes.Repeat([]byte{1}, r.IntN(longest))}
	}
	p.word(descriptor, uint64(p.segment(t, shape, 0, 0, all)))
	reader := d.reader(t, p)
	ended, written := make(chan struct{}), 0
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := byte(2); ; n++ {
			select {
			case <-ended:
				return
			default:
			}
			if err := p.change(r, shape, n, keys, longest); err != nil {
				t.Error(err)
				return
			}
			written++
		}
	})
	answer, err := d.ask(doReaderLook, reader, keys, []byte("2000"), nil, nil)
	close(ended)
	writer.Wait()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("reads, found, given up: %s; %d rounds of the writer", answer, written)
	var reads, found, busy int
	if _, err := fmt.Sscan(string(answer), &reads, &found, &busy); err != nil || reads < 1000 || found < reads/10 || written < 10 {
		t.Errorf("too little happened: %s, %d rounds, %v", answer, written, err)
	}
}

// change changes every key in place, and then has the segment go elsewhere.
func (p *plan) change(r *rand.Rand, shape segment.Shape, n byte, keys, longest int) error {
	at := p.directory().Load()
	seg := p.data[at : at+uint64(shape.Length)]
	number, none := segment.Sequence(seg), func(int, int) {}
	for i := range keys {
		key := strconv.AppendInt(nil, int64(i), 10)
		number.Add(1)
		if r.IntN(10) == 0 {
			segment.Delete(seg, segment.Hash(key), key, none)
		} else { // where it is full, the old value stays or goes
			segment.Put(seg, segment.Hash(key), key, segment.Value{Bytes: bytes.Repeat([]byte{n}, r.IntN(longest))}, none)
		}
		number.Add(1)
	}
	to := 5*slot - at
	other := p.data[to : to+uint64(shape.Length)]
	moved := segment.Sequence(other)
	moved.Store(number.Load() + 101)
	segment.Init(other, shape, namespace, 0, 0)
	if ok, err := segment.Rebuild([][]byte{other}, seg); !ok || err != nil {
		return fmt.Errorf("rebuild: %t, %w", ok, err)
	}
	moved.Add(1)
	p.directory().Store(to)
	number.Add(1)
	for i := range seg[8:] { // what a reader still looks at becomes rubbish
		seg[8+i] = byte(i)
	}
	return nil
}
