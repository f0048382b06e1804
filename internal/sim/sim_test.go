// SPDX-License-Identifier: Apache-2.0

// This file runs schedules and judges them.

package sim

import (
	"flag"
	"strings"
	"testing"
)

// run plays one schedule of chaos, then heals the site and sees that it goes on.
func run(seed uint64) *world {
	w := newWorld(seed)
	for range 400 {
		w.chaos()
		if w.problem != "" {
			return w
		}
	}
	w.tell("healing")
	w.nimbus.down = false
	for _, n := range w.nodes {
		if !n.up && !n.gone {
			w.restart(n)
		}
	}
	before := w.client.commits
	for range 4000 {
		w.calm()
		if w.problem != "" || w.client.commits > before+2 {
			return w
		}
	}
	w.fail("the bolt cannot commit any more")
	return w
}

// chaos is one step of a bad day.
func (w *world) chaos() {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	switch p := w.rng.IntN(100); {
	case p < 2 && n.up:
		w.crash(n, w.mayLose(n) && w.rng.IntN(4) == 0)
	case p < 5 && !n.up && !n.gone:
		w.restart(n)
	case p < 8:
		w.cut(n.id, w.rng.IntN(len(w.nodes)))
	case p < 9:
		w.nimbus.down = !w.nimbus.down
	case p < 13:
		w.nimbus.look(w)
	case p < 20:
		w.read(n)
	case p < 35:
		w.client.step(w)
	case p < 50:
		w.pump(n)
	default:
		w.deliver()
	}
}

// calm is one step of a day on which nothing breaks.
func (w *world) calm() {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	switch p := w.rng.IntN(100); {
	case p < 2:
		w.nimbus.look(w)
	case p < 15:
		w.read(n)
	case p < 30:
		w.client.step(w)
	case p < 45:
		w.pump(n)
	default:
		w.deliver()
	}
}

// mayLose says whether a machine can be lost without the last copy of anything: that is more than copies are for.
func (w *world) mayLose(n *node) bool {
	for _, o := range w.nodes {
		if o.gone {
			return false
		}
	}
	c := w.nimbus.word
	for i := range shards {
		safe := len(c.Copies[i])
		if c.Owner != peer(n.id) && c.Opened {
			continue // the owner has it all
		}
		for _, p := range c.Copies[i] {
			if p == peer(n.id) {
				safe--
			}
		}
		if safe < 1 {
			return false
		}
	}
	return true
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	count := *schedules
	commits, successions := 0, 0
	for seed := range uint64(count) {
		w := run(seed + *first)
		if w.problem != "" {
			tail := w.story[max(0, len(w.story)-120):]
			t.Fatalf("seed %d: %s\n%s", seed+*first, w.problem, strings.Join(tail, "\n"))
		}
		commits += w.client.commits
		successions += w.nimbus.successions
	}
	t.Logf("%d schedules, %d commits, %d successions", count, commits, successions)
	if commits < count || successions < count/4 {
		t.Errorf("%d commits and %d successions in %d schedules: too calm to show anything", commits, successions, count)
	}
}

var (
	schedules = flag.Int("schedules", 10_000, "how many schedules to run")
	first     = flag.Uint64("first", 1, "the first seed")
)
