// SPDX-License-Identifier: Apache-2.0

package nimbus

import (
	"fmt"
	"testing"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/thrift/storm"
)

// large is a Nimbus that knows 1,000 supervisors and 300 topologies with 12,000 executors together, none assigned.
func large() *Nimbus {
	n := &Nimbus{
		model: newModel(), live: newLiveness(time.Now()), now: time.Now, started: time.Now(),
		cfg: Config{Conf: config.Conf{}, Blacklist: scheduler.DefaultBlacklistLimits(), Detection: 5 * time.Second, TaskTimeout: 30 * time.Second, LaunchTimeout: 120 * time.Second},
	}
	supervisors := map[string]*storm.SupervisorInfo{}
	for i := range 1000 {
		supervisors[fmt.Sprintf("sup-%04d", i)] = &storm.SupervisorInfo{Hostname: fmt.Sprintf("host-%04d", i), Meta: []int64{6700, 6701, 6702, 6703}}
	}
	var topologies []*topologyState
	for i := range 300 {
		t := &topologyState{
			id: fmt.Sprintf("wc%d-%d-1", i, i), base: &storm.StormBase{Name: fmt.Sprintf("wc%d", i), NumWorkers: 10},
			code: &code{conf: config.Conf{}, user: storm.NewStormTopology()}, components: map[storm.ExecutorID]string{},
		}
		for e := range int64(40) {
			id := storm.ExecutorID{e + 1, e + 1}
			t.executors = append(t.executors, id)
			t.components[id] = "bolt"
		}
		topologies = append(topologies, t)
	}
	n.model.load(topologies, supervisors, n.now())
	return n
}

// decide makes a whole pass but for the writes, and returns what would be written.
func (n *Nimbus) decide(tb testing.TB) []change {
	tb.Helper()
	now := n.now()
	j := n.judgeNow(now)
	topologies := n.model.all()
	out, err := scheduler.Schedule(n.input(topologies, j, "", now))
	if err != nil {
		tb.Fatal(err)
	}
	var changes []change
	for i, t := range topologies {
		if c, ok := n.changeOf(t, out.Topologies[i], j, false, now); ok {
			changes = append(changes, c)
		}
	}
	return changes
}

// keep makes the model know changes as if they were written.
func (n *Nimbus) keep(changes []change) {
	for _, c := range changes {
		n.model.update(c.topology.id, func(t topologyState) topologyState {
			t.assignment, t.placed = c.next, map[storm.ExecutorID]time.Time{}
			for _, e := range c.restarted {
				t.placed[e] = n.now()
			}
			return t
		})
	}
}

func TestSecondPassChangesNothing(t *testing.T) {
	t.Parallel()
	n := large()
	first := n.decide(t)
	if len(first) != 300 {
		t.Fatalf("the first pass assigns %d topologies of 300", len(first))
	}
	n.keep(first)
	if second := n.decide(t); len(second) != 0 {
		t.Errorf("the second pass changes %d topologies", len(second))
	}
}

func BenchmarkFullPass(b *testing.B) {
	n := large()
	for b.Loop() {
		n.decide(b)
	}
}

func BenchmarkPassWithOneNewTopology(b *testing.B) {
	n := large()
	changes := n.decide(b)
	n.keep(changes[1:])
	for b.Loop() {
		if got := n.decide(b); len(got) != 1 {
			b.Fatalf("%d changes", len(got))
		}
	}
}
