// SPDX-License-Identifier: Apache-2.0

package executor_test

// This file tests trees, times and lives of linked components.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/worker/local"
)

func TestTimeoutReplays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, timeout = 20, 8
		var acked atomic.Int64
		seen := map[int]int{}
		var first, again time.Time
		top := component.NewTopology("timeout").Ackers(1).MessageTimeout(timeout)
		top.Spout("spout", numbers(n, func(int) { acked.Add(1) })).Output("n")
		top.Bolt("lossy", func() component.Bolt {
			return &bolt{execute: func(t *component.Tuple, out *component.Output) error {
				i := number(t.Values[0])
				if seen[i]++; seen[i] == 1 {
					first = time.Now()
					return nil // neither acked nor failed
				}
				again = time.Now()
				out.Ack(t)
				return nil
			}}
		}).From("spout").Shuffle()
		b := start(t, top)
		b.eventually("all are acked", func() bool { return acked.Load() == n })
		b.stop()
		if took := again.Sub(first); took < timeout*time.Second || took > timeout*5/4*time.Second+10*time.Millisecond {
			t.Errorf("replayed after %v", took)
		}
		if c := b.Counts()["spout"]; c.Failed != n || c.Acked != n || c.Emitted != 2*n {
			t.Errorf("counts %+v", c)
		}
	})
}

func TestTimeoutsCanBeOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		top := component.NewTopology("never").Ackers(1).MessageTimeout(1).Set("topology.enable.message.timeouts", false)
		top.Spout("spout", numbers(1, func(int) {})).Output("n")
		top.Bolt("lossy", func() component.Bolt {
			return &bolt{execute: func(*component.Tuple, *component.Output) error { return nil }}
		}).From("spout").Shuffle()
		b := start(t, top)
		pass(5 * time.Minute)
		b.stop()
		if c := b.Counts()["spout"]; c.Failed != 0 || c.Emitted != 1 {
			t.Errorf("counts %+v", c)
		}
	})
}

func TestTicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ticks book
		began := time.Now()
		top := component.NewTopology("ticks")
		top.Spout("spout", numbers(0, nil)).Output("n")
		top.Bolt("bolt", func() component.Bolt {
			task := int32(0)
			return &bolt{
				prepare: func(ctx *component.Context, _ *component.Output) error {
					task = ctx.Task
					return nil
				},
				execute: func(t *component.Tuple, out *component.Output) error {
					ticks.add("task %d, tick %v of %v at %v", task, t.IsTick(), t.Values[0], time.Since(began))
					out.Ack(t)
					return nil
				},
			}
		}).From("spout").Shuffle().Ticks(3).Tasks(2)
		b := start(t, top)
		pass(7 * time.Second)
		b.stop()
		var want []string
		for at := 3; at < 7; at += 3 {
			for task := 2; task <= 3; task++ {
				want = append(want, fmt.Sprintf("task %d, tick true of 3 at %ds", task, at))
			}
		}
		if diff := cmp.Diff(want, ticks.all()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestActivation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen book
		var nexts atomic.Int64
		top := component.NewTopology("activation").Ackers(1)
		top.Spout("spout", func() component.Spout {
			return &spout{
				open:    func(*component.Context) error { seen.add("open"); return nil },
				active:  func(active bool) { seen.add("active %v", active) },
				closing: func() { seen.add("close") },
				next: func(*component.SpoutOutput) error {
					nexts.Add(1)
					return nil
				},
			}
		}).Output("n")
		top.Bolt("bolt", func() component.Bolt {
			return &bolt{
				prepare: func(*component.Context, *component.Output) error { seen.add("prepare"); return nil },
				closing: func() { seen.add("close bolt") }, execute: nil,
			}
		}).From("spout").Shuffle()
		b := build(t, top, local.Options{})
		b.run()
		step := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, seen.all()); diff != "" {
				t.Error(diff)
			}
		}
		pass(time.Second)
		step("prepare")
		b.SetActive(true)
		step("prepare", "open", "active true")
		pass(time.Second)
		if nexts.Load() == 0 {
			t.Error("never asked")
		}
		b.SetActive(false)
		step("prepare", "open", "active true", "active false")
		before := nexts.Load()
		pass(time.Minute)
		if nexts.Load() != before {
			t.Error("asked while it was inactive")
		}
		b.SetActive(true)
		step("prepare", "open", "active true", "active false", "active true")
		b.stop()
		all := seen.all()
		if diff := cmp.Diff([]string{"active false", "close", "close bolt"}, sorted(all[5:])); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPanics has bolts panic at random. All their tuples have to be acked in the end, though some came more than once, and the other executors
// do not notice.
func TestPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, panics)
}

