// SPDX-License-Identifier: Apache-2.0

package componenttest_test

// This file tests the harness with components that do everything, rightly and wrongly.

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/multilang/component/componenttest"
	"github.com/gust-stream/gust/tuple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bolt is made of functions.
type bolt struct {
	execute func(t *component.Tuple, out *component.Output) error
	prepare func(ctx *component.Context, out *component.Output) error
}

func (b *bolt) Execute(t *component.Tuple, out *component.Output) error { return b.execute(t, out) }
func (b *bolt) Close() error                                            { return errors.New("closed badly") }

func (b *bolt) Prepare(ctx *component.Context, out *component.Output) error {
	if b.prepare == nil {
		return nil
	}
	return b.prepare(ctx, out)
}

func TestBoltThatBatches(t *testing.T) {
	t.Parallel()
	var held []*component.Tuple
	b := componenttest.NewBolt(t, &bolt{execute: func(in *component.Tuple, out *component.Output) error {
		if !in.IsTick() {
			held = append(held, in)
			return nil
		}
		out.Metric("held", len(held))
		tasks, err := out.Stream("batches").SendAsk(component.Options{Anchors: held}, len(held))
		out.Log(component.Info, fmt.Sprint(tasks))
		for _, t := range held {
			out.Ack(t)
			out.Ack(t)
			out.Fail(t) // is too late
		}
		return err
	}}, componenttest.Options{Streams: map[string][]string{"batches": {"n"}}, Targets: []int32{4, 5}})
	in := b.Input("source", "word")
	first, second := in.Send("a"), in.Send("b")
	if first.Acked || first.Failed || len(first.Emitted) > 0 {
		t.Errorf("the first tuple: %+v", first)
	}
	tick := b.Tick()
	want := &componenttest.Step{
		Emitted: []componenttest.Emitted{{Stream: "batches", Values: []any{2}, Anchors: []*component.Tuple{first.Tuple, second.Tuple}}},
		Logs:    []string{"[4 5]"}, Metrics: []componenttest.Metric{{Name: "held", Value: 2}},
	}
	if diff := cmp.Diff(want, &tick.Step); diff != "" {
		t.Errorf("the tick (-want +got):\n%s", diff)
	}
	if !first.Acked || first.Failed || !second.Acked {
		t.Error("the tuples are not acked")
	}
	if errs := b.Close().Errors; len(errs) != 1 || errs[0].Error() != "closed badly" {
		t.Errorf("close: %v", errs)
	}
}

func TestPipeChangesTypes(t *testing.T) {
	t.Parallel()
	b := componenttest.NewBolt(t, component.Basic(func(in *component.Tuple, out *component.BasicOutput) error {
		n, err := component.Get[int64](in, "n")
		if err != nil {
			return err
		}
		return out.Emit(int32(n), []byte("x"))
	}), componenttest.Options{Output: []string{"n", "bytes"}, Pipe: true})
	sent := b.Input("source", "n").Send(7)
	if diff := cmp.Diff([][]any{{int64(7), "eA=="}}, sent.Values()); diff != "" || !sent.Acked {
		t.Errorf("acked %v, emitted (-want +got):\n%s", sent.Acked, diff)
	}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for want, use := range map[string]func(in *component.Tuple, out *component.Output) error{
		"1 values for the fields": func(in *component.Tuple, out *component.Output) error { return out.Emit(in, 1) },
		"declares no such stream": func(in *component.Tuple, out *component.Output) error { return out.EmitOn("x", in, 1) },
		"it is direct":            func(in *component.Tuple, out *component.Output) error { return out.EmitOn("to", in, 1) },
		"it is not direct": func(_ *component.Tuple, out *component.Output) error {
			return out.Stream("default").SendDirect(3, component.Options{}, 1, 2)
		},
		"acked or failed already": func(in *component.Tuple, out *component.Output) error {
			out.Ack(in)
			return out.Emit(in, 1, 2)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			o := componenttest.Options{Output: []string{"a", "b"}, Streams: map[string][]string{"to": {"a"}}, Direct: []string{"to"}}
			sent := componenttest.NewBolt(t, &bolt{execute: use}, o).InputOf(tuple.Source{Component: "c", Stream: "s", Task: 7, Fields: []string{"f"}}).Send(nil)
			if len(sent.Errors) != 1 || !strings.Contains(sent.Errors[0].Error(), want) || len(sent.Emitted) > 0 || !sent.Failed && !sent.Acked {
				t.Errorf("got %+v", sent)
			}
		})
	}
}

// spout counts, and tells what it is told.
type spout struct {
	next int
	told []string
}

func (s *spout) Open(ctx *component.Context, out *component.SpoutOutput) error {
	out.Log(component.Info, fmt.Sprint(ctx.Component, ctx.Task, ctx.Conf["key"]))
	return nil
}

func (s *spout) Next(out *component.SpoutOutput) error {
	if s.next == 1 {
		return errors.New("no more")
	}
	s.next++
	return out.Emit(s.next, "v")
}

func (s *spout) Ack(id any)  { s.told = append(s.told, fmt.Sprintf("ack %v", id)) }
func (s *spout) Fail(id any) { s.told = append(s.told, fmt.Sprintf("fail %v", id)) }
func (s *spout) Activate()   { s.told = append(s.told, "activate") }
func (s *spout) Deactivate() { s.told = append(s.told, "deactivate") }

func TestSpout(t *testing.T) {
	t.Parallel()
	s := &spout{}
	o := componenttest.Options{Output: []string{"v"}, Component: "in", Task: 3, Conf: map[string]any{"key": "value"}}
	under := componenttest.NewSpout(t, s, o)
	if diff := cmp.Diff([]string{"in3value"}, under.Opened.Logs); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	under.Activate()
	got := under.Next()
	if diff := cmp.Diff([]componenttest.Emitted{{Stream: "default", Values: []any{"v"}, ID: 1}}, got.Emitted); diff != "" {
		t.Errorf("next (-want +got):\n%s", diff)
	}
	under.Fail(got.Emitted[0].ID)
	under.Ack(got.Emitted[0].ID)
	under.Deactivate()
	if errs := under.Next().Errors; len(errs) != 1 {
		t.Errorf("errors %v", errs)
	}
	under.Close()
	if diff := cmp.Diff([]string{"activate", "fail 1", "ack 1", "deactivate"}, s.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
