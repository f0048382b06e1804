// SPDX-License-Identifier: Apache-2.0

package link_test

// This file tests a client and a server of ours with each other, in Storm's frames and in the native ones.

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/link"
	"github.com/gust-stream/gust/messaging/native"
	"github.com/gust-stream/gust/tuple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is how long a test waits for what must come.
const limit = time.Minute

func sources() *frame.Sources {
	return frame.NewSources(
		map[int32]string{-1: "__system", 1: "__acker", 2: "bolt", 3: "bolt", 4: "spout"},
		map[string]map[string][]string{
			"__acker": {"__ack_ack": {"id", "time-delta-ms"}}, "bolt": {"default": {"word", "count"}, "__ack_ack": {"id", "ack-val"}},
			"spout": {"default": {"word"}}, "__system": {"__metrics": {"task-info", "data-points"}},
		},
	)
}

// sink keeps what is delivered.
type sink struct {
	mu  sync.Mutex
	got []tuple.Message
	// news is closed and made again at each delivery.
	news chan struct{}
}

func newSink() *sink { return &sink{news: make(chan struct{})} }

func (s *sink) deliver(batch []tuple.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, batch...)
	close(s.news)
	s.news = make(chan struct{})
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

// wait gives the first n messages.
func (s *sink) wait(t *testing.T, n int) []tuple.Message {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		got, news := slices.Clone(s.got), s.news
		s.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-news:
		case <-timer.C:
			t.Fatalf("%d messages came, not %d", len(got), n)
		}
	}
}

// await waits for a condition that no channel tells of.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !cond() {
		select {
		case <-ticker.C:
		case <-timer.C:
			t.Fatalf("%s did not come", what)
		}
	}
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return ln
}

// start runs something until the test ends, or until it is stopped.
func start(tb testing.TB, run func(ctx context.Context) error) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil {
			tb.Error(err)
		}
	}()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	tb.Cleanup(stop)
	return stop
}

func serve(tb testing.TB, cfg link.ServerConfig) (s *link.Server, address string, stop func()) {
	tb.Helper()
	ln := listen(tb)
	cfg.Worker, cfg.Sources = "worker-1", sources()
	if cfg.Tasks == nil {
		cfg.Tasks = []int32{1, 2, 3}
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	s = link.NewServer(cfg)
	stop = start(tb, func(ctx context.Context) error { return s.Run(ctx, ln) })
	return s, ln.Addr().String(), stop
}

func dial(tb testing.TB, cfg link.ClientConfig) (c *link.Client, stop func()) {
	tb.Helper()
	cfg.Sources = sources()
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	if cfg.MinWait == 0 {
		cfg.MinWait = time.Millisecond
	}
	if cfg.Greet == 0 {
		cfg.Greet = limit // on a busy machine a greeting may come late
	}
	c = link.NewClient(cfg)
	return c, start(tb, c.Run)
}

func words(from, n int) []tuple.Message {
	src := sources().Of(4, "default")
	out := make([]tuple.Message, 0, n)
	for i := range n {
		out = append(out, tuple.Message{Task: int32(2 + i%2), Tuple: &tuple.Tuple{
			Source: src, Values: []any{fmt.Sprintf("word %d", from+i)}, Anchor: tuple.Anchor{Root: int64(from + i + 1), Edge: 7},
		}})
	}
	return out
}

// both runs a test with each protocol.
func both(t *testing.T, test func(t *testing.T, stormOnly bool)) {
	t.Helper()
	t.Run("Storm", func(t *testing.T) { t.Parallel(); test(t, true) })
	t.Run("Native", func(t *testing.T) { t.Parallel(); test(t, false) })
}

func TestTuplesInOrder(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stormOnly bool) {
		t.Helper()
		s := newSink()
		_, address, _ := serve(t, link.ServerConfig{Deliver: s.deliver, StormOnly: stormOnly, Log: zaptest.NewLogger(t)})
		c, _ := dial(t, link.ClientConfig{Address: address, Log: zaptest.NewLogger(t)})
		want := words(0, 30_000)
		// What is sent before there is a connection is kept.
		for i := 0; i < len(want); i += 100 {
			c.Send(want[i : i+100])
			await(t, "room", func() bool { return c.Stats().Pending < 8_000 })
		}
		got := s.wait(t, len(want))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff[:min(len(diff), 2000)])
		}
		st := c.Stats()
		if st.Sent != int64(len(want)) || st.Lost != 0 || st.Native == stormOnly || !c.Ready() {
			t.Errorf("%+v", st)
		}
	})
}