func panics(t *testing.T) {
	const n = 5000
	var lives, acked atomic.Int64
	var mu sync.Mutex
	came := map[int]int{}
	top := component.NewTopology("panics").Ackers(2)
	top.Spout("spout", numbers(n, func(int) { acked.Add(1) })).Output("n")
	top.Bolt("shaky", func() component.Bolt {
		lives.Add(1)
		var kept *component.Tuple // acked when the next one comes, so that a panic takes two
		return &bolt{execute: func(t *component.Tuple, out *component.Output) error {
			if rand.IntN(500) == 0 {
				panic(fmt.Sprintf("tuple %v", t.Values[0]))
			}
			if kept != nil {
				if err := out.Emit(kept, kept.Values...); err != nil {
					return err
				}
				out.Ack(kept)
			}
			if kept = t; rand.IntN(10) == 0 || number(t.Values[0]) > n-20 {
				kept = nil
				if err := out.Emit(t, t.Values...); err != nil {
					return err
				}
				out.Ack(t)
			}
			return nil
		}}
	}).From("spout").Shuffle().Parallelism(2).Output("n")
	top.Bolt("count", acks(func(t *component.Tuple, _ *component.Output) {
		mu.Lock()
		defer mu.Unlock()
		came[number(t.Values[0])]++
	})).From("shaky").Shuffle()
	b := start(t, top)
	b.limit = time.Hour // of fake time, since pauses grow
	b.eventually("all are acked", func() bool { return acked.Load() == n })
	b.stop()
	for i := range n {
		if came[i] == 0 {
			t.Errorf("%d was acked and never came", i)
		}
	}
	errs := b.errors.all()
	if c := b.Counts()["shaky"]; c.Failed < c.Errors {
		t.Errorf("counts %+v", c)
	}
	if lives.Load() < 3 || len(errs) != int(lives.Load())-2 {
		t.Errorf("%d lives, %d errors", lives.Load(), len(errs))
	}
	for _, text := range errs {
		if !strings.HasPrefix(text, "shaky: panic: tuple ") || !strings.Contains(text, "engine_test.go") {
			t.Errorf("error %q", text)
		}
	}
}

// TestRestartAlone has one task that cannot live. The others work, and its restarts become rarer.
func TestRestartAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Time
		var acked atomic.Int64
		top := component.NewTopology("alone").Ackers(1)
		top.Spout("spout", numbers(100, func(int) { acked.Add(1) })).Output("n")
		top.Bolt("good", acks(nothing)).From("spout").Shuffle()
		top.Bolt("bad", func() component.Bolt {
			return &bolt{
				prepare: func(*component.Context, *component.Output) error {
					tries = append(tries, time.Now())
					return errors.New("no database")
				},
				closing: func() { panic("what was not prepared is closed") },
			}
		}).From("good2").Shuffle()
		top.Spout("good2", numbers(0, nil)).Output("n")
		b := start(t, top)
		b.eventually("all are acked", func() bool { return acked.Load() == 100 })
		pass(10 * time.Minute)
		b.stop()
		if len(tries) < 8 || len(tries) > 40 {
			t.Errorf("%d tries in ten minutes", len(tries))
		}
		if last := len(tries) - 1; tries[last].Sub(tries[last-1]) < 5*tries[2].Sub(tries[1]) {
			t.Errorf("the pauses do not grow: %v", tries)
		}
		if errs := b.errors.all(); len(errs) != len(tries) || errs[0] != "bad: prepare: no database" {
			t.Errorf("errors %q", errs)
		}
	})
}

// TestSpoutPanics has a spout panic; what it had out is not told to the next one.
func TestSpoutPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lives := 0
		var seen book
		top := component.NewTopology("spout").Ackers(1)
		top.Spout("spout", func() component.Spout {
			lives++
			life, n := lives, 0
			return &spout{
				next: func(out *component.SpoutOutput) error {
					if n++; n == 4 && life == 1 {
						panic("first life")
					}
					if n > 4 {
						return nil
					}
					return out.Emit(fmt.Sprintf("%d of %d", n, life), n)
				},
				ack:     func(id any) { seen.add("life %d: %v acked", life, id) },
				fail:    func(id any) { seen.add("life %d: %v failed", life, id) },
				closing: func() { seen.add("life %d: close", life) },
			}
		}).Output("n")
		top.Bolt("slow", func() component.Bolt {
			return &bolt{execute: func(t *component.Tuple, out *component.Output) error {
				pass(time.Second)
				out.Ack(t)
				return nil
			}}
		}).From("spout").Shuffle()
		b := start(t, top)
		pass(3 * time.Minute)
		b.stop()
		want := []string{"life 1: close", "life 2: 1 of 2 acked", "life 2: 2 of 2 acked", "life 2: 3 of 2 acked", "life 2: 4 of 2 acked", "life 2: close"}
		if diff := cmp.Diff(want, sorted(seen.all())); diff != "" {
			t.Error(diff)
		}
	})
}

