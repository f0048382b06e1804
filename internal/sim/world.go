// SPDX-License-Identifier: Apache-2.0

// This file has the machines, their disks and the links between them.

package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"

	"github.com/gust-stream/gust/stateapi/replica"
)

// shards is the number of shards of the one task that a world has.
const shards = 4

// keys is what a shard holds: by key the number of the client's batch that set it.
type keys map[int]int

// world is a site.
type world struct {
	rng     *rand.Rand
	nodes   []*node
	links   map[link]*[]message
	nimbus  nimbus
	client  client
	story   []string
	problem string
}

type link struct{ from, to int }

// message is a step to be taken at the receiving machine.
type message struct {
	what    string
	deliver func()
}

// node is a machine: a disk that survives its processes, and a state server's memory that does not.
type node struct {
	id     int
	up     bool // the process runs
	gone   bool // the machine will not come back
	copies [shards]diskCopy
	own    *ownDisk
	server *server
	seen   uint64 // the newest of Nimbus's epochs that it has read
}

// diskCopy is a copy of a shard on a disk.
type diskCopy struct {
	replica.Copy
	keys    keys
	pending keys
}

// ownDisk is what an owner has on its disk: the state without the last record, and that record.
type ownDisk struct {
	epoch  uint64
	at     [shards]replica.Position
	keys   [shards]keys
	held   [shards]keys // pending parts
	number uint64       // of the last record that was done
	last   replica.Record
	batch  keys
}

// server is the memory of an owner's process.
type server struct {
	epoch uint64           // with which it became owner
	core  *replica.Owner   // nil while it recovers
	found map[int]diskCopy // recovering: what came from copies
}

func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 17)), links: map[link]*[]message{}}
	n := 3 + w.rng.IntN(3)
	w.client.at = -1
	for i := range n {
		w.nodes = append(w.nodes, &node{id: i, up: true})
		for j := range n {
			w.links[link{i, j}] = &[]message{}
		}
	}
	w.nimbus.begin(w)
	return w
}

func peer(i int) replica.Peer { return replica.Peer(strconv.Itoa(i)) }

func (w *world) node(p replica.Peer) *node {
	for _, n := range w.nodes {
		if peer(n.id) == p {
			return n
		}
	}
	return nil
}

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf(format, args...)
		w.tell("PROBLEM: %s", w.problem)
	}
}

// send puts a message on a link; it is lost when the link breaks.
func (w *world) send(from, to int, what string, deliver func()) {
	q := w.links[link{from, to}]
	*q = append(*q, message{what: what, deliver: deliver})
}

// quiet says whether nothing is on the way between two machines: else what was asked may still be answered.
func (w *world) quiet(a, b int) bool { return len(*w.links[link{a, b}])+len(*w.links[link{b, a}]) == 0 }

// deliver takes the first message of a random link that has one.
func (w *world) deliver() {
	var busy []link
	for i := range w.nodes {
		for j := range w.nodes {
			if len(*w.links[link{i, j}]) > 0 {
				busy = append(busy, link{i, j})
			}
		}
	}
	if len(busy) == 0 {
		return
	}
	l := busy[w.rng.IntN(len(busy))]
	q := w.links[l]
	m := (*q)[0]
	*q = (*q)[1:]
	if w.nodes[l.to].up && w.nodes[l.from].up {
		w.tell("%d -> %d: %s", l.from, l.to, m.what)
		m.deliver()
	}
}

// cut breaks the connection between two machines: what is on it is lost, and an owner notices.
func (w *world) cut(a, b int) {
	*w.links[link{a, b}] = nil
	*w.links[link{b, a}] = nil
	for _, pair := range []link{{a, b}, {b, a}} {
		if s := w.nodes[pair.from].server; s != nil && s.core != nil {
			s.core.Lost(peer(pair.to))
		}
	}
}

// crash ends a machine's process; what is on its disk stays unless the machine is gone.
func (w *world) crash(n *node, gone bool) {
	w.tell("%d dies, machine lost: %v", n.id, gone)
	n.up, n.gone, n.server, n.seen = false, n.gone || gone, nil, 0
	for _, o := range w.nodes {
		w.cut(n.id, o.id)
	}
	w.client.leave(n.id)
	if gone {
		n.own = nil
		n.copies = [shards]diskCopy{}
	}
}

func (w *world) restart(n *node) {
	w.tell("%d starts again", n.id)
	n.up = true
	if n.own != nil {
		number := max(replica.FirstNumber(n.own.epoch), n.own.number)
		n.server = &server{epoch: n.own.epoch, core: replica.NewOwner(n.own.at[:], number, n.own.last)}
	}
	// What an owner has reported must be known to it before it answers for anything, so a process begins with the newest word.
	w.read(n)
}

// read is a machine learning Nimbus's newest word.
func (w *world) read(n *node) {
	c := w.nimbus.word
	if !n.up || n.seen == c.Epoch && n.server != nil {
		return
	}
	n.seen = c.Epoch
	switch {
	case c.Owner != peer(n.id):
		if n.server != nil {
			w.tell("%d learns that it is not the owner any more", n.id)
			w.client.leave(n.id)
		}
		n.server, n.own = nil, nil
	case n.server != nil && n.server.core != nil:
		w.configure(n)
	case n.server == nil && !c.Opened, n.server != nil && n.server.epoch < c.Epoch:
		n.server = &server{epoch: c.Epoch, found: map[int]diskCopy{}}
	}
}

func (w *world) configure(n *node) {
	c := w.nimbus.word
	if c.Owner != peer(n.id) {
		return
	}
	for i := range shards {
		n.server.core.Configure(i, c.Epoch, c.Copies[i], c.Joining[i], c.Learners[i])
	}
}

func clone(k keys) keys {
	if k == nil {
		return keys{}
	}
	return maps.Clone(k)
}

// apply takes an Effect on a shard's keys.
func apply(e replica.Effect, have, pending *keys, part keys) {
	if e.CommitPending {
		if *have == nil {
			*have = keys{}
		}
		maps.Copy(*have, *pending)
		*pending = nil
	}
	if e.DropPending {
		*pending = nil
	}
	if e.Keep {
		*pending = part
	}
}
