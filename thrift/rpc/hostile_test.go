// SPDX-License-Identifier: Apache-2.0

// What peers do that mean harm, are broken, or speak something else.

package rpc

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/thrift/storm"
)

// closedBy waits until the server has closed the connection; what it sends before does not count.
func closedBy(tb testing.TB, c net.Conn) {
	tb.Helper()
	_, err := io.Copy(io.Discard, c)
	var timeout net.Error
	if err != nil && isTimeout(err, &timeout) {
		tb.Errorf("connection is still open: %v", err)
	}
}

func isTimeout(err error, into *net.Error) bool {
	n, ok := err.(net.Error) //nolint:errorlint // io.Copy hands out the connection's own error
	*into = n
	return ok && n.Timeout()
}

// alive checks that the server still serves others.
func alive(tb testing.TB, addr string) {
	tb.Helper()
	_, nimbus := dialTest(tb, addr, ClientConfig{CallTimeout: patience})
	if got, err := nimbus.GetTopologyConf(tb.Context(), "alive"); err != nil || got != "alive" {
		tb.Fatalf("server does not serve any more: %q, %v", got, err)
	}
}

func TestImpossibleLengths(t *testing.T) {
	t.Parallel()
	s := start(t, Config{}, echo())
	for _, n := range []uint32{0, 1<<31 - 1, 1 << 31, 1<<32 - 1, DefaultMaxFrame + 1, binary.BigEndian.Uint32([]byte("GET "))} {
		s.logs.TakeAll()
		c := plain(t, s.addr)
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, n), "more"...)); err != nil {
			t.Fatal(err)
		}
		closedBy(t, c)
		eventually(t, "log entry", func() bool { return s.logs.FilterMessage("frame refused").Len() == 1 })
		entry := s.logs.FilterMessage("frame refused").All()[0].ContextMap()
		if entry["peer"] != c.LocalAddr().String() {
			t.Errorf("%d bytes announced: log names %v, want %s", n, entry["peer"], c.LocalAddr())
		}
	}
	alive(t, s.addr)
}

// Not parallel: it looks at the memory of the whole process.
func TestAnnouncementsTakeNoMemory(t *testing.T) {
	const peers = 200
	s := start(t, Config{MaxFrame: 1 << 30}, echo())
	before := heap()
	for range peers {
		c := plain(t, s.addr)
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, 1<<30), make([]byte, 2*headLen)...)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "peers are in their frames", func() bool { return s.idleCount() == 0 && s.conns.len() == peers })
	alive(t, s.addr)
	if grown := heap() - before; grown > peers*32<<10 {
		t.Errorf("%d peers announced a gigabyte each: heap grew by %d bytes", peers, grown)
	}
}

// heap returns the bytes that live on the heap.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the second one empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// idleCount counts the ring of idle connections, both ways round.
func (s *Server) idleCount() int {
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	n, back := 0, 0
	for c := s.conns.idle.first; c != nil; c = c.newer {
		n++
	}
	for c := s.conns.idle.last; c != nil; c = c.older {
		back++
	}
	if n != back {
		return -1
	}
	return n
}

func TestHalfFramesAreGivenUp(t *testing.T) {
	t.Parallel()
	s := start(t, Config{FrameTimeout: 50 * time.Millisecond, MaxConns: 20}, echo())
	var peers []net.Conn
	for i := range 20 {
		c := plain(t, s.addr)
		part := framed(make([]byte, 2000))[:1+i*50] // in the length, in the head, in the buffer
		if _, err := c.Write(part); err != nil {
			t.Fatal(err)
		}
		peers = append(peers, c)
	}
	for _, c := range peers {
		closedBy(t, c)
	}
	if n := s.logs.FilterMessage("frame given up").Len(); n == 0 {
		t.Error("nothing was logged")
	}
	alive(t, s.addr)
}

func TestIdlePeersAreClosed(t *testing.T) {
	t.Parallel()
	s := start(t, Config{ReadIdleTimeout: 50 * time.Millisecond}, echo())
	closedBy(t, plain(t, s.addr))
	if s.logs.Len() != 0 {
		t.Errorf("an idle peer was logged: %v", s.logs.All())
	}
}

func TestRandomBytes(t *testing.T) {
	t.Parallel()
	s := start(t, Config{FrameTimeout: time.Second, ReadIdleTimeout: time.Second}, echo())
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		c := plain(t, s.addr)
		noise := make([]byte, rnd.IntN(3000))
		for i := range noise {
			noise[i] = byte(rnd.Uint32())
		}
		if rnd.IntN(2) == 0 && len(noise) > 0 {
			noise = framed(noise)
		}
		_, _ = c.Write(noise) // the server may have closed already
		_ = c.Close()
	}
	alive(t, s.addr)
}

