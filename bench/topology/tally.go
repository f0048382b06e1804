// SPDX-License-Identifier: Apache-2.0

// This file writes down what a task does.

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gust-stream/gust/multilang/component"
)

const (
	// every is how far apart notes are.
	every = 100 * time.Millisecond
	// look is how often the clock is looked at, so that it costs a fast task nothing. A power of two.
	look = 64
)

// tally is Tally: it counts into a file that the bench reads. A file that cannot be written shows as a measurement that never ends.
type tally struct {
	file    *os.File
	timed   bool
	times   []byte
	count   int64
	written time.Time
}

// newTally opens OUT/COMPONENT/TASK.PID-RANDOM.tsv.
func newTally(ctx *component.Context, timed bool) (*tally, error) {
	out, ok := ctx.Conf["compat.out"].(string)
	if !ok {
		return nil, errors.New("the conf has no compat.out")
	}
	dir := filepath.Join(out, ctx.Component)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	name := fmt.Sprintf("%d.%d-%x.tsv", ctx.Task, os.Getpid(), rand.Uint64())
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	t := &tally{file: file, timed: timed}
	t.line("open", time.Now())
	return t, profile(ctx, file.Name()+".pprof")
}

// took notes how long the next one took.
func (t *tally) took(d time.Duration) {
	if len(t.times) > 0 {
		t.times = append(t.times, ',')
	}
	t.times = strconv.AppendInt(t.times, d.Microseconds(), 10)
}

func (t *tally) one() {
	t.count++
	if t.count != 1 && t.count%look != 0 {
		return
	}
	now := time.Now()
	if now.Sub(t.written) < every {
		return
	}
	t.written = now
	if t.timed {
		t.line("took", now, string(t.times))
		t.times = t.times[:0]
	}
	t.line("acked", now, strconv.FormatInt(t.count, 10))
}

func (t *tally) failed() { t.line("failed", time.Now()) }

func (t *tally) line(what string, at time.Time, more ...string) {
	text := append([]byte(what), '\t')
	text = strconv.AppendInt(text, at.UnixNano(), 10)
	for _, cell := range more {
		text = append(append(text, '\t'), cell...)
	}
	_, _ = t.file.Write(append(text, '\n')) // see tally
}
