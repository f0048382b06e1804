// SPDX-License-Identifier: Apache-2.0

// This file holds the JSON form of a case and the generator.

package schedulertest

import (
	"fmt"
	"math/rand/v2"

	"github.com/gust-stream/gust/nimbus/scheduler"
)

// Case is one scheduling problem, as JSON lines carry it. The blacklist is not part of it.
type Case struct {
	Supervisors []Supervisor `json:"supervisors"`
	Topologies  []Topology   `json:"topologies"`
}

// Supervisor is a supervisor of a case.
type Supervisor struct {
	ID    string  `json:"id"`
	Host  string  `json:"host"`
	Ports []int32 `json:"ports"`
}

// Topology is a topology of a case.
type Topology struct {
	ID        string     `json:"id"`
	Workers   int        `json:"workers"`
	Executors [][2]int32 `json:"executors"`
	Current   []Line     `json:"current,omitempty"`
	Rebalance bool       `json:"rebalance,omitempty"`
}

// Line is one executor on one slot. In a Case, Alive says whether it still heartbeats.
type Line struct {
	Start int32  `json:"s"`
	End   int32  `json:"e"`
	Node  string `json:"n"`
	Port  int32  `json:"p"`
	Alive bool   `json:"a,omitempty"`
}

// Answer is the placement of each topology by id, by ascending first task.
type Answer map[string][]Line

// Input gives the case as the scheduler takes it.
func (c Case) Input() scheduler.Input {
	in := scheduler.Input{}
	for _, s := range c.Supervisors {
		in.Supervisors = append(in.Supervisors, scheduler.Supervisor{ID: s.ID, Host: s.Host, Ports: s.Ports})
	}
	for _, t := range c.Topologies {
		st := scheduler.Topology{ID: t.ID, Workers: t.Workers, Rebalance: t.Rebalance}
		for _, e := range t.Executors {
			st.Executors = append(st.Executors, scheduler.Executor{Start: e[0], End: e[1]})
		}
		for _, l := range t.Current {
			st.Current = append(st.Current, scheduler.Current{
				Placement: scheduler.Placement{
					Executor: scheduler.Executor{Start: l.Start, End: l.End},
					Slot:     scheduler.Slot{Node: l.Node, Port: l.Port},
				},
				Alive: l.Alive,
			})
		}
		in.Topologies = append(in.Topologies, st)
	}
	return in
}

// AnswerOf gives an output as an answer.
func AnswerOf(out scheduler.Output) Answer {
	a := Answer{}
	for _, o := range out.Topologies {
		lines := []Line{}
		for _, p := range o.Placements {
			lines = append(lines, Line{Start: p.Executor.Start, End: p.Executor.End, Node: p.Slot.Node, Port: p.Slot.Port})
		}
		a[o.ID] = lines
	}
	return a
}

// Generate makes a case: a small cluster that has lived for some passes, in
// which supervisors came and went, workers died and topologies were rebalanced.
func Generate(r *rand.Rand) (Case, error) {
	c := Case{}
	for range 1 + r.IntN(7) {
		c.Supervisors = append(c.Supervisors, newSupervisor(r))
	}
	for range 1 + r.IntN(5) {
		c.Topologies = append(c.Topologies, newTopology(r, len(c.Topologies)))
	}
	if r.IntN(5) == 0 {
		c.scatter(r)
	}
	for range r.IntN(6) {
		out, err := scheduler.Schedule(c.Input())
		if err != nil {
			return c, fmt.Errorf("schedule while generating: %w", err)
		}
		c.settle(AnswerOf(out))
		c.shake(r)
	}
	return c, nil
}

func newSupervisor(r *rand.Rand) Supervisor {
	id := fmt.Sprintf("%08x-%04x-10.0.0.%d", r.Uint32(), r.IntN(65536), r.IntN(256))
	s := Supervisor{ID: id, Host: "host-" + id}
	port := int32(6700 + r.IntN(3))
	for range r.IntN(6) {
		s.Ports = append(s.Ports, port)
		port += 1 + int32(r.IntN(2)*r.IntN(40))
	}
	r.Shuffle(len(s.Ports), func(i, j int) { s.Ports[i], s.Ports[j] = s.Ports[j], s.Ports[i] })
	return s
}