func TestRandomArgumentsOfEveryMethod(t *testing.T) {
	t.Parallel()
	s := start(t, Config{}, echo())
	rnd := rand.New(rand.NewPCG(3, 4))
	types := []byte{thrift.STOP, thrift.BOOL, thrift.I32, thrift.I64, thrift.STRING, thrift.STRUCT, thrift.MAP, thrift.SET, thrift.LIST, 99}
	for method := range storm.NewNimbusProcessor(echo()).ProcessorMap() {
		c := plain(t, s.addr)
		const calls = 20
		for seq := range int32(calls) {
			msg := appendHeader(nil, thrift.CALL, method, seq)
			for range rnd.IntN(4) { // something that begins like fields
				msg = append(msg, types[rnd.IntN(len(types))], 0, byte(rnd.IntN(6)))
				for range rnd.IntN(12) {
					msg = append(msg, byte(rnd.IntN(4)))
				}
			}
			msg = append(msg, 0)
			if _, err := c.Write(framed(msg)); err != nil {
				t.Fatal(err)
			}
		}
		r := &frameReader{r: c, limit: DefaultMaxFrame, pool: newBufferPool(DefaultMaxFrame)}
		for seq := range calls {
			fr, err := r.read(t.Context(), time.Now().Add(patience))
			if err != nil {
				t.Fatalf("%s: no answer to call %d: %v", method, seq, err)
			}
			fr.release()
		}
	}
	alive(t, s.addr)
}

// FuzzMessages sends frames of any content; each is answered or closes its
// connection, and neither keeps the next peer from being served.
func FuzzMessages(f *testing.F) {
	f.Add(request(f, "getTopologyConf", thrift.CALL, 1, &storm.NimbusGetTopologyConfArgs{ID: "x"})[prefixLen:])
	f.Add(request(f, "activate", thrift.ONEWAY, 1, &storm.NimbusActivateArgs{Name: "x"})[prefixLen:])
	f.Add(append([]byte{0, 0, 0, 15}, "getTopologyConf\x01\x00\x00\x00\x07\x00"...))
	f.Add([]byte{0x80, 1, 0, 1, 0x7f, 0xff, 0xff, 0xff})
	s := start(f, Config{}, echo())
	f.Fuzz(func(t *testing.T, msg []byte) {
		c := plain(t, s.addr)
		if _, err := c.Write(framed(msg)); err != nil {
			t.Fatal(err)
		}
		if tcp, ok := c.(*net.TCPConn); !ok || tcp.CloseWrite() != nil {
			t.Fatal("cannot end the stream")
		}
		closedBy(t, c)
		alive(t, s.addr)
	})
}

func TestOtherMessagesCloseTheConnection(t *testing.T) {
	t.Parallel()
	s := start(t, Config{}, echo())
	args := &storm.NimbusGetTopologyConfArgs{ID: "x"}
	for name, msg := range map[string][]byte{
		"Reply":     request(t, "getTopologyConf", thrift.REPLY, 1, args),
		"Exception": request(t, "getTopologyConf", thrift.EXCEPTION, 1, args),
		"LongName":  request(t, strings.Repeat("n", maxName+1), thrift.CALL, 1, args),
		"Version2":  framed([]byte{0x80, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}),
		"HTTP":      framed([]byte("POST / HTTP/1.1\r\nHost: x\r\n\r\n")),
		"NoEnd":     framed(appendHeader(nil, thrift.CALL, "getTopologyConf", 1)[:10]),
	} {
		c := plain(t, s.addr)
		if _, err := c.Write(msg); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); len(got) > 0 {
			t.Errorf("%s: answered %q, %v", name, got, err)
		}
	}
	alive(t, s.addr)
}

func TestSlowReaderLeavesItsPlace(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", DefaultMaxFrame-100)
	handler := echo()
	handler.topologyConf = func(_ context.Context, id string) (string, error) {
		if id == "alive" {
			return id, nil
		}
		return big, nil
	}
	for name, cfg := range map[string]Config{
		// The replies fit into the budget: nobody waits for the reader.
		"WithinBudget": {Workers: 1, WriteTimeout: time.Hour, ShutdownGrace: 50 * time.Millisecond},
		// They do not: the place is free again when the reader is given up.
		"BeyondBudget": {Workers: 1, WriteTimeout: 100 * time.Millisecond, MaxBuffered: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, cfg, handler)
			var slow []net.Conn
			for range 4 {
				c := plain(t, s.addr)
				if tcp, ok := c.(*net.TCPConn); !ok || tcp.SetReadBuffer(4096) != nil {
					t.Fatal("cannot make the reader slow")
				}
				for seq := range int32(30) {
					if _, err := c.Write(request(t, "getTopologyConf", thrift.CALL, seq, &storm.NimbusGetTopologyConfArgs{ID: "big"})); err != nil {
						t.Fatal(err)
					}
				}
				slow = append(slow, c)
			}
			alive(t, s.addr)
			if cfg.WriteTimeout == time.Hour {
				return
			}
			eventually(t, "slow readers are given up", func() bool { return s.conns.len() <= 1 })
			for _, c := range slow {
				closedBy(t, c)
			}
		})
	}
}