// Either side may keep to Storm's frames.
func TestStormOnlyClient(t *testing.T) {
	t.Parallel()
	s := newSink()
	_, address, _ := serve(t, link.ServerConfig{Deliver: s.deliver})
	c, _ := dial(t, link.ClientConfig{Address: address, StormOnly: true})
	c.Send(words(0, 10))
	s.wait(t, 10)
	if c.Stats().Native {
		t.Error("native")
	}
}

func TestBackPressure(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stormOnly bool) {
		t.Helper()
		s := newSink()
		server, address, _ := serve(t, link.ServerConfig{Deliver: s.deliver, StormOnly: stormOnly})
		server.SetBlocked(2, true)
		notes := make(chan struct{}, 100)
		c, _ := dial(t, link.ClientConfig{Address: address, Notify: func() {
			select {
			case notes <- struct{}{}:
			default:
			}
		}})
		await(t, "the first status", func() bool { return c.Blocked(2) })
		await(t, "a connection", c.Ready)
		if c.Blocked(3) || c.Blocked(1) || c.Blocked(-1) || c.Blocked(99) {
			t.Error("a task is blocked that is not")
		}
		// Acks go on.
		c.Send([]tuple.Message{{Task: 2, Tuple: words(0, 1)[0].Tuple}})
		s.wait(t, 1)
		for len(notes) > 0 {
			<-notes
		}
		server.SetBlocked(2, false)
		await(t, "the end of back-pressure", func() bool { return !c.Blocked(2) })
		select {
		case <-notes:
		case <-time.After(limit):
			t.Error("nobody was told")
		}
		if stormOnly {
			server.SetBlocked(3, true)
			await(t, "a change", func() bool { return c.Blocked(3) && !c.Blocked(2) })
		}
	})
}

// Credit runs out for a task that takes nothing, and only for it.
func TestCredit(t *testing.T) {
	t.Parallel()
	s := newSink()
	server, address, _ := serve(t, link.ServerConfig{Deliver: s.deliver})
	c, _ := dial(t, link.ClientConfig{Address: address})
	first := words(0, 1)
	first[0].Task = 3
	c.Send(first) // once it is there both speak natively
	s.wait(t, 1)
	server.SetBlocked(2, true)
	to := func(task int32, n int) {
		for _, m := range words(0, n) {
			m.Task = task
			c.Send([]tuple.Message{m})
		}
	}
	sent := 0
	for ; !c.Blocked(2); sent++ {
		to(2, 1)
	}
	if sent != native.Window {
		t.Errorf("%d tuples went to a blocked task, the window has %d", sent, native.Window)
	}
	for range 3 * native.Window {
		await(t, "credit for a task that is not blocked", func() bool { return !c.Blocked(3) })
		to(3, 1)
	}
	s.wait(t, 1+sent+3*native.Window)
	if !c.Blocked(2) {
		t.Error("credit came while the task is blocked")
	}
	server.SetBlocked(2, false)
	await(t, "credit", func() bool { return !c.Blocked(2) })
	for range 3 * native.Window {
		await(t, "credit", func() bool { return !c.Blocked(2) })
		to(2, 1)
	}
	s.wait(t, 1+sent+6*native.Window)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stormOnly bool) {
		t.Helper()
		var mu sync.Mutex
		load := map[int32]float64{1: 0, 2: 0.5}
		_, address, _ := serve(t, link.ServerConfig{
			Deliver: func([]tuple.Message) {}, StormOnly: stormOnly, LoadEvery: time.Millisecond, Load: func() map[int32]float64 {
				mu.Lock()
				defer mu.Unlock()
				return load
			},
		})
		c, _ := dial(t, link.ClientConfig{Address: address})
		is := func(task int32, want float64) func() bool {
			return func() bool { l, ok := c.Load(task); return ok && l == want }
		}
		await(t, "the load", is(2, 0.5))
		mu.Lock()
		load = map[int32]float64{2: 1}
		mu.Unlock()
		await(t, "another load", is(2, 1))
		if _, ok := c.Load(1); ok {
			t.Error("the load of a task that went away")
		}
	})
}

