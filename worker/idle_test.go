// SPDX-License-Identifier: Apache-2.0

package worker

// This file is an engine without executors.

import (
	"context"

	"github.com/gust-stream/gust/thrift/storm"
)

// idle holds a slot and runs nothing.
type idle struct{ connected chan struct{} }

// newIdle makes an engine that runs nothing: every executor is there and has no statistics.
func newIdle(Setup) (Engine, error) {
	e := idle{make(chan struct{})}
	close(e.connected)
	return e, nil
}

// Run waits for the end.
func (e idle) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (e idle) SetActive(bool)                           {}
func (e idle) SetCredentials(map[string]string)         {}
func (e idle) SetPeers(map[int32]Peer)                  {}
func (e idle) Connected() <-chan struct{}               { return e.connected }
func (e idle) Stats() map[Executor]*storm.ExecutorStats { return nil }
func (e idle) SetDebug(map[string]float64)              {}
