// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file drives one slot: it feeds the machine with what happens, in one goroutine, and carries out what it orders.

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/supervisor/container"
	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/supervisor/slot"
	"github.com/gust-stream/gust/thrift/storm"
)

// report is what a job hands to the port's goroutine: it may change the port and returns the event for the machine.
type report func() slot.Event

// port is the driver of one slot. Everything below inbox belongs to the goroutine of run, or to whoever prepares the
// port before run.
type port struct {
	number  int
	cfg     Config
	store   *localstate.Store
	blobs   *localizer.Localizer
	workers *container.Launcher
	command func(container.Command) container.Command // fills in what is the same for all workers
	board   *board
	states  *states
	log     *zap.Logger

	mu    sync.Mutex
	inbox []report      // guarded by mu
	wake  chan struct{} // holds one mark while inbox is not empty

	machine  *slot.Machine
	origin   time.Time // the machine's time is counted from here
	jobs     *jobs     // since run
	stopping bool      // no job may start any more
	alive    map[int]*running
	twins    map[int]*twin // by the number of their Prepare
	files    map[string]*files
	last     map[string]chan struct{} // closed when the last job on a topology's files has ended
	profiles map[string]*profile
	unsaved  bool // the last Save did not reach the disk
	saved    *storm.LocalAssignment

	killOnStop atomic.Bool
	refused    atomic.Int64 // launches without a process so far
}

// running is a worker process that was started or adopted.
type running struct {
	seq        int
	id         string
	topologyID string
	process    *container.Worker
	version    int64 // of the newest heartbeat seen
}

// files is what the port knows about the files of a topology that it holds.
type files struct {
	attempt  int // the newest one; answers to others are late
	cancel   context.CancelFunc
	topology *localizer.Topology
	changes  []*localizer.Change // offered and not agreed to
}

func newPort(number int, s *Supervisor) *port {
	p := &port{
		number: number, cfg: s.cfg, store: s.store, blobs: s.blobs, workers: s.workers, command: s.command, board: s.board, states: s.states,
		log:      s.log.With(zap.Int("port", number)),
		wake:     make(chan struct{}, 1),
		machine:  slot.New(s.cfg.Slot),
		origin:   s.origin,
		alive:    map[int]*running{},
		twins:    map[int]*twin{},
		files:    map[string]*files{},
		profiles: map[string]*profile{},
		last:     map[string]chan struct{}{},
	}
	p.killOnStop.Store(s.cfg.KillWorkersOnStop)
	return p
}

// post hands a report to the port's goroutine; it never blocks.
func (p *port) post(r report) {
	p.mu.Lock()
	p.inbox = append(p.inbox, r)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *port) assign(a *storm.LocalAssignment) {
	p.post(func() slot.Event { return slot.Assigned{Assignment: a} })
}

// run drives the slot until ctx ends.
func (p *port) run(ctx context.Context) error {
	p.jobs = startJobs(ctx)
	for _, w := range p.alive {
		p.follow(w) // those that were adopted
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	beat := time.NewTicker(p.cfg.BeatEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			p.stop(ctx)
			return nil
		case <-p.wake:
			p.read()
		case <-timer.C:
			p.step(slot.Tick{})
		case <-beat.C:
			p.tick()
		}
		if at, ok := p.machine.Deadline(); ok {
			timer.Reset(at - time.Since(p.origin))
		} else {
			timer.Stop()
		}
	}
}

// read takes in what was posted.
func (p *port) read() {
	for _, r := range p.takeInbox() {
		if ev := r(); ev != nil {
			p.step(ev)
		}
	}
}

func (p *port) takeInbox() []report {
	p.mu.Lock()
	defer p.mu.Unlock()
	inbox := p.inbox
	p.inbox = nil
	return inbox
}

func (p *port) step(ev slot.Event) {
	for _, a := range p.machine.Step(time.Since(p.origin), ev) {
		p.carryOut(a)
	}
}

// tick looks at the worker's heartbeats, and tries again what the disk refused.
func (p *port) tick() {
	if p.unsaved {
		p.save(p.saved)
	}
	for _, w := range p.alive {
		beat, err := w.process.Heartbeat()
		if err != nil {
			p.log.Warn("worker heartbeat cannot be read", zap.String("worker_id", w.id), zap.Error(err))
		}
		if beat == nil || beat.Version == w.version {
			continue
		}
		w.version = beat.Version
		p.step(slot.Heartbeat{Seq: w.seq})
		if p.alive[w.seq] == w {
			p.board.setBeat(p.number, &beat.LSWorkerHeartbeat)
		}
	}
}

// stop waits for the jobs and then ends the twins, and the workers if that is wanted. Otherwise they are left for the next
// supervisor.
func (p *port) stop(ctx context.Context) {
	p.stopping = true
	p.jobs.stop()
	for _, r := range p.takeInbox() {
		r() // a worker may have been launched in the last moment
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.Slot.KillGrace+p.cfg.Slot.KillRetry)
	defer cancel()
	p.stopTwins(ctx)
	if !p.killOnStop.Load() {
		return
	}
	for _, w := range p.alive {
		if err := w.process.Kill(ctx, p.cfg.Slot.KillGrace); err != nil {
			p.log.Error("worker could not be killed", zap.String("worker_id", w.id), zap.Error(err))
			continue
		}
		p.discard(w)
	}
}

// discard removes what a worker that is gone leaves behind.
func (p *port) discard(w *running) {
	if err := w.process.CleanUp(); err != nil {
		p.log.Warn("worker directories could not be removed", zap.String("worker_id", w.id), zap.Error(err))
	}
	if err := p.store.ForgetWorker(w.id); err != nil {
		p.log.Warn("worker could not be struck off the approved ones", zap.String("worker_id", w.id), zap.Error(err))
	}
}

// jobs runs what takes time beside a port's goroutine.
type jobs struct {
	run  func(do func(context.Context))
	part func() (context.Context, context.CancelFunc) // a context for one job that may be cancelled alone
	stop func()                                       // cancels all jobs and waits for their end
}

func startJobs(ctx context.Context) *jobs {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	return &jobs{
		run:  func(do func(context.Context)) { all.Go(func() { do(ctx) }) },
		part: func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
		stop: func() {
			cancel()
			all.Wait()
		},
	}
}

// inTurn is jobs.run for what concerns the files of one topology: such jobs run one after the other.
func (p *port) inTurn(topologyID string, do func(ctx context.Context)) {
	before, done := p.last[topologyID], make(chan struct{})
	p.last[topologyID] = done
	p.jobs.run(func(ctx context.Context) {
		if before != nil {
			<-before
		}
		do(ctx)
		close(done)
		p.post(func() slot.Event {
			if p.last[topologyID] == done {
				delete(p.last, topologyID)
			}
			return nil
		})
	})
}

func (p *port) save(a *storm.LocalAssignment) {
	p.saved = a
	err := p.store.SetLocalAssignment(int32(p.number), a) //nolint:gosec // a port
	if err != nil {
		p.log.Error("local assignment could not be saved, will try again", zap.Error(err))
	}
	p.unsaved = err != nil
}

func (p *port) note(n slot.Note) {
	level := zap.InfoLevel
	if n.Warn {
		level = zap.WarnLevel
	}
	fields := []zap.Field{zap.String("detail", n.Detail)}
	if a := p.machine.Current(); a != nil {
		fields = append(fields, zap.String("topology_id", a.TopologyID))
	}
	p.log.Log(level, n.Text, fields...)
}
