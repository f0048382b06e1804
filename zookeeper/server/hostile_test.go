// SPDX-License-Identifier: Apache-2.0

// Peers that mean harm, or do not know better. After each the server must serve.

package server

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/zookeeper/jute"
)

// stillServes makes a session and a change.
func stillServes(t *testing.T, s *running) {
	t.Helper()
	r := dialRaw(t, s.addr)
	r.hello(20000)
	r.create("/x")
}

func TestRandomBytes(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		r := dialRaw(t, s.addr)
		if i%2 == 0 {
			r.hello(20000)
		}
		b := make([]byte, rng.IntN(200))
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		if i%4 < 2 { // a sound length, so that the bytes are looked at
			b = append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
		}
		_, _ = r.nc.Write(b) // the server may be quicker and close
		_ = r.nc.Close()
	}
	stillServes(t, s)
}

// TestBadLengths closes connections that announce what they may not, at once and
// without taking memory.
func TestBadLengths(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	for _, n := range []uint32{1<<31 - 1, 1 << 31, 0xffffffff, defaultMaxFrame + 1} {
		for _, greeted := range []bool{false, true} {
			r := dialRaw(t, s.addr)
			if greeted {
				r.hello(20000)
			}
			if _, err := r.nc.Write(binary.BigEndian.AppendUint32(nil, n)); err != nil {
				t.Fatal(err)
			}
			if r.receive() != nil {
				t.Errorf("a frame of %d is answered", n)
			}
		}
	}
	r := dialRaw(t, s.addr)
	if _, err := r.nc.Write(binary.BigEndian.AppendUint32(nil, maxHello+1)); err != nil { // too long for a stranger
		t.Fatal(err)
	}
	if r.receive() != nil {
		t.Error("a stranger may send long frames")
	}
	stillServes(t, s)
}

// TestHalfFrames leaves every request unfinished. Announced length costs nothing. The
// server is a process of its own, so that its memory can be told from other tests'.
func TestHalfFrames(t *testing.T) {
	t.Parallel()
	p := spawn(t, "", t.TempDir())
	before := p.memory(t)
	for range 100 {
		r := dialRaw(t, p.addr)
		r.hello(20000)
		if _, err := r.nc.Write(append(binary.BigEndian.AppendUint32(nil, defaultMaxFrame), make([]byte, 1000)...)); err != nil {
			t.Fatal(err)
		}
	}
	r := dialRaw(t, p.addr)
	r.hello(20000)
	r.create("/x")
	if grown := p.memory(t) - before; grown > 50<<20 { // 100 MiB were announced
		t.Errorf("100 half frames take %d MiB", grown>>20)
	}
}

// TestSlowReader asks for much and reads nothing: it is cut off, and what it asked
// for is bounded on the way.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	p := spawn(t, "", t.TempDir())
	r := dialRaw(t, p.addr)
	r.hello(20000)
	if code := r.ask(jute.OpCreate, createBody("/big", make([]byte, 1000000), 0)); code != jute.OK {
		t.Fatal(code)
	}
	before := p.memory(t)
	get := jute.AppendBool(jute.AppendString(nil, "/big"), false)
	frame := requestFrame(1, jute.OpGetData, get)
	frame = append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
	for range 2000 { // 2 GB of answers
		if err := r.nc.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.nc.Write(frame); err != nil {
			break // the server reads no more, or has closed
		}
	}
	again := dialRaw(t, p.addr)
	again.hello(20000)
	again.create("/x")
	// The bound, the buffers that it grew out of, the batches, and twice that for the
	// collector; the race detector takes as much again.
	if grown := p.memory(t) - before; grown > 16*maxPending {
		t.Errorf("a slow reader takes %d MiB", grown>>20)
	} else {
		t.Logf("a slow reader takes %d MiB", grown>>20)
	}
}

// TestIdleConnections holds very many connections that say nothing. The server is a
// process of its own, because both ends together take more files than one may open.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	const many = 10000
	p := spawn(t, "", t.TempDir())
	before := p.memory(t)
	for range many {
		nc, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
	}
	r := dialRaw(t, p.addr)
	r.hello(20000) // accepted in order, so all the others are in
	r.create("/x")
	if each := (p.memory(t) - before) / many; each > 32<<10 { // 8 KiB; the race detector triples it
		t.Errorf("an idle connection takes %d bytes", each)
	} else {
		t.Logf("an idle connection takes %d bytes", each)
	}
}

// TestTooManyConnections makes room by closing those that never said who they are.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	for name, bound := range map[string]func(*Config){
		"ByNumber": func(c *Config) { c.MaxConns = 5 },
		"ByFiles":  func(c *Config) { c.Files = openfiles.New(6).Share() }, // one is held back
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tooManyConnections(t, bound)
		})
	}
}

