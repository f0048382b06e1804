// SPDX-License-Identifier: Apache-2.0

package executor

// This file holds what every executor has: an inbox, a way out, a clock, and a place to wait.

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
	"github.com/gust-stream/gust/worker/metrics"
	"github.com/gust-stream/gust/worker/transfer"
)

// core is one executor without what its kind does. All but inbox and wake belong to the executor's goroutine.
type core struct {
	engine    *Engine
	self      runner
	component string
	first     int32 // of its tasks
	tasks     []*task
	conf      config.Conf // with the component's own on top

	// takesTrees says that it gets messages about trees and no tuples.
	takesTrees bool
	// underway is what self.waiting last said.
	underway atomic.Int64
	backoff  multilang.Backoff

	inbox     *transfer.Inbox
	wake      chan struct{} // room for one
	router    *transfer.Router
	meter     *metrics.Executor
	debug     atomic.Int64 // the share of emits that event loggers get, in 1/debugScale percent
	routes    []*transfer.Route
	refreshes bool         // some route wants to know load and places
	system    *systemTask  // nil but for one executor of the worker
	refusedAt atomic.Int64 // the last report of it

	credentials *map[string]string // the last that linked components were told, nil if none

	in       input
	tickSecs int64 // 0: no ticks
	ids      ids
	slab     []tuple.Tuple
	chosen   []int32 // scratch

	timers  timers
	alarm   *time.Timer
	alarmAt int64
	pace    pace
}

func (c *core) base() *core { return c }

// systemTask is the worker's own, which tells metrics consumers about the process. It is at home in some executor.
type systemTask struct {
	stats *metrics.Task
	out   out
}

// task finds a task of the executor.
func (c *core) task(id int32) *task { return c.tasks[id-c.first] }

// now is nanoseconds of a steady clock.
func (c *core) now() int64 { return int64(time.Since(c.engine.started)) }

// slabSize is how many tuples are allocated at a time. One that is kept keeps the others' memory.
const slabSize = 64

// tuple makes one from a source.
func (c *core) tuple(from *tuple.Source, values []any) *tuple.Tuple {
	if len(c.slab) == 0 {
		c.slab = make([]tuple.Tuple, slabSize)
	}
	t := &c.slab[0]
	c.slab = c.slab[1:]
	t.Source, t.Values = from, values
	return t
}

// ids makes the random ids of trees and edges: splitmix64, with a step of its own for each executor.
type ids struct{ state, step uint64 }

func newIDs() ids { return ids{rand.Uint64(), rand.Uint64() | 1} }

// next is never 0, which stands for untracked.
func (i *ids) next() int64 {
	for {
		i.state += i.step
		z := i.state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		if z ^= z >> 31; z != 0 {
			return int64(z)
		}
	}
}

// tell tells the acker of a tree. It is a tuple of the task's, and only becomes one for an acker in another worker.
func (c *core) tell(t *task, m acker.Message) {
	ackers := c.engine.ackers
	to := ackers[0]
	if len(ackers) > 1 {
		to = ackers[acker.Choose(m.Root, len(ackers))]
	}
	if t.emits.hit() {
		t.ackStats[m.Kind].Emitted(1)
	}
	if c.router.Local(to) {
		m.From = int16(t.id)
		c.router.Tell(to, m)
		return
	}
	c.router.Send(to, c.treeTuple(t, m.Root, m.Value, m.Task, m.Kind))
}

// treeTuple makes a tuple of a message about a tree, for a task in another worker. It has no Values, see [tuple.Tuple].
func (c *core) treeTuple(t *task, root, value int64, spout int32, kind acker.Kind) *tuple.Tuple {
	out := c.tuple(t.ackSources[kind], nil)
	out.Anchor = tuple.Anchor{Root: root, Edge: value}
	out.Children = int64(spout)
	return out
}

// never is a time that does not come.
const never = math.MaxInt64

// timers are what an executor has to do at times.
type timers struct {
	all  []timer
	next int64 // the earliest
}

type timer struct {
	at, every int64
	fire      func(now int64)
}

func (t *timers) clear() { t.all, t.next = nil, never }

// add has fire called each so many nanoseconds; calls that come too late are not made up for.
func (t *timers) add(now, every int64, fire func(now int64)) {
	t.all = append(t.all, timer{now + every, every, fire})
	t.next = min(t.next, now+every)
}

// run calls what is due.
func (t *timers) run(now int64) {
	if now < t.next {
		return
	}
	t.next = never
	for i := range t.all {
		at := &t.all[i]
		if now >= at.at {
			at.at = max(at.at+at.every, now+1)
			at.fire(now)
		}
	}
	for _, at := range t.all {
		t.next = min(t.next, at.at)
	}
}

// sleep waits until something may have come: a wake, a timer, or the given time. With heed it does not wait if there is something in the inbox.
func (c *core) sleep(until int64, heed bool) {
	if heed && !c.inbox.Park() {
		return
	}
	until = min(until, c.timers.next)
	var alarm <-chan time.Time
	if until != never {
		c.setAlarm(until)
		alarm = c.alarm.C
	}
	select {
	case <-c.wake:
	case <-alarm:
		c.alarmAt = never
	}
}

func (c *core) setAlarm(at int64) {
	if c.alarmAt == at {
		return
	}
	c.alarmAt = at
	wait := time.Duration(max(at-c.now(), 1))
	if c.alarm == nil {
		c.alarm = time.NewTimer(wait)
		return
	}
	c.alarm.Reset(wait)
}

// hold waits, in the middle of a component's emits, until receivers have room or the worker ends.
func (c *core) hold() {
	c.router.Flush()
	for !c.router.Room(c.wake) && c.engine.phase() != closing {
		<-c.wake
	}
}

// pace decides when what was sent is handed over. A component that is quick sends full batches, and one that is slow does not keep its tuples
// waiting for more. The clock is only read each so many calls, fewer the longer they take.
type pace struct {
	at, flushed int64 // the last look at the clock, the last hand-over
	stride      int   // calls from one look to the next
	left        int   // of these
}

const (
	maxStride = 32
	slowCall  = int64(20 * time.Microsecond) // hand over after each call of a component that takes so long
	maxWait   = int64(time.Millisecond)
)

// step is called after each call of a component. With look the clock was read, as now; with flush it is time to hand over.
func (c *core) step() (now int64, look, flush bool) {
	p := &c.pace
	if p.left--; p.left > 0 {
		return 0, false, false
	}
	now = c.now()
	slow := now-p.at > slowCall*int64(p.stride)
	if slow {
		p.stride = 1
	} else {
		p.stride = min(2*p.stride, maxStride)
	}
	p.at, p.left = now, p.stride
	if slow || now-p.flushed > maxWait {
		p.flushed = now
		return now, true, true
	}
	return now, true, false
}

// resume is called after a wait, whose time is no call's.
func (c *core) resume(now int64) {
	c.pace.at = now
	if c.pace.stride == 0 {
		c.pace.stride = 1
	}
	c.pace.left = c.pace.stride
}
