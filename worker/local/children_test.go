// SPDX-License-Identifier: Apache-2.0

package local

// This file runs topologies with components in child processes, which are this test binary.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/worker/executor"
)

// asChild is set in the environment of children.
const asChild = "GUST_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		if err := component.ServeAny(context.Background(), childRegistry{}, component.Pipes{In: os.Stdin, Out: os.Stdout}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // this is the main of a child
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// childRegistry has what runs in children.
type childRegistry struct{}

func (childRegistry) NewSpout(id string) component.Spout {
	switch id {
	case "child-spout":
		return &childSpout{}
	case "child-burst":
		return &burst{}
	}
	return nil
}

func (childRegistry) NewBolt(id string) component.Bolt {
	if id != "child-bolt" {
		return nil
	}
	return component.Basic(func(t *component.Tuple, out *component.BasicOutput) error {
		if t.IsTick() {
			return out.EmitOn("ticks", "tick")
		}
		if err := out.Emit(t.Values...); err != nil {
			return err
		}
		switch rand.IntN(2000) {
		case 0:
			os.Exit(3) //nolint:forbidigo // a child that dies
		case 1:
			return errors.New("no luck")
		}
		return nil
	})
}

// childSpout emits numbers, again when they fail, and then says that all are acked.
type childSpout struct {
	n, acked int
	again    []int
}

const childNumbers = 3000

func (s *childSpout) Next(out *component.SpoutOutput) error {
	switch {
	case len(s.again) > 0:
		n := s.again[0]
		s.again = s.again[1:]
		return out.Emit(n, "again", n)
	case s.n < childNumbers:
		s.n++
		return out.Emit(s.n, "text", s.n)
	case s.acked == childNumbers:
		s.acked++
		return out.Stream("done").Send(component.Options{}, "all")
	}
	return nil
}

func (s *childSpout) Ack(any) { s.acked++ }

func (s *childSpout) Fail(id any) {
	n, _ := id.(int64)
	s.again = append(s.again, int(n))
}

// burst emits all that it has in one call.
type burst struct{ over bool }

const burstSize = 5000

func (b *burst) Next(out *component.SpoutOutput) error {
	if b.over {
		return nil
	}
	b.over = true
	for i := range burstSize {
		if err := out.Emit(nil, i); err != nil {
			return err
		}
	}
	return nil
}

// nurse runs a topology of which the components named child-... are children.
func nurse(t *testing.T, top *component.Topology, run func(done func()), o Options) Summary {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Resources = t.TempDir()
	script := fmt.Sprintf("%s=1 exec %s\n", asChild, self)
	if err := os.WriteFile(filepath.Join(o.Resources, "child.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Registry = mixed{top}
	return finishWith(t, top, run, o, func(user *storm.StormTopology) {
		object := &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: "sh", Script: "child.sh"}}
		for id, b := range user.Bolts {
			if strings.HasPrefix(id, "child-") {
				b.BoltObject = object
			}
		}
		for id, s := range user.Spouts {
			if strings.HasPrefix(id, "child-") {
				s.SpoutObject = object
			}
		}
	})
}

// mixed has only what is no child.
type mixed struct{ *component.Topology }

func (m mixed) NewSpout(id string) component.Spout {
	if strings.HasPrefix(id, "child-") {
		return nil
	}
	return m.Topology.NewSpout(id)
}

func (m mixed) NewBolt(id string) component.Bolt {
	if strings.HasPrefix(id, "child-") {
		return nil
	}
	return m.Topology.NewBolt(id)
}

// TestChildBolts has children die and fail at random. Nothing may be acked that did not come through.
func TestChildBolts(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var book *ledger
	top := component.NewTopology("children").Ackers(2)
	top.Spout("spout", func() component.Spout { return book }).Output("text", "n")
	top.Bolt("child-bolt", nil).From("spout").Fields("n").Parallelism(2).Tasks(3).Ticks(1).Output("text", "n").Stream("ticks", "t")
	seen := newTally()
	top.Bolt("count", seen.bolt).From("child-bolt").Shuffle()
	ticks := newTally()
	top.Bolt("ticks", ticks.bolt).FromStream("child-bolt", "ticks").Shuffle()
	sum := nurse(t, top, func(done func()) { book = newLedger(n, done) }, Options{})
	for i := range n {
		if seen.count(strconv.Itoa(i)) == 0 || book.acked[i] != 1 {
			t.Fatalf("number %d came %d times and was acked %d times", i, seen.count(strconv.Itoa(i)), book.acked[i])
		}
	}
	deaths, unlucky := 0, 0
	for _, e := range sum.Errors {
		switch {
		case strings.Contains(e.Text, "exit code 3") && e.Component == "child-bolt":
			deaths += e.Count
		case strings.Contains(e.Text, "no luck"):
			unlucky += e.Count
		default:
			t.Errorf("unexpected: %+v", e)
		}
	}
	if failed := int(sum.Components["child-bolt"].Failed); deaths == 0 || unlucky == 0 || failed < deaths+unlucky {
		t.Errorf("%d children died, %d tuples had no luck, %d failed", deaths, unlucky, failed)
	}
	t.Logf("%d children died, %d ticks, %v", deaths, ticks.count("tick"), sum.Ran)
}

