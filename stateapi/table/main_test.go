// SPDX-License-Identifier: Apache-2.0

// This file has what the tests of tables share.

package table

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// memoryDir is a new directory on tmpfs.
func memoryDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "gust-table-test-") //nolint:usetesting // on tmpfs
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

func newArena(tb testing.TB) *arena.Arena {
	tb.Helper()
	a, err := arena.Create(memoryDir(tb), 64<<30)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(a.Retire(), a.Close()); err != nil {
			tb.Error(err)
		}
	})
	return a
}

func newTable1(tb testing.TB) *Table {
	tb.Helper()
	table, err := New(newArena(tb), rand.Uint64()|1, 32, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return table
}

func reader(tb testing.TB, table *Table) *Reader {
	tb.Helper()
	v, err := arena.Map(table.arena.Path(), table.arena.ID())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := v.Close(); err != nil {
			tb.Error(err)
		}
	})
	r, err := NewReader(v, table.Descriptor(), table.ID())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// fill puts numbers from first on with their negation as value.
func fill(tb testing.TB, table *Table, first, count uint64) {
	tb.Helper()
	var b stateapi.Batch
	for n := first; n < first+count; n++ {
		b.Put(number(n), number(^n))
		if b.Len() == 1000 || n == first+count-1 {
			if err := table.Apply(b.Bytes(), n); err != nil {
				tb.Fatal(err)
			}
			b.Reset()
		}
	}
}
