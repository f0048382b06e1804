// SPDX-License-Identifier: Apache-2.0

package multilang

// This file holds what bolts and spouts share: the child and the goroutines around it.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/multilang/component"
)

// Config says what a child is and where it runs.
type Config struct {
	// Command is the program and its arguments: a ShellComponent's execution command and script.
	Command []string
	// Env is the component's own environment on top of Environ, which is the worker's; nil means os.Environ.
	Env     map[string]string
	Environ []string
	// Dir is the working directory, the topology's resources; "" is the worker's own. PidDir is where files are named after the
	// processes' ids.
	Dir, PidDir string
	Component   string
	Task        int32
	// Conf and Context go to the child in the handshake, see Context.
	Conf     map[string]any
	Context  map[string]any
	Settings Settings
	// TryApply applies a batch and does what the executor does after one, if the executor is parked; false if it is not. It is called on
	// a goroutine of the child's. nil: batches always go through the channel, which costs the child the time of a thread's wake-up.
	TryApply func(*Batch) bool
	// Vigils are those of the process; nil: no reader watches its child's pipe.
	Vigils *Vigils
}

// child is one child process. Its fields are set before Run, or have an owner named with them.
type child struct {
	cfg      Config
	log      *zap.Logger
	events   chan<- *Batch
	owner    driver
	decode   *decoder
	life     life
	out      outbox
	birth    time.Time
	free     chan *Batch
	done     chan struct{} // closed when nobody takes batches any more
	faults   chan error    // what ends the child, the first counts
	strays   *limiter      // the reader's, as the next
	gathered []byte        // output that is no message
	lines    tail
	wanting  atomic.Bool // the executor waits for room
	wake     *Batch
	vigil    vigil        // the reader's
	working  atomic.Bool  // it has tuples
	queued   atomic.Int64 // batches in the channel: while there are some, no other may overtake them
	pids     []string     // files in PidDir; the reader's until it has ended
}

// driver is a Bolt or Spout: what batches are applied to. Its methods run on the executor's goroutine.
type driver interface {
	core() *executorSide
	// start is told of the end of the handshake, apply is given a message, applied follows the last one of a batch.
	start()
	apply(m *message) error
	applied()
}

// executorSide is what a driver keeps on the executor's goroutine.
type executorSide struct {
	child  *child
	runner component.Runner
	up     bool // the handshake is done
	broken bool // the child is given up: what still comes of it is left out
}

func newChild(cfg Config, owner driver, decode *decoder, events chan<- *Batch, log *zap.Logger) *child {
	cfg.Settings = cfg.Settings.withDefaults()
	c := &child{
		cfg: cfg, log: log, events: events, owner: owner, decode: decode, birth: time.Now(),
		free: make(chan *Batch, 4), done: make(chan struct{}), faults: make(chan error, 1),
		strays: newLimiter(log, "output of a child that is no message"),
	}
	c.out.format = cfg.Settings.Format
	c.out.wake = make(chan struct{}, 1)
	c.life.stride.Store(1)
	c.life.waiting.Store(true)
	c.wake = &Batch{from: owner}
	c.vigil.all = cfg.Vigils
	return c
}

// now is the time of a steady clock.
func (c *child) now() int64 { return int64(time.Since(c.birth)) }

// fault ends the child; only the first reason is kept.
func (c *child) fault(err error) {
	select {
	case c.faults <- err:
	default:
	}
}

// Run starts the child and everything around it, and returns when all of it is gone: nil if ctx ended, else a *ChildError, which
// the executor is given with the last batch too.
func (c *child) run(ctx context.Context) error {
	defer close(c.done)
	failed := &ChildError{Component: c.cfg.Component, Task: c.cfg.Task, Command: c.cfg.Command}
	if err := c.live(ctx, failed); err != nil {
		failed.Cause = err
	}
	if ctx.Err() != nil {
		return nil
	}
	select {
	case c.events <- &Batch{from: c.owner, end: failed}:
	case <-ctx.Done():
	}
	return failed
}

