// SPDX-License-Identifier: Apache-2.0

// Command gotopology is a topology of linked Go components for the tests: numbers that are counted, acked, and timed from the
// start of the worker's process to the first one that arrives.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/program"
)

func main() {
	t := component.NewTopology("gotopology").Workers(1).MaxSpoutPending(100)
	t.Spout("numbers", func() component.Spout { return &numbers{} }).Output("number")
	t.Bolt("sum", func() component.Bolt { return &sum{} }).Parallelism(2).From("numbers").Shuffle().Output("sum")
	program.Main(t)
}

type numbers struct {
	last int64
	out  *os.File
}

func (n *numbers) Open(ctx *component.Context, _ *component.SpoutOutput) (err error) {
	n.out, err = note(ctx, "spout")
	return err
}

func (n *numbers) Next(out *component.SpoutOutput) error {
	n.last++
	return out.Emit(n.last, n.last)
}

func (n *numbers) Ack(any)      { fmt.Fprintln(n.out, "ack") }
func (n *numbers) Fail(any)     { fmt.Fprintln(n.out, "fail") }
func (n *numbers) Close() error { return n.out.Close() }

type sum struct {
	total int64
	ctx   *component.Context
}

func (s *sum) Prepare(ctx *component.Context, _ *component.Output) error {
	s.ctx = ctx
	return nil
}

func (s *sum) Execute(t *component.Tuple, out *component.Output) error {
	number, err := component.Int(t, "number")
	if err != nil {
		return err
	}
	if s.total == 0 {
		if err := s.first(); err != nil {
			return err
		}
	}
	s.total += number
	if err := out.Emit(t, s.total); err != nil {
		return err
	}
	out.Ack(t)
	return nil
}

// first notes how long this process has run.
func (s *sum) first() error {
	age, err := age()
	if err != nil {
		return err
	}
	f, err := note(s.ctx, "first")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, age.Milliseconds())
	return errors.Join(err, f.Close())
}

// note opens a file of this task and process in the folder that the conf names.
func note(ctx *component.Context, kind string) (*os.File, error) {
	dir, _ := ctx.Conf["test.out"].(string)
	name := fmt.Sprintf("%s.%d.%d", kind, ctx.Task, os.Getpid())
	return os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
}

// age is how long this process has run, to a hundredth of a second.
func age() (time.Duration, error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	ticks, err := strconv.ParseInt(string(fields[19]), 10, 64)
	if err != nil {
		return 0, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, err
	}
	const tick = 10 * time.Millisecond
	return time.Duration(now.Nano()) - time.Duration(ticks)*tick, nil
}