func TestManyShortConnections(t *testing.T) {
	s := start(t, Config{}, echo())
	msg := request(t, "getTopologyConf", thrift.CALL, 1, &storm.NimbusGetTopologyConfArgs{ID: "short"})
	reply := make([]byte, len(msg)+1) // the answer has a stop more than the call
	round := func(n int) {
		for i := range n {
			// Many source addresses: one has not enough ports for so many connections a minute.
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%200))}}
			c, err := d.DialContext(t.Context(), "tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = c.SetDeadline(time.Now().Add(patience))
			if _, err := c.Write(msg); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, reply[:len(msg)]); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "connections are gone", func() bool { return s.conns.len() == 0 })
	}
	round(500)
	goroutines, files, bytes := runtime.NumGoroutine(), openFiles(t), heap()
	round(20_000)
	eventually(t, "goroutines are gone", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := openFiles(t); now > files {
		t.Errorf("open files: %d, before %d", now, files)
	}
	if grown := heap() - bytes; grown > 1<<20 {
		t.Errorf("heap grew by %d bytes", grown)
	}
}

func TestAllPlacesTaken(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	entered := make(chan struct{}, 10)
	handler := echo()
	handler.topologyConf = func(_ context.Context, id string) (string, error) {
		entered <- struct{}{}
		<-release
		return id, nil
	}
	s := start(t, Config{Workers: 2, QueueLen: 3}, handler)
	results := make(chan error, 5)
	call := func() {
		_, nimbus := dialTest(t, s.addr, ClientConfig{})
		go func() {
			_, err := nimbus.GetTopologyConf(t.Context(), "x")
			results <- err
		}()
	}
	for range 5 {
		call()
	}
	within(t, entered)
	within(t, entered)
	eventually(t, "three calls wait", func() bool { return s.waiting.Load() == 3 })
	_, nimbus := dialTest(t, s.addr, ClientConfig{})
	_, err := nimbus.GetTopologyConf(t.Context(), "x")
	want := "6 getTopologyConf: server is busy, 3 calls are waiting already"
	if got := applicationError(err); got != want {
		t.Errorf("one call too many: got %s, want %s", got, want)
	}
	if len(entered) != 0 {
		t.Error("more than two calls run")
	}
	close(release)
	for range 5 {
		if err := within(t, results); err != nil {
			t.Error(err)
		}
	}
	if got, err := nimbus.GetTopologyConf(t.Context(), "x"); err != nil || got != "x" {
		t.Errorf("the connection that was turned away: %q, %v", got, err)
	}
}

// bounded gives a server n connections: by their number, and by the files that may be open.
func bounded(t *testing.T, n int, test func(t *testing.T, cfg Config)) {
	t.Helper()
	for name, cfg := range map[string]Config{
		"ByNumber": {MaxConns: n},
		"ByFiles":  {Files: openfiles.New(n).Share()}, // so few that none is held back
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, cfg)
		})
	}
}

func TestNewPeerTakesThePlaceOfTheLongestIdle(t *testing.T) {
	t.Parallel()
	bounded(t, 2, newPeerTakesThePlaceOfTheLongestIdle)
}

func newPeerTakesThePlaceOfTheLongestIdle(t *testing.T, cfg Config) {
	t.Helper()
	s := start(t, cfg, echo())
	_, first := dialTest(t, s.addr, ClientConfig{})
	_, second := dialTest(t, s.addr, ClientConfig{})
	for _, n := range []*storm.NimbusClient{second, first} { // so the second is idle longer
		if _, err := n.GetTopologyConf(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "connections are idle", func() bool { return s.idleCount() == s.conns.len() })
	}
	alive(t, s.addr)
	if _, err := first.GetTopologyConf(t.Context(), "x"); err != nil {
		t.Errorf("the one idle for less time was closed: %v", err)
	}
	if _, err := second.GetTopologyConf(t.Context(), "x"); err == nil {
		t.Error("the longest idle is still open")
	}
}

func TestPeerIsRefusedWhenNoneIsIdle(t *testing.T) {
	t.Parallel()
	bounded(t, 1, peerIsRefusedWhenNoneIsIdle)
}

func peerIsRefusedWhenNoneIsIdle(t *testing.T, cfg Config) {
	t.Helper()
	s := start(t, cfg, echo())
	half := plain(t, s.addr)
	if _, err := half.Write([]byte{0, 0}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "peer is in its frame", func() bool { return s.conns.len() == 1 && s.idleCount() == 0 })
	closedBy(t, plain(t, s.addr))
	_ = half.Close()
	eventually(t, "the place is free", func() bool { return s.conns.len() == 0 })
	alive(t, s.addr)
}

func TestAcceptGoesOnAfterFaults(t *testing.T) {
	t.Parallel()
	s := New(Config{Addr: "127.0.0.1:0"}, storm.NewNimbusProcessor(echo()), nopLog(t))
	addr, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	s.listener = &failing{Listener: s.listener, left: 4}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	alive(t, addr.String())
	stop()
	if err := within(t, done); err != nil {
		t.Error(err)
	}
}

// failing is a listener that has no files left a few times.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, fmt.Errorf("accept: %w", errTooManyFiles)
	}
	return f.Listener.Accept()
}