// TestChildWaits has a child's receiver take nothing for a while. The child has to wait, and nothing may be lost.
func TestChildWaits(t *testing.T) {
	t.Parallel()
	const n = 5000
	var book *ledger
	top := component.NewTopology("waits").Ackers(1).Set("topology.executor.receive.buffer.size", 32)
	top.Spout("spout", func() component.Spout { return book }).Output("text", "n")
	top.Bolt("child-bolt", nil).From("spout").Shuffle().Output("text", "n").Stream("ticks", "t")
	open := make(chan struct{})
	top.Bolt("slow", func() component.Bolt {
		return component.Basic(func(*component.Tuple, *component.BasicOutput) error {
			<-open
			return nil
		})
	}).From("child-bolt").Shuffle()
	var sum Summary
	ended := make(chan struct{})
	engine := make(chan *executor.Engine, 1)
	go func() {
		defer close(ended)
		sum = nurse(t, top, func(done func()) { book = newLedger(n, done) }, Options{started: func(e *executor.Engine) { engine <- e }})
	}()
	e := <-engine
	last, same := int64(0), 0
	for tick := time.NewTicker(20 * time.Millisecond); same < 25; same++ {
		<-tick.C
		if now := e.Counts()["child-bolt"].Emitted; now != last || now == 0 {
			last, same = now, 0
		}
	}
	if last > n/2 {
		t.Errorf("the child emitted %d while nobody took any", last)
	}
	close(open)
	<-ended
	if len(book.acked) != n {
		t.Errorf("%d acked: %+v", len(book.acked), sum)
	}
}

// TestChildSpout runs a spout in a child, whose tuples fail now and then.
func TestChildSpout(t *testing.T) {
	t.Parallel()
	top := component.NewTopology("child-spout").Ackers(1).MaxSpoutPending(200)
	top.Spout("child-spout", nil).Output("text", "n").Stream("done", "what")
	top.Bolt("work", func() component.Bolt {
		return component.Basic(func(*component.Tuple, *component.BasicOutput) error {
			if rand.IntN(100) == 0 {
				return errors.New("no luck")
			}
			return nil
		})
	}).From("child-spout").Shuffle()
	var stop func()
	top.Bolt("done", func() component.Bolt {
		return component.Basic(func(*component.Tuple, *component.BasicOutput) error {
			stop()
			return nil
		})
	}).FromStream("child-spout", "done").Shuffle()
	sum := nurse(t, top, func(done func()) { stop = done }, Options{})
	spout := sum.Components["child-spout"]
	if failed := sum.Components["work"].Failed; failed == 0 || spout.Failed != failed || spout.Acked != childNumbers || spout.Emitted != childNumbers+failed+1 {
		t.Errorf("%d failed: %+v", failed, sum)
	}
}

// TestChildBurst has a child emit more in one call than its many receivers have room for, one of which takes nothing at first. It has to wait, and
// then to go on.
func TestChildBurst(t *testing.T) {
	t.Parallel()
	const wide = 16
	top := component.NewTopology("burst").Ackers(0).Set("topology.executor.receive.buffer.size", 32)
	top.Spout("child-burst", nil).Output("n")
	var stop func()
	var taken atomic.Int64
	full := make(chan struct{})
	top.Bolt("wide", func() component.Bolt {
		return component.Basic(func(*component.Tuple, *component.BasicOutput) error {
			switch taken.Add(1) {
			case 1:
				<-full
			case wide * burstSize:
				stop()
			}
			return nil
		})
	}).From("child-burst").All().Parallelism(wide)
	sum := nurse(t, top, func(done func()) { stop = done }, Options{started: func(e *executor.Engine) {
		go func() {
			defer close(full)
			for last, same := int64(0), 0; same < 10; same++ { // until nothing more is emitted
				<-time.After(20 * time.Millisecond)
				if now := e.Counts()["child-burst"].Emitted; now != last || now == 0 {
					last, same = now, 0
				}
			}
		}()
	}})
	if taken.Load() != wide*burstSize {
		t.Errorf("%d tuples came: %+v", taken.Load(), sum)
	}
}

// tally counts texts.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
}

func newTally() *tally { return &tally{seen: map[string]int{}} }

func (c *tally) bolt() component.Bolt {
	return component.Basic(func(t *component.Tuple, _ *component.BasicOutput) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		text, err := component.String(t, t.Fields[0])
		c.seen[text]++
		return err
	})
}

func (c *tally) count(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[text]
}
