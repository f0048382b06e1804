// SPDX-License-Identifier: Apache-2.0

// This file compares a table with a map.

package table

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/segment"
)

// modeled is a table with the map that it should be.
type modeled struct {
	arena    *arena.Arena
	table    *Table
	options  *Options
	model    map[string]string
	position uint64
}

func content(t *Table) (map[string]string, error) {
	got := map[string]string{}
	var err error
	for key, value := range t.All(&err) {
		if _, twice := got[string(key)]; twice {
			return nil, fmt.Errorf("key %x comes twice", key)
		}
		got[string(key)] = string(value)
	}
	return got, err
}

// check compares everything.
func (m *modeled) check(t *rapid.T, table *Table, want map[string]string) {
	if err := table.Verify(); err != nil {
		t.Fatal(err)
	}
	got, err := content(table)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Fatalf("table has %d entries, want %d:\n%s", len(got), len(want), cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))))
	}
	if s := table.Stats(); s.Entries != uint64(len(want)) {
		t.Fatalf("table counts %d entries, want %d", s.Entries, len(want))
	}
}

// keys and values of many forms.
func aKey() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.Map(rapid.Uint64Range(0, 30_000), number),
		rapid.Map(rapid.IntRange(0, 3000), func(n int) []byte { return fmt.Appendf(nil, "word-%d", n) }),
		rapid.Map(rapid.IntRange(0, 20), func(n int) []byte { return bytes.Repeat([]byte{byte(n)}, n*1000) }),
	)
}

func aValue() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.Map(rapid.Uint64(), number),
		rapid.SliceOfN(rapid.Byte(), 0, 30),
		rapid.Map(rapid.IntRange(0, 5000), func(n int) []byte { return []byte(strings.Repeat("gust ", n)) }),
		rapid.Map(rapid.Custom(func(t *rapid.T) int { return rapid.IntRange(segment.LongValue-2, 200_000).Draw(t, "n") }), noise),
	)
}

// noise is bytes that cannot be made shorter.
func noise(n int) []byte {
	out, x := make([]byte, n), uint64(n)
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = byte(x >> 56)
	}
	return out
}