// live is a child's life; the error is why it ended.
func (c *child) live(ctx context.Context, failed *ChildError) error {
	hello, err := c.handshake()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	if err := adoptOrphans(); err != nil {
		c.log.Warn("orphans of children may stay as zombies", zap.Error(err))
	}
	environ := c.cfg.Environ
	if environ == nil {
		environ = os.Environ()
	}
	mark := fmt.Sprintf("%d-%d-%d", os.Getpid(), c.cfg.Task, c.birth.UnixNano())
	p, err := start(c.cfg.Command, environment(environ, c.cfg.Env, mark), c.cfg.Dir, mark)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	c.log.Info("child started", zap.Strings("command", c.cfg.Command), zap.Int("pid", p.pid))
	c.notePid(strconv.Itoa(p.pid))
	c.life.sign(c.now())

	stdout, err := newPipeReader(p.stdout, &c.vigil)
	if err != nil { // it was just opened
		stdout = p.stdout
	}
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	var reading, others sync.WaitGroup
	reading.Go(func() { c.read(stop, stdout, p.exited) })
	others.Go(p.await)
	others.Go(func() { c.write(p.stdin, hello, p.exited) })
	others.Go(func() { drain(p.stderr, &c.lines, newLimiter(c.log, "stderr of a child")) })

	cause := c.watch(ctx, p)
	failed.Exit = p.end(c.cfg.Settings.KillWait)
	c.out.close()
	closeAll(p.stdin)
	// Whatever held the pipes open is gone, so that they end; what a process that cannot be killed holds is cut off.
	cut := time.AfterFunc(killLimit, func() { closeAll(p.stderr) })
	c.finish(&reading, p.stdout)
	cancel()
	others.Wait()
	cut.Stop()
	closeAll(p.stdout, p.stderr)
	select { // what it said last explains its end better than the end itself
	case said := <-c.faults:
		if errors.Is(cause, ErrExited) {
			cause = said
		}
	default:
	}
	failed.Lines = c.lines.last()
	for _, file := range c.pids {
		_ = os.Remove(file)
	}
	return cause
}

// finish waits until the reader has taken in all that the child said. The executor may take its time for that.
func (c *child) finish(reading *sync.WaitGroup, stdout io.Closer) {
	over := make(chan struct{})
	go func() {
		reading.Wait()
		close(over)
	}()
	tick := time.NewTicker(killLimit)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			if !c.life.blocked.Load() {
				_ = stdout.Close()
			}
		}
	}
}

// notePid makes a file that tells the supervisor what to kill if the worker cannot.
func (c *child) notePid(pid string) {
	if c.cfg.PidDir == "" {
		return
	}
	file := filepath.Join(c.cfg.PidDir, pid)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // empty, and for others to see
	if err != nil {
		c.log.Warn("no file tells of a child's process", zap.Error(err))
		return
	}
	_ = f.Close()
	c.pids = append(c.pids, file)
}

// ownPid notes a process id that the child told: where the command is a script that starts something, it is not the one we know.
func (c *child) ownPid(pid int64) {
	if c.cfg.PidDir != "" {
		c.pids = append(c.pids, filepath.Join(c.cfg.PidDir, strconv.FormatInt(pid, 10)))
	}
}

// handshake is the first message to the child.
func (c *child) handshake() ([]byte, error) {
	conf, context := c.cfg.Conf, c.cfg.Context
	if conf == nil {
		conf = map[string]any{}
	}
	if context == nil {
		context = map[string]any{}
	}
	f := c.cfg.Settings.Format
	text, err := codec.Append(nil, f, map[string]any{"conf": conf, "pidDir": c.cfg.PidDir, "context": context})
	if err != nil {
		return nil, fmt.Errorf("write the handshake: %w", err)
	}
	return codec.End(text, f), nil
}

// watch waits for whatever ends the child.
func (c *child) watch(ctx context.Context, p *process) error {
	s := c.cfg.Settings
	every := min(s.Beat, s.Timeout/4)
	tick := time.NewTicker(every)
	defer tick.Stop()
	slow := time.NewTicker(time.Minute)
	defer slow.Stop()
	var sweep sweeper
	last := c.now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-c.faults:
			return err
		case <-p.exited:
			return ErrExited
		case <-slow.C:
			sweep.sweep()
		case <-tick.C:
			now := c.now()
			if now-last > int64(2*every+time.Second) { // we did not run ourselves: what would the child have said
				c.life.sign(now)
			}
			last = now
			if c.queued.Load() > 0 { // it may be waiting for an answer to what nobody has taken yet
				c.life.sign(now)
			}
			limit := s.Timeout
			if !c.life.started.Load() {
				limit = s.StartTimeout
			}
			if silent := c.life.silent(now); silent > limit {
				return fmt.Errorf("%w: nothing for %s", ErrSilent, silent.Round(time.Second/10))
			}
			if used := c.memory(p); used > s.MemoryMB<<20 {
				return fmt.Errorf("%w: %d MB with its own children, %s is %d", ErrMemory, used>>20, keyMemory, s.MemoryMB)
			}
		}
	}
}

// memory is 0 where no bound is set, since measuring it costs.
func (c *child) memory(p *process) int64 {
	if c.cfg.Settings.MemoryMB <= 0 {
		return 0
	}
	return p.memory()
}