func TestReconnect(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stormOnly bool) {
		t.Helper()
		first, second := newSink(), newSink()
		_, address, stop := serve(t, link.ServerConfig{Deliver: first.deliver, StormOnly: stormOnly})
		c, _ := dial(t, link.ClientConfig{Address: address, Mark: 100})
		c.Send(words(0, 50))
		first.wait(t, 50)
		stop()
		await(t, "the loss", func() bool { return !c.Ready() })
		if c.Blocked(2) {
			t.Error("blocked without a connection")
		}
		// Without a connection a few are kept, the rest is lost.
		for i := range 10 {
			c.Send(words(50+20*i, 20))
		}
		if st := c.Stats(); st.Pending != 100 || st.Lost != 100 {
			t.Errorf("%+v", st)
		}
		var ln net.Listener
		await(t, "the port", func() bool { // somebody's connection may have it for a moment
			var err error
			ln, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
			return err == nil
		})
		s := link.NewServer(link.ServerConfig{
			Worker: "w", Tasks: []int32{2, 3}, Sources: sources(), Log: zap.NewNop(), Deliver: second.deliver, StormOnly: stormOnly,
		})
		start(t, func(ctx context.Context) error { return s.Run(ctx, ln) })
		got := second.wait(t, 100)
		if diff := cmp.Diff(words(50, 100), got); diff != "" {
			t.Error(diff)
		}
		if st := c.Stats(); st.Connects != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// A client that ends sends what it was given.
func TestFlushAtTheEnd(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stormOnly bool) {
		t.Helper()
		s := newSink()
		_, address, _ := serve(t, link.ServerConfig{
			Deliver: s.deliver, StormOnly: stormOnly, LoadEvery: time.Millisecond, Load: func() map[int32]float64 { return map[int32]float64{1: 1} },
		})
		c, stop := dial(t, link.ClientConfig{Address: address})
		await(t, "a connection", c.Ready)
		c.Send(words(0, 5000))
		stop()
		s.wait(t, 5000)
	})
}

func TestRefusedAtTheClient(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stormOnly bool) {
		t.Helper()
		s := newSink()
		refused := make(chan tuple.Message, 10)
		_, address, _ := serve(t, link.ServerConfig{Deliver: s.deliver, StormOnly: stormOnly})
		c, _ := dial(t, link.ClientConfig{Address: address, Refused: func(m tuple.Message, err error) {
			if err != nil {
				refused <- m
			}
		}})
		batch := words(0, 3)
		batch[1].Tuple.Values = []any{make(chan int)}
		c.Send(batch)
		c.Send([]tuple.Message{batch[1]})
		got := s.wait(t, 2)
		if diff := cmp.Diff([]tuple.Message{batch[0], batch[2]}, got); diff != "" {
			t.Error(diff)
		}
		for range 2 {
			if m := <-refused; m.Tuple != batch[1].Tuple {
				t.Errorf("refused %+v", m)
			}
		}
		await(t, "the count", func() bool { st := c.Stats(); return st.Sent == 2 && st.Lost == 2 })
	})
}

// Nobody listens: what does not fit is lost, and the end does not wait.
func TestNoServer(t *testing.T) {
	t.Parallel()
	ln := listen(t)
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	c, stop := dial(t, link.ClientConfig{Address: address, Mark: 10})
	c.Send(words(0, 30))
	if st := c.Stats(); st.Pending != 10 || st.Lost != 20 || c.Ready() {
		t.Errorf("%+v", st)
	}
	stop()
	if st := c.Stats(); st.Pending != 0 || st.Lost != 30 {
		t.Errorf("%+v", st)
	}
}