func (m *modeled) apply(t *rapid.T, b *stateapi.Batch) {
	m.position++
	if err := m.table.Apply(b.Bytes(), m.position); err != nil {
		t.Fatal(err)
	}
	if m.table.Position() != m.position {
		t.Fatalf("position %d, want %d", m.table.Position(), m.position)
	}
	err := stateapi.Operations(b.Bytes(), func(op byte, key, value []byte) error {
		if op == stateapi.OpPut {
			m.model[string(key)] = string(value)
		} else {
			delete(m.model, string(key))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (m *modeled) few(t *rapid.T) {
	var b stateapi.Batch
	for range rapid.IntRange(1, 30).Draw(t, "operations") {
		key := aKey().Draw(t, "key")
		if rapid.IntRange(0, 3).Draw(t, "op") == 0 {
			b.Delete(key)
		} else {
			b.Put(key, aValue().Draw(t, "value"))
		}
	}
	m.apply(t, &b)
}

// many puts or deletes a stretch of keys of one form.
func (m *modeled) many(t *rapid.T) {
	first, count := rapid.IntRange(0, 20_000).Draw(t, "first"), rapid.IntRange(1, 12_000).Draw(t, "count")
	form, remove := rapid.IntRange(0, 2).Draw(t, "form"), rapid.Bool().Draw(t, "remove")
	var b stateapi.Batch
	for n := first; n < first+count; n++ {
		key, value := number(uint64(n)), number(uint64(n*n))
		switch form {
		case 1:
			key, value = fmt.Appendf(nil, "word-%d", n), fmt.Appendf(nil, "%d", n)
		case 2:
			key, value = fmt.Appendf(nil, "a key of twenty-two %d", n), bytes.Repeat([]byte{byte(n)}, n%200)
		}
		if remove {
			b.Delete(key)
		} else {
			b.Put(key, value)
		}
	}
	m.apply(t, &b)
}

func (m *modeled) deleteMost(t *rapid.T) {
	keep := rapid.IntRange(1, 20).Draw(t, "keep one of")
	var b stateapi.Batch
	for i, key := range slices.Sorted(maps.Keys(m.model)) {
		if i%keep != 0 {
			b.Delete([]byte(key))
		}
	}
	m.apply(t, &b)
}

// adopt opens the arena as after a crash between two changes.
func (m *modeled) adopt(t *rapid.T) {
	path, descriptor, bytes := m.arena.Path(), m.table.Descriptor(), m.table.Stats().Bytes
	if err := m.arena.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.arena, err = arena.Adopt(path); err != nil {
		t.Fatal(err)
	}
	if m.table, err = Open(m.arena, descriptor, m.options); err != nil {
		t.Fatal(err)
	}
	if err := m.arena.Sweep(); err != nil {
		t.Fatal(err)
	}
	if got := m.table.Stats().Bytes; got != bytes {
		t.Fatalf("%d bytes after adoption, %d before", got, bytes)
	}
}

// images makes a second table of images, in a random order of shards, and compares.
func (m *modeled) images(t *rapid.T) {
	second, err := New(m.arena, 99, 32, m.options)
	if err != nil {
		t.Fatal(err)
	}
	depth := uint8(rapid.IntRange(0, 5).Draw(t, "shard bits"))
	for hash, more := uint64(0), true; more; {
		image, ok, err := m.table.Image([]byte("before"), hash)
		if err != nil {
			t.Fatal(err)
		}
		s, there := m.table.Segment(hash)
		if there != ok || s != image.Segment || string(image.Bytes[:6]) != "before" {
			t.Fatalf("image is of %+v, segment is %+v", image.Segment, s)
		}
		for shard := uint64(0); ok && shard < 1<<depth; shard++ {
			prefix := uint64(0)
			if depth > 0 {
				prefix = shard << (64 - depth)
			}
			if err := second.InstallIn(image.Bytes[6:], prefix, depth); err != nil {
				t.Fatal(err)
			}
		}
		hash, more = image.Next, image.Next != 0
	}
	m.check(t, second, m.model)
	part := maps.Clone(m.model)
	prefix := rapid.Uint64().Draw(t, "cleared")
	maps.DeleteFunc(part, func(key, _ string) bool { return within(segment.Hash([]byte(key)), prefix, depth) })
	if err := second.Clear(prefix, depth); err != nil {
		t.Fatal(err)
	}
	m.check(t, second, part)
	second.Free()
}

func (m *modeled) get(t *rapid.T) {
	key := aKey().Draw(t, "key")
	got, found, err := m.table.Get([]byte("x"), key)
	want, there := m.model[string(key)]
	if err != nil || found != there || string(got) != "x"+want {
		t.Fatalf("get %q: %d bytes, %t, %v, want %d bytes, %t", key, len(got), found, err, len(want), there)
	}
}

// read compares with what another mapping sees.
func (m *modeled) read(t *rapid.T) {
	v, err := arena.Map(m.arena.Path(), m.arena.ID())
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(v, m.table.Descriptor(), m.table.ID())
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range m.model {
		got, found, err := r.Get(nil, []byte(key))
		if err != nil || !found || string(got) != want {
			t.Fatalf("reader gets %d bytes, %t, %v, want %d", len(got), found, err, len(want))
		}
	}
	if _, found, err := r.Get(nil, []byte("not there")); found || err != nil {
		t.Fatal("reader finds what is not there", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTableIsAMap(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	rapid.Check(t, func(t *rapid.T) {
		a, err := arena.Create(dir, 4*arena.Region)
		if err != nil {
			t.Fatal(err)
		}
		m := &modeled{arena: a, options: &Options{Compress: 1000}, model: map[string]string{}}
		if m.table, err = New(a, 7, 32, m.options); err != nil {
			t.Fatal(err)
		}
		empty := a.InUse()
		t.Repeat(map[string]func(*rapid.T){
			"few": m.few, "many": m.many, "delete most": m.deleteMost, "adopt": m.adopt, "images": m.images, "get": m.get, "read": m.read,
			"": func(t *rapid.T) { m.check(t, m.table, m.model) },
		})
		if err := m.table.Clear(0, 0); err != nil {
			t.Fatal(err)
		}
		if s := m.table.Stats(); s != (Stats{}) || m.arena.InUse() > empty+2*arena.Slot || m.table.long() != 0 {
			t.Fatalf("cleared table has %+v, arena %d bytes, empty %d", s, m.arena.InUse(), empty)
		}
		if err := errors.Join(m.arena.Retire(), m.arena.Close()); err != nil {
			t.Fatal(err)
		}
	})
}
