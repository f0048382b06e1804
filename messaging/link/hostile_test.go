// SPDX-License-Identifier: Apache-2.0

package link_test

// This file has peers that are slow, dead or hostile. They must cost bounded memory and nobody else anything, and the log names them.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/messaging/link"
	"github.com/gust-stream/gust/messaging/native"
	"github.com/gust-stream/gust/tuple"
)

func raw(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := c.(*net.TCPConn)
	if !ok {
		t.Fatalf("a %T", c)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// observed is a server whose log can be read.
func observed(t *testing.T, cfg link.ServerConfig) (s *link.Server, address string, logs *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.WarnLevel)
	cfg.Log = zap.New(core)
	if cfg.Deliver == nil {
		cfg.Deliver = func([]tuple.Message) {}
	}
	s, address, _ = serve(t, cfg)
	return s, address, logs
}

// cutOff waits until the server has closed a connection, and checks that the log names it and says why.
func cutOff(t *testing.T, conn net.Conn, logs *observer.ObservedLogs, text string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset by peer") {
		t.Fatalf("the server did not close: %v", err)
	}
	named := func() bool {
		for _, e := range logs.FilterField(zap.String("peer", conn.LocalAddr().String())).All() {
			if strings.Contains(fmt.Sprint(e.ContextMap()["error"]), text) {
				return true
			}
		}
		return false
	}
	await(t, "a line about "+conn.LocalAddr().String()+": "+text, named)
}

func upgrade() []byte { return frame.Append(nil, frame.Upgrade, []byte{1}) }

func nativeFrame(kind native.Kind, payload ...byte) []byte {
	b, start := native.Begin(upgrade(), kind)
	b = append(b, payload...)
	native.End(b, start)
	return b
}

