// SPDX-License-Identifier: Apache-2.0

// This file runs stateful bolts in stock workers, ends workers and state server while they work, and looks at what the states have then.

package state

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/ledger"
	"github.com/gust-stream/gust/stateapi/statetest"
)

const (
	numbers = 6000
	keys    = 50 // of IdsBolt
	pending = 1000
	// boltsLimit bounds a whole run; workers take long to start on a busy machine.
	boltsLimit = 6 * time.Minute
)

// bolts is a run of the topology.
type bolts struct {
	t       *testing.T
	ctx     context.Context
	cluster harness.Cluster
	out     string
}

func TestBoltsUnderFaults(t *testing.T) {
	server := newBed(t, nil, false)
	t.Setenv("GUST_STATE_SOCKET", server.socket)
	b := startBolts(t, "gust.state.enabled: false")
	b.acked(numbers / 6)
	b.killWorkers()
	b.acked(numbers * 2 / 6)
	b.restart(server, statetest.Kill)
	b.acked(numbers * 3 / 6)
	b.restart(server, statetest.Retire)
	b.acked(numbers * 4 / 6)
	b.killWorkers()
	b.restart(server, statetest.Retire)
	b.acked(numbers)
	b.judge()
}

// TestBoltsUnderGust has the state server where users have it, and kills that with all of gust but the workers.
func TestBoltsUnderGust(t *testing.T) {
	b := startBolts(t)
	b.acked(numbers / 6)
	b.killWorkers()
	b.acked(numbers * 2 / 6)
	b.killGust()
	b.acked(numbers * 4 / 6)
	b.killWorkers()
	b.killGust()
	b.acked(numbers)
	b.judge()
}

// startBolts submits the topology to a gust of its own.
func startBolts(t *testing.T, more ...string) *bolts {
	t.Helper()
	cluster, err := harness.NewGust(t.TempDir(), append(more, `topology.state.provider: "io.github.guststream.state.KeyValueStateProvider"`)...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), boltsLimit)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Start(ctx); err != nil {
		t.Fatal(err)
	}
	b := &bolts{t: t, ctx: ctx, cluster: cluster, out: t.TempDir()}
	_, err = harness.Submit(ctx, cluster, harness.Submission{Main: "org.gust.compat.KeyedState", Args: []string{
		"keyed", b.out, "compat.numbers=" + strconv.Itoa(numbers), "compat.pause.ms=1", "topology.max.spout.pending=" + strconv.Itoa(pending),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bolts) book() ledger.Book {
	b.t.Helper()
	book, err := ledger.Read(b.out)
	if err != nil {
		b.t.Fatal(err)
	}
	return book
}

func (b *bolts) await(what string, holds func() bool) {
	b.t.Helper()
	if err := harness.Await(b.ctx, what, func() (bool, error) { return holds(), nil }); err != nil {
		logs, _ := os.ReadDir(b.out) // a look at what there is
		b.t.Fatalf("%v; components that wrote: %v", err, logs)
	}
}

// acked waits until so many numbers are.
func (b *bolts) acked(n int) {
	b.t.Helper()
	b.await(fmt.Sprintf("%d numbers to be acked", n), func() bool {
		lines := b.book().Verb("numbers", "acked")
		return len(lines) >= n && ledger.Distinct(lines, 0) >= n
	})
}

func (b *bolts) killWorkers() {
	b.t.Helper()
	workers, err := b.cluster.(*harness.Gust).Workers()
	if err != nil || len(workers) == 0 {
		b.t.Fatalf("workers: %v, %v", workers, err)
	}
	for _, pid := range workers {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			b.t.Fatal(err)
		}
	}
}

// killGust kills the process with Nimbus, supervisor and state server, and starts it again. Workers live on.
func (b *bolts) killGust() {
	b.t.Helper()
	if err := b.cluster.Kill(harness.Nimbus); err != nil {
		b.t.Fatal(err)
	}
	if err := b.cluster.(*harness.Gust).Restart(b.ctx, harness.Nimbus); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bolts) restart(server *bed, how statetest.Restart) {
	b.t.Helper()
	if err := server.Restart(how); err != nil {
		b.t.Fatal(err)
	}
}

// judge has the bolts begin once more, so that they tell what their states have.
func (b *bolts) judge() {
	b.t.Helper()
	before := map[string]bool{}
	for _, component := range []string{"ids", "amounts", "recent"} {
		for _, line := range b.book().Verb(component, "init") {
			before[line.Incarnation] = true
		}
	}
	b.killWorkers()
	// has gives what the new tasks of a component found, once all have begun.
	has := func(component string, tasks int) (found [][]string) {
		b.await(component+" to begin once more", func() bool {
			begun := 0
			for _, line := range b.book().Verb(component, "init") {
				if !before[line.Incarnation] {
					begun++
				}
			}
			return begun >= tasks
		})
		for _, line := range b.book().Verb(component, "has") {
			if !before[line.Incarnation] {
				found = append(found, line.Cells)
			}
		}
		return found
	}
	seen := map[string]bool{}
	for _, cells := range has("ids", 2) {
		for number := range strings.SplitSeq(cells[1], ",") {
			n, err := strconv.Atoi(number)
			if err != nil || seen[number] || n >= numbers || "key"+strconv.Itoa(n%keys) != cells[0] {
				b.t.Fatalf("%s has %s: seen %t, %v", cells[0], number, seen[number], err)
			}
			seen[number] = true
		}
	}
	if len(seen) != numbers {
		b.t.Errorf("the sets have %d of %d acked numbers", len(seen), numbers)
	}
	sum := 0
	for _, cells := range has("amounts", 1) {
		amount, err := strconv.Atoi(cells[1])
		if err != nil || amount < numbers/keys {
			b.t.Errorf("%s has the amount %s, at least %d were acked: %v", cells[0], cells[1], numbers/keys, err)
		}
		sum += amount
	}
	recent := has("recent", 1)
	amount, err := strconv.Atoi(recent[0][0])
	if err != nil || amount < numbers-9 {
		b.t.Errorf("windows with %s numbers were kept of %d that were acked: %v", recent[0][0], numbers, err)
	}
	windows := map[string]bool{}
	for _, line := range b.book().Verb("recent", "window") {
		for number := range strings.SplitSeq(line.Cells[0], ",") {
			windows[number] = true
		}
	}
	if len(windows) < numbers-9 {
		b.t.Errorf("%d of %d numbers were in a window", len(windows), numbers)
	}
	b.t.Logf("sets of %d; amounts of %d, %d by replays; windows of %d", len(seen), sum, sum-numbers, amount)
}