func newTopology(r *rand.Rand, n int) Topology {
	t := Topology{ID: fmt.Sprintf("topo%c-%d-%d", 'a'+r.IntN(26), n+1, 1700000000+r.IntN(100000)), Workers: 1 + r.IntN(6)}
	t.Executors = newExecutors(r)
	return t
}

func newExecutors(r *rand.Rand) [][2]int32 {
	var out [][2]int32
	next := int32(1)
	width := int32(1)
	for range r.IntN(24) {
		if r.IntN(4) == 0 {
			width = 1 + int32(r.IntN(3))
		}
		out = append(out, [2]int32{next, next + width - 1})
		next += width
	}
	return out
}

// scatter puts executors on arbitrary slots, as no scheduler would.
func (c *Case) scatter(r *rand.Rand) {
	var slots []Line
	for _, s := range c.Supervisors {
		for _, p := range s.Ports {
			slots = append(slots, Line{Node: s.ID, Port: p})
		}
	}
	r.Shuffle(len(slots), func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
	for k := range c.Topologies {
		t := &c.Topologies[k]
		n := min(len(slots), 1+r.IntN(5))
		if n == 0 {
			return
		}
		own := slots[:n]
		slots = slots[n:]
		for _, e := range t.Executors {
			l := own[r.IntN(n)]
			l.Start, l.End, l.Alive = e[0], e[1], r.IntN(8) != 0
			if r.IntN(8) != 0 {
				t.Current = append(t.Current, l)
			}
		}
	}
}

// settle makes an answer the current assignment, all alive.
func (c *Case) settle(a Answer) {
	for k := range c.Topologies {
		t := &c.Topologies[k]
		t.Rebalance = false
		t.Current = a[t.ID]
		for i := range t.Current {
			t.Current[i].Alive = true
		}
	}
}

// shake lets something happen to the cluster.
func (c *Case) shake(r *rand.Rand) {
	for range 1 + r.IntN(3) {
		switch r.IntN(8) {
		case 0:
			c.Supervisors = append(c.Supervisors, newSupervisor(r))
		case 1:
			c.loseSupervisor(r)
		case 2:
			c.Topologies = append(c.Topologies, newTopology(r, len(c.Topologies)))
		case 3:
			if len(c.Topologies) > 1 {
				k := r.IntN(len(c.Topologies))
				c.Topologies = append(c.Topologies[:k:k], c.Topologies[k+1:]...)
			}
		case 4, 5:
			c.killWorker(r)
		case 6:
			t := &c.Topologies[r.IntN(len(c.Topologies))]
			t.Workers = 1 + r.IntN(6)
			t.Rebalance = true
		case 7:
			t := &c.Topologies[r.IntN(len(c.Topologies))]
			t.Executors = newExecutors(r)
			t.Rebalance = true
		}
	}
}

// loseSupervisor removes one; its executors are dead or not yet known to be.
func (c *Case) loseSupervisor(r *rand.Rand) {
	if len(c.Supervisors) == 0 {
		return
	}
	k := r.IntN(len(c.Supervisors))
	gone := c.Supervisors[k].ID
	c.Supervisors = append(c.Supervisors[:k:k], c.Supervisors[k+1:]...)
	known := r.IntN(3) != 0
	for i := range c.Topologies {
		for j := range c.Topologies[i].Current {
			if l := &c.Topologies[i].Current[j]; l.Node == gone && known {
				l.Alive = false
			}
		}
	}
}

// killWorker makes all, or one, of the executors of some slot dead.
func (c *Case) killWorker(r *rand.Rand) {
	t := &c.Topologies[r.IntN(len(c.Topologies))]
	if len(t.Current) == 0 {
		return
	}
	k := r.IntN(len(t.Current))
	victim := t.Current[k]
	whole := r.IntN(4) != 0
	for i := range t.Current {
		l := &t.Current[i]
		if i == k || (whole && l.Node == victim.Node && l.Port == victim.Port) {
			l.Alive = false
		}
	}
}
