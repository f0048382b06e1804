// SPDX-License-Identifier: Apache-2.0

package multilang

// This file drives a child in Go, made with the SDK: the test's own binary.

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
)

const goChild = "GUST_TEST_GO_CHILD"

// goSplit splits sentences and reports the tasks that got the words.
type goSplit struct{ pairs *component.StreamOutput }

func (s *goSplit) Prepare(_ *component.Context, out *component.Output) error {
	s.pairs = out.Stream("pair")
	return nil
}

func (s *goSplit) Execute(t *component.Tuple, out *component.Output) error {
	text, err := component.String(t, "a")
	if err != nil {
		return err
	}
	for word := range strings.SplitSeq(text, " ") {
		if err := out.Emit(t, word); err != nil {
			return err
		}
	}
	tasks, err := s.pairs.SendAsk(component.Options{Anchors: []*component.Tuple{t}}, text, len(text))
	if err != nil {
		return err
	}
	out.Log(component.Warn, strings.Repeat("x", len(tasks)))
	out.Ack(t)
	return nil
}

func TestGo(t *testing.T) {
	t.Parallel()
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binary, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			b, cfg := newBed(t, Settings{Format: f}, binary)
			cfg.Env = map[string]string{goChild: "split"}
			cfg.Context = map[string]any{
				"taskid": 5, "componentid": "split", "task->component": map[string]any{"3": "words", "5": "split"},
				"streams":                []any{"default", "empty", "pair"},
				"stream->outputfields":   map[string]any{"default": []any{"a"}, "empty": []any{}, "pair": []any{"a", "b"}},
				"source->stream->fields": map[string]any{"words": map[string]any{"default": []any{"a"}}},
			}
			b.asBolt(cfg)
			sent := b.deliver("the cow", int64(5), "é")
			b.until("answers", func() bool { return len(b.acked) == 2 && len(b.failed) == 1 })
			want := []emitted{
				{Stream: "default", Anchors: []*tuple.Tuple{sent[0]}, Values: []any{"the"}},
				{Stream: "default", Anchors: []*tuple.Tuple{sent[0]}, Values: []any{"cow"}},
				{Stream: "pair", Anchors: []*tuple.Tuple{sent[0]}, Values: []any{"the cow", int32(7)}},
				{Stream: "default", Anchors: []*tuple.Tuple{sent[2]}, Values: []any{"é"}},
				{Stream: "pair", Anchors: []*tuple.Tuple{sent[2]}, Values: []any{"é", int32(2)}},
			}
			if diff := cmp.Diff(want, b.emits); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"3 x", "3 x"}, b.logs); diff != "" {
				t.Error(diff)
			}
			if len(b.reports) != 1 || !strings.Contains(b.reports[0], `field "a" is a int64, not a string`) {
				t.Errorf("reports %q", b.reports)
			}
		})
	}
}
