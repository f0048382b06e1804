// SPDX-License-Identifier: Apache-2.0

package executor_test

// This file runs a topology in two engines, as two workers do, with a link made of function calls between them.

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/executor"
	"github.com/gust-stream/gust/worker/grouping"
)

// link is the way to the other worker. It loses what it is told to.
type link struct {
	to      *executor.Engine
	lose    func() bool
	mu      sync.Mutex
	blocked map[int32]bool // guarded by mu
	from    *executor.Engine
}

func (l *link) Send(batch []tuple.Message) {
	kept := make([]tuple.Message, 0, len(batch))
	for _, m := range batch {
		if l.lose() {
			continue
		}
		over := *m.Tuple // as if it had been written and read
		kept = append(kept, tuple.Message{Task: m.Task, Tuple: &over})
	}
	l.to.Deliver(kept)
}

func (l *link) Blocked(task int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.blocked[task]
}

func (*link) Load(int32) (float64, bool) { return 0.5, true }

func (l *link) set(task int32, blocked bool) {
	l.mu.Lock()
	l.blocked[task] = blocked
	l.mu.Unlock()
	l.from.Wake()
}

// pair runs the executors of a topology in turns in one engine and the other.
type pair struct {
	t      *testing.T
	errors book
	one    [2]*executor.Engine
}

