// SPDX-License-Identifier: Apache-2.0

// Command numbers is a topology that leaves out nothing that the SDK has: a spout of numbers that sends again what fails, a bolt that
// fails, panics and prints, and sinks by fields, by partial key and by task id.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/program"
)

// Count is how many numbers there are.
const Count = 2000

func main() { program.Main(topology()) }

func topology() *component.Topology {
	t := component.NewTopology("numbers").Workers(1).Ackers(1).MaxSpoutPending(100).MessageTimeout(60)
	t.Set("topology.worker.childopts", "-Xmx128m").Set("compat.out", os.Getenv("COMPAT_OUT"))
	t.Spout("numbers", func() component.Spout { return &numbers{} }).Output("n", "values")
	t.Bolt("relay", func() component.Bolt { return &relay{} }).Parallelism(2).Ticks(1).
		From("numbers").Shuffle().
		Output("n", "key").Stream("partial", "key", "n").DirectStream("to", "n")
	t.Bolt("byfields", newSink).Parallelism(2).Ticks(1).From("relay").Fields("key")
	t.Bolt("bypartial", newSink).Parallelism(3).Ticks(1).FromStream("relay", "partial").PartialKey("key")
	// Nothing ever reaches it, so only answers to heartbeats keep it alive.
	t.Bolt("idle", func() component.Bolt { return &idle{} }).Set("topology.subprocess.timeout.secs", 5).FromStream("relay", "to").Direct()
	t.Bolt("direct", newSink).Parallelism(2).Ticks(1).FromStream("relay", "to").Direct()
	return t
}

// note writes what a task saw, whole or not at all.
func note(ctx *component.Context, what any) error {
	dir, _ := ctx.Conf["compat.out"].(string)
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, fmt.Sprintf("%s-%d.json", ctx.Component, ctx.Task))
	if err := os.WriteFile(name+".tmp", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// once says whether something happens for the first time, over all processes.
func once(ctx *component.Context, what string) bool {
	dir, _ := ctx.Conf["compat.out"].(string)
	f, err := os.OpenFile(filepath.Join(dir, what), os.O_CREATE|os.O_EXCL, 0o600)
	return err == nil && f.Close() == nil
}

// numbers emits 0 to Count-1, and again what failed.
type numbers struct {
	ctx   *component.Context
	out   *component.StreamOutput
	next  int64
	again []int64
	acked map[int64]int
	fails int
}

func (s *numbers) Open(ctx *component.Context, out *component.SpoutOutput) error {
	s.ctx, s.out, s.acked = ctx, out.Stream("default"), map[int64]int{}
	out.Log(component.Warn, "numbers are open in "+ctx.Topology)
	return nil
}

// values are of every kind, made from n so that a bolt can check them.
func values(n int64) []any {
	return []any{n, float64(n), float64(n) / 2, n%2 == 0, nil, fmt.Sprint("é\u2028\U0001f98e\n", n), []any{n, "a"}, map[string]any{"n": n}, math.MaxInt64 - n}
}

func (s *numbers) Next(*component.SpoutOutput) error {
	n := s.next
	switch {
	case len(s.again) > 0:
		n, s.again = s.again[0], s.again[1:]
	case n == Count:
		return nil
	default:
		s.next++
	}
	o := component.Options{ID: n}
	if n%3 != 0 {
		return s.out.Send(o, n, values(n))
	}
	tasks, err := s.out.SendAsk(o, n, values(n))
	if err == nil && (len(tasks) != 1 || s.ctx.Tasks[tasks[0]] != "relay") {
		err = fmt.Errorf("number %d went to %v", n, tasks)
	}
	return err
}

func (s *numbers) Ack(id any) {
	n, _ := id.(int64)
	s.acked[n]++
	if len(s.acked) == Count {
		_ = note(s.ctx, map[string]any{"acked": s.acked, "fails": s.fails}) // the test misses it
	}
}

func (s *numbers) Fail(id any) {
	n, _ := id.(int64)
	s.again = append(s.again, n)
	s.fails++
}

// relay passes numbers on to all sinks.
type relay struct {
	ctx         *component.Context
	partial, to *component.StreamOutput
	direct      []int32
	failed      map[int64]bool
	ticks       int
}

func (b *relay) Prepare(ctx *component.Context, out *component.Output) error {
	b.ctx, b.partial, b.to, b.failed = ctx, out.Stream("partial"), out.Stream("to"), map[int64]bool{}
	for task, id := range ctx.Tasks {
		if id == "direct" {
			b.direct = append(b.direct, task)
		}
	}
	slices.Sort(b.direct)
	return nil
}

func (b *relay) Execute(t *component.Tuple, out *component.Output) error {
	if t.IsTick() {
		b.ticks++
		return note(b.ctx, map[string]any{"ticks": b.ticks})
	}
	fmt.Println("end\n{this is not for the parent}\nend") //nolint:forbidigo // that it does no harm is tested
	n, err := component.Int(t, "n")
	if err != nil {
		return err
	}
	if n == 1000 && once(b.ctx, "panicked") {
		panic("number 1000")
	}
	if n%7 == 0 && !b.failed[n] {
		b.failed[n] = true
		if n == 7 { // Storm shows few errors at a time, so the others go quietly
			return errors.New("number 7 is not liked")
		}
		out.Fail(t)
		return nil
	}
	if n == 1500 {
		out.Report(errors.New("number 1500 is remarkable"))
	}
	got, err := component.List(t, "values")
	if err != nil {
		return err
	}
	if want := values(n); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		_ = note(b.ctx, map[string]any{"wrong": fmt.Sprintf("%#v, not %#v", got, want)}) // the test misses other notes
		return errors.New("values changed")
	}
	key := strings.Repeat("k", int(n%10))
	if err := out.Emit(t, n, key); err != nil {
		return err
	}
	if err := b.partial.Send(component.Options{Anchors: []*component.Tuple{t}}, key, n); err != nil {
		return err
	}
	if len(b.direct) > 0 {
		if err := b.to.SendDirect(b.direct[n%2], component.Options{Anchors: []*component.Tuple{t}}, n); err != nil {
			return err
		}
	}
	out.Ack(t)
	return nil
}

// idle writes down that it was prepared.
type idle struct{}

func (idle) Prepare(ctx *component.Context, _ *component.Output) error { return note(ctx, "prepared") }

func (idle) Execute(*component.Tuple, *component.Output) error {
	return errors.New("a tuple for nobody")
}

// sink writes down its numbers with their keys at each tick.
type sink struct {
	component.Bolt

	ctx  *component.Context
	seen map[int64]string
}

func newSink() component.Bolt {
	s := &sink{seen: map[int64]string{}}
	s.Bolt = component.Basic(func(t *component.Tuple, _ *component.BasicOutput) error {
		if t.IsTick() {
			return note(s.ctx, s.seen)
		}
		n, err := component.Int(t, "n")
		if err != nil {
			return err
		}
		key, _ := t.Value("key")
		s.seen[n] = fmt.Sprint(key)
		return nil
	})
	return s
}

func (s *sink) Prepare(ctx *component.Context, _ *component.Output) error {
	s.ctx = ctx
	if dir, _ := ctx.Conf["compat.out"].(string); dir == "" {
		return fs.ErrInvalid
	}
	return nil
}
