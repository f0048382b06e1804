// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/thrift/storm"
)

// stormWatch notes what a watch of a topology's state tells.
type stormWatch struct {
	mu   sync.Mutex
	seen []string // names, "" where there was none
}

func (w *stormWatch) changed(base *storm.StormBase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if base == nil {
		w.seen = append(w.seen, "")
		return
	}
	w.seen = append(w.seen, base.Name)
}

func (w *stormWatch) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		return "nothing"
	}
	return w.seen[len(w.seen)-1]
}

func TestWatchOfANode(t *testing.T) {
	t.Parallel()
	z := startZK(t)
	s := z.connect()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	w := &stormWatch{}
	go func() { ended <- s.WatchStorm(ctx, "t", w.changed) }()
	sees := func(name string) {
		t.Helper()
		await(t, fmt.Sprintf("%q", name), func() bool { return w.last() == name })
	}
	set := func(name string) {
		t.Helper()
		if err := z.connect().SetStorm(t.Context(), "t", base(name)); err != nil {
			t.Fatal(err)
		}
	}
	sees("")
	set("a")
	sees("a")
	set("b")
	sees("b")
	batch := s.Batch()
	batch.RemoveStorm("t")
	if err := batch.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	sees("")
	set("c")
	sees("c")
	z.stop()
	z.start()
	set("d")
	sees("d")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("WatchStorm = %v", err)
	}
}

func TestErrorsOfAComponent(t *testing.T) {
	t.Parallel()
	z := startZK(t)
	writer, reader := z.connect(), z.connect()
	add := func(s *cluster.State, second int32) {
		t.Helper()
		info := &storm.ErrorInfo{Error: fmt.Sprint("e", second), ErrorTimeSecs: second}
		if err := s.AddError(t.Context(), "t", "a b/c", info, 3); err != nil {
			t.Fatal(err)
		}
	}
	texts := func() (out []string) {
		found := must(reader.Errors(t.Context(), "t", "a b/c"))(t)
		for _, e := range found {
			out = append(out, e.Error)
		}
		return out
	}
	for second := range int32(5) {
		add(writer, second)
	}
	if diff := cmp.Diff([]string{"e4", "e3", "e2"}, texts()); diff != "" {
		t.Error(diff)
	}
	// Errors go with the session that wrote them, but for the last one.
	add(reader, 5)
	writer.Close()
	await(t, "the errors of the session that ended to go", func() bool { return cmp.Equal([]string{"e5"}, texts()) })
	reader.Close()
	last := must(z.connect().LastError(t.Context(), "t", "a b/c"))(t)
	if last == nil || last.Error != "e5" {
		t.Errorf("last error is %v", last)
	}
}

func TestWorkerBeat(t *testing.T) {
	t.Parallel()
	s := startZK(t).connect()
	beat := &storm.ClusterWorkerHeartbeat{StormID: "t", TimeSecs: 7, ExecutorStats: map[*storm.ExecutorInfo]*storm.ExecutorStats{}}
	if err := s.SetWorkerBeat(t.Context(), "t", "node", 6700, beat); err != nil {
		t.Fatal(err)
	}
	if got := must(s.WorkerBeat(t.Context(), "t", "node", 6700))(t); got == nil || got.TimeSecs != 7 {
		t.Errorf("statistics are %v", got)
	}
	if err := s.RemoveWorkerBeat(t.Context(), "t", "node", 6700); err != nil {
		t.Fatal(err)
	}
	if got := must(s.WorkerBeat(t.Context(), "t", "node", 6700))(t); got != nil {
		t.Errorf("statistics are %v", got)
	}
}
