// SPDX-License-Identifier: Apache-2.0

// This file has what is measured.

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/table"
)

// holder holds entries, by their numbers.
type holder interface {
	put(i uint64) error
	get(i uint64) (value uint64, found bool, err error) // of values of 8 bytes
	remove(i uint64) error
	outside() (int64, error) // bytes of memory that Pss may not show
	close() error
}

func newHolder(implementation string, l load) (holder, error) {
	switch implementation {
	case "gust":
		return newGust(l)
	case "go-numbers":
		return numberMap{}, nil
	case "go-strings":
		return &stringMap{load: l, entries: map[string]uint64{}, key: make([]byte, 0, longest)}, nil
	}
	return nil, fmt.Errorf("no implementation %q", implementation)
}

// gust is a table in an arena; reads go by the writer's end, as the state server reads, or by a reader's, as everybody else does.
type gust struct {
	load
	arena     *arena.Arena
	table     *table.Table
	view      *arena.View
	reader    *table.Reader
	k, v, dst []byte
}

// capacity is address space for what is measured.
const capacity = 8 << 30

func newGust(l load) (*gust, error) {
	a, err := arena.Create("/dev/shm", capacity)
	if err != nil {
		return nil, err
	}
	space := make([]byte, 3*longest)
	g := &gust{load: l, arena: a, k: space[:0:longest], v: space[longest : longest : 2*longest], dst: space[2*longest : 2*longest : 3*longest]}
	const id = 1
	g.table, err = table.New(a, id, 32, nil)
	if err == nil {
		g.view, err = arena.Map(a.Path(), a.ID())
	}
	if err == nil {
		g.reader, err = table.NewReader(g.view, g.table.Descriptor(), id)
	}
	if err != nil {
		return nil, errors.Join(err, a.Retire(), a.Close())
	}
	return g, nil
}

func (g *gust) put(i uint64) error { return g.table.Put(g.key(g.k, i), g.value(g.v, i)) }

func (g *gust) get(i uint64) (uint64, bool, error) {
	v, found, err := g.table.Get(g.dst, g.key(g.k, i))
	return asNumber(v), found, err
}

func (g *gust) read(i uint64) (uint64, bool, error) {
	v, found, err := g.reader.Get(g.dst, g.key(g.k, i))
	return asNumber(v), found, err
}

func asNumber(v []byte) uint64 {
	if len(v) != 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(v)
}

func (g *gust) remove(i uint64) error { return g.table.Delete(g.key(g.k, i)) }

// outside is the arena: all of it is in memory, also pages that this process has not touched.
func (g *gust) outside() (int64, error) {
	var s unix.Stat_t
	if err := unix.Stat(g.arena.Path(), &s); err != nil {
		return 0, fmt.Errorf("look at the arena: %w", err)
	}
	shared, err := pss("Pss_Shmem:")
	return s.Blocks*512 - shared, err
}

func (g *gust) close() error { return errors.Join(g.view.Close(), g.arena.Retire(), g.arena.Close()) }

// numberMap is Go's map for keys and values of 8 bytes.
type numberMap map[uint64]uint64

func (m numberMap) put(i uint64) error {
	m[scattered(i)] = i
	return nil
}

func (m numberMap) get(i uint64) (uint64, bool, error) {
	v, found := m[scattered(i)]
	return v, found, nil
}

func (m numberMap) remove(i uint64) error {
	delete(m, scattered(i))
	return nil
}

func (m numberMap) outside() (int64, error) { return 0, nil }

func (m numberMap) close() error { return nil }

// stringMap is Go's map for strings.
type stringMap struct {
	load
	entries map[string]uint64
	key     []byte
}

func (m *stringMap) put(i uint64) error {
	m.entries[string(m.load.key(m.key, i))] = i
	return nil
}

func (m *stringMap) get(i uint64) (uint64, bool, error) {
	v, found := m.entries[string(m.load.key(m.key, i))]
	return v, found, nil
}

func (m *stringMap) remove(i uint64) error {
	delete(m.entries, string(m.load.key(m.key, i)))
	return nil
}

func (m *stringMap) outside() (int64, error) { return 0, nil }

func (m *stringMap) close() error { return nil }

// memory is what the process and its holder take, after a collection that gives back all it can.
func memory(h holder) (int64, error) {
	runtime.GC()
	debug.FreeOSMemory()
	own, err := pss("Pss:")
	if err != nil {
		return 0, err
	}
	outside, err := h.outside()
	return own + outside, err
}

// pss is a line of smaps_rollup, in bytes.
func pss(name string) (int64, error) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, fmt.Errorf("look at the memory: %w", err)
	}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && string(fields[0]) == name {
			kilobytes, err := strconv.ParseInt(string(fields[1]), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("smaps_rollup has no line %s", name)
}
