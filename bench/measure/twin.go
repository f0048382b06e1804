// SPDX-License-Identifier: Apache-2.0

// This file measures the return of a worker that has a twin.

package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/gust-stream/gust/internal/testbed"

	"github.com/gust-stream/gust/bench/rig"
)

// twinLimit is how long gust gets to bring up a twin.
const twinLimit = time.Minute

// measureTwin kills workers that have a twin; when no twin shows up, it says so instead.
func measureTwin(ctx context.Context, r *Run) error {
	c, err := r.Site.NewCluster(rig.Gust, "workers-twin", rig.Shape{Slots: 2, Conf: []string{"gust.worker.twin.enabled: true"}})
	if err != nil {
		return err
	}
	s := &side{Run: r, Cluster: c}
	return s.turn(ctx, func(ctx context.Context) error {
		if err := s.submit(ctx, s.Cluster, s.nimbus, "twin"); err != nil {
			return err
		}
		for rep := range r.Reps {
			limited, cancel := context.WithTimeout(ctx, stepLimit)
			_, err := s.AwaitAck(limited, "twin", time.Time{})
			cancel()
			if err != nil {
				return err
			}
			if !s.twinned(ctx, rep+1) {
				r.note("worker-kill-twin", "gust.worker.twin.enabled started no twin within %s", twinLimit)
				return nil
			}
			if err := pause(ctx, steady); err != nil {
				return err
			}
			if err := s.killTwinned(ctx, rep); err != nil {
				return err
			}
		}
		return kill(ctx, s.Cluster, s.nimbus, "twin")
	})
}

// twinned waits until as many twins have stood by.
func (s *side) twinned(ctx context.Context, so int) bool {
	ctx, cancel := context.WithTimeout(ctx, twinLimit)
	defer cancel()
	return testbed.Await(ctx, "a twin", 100*time.Millisecond, func() (bool, error) {
		n, err := s.Logged("twin stands by")
		return n >= so, err
	}) == nil
}

// killTwinned kills the worker of the two that acks.
func (s *side) killTwinned(ctx context.Context, rep int) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	stamps, err := s.Stamps("twin")
	if err != nil {
		return err
	}
	var last rig.Stamp
	for _, stamp := range stamps {
		if stamp.Last.After(last.Last) {
			last = stamp
		}
	}
	began := time.Now()
	if err := testbed.Kill(last.PID); err != nil {
		return err
	}
	var again time.Time
	err = testbed.Await(ctx, "an acked tuple of the twin", 25*time.Millisecond, func() (bool, error) {
		stamps, err := s.Stamps("twin")
		for _, stamp := range stamps {
			if stamp.PID != last.PID && stamp.First.After(began) {
				again = stamp.First
			}
		}
		return !again.IsZero(), err
	})
	if err != nil {
		return fmt.Errorf("after the kill of worker %d: %w", last.PID, err)
	}
	s.Samples.AddTime("worker-kill gust with a twin", again.Sub(began))
	s.Say("run %d: gust with a twin: kill of a worker until acked %.2f s", rep+1, again.Sub(began).Seconds())
	return nil
}