func TestHostileClients(t *testing.T) {
	t.Parallel()
	ack, err := frame.AppendTuple(nil, 2, &tuple.Tuple{Source: sources().Of(4, "default"), Values: []any{"w"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]struct {
		bytes []byte
		text  string
	}{
		"TwoGiBAnnounced":    {[]byte{0, 1, 0x7f, 0xff, 0xff, 0xff}, "announces 2147483647 bytes"},
		"NegativeLength":     {[]byte{0, 1, 0xff, 0xff, 0xff, 0xff}, "announces 4294967295 bytes"},
		"UnknownCode":        {[]byte{0x80, 0}, "unknown code -32768"},
		"NoTuple":            {frame.Append(nil, frame.Task, nil)[:6], "code -1 from a client"},
		"EmptyTuple":         {[]byte{0, 1, 0, 0, 0, 0}, "source task"},
		"UnknownTask":        {append([]byte{0x7f, 0xff}, ack[2:]...), "a tuple for task 32767"},
		"Nonsense":           {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "announces"},
		"Status":             {frame.Append(nil, frame.Status, []byte{0}), "code -600 from a client"},
		"SASL":               {frame.AppendControl(nil, frame.SASLRequest), "authenticate"},
		"Version":            {frame.Append(nil, frame.Upgrade, []byte{99}), "at most version 1"},
		"NoVersion":          {frame.Append(nil, frame.Upgrade, nil), "at most version 1"},
		"NativeTwoGiB":       {append(upgrade(), 1, 0xff, 0xff, 0xff, 0x7f), "announces 2147483647 bytes"},
		"NativeNonsense":     {nativeFrame(native.Tuples, 0xff, 0xff, 0xff), "malformed frame"},
		"NativeCredit":       {nativeFrame(native.Credit, 1, 1), "kind 3 from a client"},
		"NativeUnknownTask":  {nativeFrame(native.Tuples, 0x10, 0xff, 0xff, 0x01, 4, 1, 0x81), "a tuple for task 32767"},
		"NativeSecondChange": {nativeFrame(native.Tuples, upgrade()...), "malformed frame"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSink()
			_, address, logs := observed(t, link.ServerConfig{Deliver: s.deliver})
			c, _ := dial(t, link.ClientConfig{Address: address})
			c.Send(words(0, 10))
			s.wait(t, 10)
			conn := raw(t, address)
			if _, err := conn.Write(says.bytes); err != nil {
				t.Fatal(err)
			}
			cutOff(t, conn, logs, says.text)
			// Nobody else is bothered.
			c.Send(words(10, 10))
			s.wait(t, 20)
			if st := c.Stats(); st.Connects != 1 {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestRandomBytes(t *testing.T) {
	t.Parallel()
	s := newSink()
	_, address, _ := observed(t, link.ServerConfig{Deliver: s.deliver})
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		b := make([]byte, 1+random.IntN(2000))
		for j := range b {
			b[j] = byte(random.Uint32() >> random.IntN(8))
		}
		if i%2 == 0 {
			b = append(upgrade(), b...)
		}
		conn := raw(t, address)
		_, _ = conn.Write(b)
		_ = conn.Close()
	}
	c, _ := dial(t, link.ClientConfig{Address: address})
	want := words(0, 10)
	c.Send(want)
	await(t, "good tuples after bad", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, m := range s.got {
			if m.Tuple.Anchor == want[9].Tuple.Anchor {
				return true
			}
		}
		return false
	})
}

func TestHalfFrame(t *testing.T) {
	t.Parallel()
	for name, half := range map[string][]byte{
		"Storm": {0, 2, 0, 0, 1, 0, 4}, "Native": append(upgrade(), 1, 0, 1, 0, 0, 4), "Code": {0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, address, logs := observed(t, link.ServerConfig{Stall: time.Second})
			conn := raw(t, address)
			if _, err := conn.Write(half); err != nil {
				t.Fatal(err)
			}
			cutOff(t, conn, logs, "did not come")
		})
	}
	t.Run("Closed", func(t *testing.T) {
		t.Parallel()
		server, address, logs := observed(t, link.ServerConfig{})
		conn := raw(t, address)
		if _, err := conn.Write([]byte{0, 2, 0, 0, 1, 0, 4}); err != nil {
			t.Fatal(err)
		}
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		cutOff(t, conn, logs, "unexpected EOF")
		await(t, "the end", func() bool { return server.Peers() == 0 })
	})
}

// heap is what lives.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// Peers that say nothing cost a few KiB each, and there is a most of them.
func TestIdlePeers(t *testing.T) { //nolint:paralleltest // it measures memory
	const most = 2000
	s := newSink()
	server, address, logs := observed(t, link.ServerConfig{Deliver: s.deliver, MaxPeers: most})
	c, _ := dial(t, link.ClientConfig{Address: address})
	await(t, "a connection", c.Ready)
	before := heap()
	for range most - 1 {
		raw(t, address)
	}
	await(t, "the peers", func() bool { return server.Peers() == most })
	// The other ends are in this process too.
	if took := int64(heap()) - int64(before); took > most*32<<10 {
		t.Errorf("%d idle peers take %d bytes", most, took)
	}
	// One more takes a silent one's place, not that of the worker that works.
	c.Send(words(0, 100))
	s.wait(t, 100)
	for range 3 {
		raw(t, address)
	}
	await(t, "lines", func() bool {
		return logs.FilterMessage("too many connections, the longest silent is cut off").Len() == 3
	})
	await(t, "three to go", func() bool { return server.Peers() == most })
	c.Send(words(0, 100))
	s.wait(t, 200)
	if st := c.Stats(); st.Connects != 1 {
		t.Errorf("%+v", st)
	}
}

// Frames that come in part take no more than the server lends to all peers together.
func TestLargeFrames(t *testing.T) { //nolint:paralleltest // it measures memory
	_, address, logs := observed(t, link.ServerConfig{MaxTuple: 4 << 20, MaxHeld: 8 << 20, Stall: limit})
	before := heap()
	head := append([]byte{0, 2}, binary.BigEndian.AppendUint32(nil, 4<<20)...)
	part := make([]byte, 3<<20)
	refused := 0
	for range 10 {
		conn := raw(t, address)
		_, _ = conn.Write(head)
		_, _ = conn.Write(part) // fails where the peer is cut off before the end
	}
	await(t, "peers for whom no memory is left", func() bool {
		refused = 0
		for _, e := range logs.All() {
			if strings.Contains(fmt.Sprint(e.ContextMap()["error"]), "no memory left") {
				refused++
			}
		}
		return refused >= 6
	})
	if took := int64(heap()) - int64(before); took > 24<<20 {
		t.Errorf("ten half frames of 4 MiB take %d bytes", took)
	}
}

// A peer that does not read what it is told is cut off, and holds nobody up.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	load := map[int32]float64{}
	for task := range int32(5000) {
		load[task] = 0.5
	}
	s := newSink()
	_, address, logs := observed(t, link.ServerConfig{
		Deliver: s.deliver, Stall: 200 * time.Millisecond, LoadEvery: time.Millisecond, Load: func() map[int32]float64 { return load },
	})
	conn := raw(t, address)
	if err := conn.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	c, _ := dial(t, link.ClientConfig{Address: address})
	// Again until they come: on a busy machine this client may be cut off too.
	await(t, "tuples of another peer", func() bool {
		c.Send(words(0, 1))
		return s.count() > 10
	})
	await(t, "a line about the peer", func() bool {
		return logs.FilterMessage("a peer does not listen").FilterField(zap.String("peer", conn.LocalAddr().String())).Len() == 1
	})
}

// A peer that goes on sending to a blocked task is cut off some time.
func TestIgnoredBackPressure(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stormOnly bool) {
		t.Helper()
		s := newSink()
		server, address, logs := observed(t, link.ServerConfig{Deliver: s.deliver, StormOnly: stormOnly, MaxOver: 10_000})
		c, _ := dial(t, link.ClientConfig{Address: address})
		await(t, "a connection", c.Ready)
		server.SetBlocked(2, true)
		c.Send(words(0, 19_000)) // half of them for task 2
		s.wait(t, 19_000)
		c.Send(words(0, 4_000))
		await(t, "the cut", func() bool { return c.Stats().Connects > 1 })
		if logs.FilterMessage("a peer is cut off").Len() == 0 {
			t.Error("nothing in the log")
		}
	})
}

