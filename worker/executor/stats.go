// SPDX-License-Identifier: Apache-2.0

package executor

// This file is what others ask the engine about, and tell it.

import (
	"fmt"
	"strings"
	"time"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
	"github.com/gust-stream/gust/worker/grouping"
	"github.com/gust-stream/gust/worker/metrics"
	"github.com/gust-stream/gust/worker/transfer"
)

// Stats gives the statistics of all executors, for heartbeats.
func (e *Engine) Stats() map[[2]int32]*storm.ExecutorStats {
	now := time.Now()
	all := make(map[[2]int32]*storm.ExecutorStats, len(e.runners))
	for _, r := range e.runners {
		c := r.base()
		all[[2]int32{c.first, c.last()}] = c.meter.Render(now)
	}
	return all
}

// Counts gives what each component has done.
func (e *Engine) Counts() map[string]Counts {
	all := map[string]Counts{}
	for _, r := range e.runners {
		c := r.base()
		sum := all[c.component]
		for _, t := range c.tasks {
			sum.add(t.counts.read())
		}
		all[c.component] = sum
	}
	return all
}

// Load is how full the inbox of each task of this worker is, from 0 to 1.
func (e *Engine) Load() map[int32]float64 {
	load := map[int32]float64{}
	for _, r := range e.runners {
		c := r.base()
		for _, t := range c.tasks {
			load[t.id] = c.inbox.Load()
		}
	}
	return load
}

// snapshot is the load of all tasks at a time.
type snapshot struct {
	at   int64
	load grouping.Load
}

// loads is the load of all tasks of the topology that is known, not older than half a second. It is shared and not changed.
func (e *Engine) loads(now int64) grouping.Load {
	if s := e.load.Load(); s != nil && now-s.at < second/2 {
		return s.load
	}
	s := &snapshot{at: now, load: e.Load()}
	if e.config.Remote != nil {
		for i := 1; i < len(e.byTask); i++ {
			if e.byTask[i] != nil {
				continue
			}
			if load, ok := e.config.Remote.Load(int32(i)); ok {
				s.load[int32(i)] = load
			}
		}
	}
	e.load.Store(s)
	return s.load
}

// SetPlaces says where all tasks are; shuffles prefer what is near. It is not changed afterwards.
func (e *Engine) SetPlaces(p *grouping.Places) { e.places.Store(p) }

// SetDebug says how many of what each component emits go to the event loggers, in percent. "" is for components that are not named.
func (e *Engine) SetDebug(percent map[string]float64) {
	for _, r := range e.runners {
		c := r.base()
		p, ok := percent[c.component]
		if !ok {
			p = percent[""]
		}
		if strings.HasPrefix(c.component, "__") {
			p = 0
		}
		c.debug.Store(int64(p * debugScale))
	}
}

// Refuse fails the trees of a tuple that could not be sent, or not be read, in the name of a task of this worker, and makes err an error of it.
func (e *Engine) Refuse(task int32, anchors []tuple.Anchor, err error) {
	if task < 1 || int(task) >= len(e.byTask) || e.byTask[task] == nil {
		return
	}
	t := e.byTask[task].task(task)
	e.config.Report(t.component, task, err)
	if len(e.ackers) == 0 {
		return
	}
	router := e.borrowRouter()
	for _, a := range anchors {
		e.tellFail(router, t, a.Root)
	}
	router.Flush()
	e.deliveries.Put(router)
}

// tellFail fails a tree in the name of a task, on a goroutine that is not its executor's.
func (e *Engine) tellFail(router *transfer.Router, t *task, root int64) {
	to := e.ackers[acker.Choose(root, len(e.ackers))]
	if router.Local(to) {
		router.Tell(to, acker.Message{Root: root, From: int16(t.id), Kind: acker.Fail})
		return
	}
	router.Send(to, &tuple.Tuple{Source: t.ackSources[acker.Fail], Anchor: tuple.Anchor{Root: root}})
}

// borrowRouter gives a router for a goroutine that is no executor's. It heeds nothing, so that nobody waits.
func (e *Engine) borrowRouter() *transfer.Router {
	if r, ok := e.deliveries.Get().(*transfer.Router); ok {
		return r
	}
	targets := make([]*transfer.Target, len(e.byTask))
	byExecutor := map[*core]*transfer.Target{}
	for task, c := range e.byTask {
		switch {
		case task == 0:
		case c == nil:
			targets[task] = transfer.Elsewhere(int32(task))
		case byExecutor[c] == nil:
			byExecutor[c] = transfer.Local(c.inbox)
			fallthrough
		default:
			targets[task] = byExecutor[c]
		}
	}
	r := transfer.NewRouter(e.pool, e.config.Remote, targets)
	r.Refused = func(m tuple.Message) { e.refused(r, m) }
	return r
}

// refused is told of tuples from other workers that an inbox here, at its limit, did not take.
func (e *Engine) refused(r *transfer.Router, m tuple.Message) {
	c := e.byTask[m.Task]
	t := c.task(m.Task)
	if to := m.Tuple; to.Tracked() && len(e.ackers) > 0 {
		e.tellFail(r, t, to.Anchor.Root)
		for _, a := range to.More {
			e.tellFail(r, t, a.Root)
		}
	}
	if c.reportsDrop() {
		e.config.Report(c.component, m.Task, dropped(m.Task))
	}
}

// reportsDrop says whether it is time for another report of dropped tuples.
func (c *core) reportsDrop() bool {
	now, last := c.now(), c.refusedAt.Load()
	return (now-last > second || last == 0) && c.refusedAt.CompareAndSwap(last, now)
}

func dropped(task int32) error {
	return fmt.Errorf("tuples for task %d are dropped, since its queue is at its limit", task)
}

// refused is told of tuples that an inbox at its limit did not take: they are more than back-pressure can hold, since they multiply in a circle.
func (c *core) refused(m tuple.Message) {
	t := c.tasks[0]
	if to := m.Tuple; to.Tracked() && len(c.engine.ackers) > 0 {
		c.tell(t, acker.Message{Root: to.Anchor.Root, Kind: acker.Fail})
		for _, a := range to.More {
			c.tell(t, acker.Message{Root: a.Root, Kind: acker.Fail})
		}
	}
	if c.reportsDrop() {
		t.Report(dropped(m.Task))
	}
}

// queue is what an inbox tells metrics consumers.
func (c *core) queue() metrics.Queue {
	size, mark := c.inbox.Size(), c.inbox.Mark()
	arrived, dropped := c.inbox.Totals()
	return metrics.Queue{
		Capacity: mark, Population: min(size, mark), Overflow: max(size-mark, 0), Arrived: arrived, Dropped: dropped,
	}
}

func (c *core) last() int32 { return c.first + int32(len(c.tasks)) - 1 }
