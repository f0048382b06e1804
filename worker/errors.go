// SPDX-License-Identifier: Apache-2.0

package worker

// This file brings the errors of components into the cluster state, where the UI shows them, and keeps a flood away from it.

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/thrift/storm"
)

// keptErrors is how many errors of a component stay, as with Storm.
const keptErrors = 10

// maxErrorText bounds one error in bytes; a node takes a megabyte.
const maxErrorText = 64 << 10

// reported is one error on its way.
type reported struct {
	component string
	info      *storm.ErrorInfo
}

// reporter takes errors from any goroutine and writes them from one.
type reporter struct {
	host     string
	port     int32
	interval time.Duration // topology.error.throttle.interval.secs
	most     int           // topology.max.error.report.per.interval
	log      func(component string, task int32) *zap.Logger
	now      func() time.Time

	mu      sync.Mutex
	windows map[int32]*window // by task, guarded by mu
	queue   []reported        // guarded by mu
	wake    chan struct{}     // holds one mark while queue is not empty
}

// window counts the errors of one task in one interval.
type window struct {
	begun time.Time
	count int
}

func newReporter(host string, port int, interval time.Duration, most int, log func(string, int32) *zap.Logger) *reporter {
	return &reporter{
		host: host, port: int32(port), interval: interval, most: most, log: log, now: time.Now, //nolint:gosec // a port
		windows: map[int32]*window{}, wake: make(chan struct{}, 1),
	}
}

// report logs an error and queues it, unless its task has reported as many as it may.
func (r *reporter) report(component string, task int32, err error) {
	if err == nil {
		return
	}
	now := r.now()
	r.mu.Lock()
	w := r.windows[task]
	if w == nil || now.Sub(w.begun) >= r.interval {
		w = &window{begun: now}
		r.windows[task] = w
	}
	w.count++
	pass := w.count <= r.most
	if pass {
		text := err.Error()
		if len(text) > maxErrorText {
			text = strings.ToValidUTF8(text[:maxErrorText], "") // it may be cut within a letter
		}
		r.queue = append(r.queue, reported{component, &storm.ErrorInfo{
			Error: text, ErrorTimeSecs: seconds(now), Host: &r.host, Port: &r.port,
		}})
	}
	r.mu.Unlock()
	r.log(component, task).Error("component reported an error", zap.Error(err))
	if pass {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// run writes what was reported until ctx ends. write is tried once: an error that cannot be written is in the log.
func (r *reporter) run(ctx context.Context, write func(context.Context, string, *storm.ErrorInfo) error, log *zap.Logger) {
	trouble := newTrouble(log, "reported error could not be written", "reported errors are written again")
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		r.flush(ctx, write, trouble)
	}
}

// flush writes what is queued.
func (r *reporter) flush(ctx context.Context, write func(context.Context, string, *storm.ErrorInfo) error, trouble *trouble) {
	r.mu.Lock()
	queue := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, e := range queue {
		writing, cancel := context.WithTimeout(ctx, callTimeout)
		trouble.report(write(writing, e.component, e.info))
		cancel()
	}
}
