// SPDX-License-Identifier: Apache-2.0

package component

// This file declares topologies.

import (
	"maps"
)

// Topology is a topology of components in Go. It is a Registry of them. What is declared wrongly is told by Storm.
type Topology struct {
	name       string
	conf       map[string]any
	components []*common
	spouts     map[string]func() Spout
	bolts      map[string]func() Bolt
}

var _ Registry = (*Topology)(nil)

// NewTopology makes an empty topology.
func NewTopology(name string) *Topology {
	return &Topology{
		name: name, conf: map[string]any{"gust.topology.go.binary": Binary},
		spouts: map[string]func() Spout{}, bolts: map[string]func() Bolt{},
	}
}

// Name is the topology's name.
func (t *Topology) Name() string { return t.name }

// Conf is a copy of the topology's conf.
func (t *Topology) Conf() map[string]any { return maps.Clone(t.conf) }

// Set puts a value into the topology's conf: one of Storm's keys, or one of the components' own.
func (t *Topology) Set(key string, value any) *Topology {
	t.conf[key] = value
	return t
}

// Workers is how many worker processes there are.
func (t *Topology) Workers(n int) *Topology { return t.Set("topology.workers", n) }

// Ackers is how many ackers there are; 0 acks every tuple at once. Storm's default is one for each worker.
func (t *Topology) Ackers(n int) *Topology { return t.Set("topology.acker.executors", n) }

// MaxSpoutPending is how many tuples of one spout task may be out unacked.
func (t *Topology) MaxSpoutPending(n int) *Topology { return t.Set("topology.max.spout.pending", n) }

// MessageTimeout is after how many seconds an unacked tuple fails.
func (t *Topology) MessageTimeout(seconds int) *Topology {
	return t.Set("topology.message.timeout.secs", seconds)
}

// Spout adds a spout; create makes one for each task.
func (t *Topology) Spout(id string, create func() Spout) *SpoutSpec {
	s := &SpoutSpec{}
	s.init(s, id)
	t.components = append(t.components, &s.common)
	t.spouts[id] = create
	return s
}

// Bolt adds a bolt; create makes one for each task.
func (t *Topology) Bolt(id string, create func() Bolt) *BoltSpec {
	b := &BoltSpec{}
	b.init(b, id)
	b.bolt = true
	t.components = append(t.components, &b.common)
	t.bolts[id] = create
	return b
}

// NewSpout makes the spout for one task, nil if there is none of that id.
func (t *Topology) NewSpout(id string) Spout {
	if create := t.spouts[id]; create != nil {
		return create()
	}
	return nil
}

// NewBolt makes the bolt for one task, nil if there is none of that id.
func (t *Topology) NewBolt(id string) Bolt {
	if create := t.bolts[id]; create != nil {
		return create()
	}
	return nil
}

// common is what is declared of any component.
type common struct {
	id          string
	bolt        bool
	parallelism int
	conf        map[string]any
	streams     map[string]*Stream
	inputs      []*input
}

// spec gives a component's declarations methods that return S, so that they can be chained.
type spec[S any] struct {
	common

	self S
}

func (s *spec[S]) init(self S, id string) {
	s.self = self
	s.common = common{id: id, parallelism: 1, conf: map[string]any{}, streams: map[string]*Stream{}}
}

// Parallelism is how many executors run the component at the start, 1 if it is not said.
func (s *spec[S]) Parallelism(n int) S {
	s.parallelism = n
	return s.self
}

// Tasks is how many instances there are, as many as executors if it is not said. A rebalance can change only the executors.
func (s *spec[S]) Tasks(n int) S { return s.Set("topology.tasks", n) }

// Set puts a value into the component's own conf.
func (s *spec[S]) Set(key string, value any) S {
	s.conf[key] = value
	return s.self
}

// Output declares the fields of the default stream.
func (s *spec[S]) Output(fields ...string) S { return s.Stream("default", fields...) }

// Stream declares a stream and its fields.
func (s *spec[S]) Stream(name string, fields ...string) S {
	s.streams[name] = &Stream{Name: name, Fields: fields}
	return s.self
}

// DirectStream declares a stream whose tuples are sent to tasks by their ids.
func (s *spec[S]) DirectStream(name string, fields ...string) S {
	s.streams[name] = &Stream{Name: name, Fields: fields, Direct: true}
	return s.self
}

// SpoutSpec declares a spout.
type SpoutSpec struct{ spec[*SpoutSpec] }

// BoltSpec declares a bolt.
type BoltSpec struct{ spec[*BoltSpec] }

// Ticks has the bolt get a tick tuple each so many seconds.
func (b *BoltSpec) Ticks(seconds int) *BoltSpec {
	return b.Set("topology.tick.tuple.freq.secs", seconds)
}

// From takes the default stream of a component; how its tuples are spread over the bolt's tasks is said by what follows.
func (b *BoltSpec) From(component string) *Input { return b.FromStream(component, "default") }

// FromStream is From for any stream.
func (b *BoltSpec) FromStream(component, stream string) *Input {
	in := &input{component: component, stream: stream}
	b.inputs = append(b.inputs, in)
	return &Input{bolt: b, input: in}
}
