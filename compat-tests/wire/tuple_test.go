// SPDX-License-Identifier: Apache-2.0

package wire

// This file asks Storm's serializers of tuples: header, anchors and values.

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/tuple"
)

// sourcesOf makes the table of the driver's topology.
func sourcesOf(t *testing.T) *frame.Sources {
	t.Helper()
	tasks, streams := map[int32]string{}, map[string]map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(ask(t, []string{"streams x"})[0].text, ";"), ";") {
		parts := strings.Split(line, ":")
		task, err := strconv.ParseInt(parts[0], 10, 32)
		if err != nil || len(parts) != 4 {
			t.Fatalf("stream %q: %v", line, err)
		}
		tasks[int32(task)] = parts[1]
		if streams[parts[1]] == nil {
			streams[parts[1]] = map[string][]string{}
		}
		streams[parts[1]][parts[2]] = strings.FieldsFunc(parts[3], func(r rune) bool { return r == ',' })
	}
	return frame.NewSources(tasks, streams)
}

func tupleText(tu *tuple.Tuple) string {
	anchors := map[any]any{}
	values := tu.Values
	if n := frame.TreeValues(tu); n > 0 {
		values = []any{tu.Anchor.Root, tu.Anchor.Edge, int32(tu.Children)}[:n]
	} else if tu.Tracked() {
		for _, a := range append([]tuple.Anchor{tu.Anchor}, tu.More...) {
			anchors[a.Root] = a.Edge
		}
	}
	return fmt.Sprintf("tuple %s %d %s %s %s", tu.Component, tu.Task, tu.Stream, text(anchors), text(values))
}

// TestTuplesReadCompat reads what Storm writes, and writes the same bytes again.
func TestTuplesReadCompat(t *testing.T) {
	sources := sourcesOf(t)
	questions := make([]string, 0, many)
	for i := range many {
		questions = append(questions, fmt.Sprintf("randomtuple %d", i))
	}
	tuples := frame.NewTuples(sources, nil)
	for i, a := range ask(t, questions) {
		if a.thrown != "" {
			t.Fatalf("%s: %s", questions[i], a.thrown)
		}
		b, err := hex.DecodeString(a.bytes)
		if err != nil {
			t.Fatal(err)
		}
		tu, err := tuples.Read(b)
		if err != nil {
			t.Fatalf("%s: %s: %v", questions[i], a.text, err)
		}
		if got := tupleText(tu); got != a.text {
			t.Fatalf("%s:\n java %s\n gust %s", questions[i], a.text, got)
		}
		again, err := frame.AppendTuple(nil, 1, tu)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(again[6:]); largestMap(tu.Values) <= 1 && got != a.bytes {
			t.Fatalf("%s:\n java %s\n gust %s", questions[i], a.bytes, got)
		}
	}
}

// TestTuplesWriteCompat has Storm read what gust writes, and write it again.
func TestTuplesWriteCompat(t *testing.T) {
	sources := sourcesOf(t)
	random := rand.New(rand.NewPCG(3, 4))
	var questions, want []string
	for range many {
		var src *tuple.Source
		var trees bool
		for src == nil {
			src, trees = sources.At([]int32{-1, 1, 2, 3, 4, 5}[random.IntN(6)], random.Uint32N(8))
		}
		tu := &tuple.Tuple{Source: src}
		if trees {
			tu.Anchor, tu.Children = tuple.Anchor{Root: int64(random.Uint64()), Edge: int64(random.Uint64()) >> 40}, int64(random.Int32())
		}
		for range len(src.Fields) {
			if trees {
				break
			}
			tu.Values = append(tu.Values, anyValue(random, 2, random.IntN(15)))
		}
		if !trees && random.IntN(3) > 0 {
			tu.Anchor = tuple.Anchor{Root: random.Int64(), Edge: int64(random.Uint64())}
			for range random.IntN(3) {
				tu.More = append(tu.More, tuple.Anchor{Root: -random.Int64(), Edge: int64(random.Uint64())})
			}
		}
		b, err := frame.AppendTuple(nil, 1, tu)
		if err != nil {
			t.Fatal(err)
		}
		questions = append(questions, "tuple "+hex.EncodeToString(b[6:]))
		want = append(want, tupleText(tu))
	}
	for i, a := range ask(t, questions) {
		if a.thrown != "" || a.text != want[i] {
			t.Fatalf("%s:\n gust %s\n java %s %s", questions[i], want[i], a.text, a.thrown)
		}
	}
}
