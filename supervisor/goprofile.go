// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file asks Go workers for profiles.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

// goProfileTimeout bounds the wait for a Go worker's answer, goProfileLook is the pause between two looks for it.
const (
	goProfileTimeout = time.Minute
	goProfileLook    = 20 * time.Millisecond
)

// goProfiler asks one Go worker.
type goProfiler struct {
	signal  func() error
	pid     int
	worker  string // its folder
	results string // where dumps go
}

func (g goProfiler) run(ctx context.Context, action storm.ProfileAction) error {
	ctx, cancel := context.WithTimeout(ctx, goProfileTimeout)
	defer cancel()
	name := strconv.Itoa(g.pid) + "-" + time.Now().Format("20060102-150405.000")
	file := "recording-" + name + ".pprof"
	switch action {
	case storm.ProfileAction_JSTACK_DUMP:
		file = "jstack-" + name + ".txt"
	case storm.ProfileAction_JMAP_DUMP:
		file = "heap-" + name + ".pprof"
	default:
	}
	path, err := localstate.AskProfile(g.worker, localstate.Profile{Action: action.String(), File: filepath.Join(g.results, file)})
	if err != nil {
		return err
	}
	defer os.Remove(path) //nolint:errcheck // it goes with the worker's folder
	if err := g.signal(); err != nil {
		return err
	}
	for {
		p, err := localstate.ReadProfile(path)
		switch {
		case err != nil:
			return err
		case p.Fault != "":
			return errors.New(p.Fault)
		case p.Done:
			return nil
		}
		if err := clock.Wait(ctx, goProfileLook); err != nil {
			return fmt.Errorf("worker did not answer: %w", err)
		}
	}
}
