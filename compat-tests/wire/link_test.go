// SPDX-License-Identifier: Apache-2.0

package wire

// This file lets links of ours and Storm's Netty client and server talk with each other.

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zaptest"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/messaging/link"
	"github.com/gust-stream/gust/tuple"

	"github.com/gust-stream/gust/compat-tests/stockjava"
)

// limit is how long a test waits for what must come.
const limit = time.Minute

func await(t *testing.T, d *stockjava.Driver, what string, cond func() bool) {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !cond() {
		select {
		case <-ticker.C:
		case <-timer.C:
			t.Fatalf("%s did not come\n%s", what, d.Log())
		}
	}
}

// start runs something until the test ends.
func start(t *testing.T, run func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func words(sources *frame.Sources, from, n int) []tuple.Message {
	out := make([]tuple.Message, 0, n)
	for i := range n {
		out = append(out, tuple.Message{Task: int32(2 + (from+i)%2), Tuple: &tuple.Tuple{
			Source: sources.Of(4, "default"), Values: []any{fmt.Sprintf("word %d", from+i)}, Anchor: tuple.Anchor{Root: int64(from + i + 1), Edge: 7},
		}})
	}
	return out
}

func messageTexts(ms []tuple.Message) []string {
	out := make([]string, 0, len(ms))
	for _, m := range ms {
		out = append(out, fmt.Sprintf("%d %s", m.Task, tupleText(m.Tuple)))
	}
	return out
}

// TestClientCompat sends to Storm's server.
func TestClientCompat(t *testing.T) {
	sources := sourcesOf(t)
	d := stockjava.Start(t, "java", "NettyDriver")
	port := d.Ask(t, "bind 0")
	d.Ask(t, "status 3 1,2")
	c := link.NewClient(link.ClientConfig{Address: "127.0.0.1:" + port, Sources: sources, Log: zaptest.NewLogger(t)})
	stop := start(t, c.Run)
	await(t, d, "a connection", c.Ready)
	if !c.Blocked(3) || c.Blocked(2) {
		t.Error("the first status was not heeded")
	}

	const n = 20_000
	var want []string
	for i := 0; i < n; i += 500 {
		batch := words(sources, i, 500)
		c.Send(batch)
		want = append(want, messageTexts(batch)...)
	}
	await(t, d, "the tuples", func() bool { return d.Ask(t, "count") == fmt.Sprint(n) })
	got := strings.Split(d.Ask(t, "take"), ";")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff[:min(len(diff), 2000)])
	}

	d.Ask(t, "status 1,2 3")
	await(t, d, "back-pressure", func() bool { return c.Blocked(1) && c.Blocked(2) && !c.Blocked(3) })
	d.Ask(t, "status - 1,2,3")
	await(t, d, "the end of it", func() bool { return !c.Blocked(1) && !c.Blocked(2) })
	d.Ask(t, "load 1=0.25,2=1.0")
	await(t, d, "the load", func() bool { l, ok := c.Load(1); return ok && l == 0.25 })

	// The last tuples come too, though the client ends at once and the server speaks meanwhile.
	c.Send(words(sources, 0, 3000))
	d.Ask(t, "load 1=0.5")
	stop()
	await(t, d, "the last tuples", func() bool { return d.Ask(t, "count") == "3000" })
	clean(t, d)
}

// clean fails the test if Storm complained. That is how it is known that nothing we say bothers it.
func clean(t *testing.T, d *stockjava.Driver) {
	t.Helper()
	for line := range strings.SplitSeq(d.Log(), "\n") {
		if strings.Contains(line, "ERROR") || strings.Contains(line, "Exception") || strings.Contains(line, "WARN") {
			t.Error("storm logs: " + line)
		}
	}
}

// sink keeps what is delivered.
type sink struct {
	mu  sync.Mutex
	got []tuple.Message
}

func (s *sink) deliver(batch []tuple.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, batch...)
}

func (s *sink) all() []tuple.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// TestServerCompat takes tuples from Storm's client. Our greeting must not bother it.
func TestServerCompat(t *testing.T) {
	sources := sourcesOf(t)
	d := stockjava.Start(t, "java", "NettyDriver")
	var s sink
	refused := make(chan error, 1)
	load := make(chan map[int32]float64, 1)
	load <- map[int32]float64{1: 0, 2: 0.5, 3: 1}
	server := link.NewServer(link.ServerConfig{
		Worker: "gust-worker", Tasks: []int32{1, 2, 3}, Sources: sources, Deliver: s.deliver, Log: zaptest.NewLogger(t),
		Names: kryo.Registered([]string{"java.util.TreeMap"}), LoadEvery: 20 * time.Millisecond,
		Load: func() map[int32]float64 { l := <-load; load <- l; return l },
		Refused: func(m tuple.Message, err error) {
			refused <- fmt.Errorf("task %d from %d: %w", m.Task, m.Tuple.Task, err)
		},
	})
	server.SetBlocked(2, true)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	start(t, func(ctx context.Context) error { return server.Run(ctx, ln) })
	host, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d.Ask(t, "connect %s %s", host, port)
	await(t, d, "a connection", func() bool { return d.Ask(t, "ready") == "true" })
	await(t, d, "the first status", func() bool { return d.Ask(t, "blocked") == "2" })
	await(t, d, "the load", func() bool { return d.Ask(t, "loads") == "1=0.0,2=0.5,3=1.0" })

	const n = 20_000
	var want []tuple.Message
	for i := 0; i < n; i += 1000 {
		d.Ask(t, "send %d 1000 %d", i, 2+i/1000%2)
		batch := words(sources, i, 1000)
		for j := range batch {
			batch[j].Task = int32(2 + i/1000%2)
		}
		want = append(want, batch...)
	}
	await(t, d, "the tuples", func() bool { return len(s.all()) == n })
	if diff := cmp.Diff(messageTexts(want), messageTexts(s.all())); diff != "" {
		t.Error(diff[:min(len(diff), 2000)])
	}
	server.SetBlocked(1, true)
	server.SetBlocked(2, false)
	await(t, d, "another status", func() bool { return d.Ask(t, "blocked") == "1" })

	d.Ask(t, "alien")
	if err := <-refused; !strings.Contains(err.Error(), "task 2 from 4") || !strings.Contains(err.Error(), "java.util.TreeMap") {
		t.Error(err)
	}
	// The connection lives on after a tuple that cannot be read.
	d.Ask(t, "send 0 10 3")
	await(t, d, "more tuples", func() bool { return len(s.all()) == n+10 })
	d.Ask(t, "close client")
	await(t, d, "the end of the connection", func() bool { return server.Peers() == 0 })
	clean(t, d)
}