// TestJoin anchors tuples on several: a failure of one fails all its trees, and they are only done together.
func TestJoin(t *testing.T) {
	t.Parallel()
	const n = 3000
	var acked atomic.Int64
	top := component.NewTopology("join").Ackers(2)
	for _, id := range []string{"left", "right"} {
		top.Spout(id, numbers(n, func(int) { acked.Add(1) })).Output("n")
	}
	top.Bolt("join", func() component.Bolt {
		kept := map[string][]*component.Tuple{}
		return &bolt{execute: func(t *component.Tuple, out *component.Output) error {
			kept[t.Component] = append(kept[t.Component], t)
			left, right := kept["left"], kept["right"]
			if len(left) == 0 || len(right) == 0 {
				return nil
			}
			l, r := left[0], right[0]
			kept["left"], kept["right"] = left[1:], right[1:]
			// An anchor twice, as people do, and two joined ones after each other.
			if err := out.Stream("default").Send(component.Options{Anchors: []*component.Tuple{l, r, l}}, l.Values[0]); err != nil {
				return err
			}
			out.Ack(l)
			out.Ack(r)
			out.Ack(r)
			return nil
		}}
	}).From("left").Shuffle().From("right").Shuffle().Output("n")
	top.Bolt("pass", func() component.Bolt {
		return &bolt{execute: func(t *component.Tuple, out *component.Output) error {
			if rand.IntN(20) == 0 {
				return errors.New("no luck")
			}
			for range 2 {
				if err := out.Emit(t, t.Values...); err != nil {
					return err
				}
			}
			out.Ack(t)
			return nil
		}}
	}).From("join").Shuffle().Output("n")
	top.Bolt("end", acks(nothing)).From("pass").All().Parallelism(2)
	b := start(t, top)
	b.eventually("all are acked", func() bool { return acked.Load() == 2*n })
	b.stop()
	c := b.Counts()
	if failed := c["pass"].Failed; failed == 0 || c["left"].Failed != failed || c["right"].Failed != failed {
		t.Errorf("counts %+v", c)
	}
	if c["end"].Executed != 2*2*n {
		t.Errorf("%d at the end, want %d", c["end"].Executed, 2*2*n)
	}
}

func TestNoAckers(t *testing.T) {
	t.Parallel()
	var acked, executed atomic.Int64
	top := component.NewTopology("no-ackers").Ackers(0)
	inside := false
	top.Spout("spout", func() component.Spout {
		n := 0
		return &spout{
			next: func(out *component.SpoutOutput) error {
				inside = true
				defer func() { inside = false }()
				if n++; n > 1000 {
					return nil
				}
				return out.Emit(n, n)
			},
			ack: func(any) {
				if inside {
					panic("acked within Next")
				}
				acked.Add(1)
			},
		}
	}).Output("n")
	top.Bolt("bolt", func() component.Bolt {
		return &bolt{execute: func(t *component.Tuple, _ *component.Output) error {
			if t.Tracked() {
				return errors.New("tracked")
			}
			executed.Add(1)
			return errors.New("no matter")
		}}
	}).From("spout").Shuffle()
	b := start(t, top)
	b.eventually("all are acked and executed", func() bool { return acked.Load() == 1000 && executed.Load() == 1000 })
}

func TestMaxSpoutPending(t *testing.T) {
	t.Parallel()
	const most, n = 7, 500
	var under, peak, acked atomic.Int64
	top := component.NewTopology("pending").Ackers(1).MaxSpoutPending(most)
	top.Spout("spout", func() component.Spout {
		i := 0
		return &spout{
			next: func(out *component.SpoutOutput) error {
				if i++; i > n {
					return nil
				}
				peak.Store(max(peak.Load(), under.Add(1)))
				return out.Emit(i, i)
			},
			ack: func(any) { under.Add(-1); acked.Add(1) },
		}
	}).Output("n")
	top.Bolt("bolt", acks(nothing)).From("spout").Shuffle()
	b := start(t, top)
	b.eventually("all are acked", func() bool { return acked.Load() == n })
	if peak.Load() != most {
		t.Errorf("%d pending, want %d", peak.Load(), most)
	}
}

// sorted sorts a copy.
func sorted(list []string) []string {
	out := append([]string{}, list...)
	for i := range out {
		for j := i; j > 0 && out[j] < out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}
