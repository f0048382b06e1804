// SPDX-License-Identifier: Apache-2.0

// This file measures tables against Go's maps.

package table

import (
	"encoding/binary"
	"testing"

	"github.com/gust-stream/gust/stateapi"
)

const benchEntries = 4_000_000

// scattered is one of the keys, all over the table.
func scattered(i uint64) uint64 { return i * 0x9E3779B97F4A7C15 >> 20 % benchEntries }

func BenchmarkGet(b *testing.B) {
	table := newTable1(b)
	fill(b, table, 0, benchEntries)
	var key [8]byte
	var dst []byte
	b.Run("Table", func(b *testing.B) {
		for i := range uint64(b.N) {
			binary.LittleEndian.PutUint64(key[:], scattered(i))
			dst, _, _ = table.Get(dst[:0], key[:])
		}
	})
	r := reader(b, table)
	b.Run("Reader", func(b *testing.B) {
		for i := range uint64(b.N) {
			binary.LittleEndian.PutUint64(key[:], scattered(i))
			dst, _, _ = r.Get(dst[:0], key[:])
		}
	})
	b.Run("Map", func(b *testing.B) {
		m := map[uint64]uint64{}
		for i := range uint64(benchEntries) {
			m[i] = ^i
		}
		b.ResetTimer()
		for i := range uint64(b.N) {
			dst = binary.LittleEndian.AppendUint64(dst[:0], m[scattered(i)])
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	table := newTable1(b)
	fill(b, table, 0, benchEntries)
	b.Run("Apply", func(b *testing.B) {
		var batch stateapi.Batch
		var key, value [8]byte
		for i := range uint64(b.N) {
			binary.LittleEndian.PutUint64(key[:], scattered(i))
			binary.LittleEndian.PutUint64(value[:], i)
			if batch.Put(key[:], value[:]); batch.Len() == 4096 {
				if err := table.Apply(batch.Bytes(), i); err != nil {
					b.Fatal(err)
				}
				batch.Reset()
			}
		}
	})
	b.Run("Put", func(b *testing.B) {
		var key, value [8]byte
		for i := range uint64(b.N) {
			binary.LittleEndian.PutUint64(key[:], scattered(i))
			binary.LittleEndian.PutUint64(value[:], i)
			if err := table.Put(key[:], value[:]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Map", func(b *testing.B) {
		m := map[uint64]uint64{}
		for i := range uint64(benchEntries) {
			m[i] = ^i
		}
		b.ResetTimer()
		for i := range uint64(b.N) {
			m[scattered(i)] = i
		}
	})
}

// BenchmarkInsert is for each of 4 million entries in an empty table.
func BenchmarkInsert(b *testing.B) {
	b.Run("Apply", func(b *testing.B) {
		for range b.N {
			table := newTable1(b)
			fill(b, table, 0, benchEntries)
			b.ReportMetric(float64(table.arena.InUse())/benchEntries, "bytes/entry")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEntries, "ns/entry")
		}
	})
	b.Run("Map", func(b *testing.B) {
		for range b.N {
			m := map[uint64]uint64{}
			for i := range uint64(benchEntries) {
				m[i] = ^i
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEntries, "ns/entry")
		}
	})
}