func tooManyConnections(t *testing.T, bound func(*Config)) {
	t.Helper()
	s := start(t, t.TempDir(), func(c *Config) { bound(c); c.HandshakeTimeout = wait })
	good := dialRaw(t, s.addr)
	good.hello(20000)
	first := dialRaw(t, s.addr)
	eventually(t, "two connections", func() bool { return s.connCount() == 2 })
	for range 4 {
		dialRaw(t, s.addr)
	}
	if first.receive() != nil {
		t.Error("the oldest stranger stays")
	}
	if code := good.ask(jute.OpPing, nil); code != jute.OK {
		t.Error("a session had to go")
	}
	// With sessions only, the newcomer is closed.
	others := make([]*rawClient, 4)
	for i := range others {
		others[i] = dialRaw(t, s.addr)
		others[i].hello(20000)
	}
	late := dialRaw(t, s.addr)
	if late.receive() != nil {
		t.Error("more connections than allowed")
	}
}

// TestSilentStranger is closed after a while.
func TestSilentStranger(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), func(c *Config) { c.HandshakeTimeout = 50 * time.Millisecond })
	if dialRaw(t, s.addr).receive() != nil {
		t.Error("answered without having been asked")
	}
}

func TestFourLetterWords(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	for word, want := range map[string]string{"ruok": "imok", "srvr": "Zookeeper version: "} {
		r := dialRaw(t, s.addr)
		if _, err := r.nc.Write([]byte(word)); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.nc)
		if err != nil || len(b) < len(want) || string(b[:len(want)]) != want {
			t.Errorf("%s: %q %v", word, b, err)
		}
	}
}

// TestNewestConnectionOwnsTheSession closes the older one, and wants the password.
func TestNewestConnectionOwnsTheSession(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	a := dialRaw(t, s.addr)
	a.hello(20000)
	a.create("/e")
	for i := range 16 {
		wrong := append([]byte(nil), a.password...)
		wrong[i] ^= 1
		thief := dialRaw(t, s.addr)
		thief.send(helloFrame(20000, a.session, wrong))
		d := jute.NewDecoder(thief.receive())
		d.Int()
		d.Int()
		if id := d.Long(); id != 0 || thief.receive() != nil {
			t.Fatalf("session %x with a wrong password", id)
		}
	}
	b := dialRaw(t, s.addr)
	b.send(helloFrame(20000, a.session, a.password))
	if b.receive() == nil {
		t.Fatal("no session")
	}
	if a.receive() != nil {
		t.Error("the older connection stays")
	}
	if code := b.ask(jute.OpDelete, jute.Write{Op: jute.OpDelete, Path: "/e", Version: -1}.Append(nil)); code != jute.OK {
		t.Error(code)
	}
}

// TestFutureClient is refused: it has seen what this server has not.
func TestFutureClient(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	r := dialRaw(t, s.addr)
	f := helloFrame(20000, 0, make([]byte, 16))
	binary.BigEndian.PutUint64(f[4:], 1<<40)
	r.send(f)
	if r.receive() != nil {
		t.Error("taken")
	}
}

// TestManyConnectionsComeAndGo leaks nothing.
func TestManyConnectionsComeAndGo(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	for i := range 300 {
		r := dialRaw(t, s.addr)
		r.hello(20000)
		if i%2 == 0 {
			r.send(requestFrame(1, jute.OpCloseSession, nil))
			r.receive()
		}
		_ = r.nc.Close()
	}
	eventually(t, "all are forgotten", func() bool { return s.connCount() == 0 })
	stillServes(t, s)
}

// TestACLsDoNotGrowWithoutBound asks for many rights for everybody that a client proved to be: written out, one such
// request of 1 MB would be more than a reader of the log takes.
func TestACLsDoNotGrowWithoutBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, nil)
	r := dialRaw(t, s.addr)
	r.hello(20000)
	for i := range maxIdentities - 1 {
		auth := jute.AppendString(jute.AppendInt(nil, 0), "digest")
		if code := r.ask(jute.OpAuth, jute.AppendBuffer(auth, fmt.Appendf(nil, "user%d:password", i))); code != jute.OK {
			t.Fatal(code)
		}
	}
	rights := func(n int) (acl []jute.ACL) {
		for i := range n {
			acl = append(acl, jute.ACL{Perms: jute.PermAll + int32(i), ID: jute.ID{Scheme: "auth"}})
		}
		return acl
	}
	body := func(path string, n int) []byte {
		return jute.Write{Op: jute.OpCreate, Path: path, ACL: rights(n)}.Append(nil)
	}
	if code := r.ask(jute.OpCreate, body("/one", 60_000)); code != jute.InvalidACL {
		t.Errorf("create is answered with %v", code)
	}
	var parts []byte
	for i := range 10_000 {
		parts = append(jute.AppendMultiHeader(parts, jute.OpCreate, false, -1), body(fmt.Sprintf("/m%d", i), 2)...)
	}
	if code := r.ask(jute.OpMulti, jute.AppendMultiHeader(parts, jute.OpError, true, -1)); code != jute.InvalidACL {
		t.Errorf("multi is answered with %v", code)
	}
	if code := r.ask(jute.OpCreate, body("/few", 100)); code != jute.OK {
		t.Errorf("create with a hundred rights is answered with %v", code)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir, nil)
	stillServes(t, again)
}