// A server that does not read makes the link full, and it takes no more than its bounds.
func TestServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	ln := listen(t)
	defer func() { _ = ln.Close() }()
	var refused, strange atomic.Int64
	c, stop := dial(t, link.ClientConfig{
		Address: ln.Addr().String(), Mark: 100, Hard: 1000, Flush: 10 * time.Millisecond, Greet: time.Millisecond,
		Refused: func(m tuple.Message, err error) {
			refused.Add(1)
			if m.Task != 2 || m.Tuple.OfTrees() || !errors.Is(err, link.ErrFull) {
				strange.Add(1)
			}
		},
	})
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the client's own mind", c.Ready)
	text := strings.Repeat("x", 1<<16)
	m := words(0, 1)
	m[0].Tuple.Values = []any{text}
	await(t, "a full link", func() bool { c.Send(m); return c.Blocked(2) })
	await(t, "a loss", func() bool { c.Send(m); return c.Stats().Lost > 0 })
	if st := c.Stats(); st.Pending > 1000 || !c.Blocked(3) || refused.Load() != st.Lost || strange.Load() > 0 {
		t.Errorf("%+v, %d refused, %d strangely", st, refused.Load(), strange.Load())
	}
	before := c.Stats().Pending
	ack := tuple.Message{Task: 1, Tuple: &tuple.Tuple{Source: sources().Of(2, tuple.AckStream), Anchor: tuple.Anchor{Root: 1}}}
	c.Send([]tuple.Message{ack, m[0], ack})
	if st := c.Stats(); st.Pending != before+2 || refused.Load() != st.Lost {
		t.Errorf("%d waited, then %+v, %d refused", before, st, refused.Load())
	}
	_ = conn.Close()
	stop()
}

// What a server says must not harm its clients either.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	status := func(s kryo.Status) []byte {
		b, err := kryo.AppendObject(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		return frame.Append(nil, frame.Status, b)
	}
	many := make([]int32, 10_000)
	for i := range many {
		many[i] = int32(i*1000 - 5_000_000)
	}
	greeting := status(kryo.Status{Worker: "w gust/1"})
	for name, says := range map[string]struct {
		bytes []byte
		lives bool
	}{
		"UnknownTasks":  {status(kryo.Status{Worker: "w", Blocked: many, Free: many}), true},
		"FutureVersion": {status(kryo.Status{Worker: "w gust/999"}), true},
		"OddVersion":    {status(kryo.Status{Worker: "w gust/x gust/-1"}), true},
		"Controls":      {frame.AppendControl(frame.AppendControl(greeting, frame.Failure), frame.OK), true},
		"LoadOfOthers":  {frame.Append(greeting, frame.Load, kryo.AppendLoad(nil, map[int32]float64{-5: 1, 1 << 30: 2})), true},
		"Tuples":        {append(greeting, 0, 2, 0, 0, 0, 0), false},
		"NoStatus":      {frame.Append(nil, frame.Status, []byte{0}), false},
		"TwoGiB":        {[]byte{0xff, 0xff, 0x7f, 0xff, 0xff, 0xff}, false},
		"BadLoad":       {frame.Append(nil, frame.Load, []byte{0x82, 9, 0, 2}), false},
		"BadUpgrade":    {frame.Append(greeting, frame.Upgrade, []byte{7}), false},
		"BadCredit":     {append(frame.Append(greeting, frame.Upgrade, []byte{1}), 3, 1, 0, 0, 0, 0x80), false},
		"NativeTuples":  {append(frame.Append(greeting, frame.Upgrade, []byte{1}), 1, 0, 0, 0, 0), false},
		"NativeUnknown": {append(frame.Append(greeting, frame.Upgrade, []byte{1}), 77, 1, 0, 0, 0, 0x80), true},
		"Random":        {[]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln := listen(t)
			defer func() { _ = ln.Close() }()
			c, stop := dial(t, link.ClientConfig{Address: ln.Addr().String(), Flush: time.Millisecond, MinWait: time.Hour, MaxWait: time.Hour})
			conn, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := conn.Write(says.bytes); err != nil {
				t.Fatal(err)
			}
			if says.lives {
				await(t, "a connection", c.Ready)
				c.Send(words(0, 1))
				await(t, "a tuple", func() bool { return c.Stats().Sent == 1 })
				if _, err := io.ReadFull(conn, make([]byte, 10)); err != nil {
					t.Error(err)
				}
			} else {
				if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset by peer") {
					t.Error(err)
				}
				await(t, "the end", func() bool { return !c.Ready() })
			}
			if c.Blocked(2) {
				t.Error("blocked")
			}
			stop()
		})
	}
}

// Server and client end when they are told to, whatever their peers do.
func TestStopWithPeers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := link.NewServer(link.ServerConfig{Sources: sources(), Deliver: func([]tuple.Message) {}, Log: zap.NewNop()})
	ln := listen(t)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, ln) }()
	raw(t, ln.Addr().String())
	half := raw(t, ln.Addr().String())
	if _, err := half.Write([]byte{0, 1, 0}); err != nil {
		t.Fatal(err)
	}
	await(t, "the peers", func() bool { return s.Peers() == 2 })
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(limit):
		t.Error("the server does not end")
	}
}