func newPair(t *testing.T, top *component.Topology, lose func() bool) *pair {
	t.Helper()
	p := &pair{t: t}
	user, err := top.Storm()
	if err != nil {
		t.Fatal(err)
	}
	conf, err := config.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	conf = config.Merge(conf, config.Normalize(top.Conf()))
	if user, err = topology.Normalize(conf, user); err != nil {
		t.Fatal(err)
	}
	system, err := topology.System(conf, user)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := topology.TasksOf(system)
	if err != nil {
		t.Fatal(err)
	}
	var shares [2][][2]int32
	for i, e := range topology.Executors(tasks, topology.ComponentExecutors(system)) {
		shares[i%2] = append(shares[i%2], [2]int32{e.Start, e.End})
	}
	links := [2]*link{{lose: lose, blocked: map[int32]bool{}}, {lose: lose, blocked: map[int32]bool{}}}
	places := &grouping.Places{Here: grouping.Place{Node: "here", Port: 1}, Tasks: map[int32]grouping.Place{}, Racks: map[string]string{"here": "rack"}}
	for i := range tasks {
		places.Tasks[int32(i+1)] = places.Here
	}
	for i := range p.one {
		p.one[i], err = executor.New(executor.Config{
			TopologyID: "pair", Conf: conf, Topology: system, Tasks: tasks, Executors: shares[i], Registry: top, Remote: links[i],
			Blocked: links[1-i].set,
			Report:  func(id string, _ int32, err error) { p.errors.add("%s: %v", id, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		p.one[i].SetPlaces(places)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range p.one {
		links[i].to, links[i].from = p.one[1-i], p.one[i]
	}
	for _, e := range p.one {
		e.SetActive(true)
		all.Go(func() {
			if err := e.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	return p
}

func (p *pair) counts(id string) (sum executor.Counts) {
	for _, e := range p.one {
		c := e.Counts()[id]
		sum.Executed += c.Executed
		sum.Acked += c.Acked
		sum.Failed += c.Failed
	}
	return sum
}

// TestTwoWorkers loses some of what goes between them, trees included, and has a bolt that is slow enough to need back-pressure.
func TestTwoWorkers(t *testing.T) {
	t.Parallel()
	const n = 4000
	var acked atomic.Int64
	top := small("two").Ackers(2).MessageTimeout(2)
	top.Spout("spout", numbers(n, func(int) { acked.Add(1) })).Output("n")
	top.Bolt("split", func() component.Bolt {
		return component.Basic(func(t *component.Tuple, out *component.BasicOutput) error {
			if rand.IntN(200) == 0 {
				return errors.New("no luck")
			}
			for range 3 {
				if err := out.Emit(t.Values...); err != nil {
					return err
				}
			}
			return nil
		})
	}).From("spout").Shuffle().Parallelism(3).Output("n")
	top.Bolt("end", acks(nothing)).From("split").Fields("n").Parallelism(3)
	p := newPair(t, top, func() bool { return rand.IntN(2000) == 0 })
	b := &bed{t: t, limit: patience, Engine: p.one[0]}
	b.eventually("all are acked", func() bool { return acked.Load() == n })
	if c := p.counts("spout"); c.Failed == 0 {
		t.Errorf("nothing failed: %+v", c)
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	var failed, acked atomic.Int64
	got := make(chan *component.Tuple, 1)
	top := component.NewTopology("refuse").Ackers(2)
	top.Spout("spout", func() component.Spout {
		once := false
		return &spout{
			next: func(out *component.SpoutOutput) error {
				if once {
					return nil
				}
				once = true
				return out.Emit("id", 1)
			},
			fail: func(any) { failed.Add(1) },
			ack:  func(any) { acked.Add(1) },
		}
	}).Output("n")
	top.Bolt("bolt", func() component.Bolt {
		return &bolt{execute: func(t *component.Tuple, _ *component.Output) error {
			got <- t
			return nil
		}}
	}).From("spout").Shuffle()
	p := newPair(t, top, func() bool { return false })
	b := &bed{t: t, limit: patience, Engine: p.one[0]}
	refused := <-got
	for _, e := range p.one { // only one of them has the task
		e.Refuse(refused.Task, []tuple.Anchor{refused.Anchor}, errors.New("a value that nobody can write"))
	}
	b.eventually("the spout hears of it", func() bool { return failed.Load() == 1 })
	if all := p.errors.all(); len(all) != 1 || all[0] != "spout: a value that nobody can write" {
		t.Errorf("errors %q", all)
	}
}

// TestDeliverAtTheLimit delivers more than a queue takes to a bolt that hangs: each tuple that is not taken fails.
func TestDeliverAtTheLimit(t *testing.T) {
	t.Parallel()
	const n, room = 500, 100
	hang := make(chan struct{})
	top := component.NewTopology("limit").Ackers(1).
		Set("topology.executor.receive.buffer.size", room/2).Set("topology.executor.overflow.limit", room/2)
	top.Spout("spout", numbers(0, func(int) {})).Output("n")
	top.Bolt("bolt", acks(func(*component.Tuple, *component.Output) { <-hang })).From("spout").Shuffle()
	b := start(t, top)
	defer close(hang)
	source := &tuple.Source{Component: "spout", Stream: "default", Task: 3, Fields: []string{"n"}}
	for i := range n {
		b.Deliver([]tuple.Message{{Task: 2, Tuple: &tuple.Tuple{Source: source, Values: []any{i}, Anchor: tuple.Anchor{Root: int64(i + 1), Edge: 5}}}})
	}
	b.eventually("what is too much fails", func() bool { return b.Counts()[tuple.AckerComponent].Executed == n-room })
	if all := b.errors.all(); len(all) != 1 || !strings.Contains(all[0], "bolt: tuples for task 2 are dropped") {
		t.Errorf("errors %q", all)
	}
}

// TestNonsenseFromPeers delivers what no worker sends.
func TestNonsenseFromPeers(t *testing.T) {
	t.Parallel()
	var acked atomic.Int64
	top := component.NewTopology("nonsense").Ackers(1)
	top.Spout("spout", numbers(100, func(int) { acked.Add(1) })).Output("n")
	top.Bolt("bolt", acks(nothing)).From("spout").Shuffle()
	b := start(t, top)
	source := func(stream string) *tuple.Source { return &tuple.Source{Component: "spout", Stream: stream, Task: 3} }
	for task := int32(-2); task < 6; task++ {
		for _, stream := range []string{"__ack_init", "__ack_ack", "__ack_fail", "__ack_reset_timeout", "default"} {
			for _, values := range [][]any{nil, {}, {int64(7)}, {"x", 1, nil}, {int64(7), int64(0), int64(99)}, {int64(8), int64(0), int32(-5)}} {
				b.Deliver([]tuple.Message{{Task: task, Tuple: &tuple.Tuple{Source: source(stream), Values: values}}})
			}
		}
	}
	b.eventually("all are acked", func() bool { return acked.Load() == 100 })
}

func TestImpossibleTopologies(t *testing.T) {
	t.Parallel()
	null := storm.NewNullStruct()
	class := "com.example.Java"
	for name, change := range map[string]func(c *executor.Config){
		"java": func(c *executor.Config) {
			c.Topology.Bolts["bolt"].BoltObject = &storm.ComponentObject{JavaObject: &storm.JavaObject{FullClassName: class}}
		},
		"grouping": func(c *executor.Config) {
			for _, g := range c.Topology.Bolts["bolt"].Common.Inputs {
				*g = storm.Grouping{CustomObject: &storm.JavaObject{FullClassName: class}}
			}
		},
		"executor": func(c *executor.Config) { c.Executors = [][2]int32{{3, 9}} },
		"sampling": func(c *executor.Config) {
			c.Conf = config.Merge(c.Conf, config.Conf{"topology.stats.sample.rate": 7.0})
		},
		"tasks": func(c *executor.Config) { c.Tasks = topology.Tasks{"nobody"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			common := func() *storm.ComponentCommon {
				return &storm.ComponentCommon{Streams: map[string]*storm.StreamInfo{"default": {OutputFields: []string{"n"}}}, Inputs: map[*storm.GlobalStreamId]*storm.Grouping{}}
			}
			shell := &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: "true", Script: "x"}}
			bolt := common()
			bolt.Inputs[&storm.GlobalStreamId{ComponentId: "spout", StreamId: "default"}] = &storm.Grouping{Shuffle: null}
			c := executor.Config{
				TopologyID: "impossible", Tasks: topology.Tasks{"bolt", "spout"}, Executors: [][2]int32{{1, 1}, {2, 2}},
				Topology: &storm.StormTopology{
					Spouts: map[string]*storm.SpoutSpec{"spout": {SpoutObject: shell, Common: common()}},
					Bolts:  map[string]*storm.Bolt{"bolt": {BoltObject: shell, Common: bolt}},
				},
			}
			if _, err := executor.New(c); err != nil {
				t.Fatalf("it is not possible even before the change: %v", err)
			}
			change(&c)
			if _, err := executor.New(c); err == nil {
				t.Error("no error")
			} else {
				t.Log(err)
			}
		})
	}
}
