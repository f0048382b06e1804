// SPDX-License-Identifier: Apache-2.0

package grouping

// Benchmarks: the time of one choice.

import (
	"strings"
	"testing"

	"github.com/gust-stream/gust/thrift/storm"
)

func BenchmarkChoose(b *testing.B) {
	tasks := []int32{3, 4, 5, 6, 7, 8, 9}
	context := Context{Fields: []string{"a", "b", "c"}, Tasks: tasks}
	null := &storm.NullStruct{}
	for _, one := range []struct {
		name   string
		spec   *storm.Grouping
		values []any
	}{
		{"FieldsWord", &storm.Grouping{Fields: []string{"a"}}, []any{"sentence", nil, nil}},
		{"FieldsLong", &storm.Grouping{Fields: []string{"a"}}, []any{int64(1 << 40), nil, nil}},
		{"FieldsThree", &storm.Grouping{Fields: []string{"a", "b", "c"}}, []any{"word", int64(7), true}},
		{"FieldsText1k", &storm.Grouping{Fields: []string{"a"}}, []any{strings.Repeat("abcdefgh", 128), nil, nil}},
		{"FieldsGreek", &storm.Grouping{Fields: []string{"a"}}, []any{"αβγδεζηθ", nil, nil}},
		{"FieldsMap", &storm.Grouping{Fields: []string{"a"}}, []any{map[string]any{"k": int64(1), "l": "m"}, nil, nil}},
		{"Shuffle", &storm.Grouping{Shuffle: null}, []any{1, 2, 3}},
		{"None", &storm.Grouping{None: null}, []any{1, 2, 3}},
		{"All7", &storm.Grouping{All: null}, []any{1, 2, 3}},
		{"Global", &storm.Grouping{Fields: []string{}}, []any{1, 2, 3}},
	} {
		b.Run(one.name, func(b *testing.B) {
			g, err := New(one.spec, context)
			if err != nil {
				b.Fatal(err)
			}
			benchmark(b, g, one.values)
		})
	}
	b.Run("PartialKey", func(b *testing.B) { benchmark(b, newPartial([]int{0}, tasks), []any{"sentence"}) })
	b.Run("PartialText", func(b *testing.B) { benchmark(b, newPartial(nil, tasks), []any{"sentence"}) })
}

func benchmark(b *testing.B, g Grouping, values []any) {
	b.Helper()
	into := make([]int32, 0, 16)
	b.ReportAllocs()
	for b.Loop() {
		into = g.Choose(values, into[:0])
	}
}

func BenchmarkRefresh(b *testing.B) {
	g, err := New(&storm.Grouping{Shuffle: &storm.NullStruct{}}, Context{Tasks: []int32{3, 4, 5, 6, 7, 8, 9}, HigherBound: 0.8, LowerBound: 0.2})
	if err != nil {
		b.Fatal(err)
	}
	load := Load{3: 0.1, 4: 0.5, 5: 0, 6: 0.07, 7: 0, 8: 0.3, 9: 0.9}
	b.ReportAllocs()
	for b.Loop() {
		g.(Refresher).Refresh(load, nil) //nolint:errcheck // it is one
	}
}
