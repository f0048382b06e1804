// SPDX-License-Identifier: Apache-2.0

package multilang

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/tuple"
)

func (r *runner) values() []any {
	var out []any
	for _, e := range r.emits {
		out = append(out, e.Values...)
	}
	return out
}

func TestStormPySplit(t *testing.T) {
	t.Parallel()
	b := startBolt(t, Settings{}, python(t), script(t, "split.py"))
	sent := b.deliver("the cow", "jumped over", "the moon")
	b.until("acks", func() bool { return len(b.acked) == 3 })
	if diff := cmp.Diff([]any{"the", "cow", "jumped", "over", "the", "moon"}, b.values()); diff != "" {
		t.Error(diff)
	}
	for i, e := range b.emits {
		if len(e.Anchors) != 1 || e.Anchors[0] != sent[i/2] {
			t.Errorf("word %d is anchored on %v", i, e.Anchors)
		}
	}
	if b.bolt.Held() != 0 || len(b.bolt.Outstanding()) != 0 {
		t.Error("tuples are held after their acks")
	}
}

func TestStormPyTalks(t *testing.T) {
	t.Parallel()
	b := startBolt(t, Settings{}, python(t), script(t, "talks.py"))
	sent := b.deliver("levels", "error", "metric", "keep", "join")
	b.until("acks", func() bool { return len(b.acked) == 4 && len(b.failed) == 1 })
	if diff := cmp.Diff([]string{"0 t", "1 d", "2 i", "3 w", "4 e", "2 x"}, b.logs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Shell Process Exception: went wrong"}, b.reports); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"seen": map[string]any{"count": int64(3)}}, b.metrics); diff != "" {
		t.Error(diff)
	}
	if b.failed[0] != sent[1] || !slices.Equal(b.acked, []*tuple.Tuple{sent[0], sent[2], sent[3], sent[4]}) {
		t.Errorf("acked %v, failed %v", b.acked, b.failed)
	}
	want := []emitted{
		{Stream: "pair", Anchors: []*tuple.Tuple{sent[3], sent[4]}, Values: []any{"keep", "join"}},
		{Stream: "default", Task: 8, Anchors: []*tuple.Tuple{sent[4]}, Values: []any{"direct"}},
	}
	if diff := cmp.Diff(want, b.emits); diff != "" {
		t.Error(diff)
	}
}

func TestStormPyTick(t *testing.T) {
	t.Parallel()
	b := startBolt(t, Settings{}, python(t), script(t, "talks.py"))
	b.source = &tuple.Source{Component: tuple.SystemComponent, Stream: tuple.TickStream, Task: -1, Fields: []string{"rate_secs"}}
	b.deliver(int32(5))
	b.until("the tick's ack", func() bool { return len(b.acked) == 1 })
	if diff := cmp.Diff([]string{"2 tick from __system, task -1, [5]"}, b.logs); diff != "" {
		t.Error(diff)
	}
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	settings, err := ParseSettings(map[string]any{"gust.multilang.log.level": "warn"})
	if err != nil {
		t.Fatal(err)
	}
	b := startBolt(t, settings, python(t), script(t, "talks.py"))
	b.deliver("levels")
	b.until("the ack", func() bool { return len(b.acked) == 1 })
	if diff := cmp.Diff([]string{"3 w", "4 e"}, b.logs); diff != "" {
		t.Error(diff)
	}
}

// TestStormPyEnds has what ends a bolt: the error has to say why.
func TestStormPyEnds(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"raise":          "the child ended (exit code 0)",
		"twice":          "does not follow the multilang protocol: it acked id \"",
		"unknown stream": `it emitted on stream "nowhere", which the component does not declare`,
		"too many":       `emit on stream "default": 2 values for 1 fields`,
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			b := startBolt(t, Settings{}, python(t), script(t, "talks.py"))
			sent := b.deliver(word)
			text := b.end().Error()
			if !strings.Contains(text, want) || !strings.Contains(text, "component split, task 5, command [") {
				t.Errorf("%s", text)
			}
			if word == "raise" {
				if len(b.reports) != 1 || !strings.Contains(b.reports[0], "ValueError: on purpose") {
					t.Errorf("reports %v", b.reports)
				}
			}
			if word != "twice" && !slices.Equal(b.bolt.Outstanding(), sent) {
				t.Error("the tuple is not outstanding")
			}
			if word == "twice" && len(b.acked) != 1 {
				t.Errorf("acked %v", b.acked)
			}
		})
	}
}

func TestStormPySpout(t *testing.T) {
	t.Parallel()
	b := startSpout(t, Settings{}, python(t), script(t, "words.py"))
	b.spout.Next() // too early: left out
	b.spout.Activate()
	for range 4 {
		b.until("the answer", b.spout.Ready)
		b.spout.Next()
		if b.spout.Ready() {
			t.Error("ready before the answer")
		}
	}
	b.until("the answer", b.spout.Ready)
	if b.spout.Emitted() != 0 {
		t.Errorf("%d emits where there was nothing", b.spout.Emitted())
	}
	b.spout.Ack(int64(1))
	b.spout.Fail("direct")
	b.spout.Next() // not ready: left out
	b.spout.Deactivate()
	b.until("the answers", b.spout.Ready)
	want := []emitted{
		{Stream: "default", ID: int64(1), Values: []any{"word1"}},
		{Stream: "pair", Task: 9, ID: "direct", Values: []any{int32(1), []any{int32(8)}}},
		{Stream: "default", ID: int64(2), Values: []any{"word2"}},
		{Stream: "pair", Task: 9, ID: "direct", Values: []any{int32(2), []any{int32(7)}}},
		{Stream: "default", ID: int64(3), Values: []any{"word3"}},
		{Stream: "pair", Task: 9, ID: "direct", Values: []any{int32(3), []any{int32(8)}}},
	}
	if diff := cmp.Diff(want, b.emits); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"2 task 5 of split", "1 activated", "2 acked 1", "4 failed 'direct'", "3 deactivated"}, b.logs); diff != "" {
		t.Error(diff)
	}
}
