// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/server"
	"github.com/gust-stream/gust/stateapi/wire"
)

func TestARoundOfRequests(t *testing.T) {
	t.Parallel()
	k := connect(t, start(t, newFake(), nil)).hello()
	session := k.open(definition("ann", 1))
	var batch stateapi.Batch
	batch.Put(nil, []byte("of the empty key"))
	batch.Put([]byte("long"), make([]byte, 64<<20))
	f := k.must(wire.Write, func(b *wire.Builder) {
		b.U64(session)
		b.Bytes(batch.Bytes())
	})
	if n := f.U64(); n != 1 || f.End() != nil {
		t.Fatalf("commit %d, %v", n, f.Err())
	}
	f = k.must(wire.Get, func(b *wire.Builder) {
		b.U64(session)
		b.Bytes(nil)
	})
	if found, value := f.Bool(), f.String(); !found || value != "of the empty key" || f.End() != nil {
		t.Fatalf("got %v %q %v", found, value, f.Err())
	}
	f = k.must(wire.Iterate, func(b *wire.Builder) {
		b.U64(session)
		b.U64(0)
		b.U32(1000)
	})
	if next, n := f.U64(), f.U32(); next != 0 || n != 2 {
		t.Fatalf("next %d, %d entries", next, n)
	}
	if f.Bytes(); len(f.Bytes()) != 16 || f.String() != "long" || len(f.Bytes()) != 64<<20 || f.End() != nil {
		t.Fatalf("entries differ: %v", f.Err())
	}
	_, err := k.ask(wire.Commit, func(b *wire.Builder) {
		b.U64(session)
		b.U64(^uint64(0))
	})
	if !errors.Is(err, stateapi.ErrUnknownPrepare) || !strings.Contains(err.Error(), "txid -1") {
		t.Fatalf("got %v", err)
	}
	if _, err := k.ask(wire.Rollback, func(b *wire.Builder) { b.U64(session) }); err == nil || !strings.Contains(err.Error(), "no reason") {
		t.Fatalf("got %v", err)
	}
	k.must(wire.Drop, func(b *wire.Builder) { b.U64(session) })
}

func TestBatchesAreTheStoresOwn(t *testing.T) {
	t.Parallel()
	store := newFake()
	k := connect(t, start(t, store, nil)).hello()
	session := k.open(definition("ann", 1))
	var want [][]byte
	for i, size := range []int{3, 700, 100_000, 3, 1 << 20, 20} {
		var batch stateapi.Batch
		batch.Put([]byte{byte(i)}, []byte(strings.Repeat(string(rune('a'+i)), size)))
		want = append(want, batch.Bytes())
		k.must(wire.Prepare, func(b *wire.Builder) {
			b.U64(session)
			b.U64(uint64(i))
			b.Bytes(batch.Bytes())
		})
	}
	for i, got := range store.batches {
		if string(got) != string(want[i]) {
			t.Fatalf("batch %d has changed", i)
		}
	}
}

func TestWhatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	socket := start(t, newFake(), nil)
	hello := func(magic uint32, version uint16) func(b *wire.Builder) {
		return func(b *wire.Builder) {
			b.U32(magic)
			b.U16(version)
		}
	}
	first := []struct {
		name string
		kind wire.Type
		body func(b *wire.Builder)
		want error
		text string
	}{
		{"NoHello", wire.Open, nil, wire.ErrMalformed, "no hello"},
		{"OtherMagic", wire.Hello, hello(1, 1), wire.ErrMalformed, "no hello"},
		{"ShortHello", wire.Hello, func(b *wire.Builder) { b.U32(wire.Magic) }, wire.ErrMalformed, "no hello"},
		{"LongHello", wire.Hello, func(b *wire.Builder) { b.Bytes(make([]byte, 100)) }, wire.ErrMalformed, "101"},
		{"NewerVersion", wire.Hello, hello(wire.Magic, 7), wire.ErrVersion, "version 7 of the state protocol, this server 1"},
	}
	for _, c := range first {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := connect(t, socket)
			if _, err := k.ask(c.kind, c.body); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v", err)
			}
			if _, err := k.in.Next(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("connection goes on: %v", err)
			}
		})
	}
	d := definition("ann", 1)
	changed := func(change func(*stateapi.Definition)) func(b *wire.Builder) {
		d := d
		change(&d)
		return func(b *wire.Builder) { (&wire.OpenRequest{Definition: d}).Append(b) }
	}
	later := map[string]struct {
		kind wire.Type
		body func(b *wire.Builder)
	}{
		"UnknownType":  {60, func(b *wire.Builder) { b.U64(1) }},
		"UnknownAdmin": {99, nil},
		"NoTopology":   {wire.Open, changed(func(d *stateapi.Definition) { d.Topology = "" })},
		"LongName":     {wire.Open, changed(func(d *stateapi.Definition) { d.Component = strings.Repeat("x", 5000) })},
		"ControlName":  {wire.Open, changed(func(d *stateapi.Definition) { d.Topology = "a\x00b" })},
		"NegativeTask": {wire.Open, changed(func(d *stateapi.Definition) { d.Task = -1 })},
		"ThreeShards":  {wire.Open, changed(func(d *stateapi.Definition) { d.Shards = 3 })},
		"ManyShards":   {wire.Open, changed(func(d *stateapi.Definition) { d.Shards = 1 << 30 })},
		"HalfOpen":     {wire.Open, func(b *wire.Builder) { b.U32(1 << 31) }},
		"Trailing":     {wire.List, func(b *wire.Builder) { b.U32(1) }},
	}
	for name, c := range later {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := connect(t, socket).hello().ask(c.kind, c.body); err == nil || errors.Is(err, io.EOF) {
				t.Fatalf("got %v", err)
			}
		})
	}
	connect(t, socket).hello().open(d) // the server goes on
}

func TestBatchesAreChecked(t *testing.T) {
	t.Parallel()
	socket := start(t, newFake(), nil)
	var long, large stateapi.Batch
	long.Put(make([]byte, 32<<10+1), nil)
	large.Put([]byte("k"), make([]byte, 64<<20+1))
	for name, c := range map[string]struct {
		batch []byte
		want  error
	}{
		"Empty":      {nil, wire.ErrMalformed},
		"Counts":     {[]byte{255, 255, 255, 255, 1, 0, 0}, wire.ErrMalformed},
		"LongKey":    {long.Bytes(), stateapi.ErrTooLarge},
		"LargeValue": {large.Bytes(), stateapi.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := connect(t, socket).hello()
			session := k.open(definition("ann", 1))
			if _, err := k.ask(wire.Write, func(b *wire.Builder) {
				b.U64(session)
				b.Bytes(c.batch)
			}); !errors.Is(err, c.want) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestSessionsBelongToTheirConnection(t *testing.T) {
	t.Parallel()
	socket := start(t, newFake(), nil)
	session := connect(t, socket).hello().open(definition("ann", 1))
	other := connect(t, socket).hello()
	if _, err := other.ask(wire.Rollback, func(b *wire.Builder) { b.U64(session) }); !errors.Is(err, stateapi.ErrDenied) {
		t.Fatalf("got %v", err)
	}
}

func TestHostileFramesTakeNothing(t *testing.T) {
	t.Parallel()
	socket := start(t, newFake(), func(cfg *server.Config, s *server.Server) {
		cfg.MaxPending = 200<<20 - 1
		if s != nil {
			s.SetLimits(200*time.Millisecond, 200*time.Millisecond)
		}
	})
	for name, bytes := range map[string][]byte{
		"TwoGiB":        head(1<<31, wire.Write),
		"Zero":          head(0, wire.Write),
		"BeforeHello":   head(wire.MaxFrame, wire.Hello),
		"HalfAHello":    head(11, wire.Hello),
		"NothingAtAll":  nil,
		"RandomNothing": []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := connect(t, socket)
			if _, err := k.conn.Write(bytes); err != nil {
				t.Fatal(err)
			}
			ends(t, k)
		})
	}
	t.Run("SlowBody", func(t *testing.T) {
		t.Parallel()
		k := connect(t, socket).hello()
		if _, err := k.conn.Write(head(1000, wire.Write)); err != nil {
			t.Fatal(err)
		}
		ends(t, k)
	})
	t.Run("TooManyLargeOnes", func(t *testing.T) {
		t.Parallel()
		answers := make(chan error, 2)
		var readers sync.WaitGroup
		t.Cleanup(readers.Wait)
		for range 2 {
			k := connect(t, socket).hello()
			if _, err := k.conn.Write(head(150<<20, wire.Write)); err != nil {
				t.Fatal(err)
			}
			readers.Go(func() {
				_, err := k.answer(wire.Write)
				answers <- err
			})
			t.Cleanup(func() { _ = k.conn.Close() })
		}
		err := <-answers
		if !errors.Is(err, stateapi.ErrNotReady) {
			t.Fatalf("got %v", err)
		}
	})
}

// ends waits for the end of a connection; the server may say why first.
func ends(t *testing.T, k *talk) {
	t.Helper()
	for {
		if _, err := k.in.Next(); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the connection goes on")
			}
			return
		}
	}
}

func TestASlowReaderIsCutOff(t *testing.T) {
	t.Parallel()
	socket := start(t, newFake(), func(_ *server.Config, s *server.Server) {
		if s != nil {
			s.SetLimits(time.Minute, 100*time.Millisecond)
		}
	})
	k := connect(t, socket).hello()
	session := k.open(definition("ann", 1))
	var batch stateapi.Batch
	batch.Put([]byte("k"), make([]byte, 900<<10))
	k.must(wire.Write, func(b *wire.Builder) {
		b.U64(session)
		b.Bytes(batch.Bytes())
	})
	k.out.Begin(wire.Get, 9)
	k.out.U64(session)
	k.out.Bytes([]byte("k"))
	frame, err := k.out.Frame()
	if err != nil {
		t.Fatal(err)
	}
	for { // without ever reading an answer
		if _, err := k.conn.Write(frame); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the server waits forever")
			}
			return
		}
	}
}

func TestTooManyClients(t *testing.T) {
	t.Parallel()
	socket := start(t, newFake(), func(cfg *server.Config, _ *server.Server) { cfg.MaxClients = 3 })
	var all []*talk
	for range 3 {
		all = append(all, connect(t, socket).hello())
	}
	k := connect(t, socket)
	f, err := k.in.Next()
	if err != nil || f.Type != wire.Error || !errors.Is(wire.ReadError(wire.NewFields(f.Body)), stateapi.ErrNotReady) {
		t.Fatalf("got %v, %v", f, err)
	}
	if err := all[0].conn.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		k := connect(t, socket)
		if _, err := k.ask(wire.Hello, func(b *wire.Builder) {
			b.U32(wire.Magic)
			b.U16(wire.Version)
		}); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("no room after one has left: %v", err)
		}
	}
}

func TestAClientThatHangsUpEndsItsRequest(t *testing.T) {
	t.Parallel()
	store := newFake()
	store.block = make(chan struct{})
	k := connect(t, start(t, store, nil)).hello()
	session := k.open(definition("ann", 1))
	k.out.Begin(wire.Commit, 3)
	k.out.U64(session)
	k.out.U64(1)
	frame, err := k.out.Frame()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.conn.Write(frame); err != nil {
		t.Fatal(err)
	}
	if err := k.conn.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-store.ended:
	case <-time.After(time.Minute):
		t.Fatal("the request goes on")
	}
}

func TestStopLetsARequestEnd(t *testing.T) {
	t.Parallel()
	store := newFake()
	store.block = make(chan struct{})
	socket := filepath.Join(t.TempDir(), "state.sock")
	s := server.New(server.Config{Socket: socket}, store, zap.NewNop())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-s.Ready()
	k, idle := connect(t, socket).hello(), connect(t, socket).hello()
	session := k.open(definition("ann", 1))
	k.request++
	k.out.Begin(wire.Commit, k.request)
	k.out.U64(session)
	k.out.U64(1)
	frame, err := k.out.Frame()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.conn.Write(frame); err != nil {
		t.Fatal(err)
	}
	<-store.reached
	stop()
	ends(t, idle)
	close(store.block)
	if _, err := k.answer(wire.Commit); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s.Clients() != 0 {
		t.Fatalf("%d clients are left", s.Clients())
	}
}

func TestTheSocketIsTheOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, strings.Repeat("d", 107-len(dir)-2-len("state.sock")), "state.sock") // as long as may be
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(socket, nil, 0o644); err != nil { // in place of what an earlier server left
		t.Fatal(err)
	}
	for shared, want := range map[bool]os.FileMode{false: 0o600, true: 0o666} {
		t.Run(strconv.FormatBool(shared), func(t *testing.T) {
			start(t, newFake(), func(cfg *server.Config, _ *server.Server) { cfg.Socket, cfg.Shared = socket, shared })
			connect(t, socket).hello()
			if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != want {
				t.Fatalf("mode %v, %v", info.Mode(), err)
			}
		})
	}
	s := server.New(server.Config{Socket: socket + "x"}, newFake(), zap.NewNop())
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "108 bytes long") {
		t.Fatalf("got %v", err)
	}
}

// strangerVariable has the socket, for the process that plays another user.
const strangerVariable = "GUST_TEST_STRANGER"

func TestAStrangerOpensItsOwnStatesOnly(t *testing.T) {
	if socket := os.Getenv(strangerVariable); socket != "" {
		beStranger(t, socket)
		return
	}
	t.Parallel()
	if os.Getuid() != 0 {
		t.Fatal("run as root: another user is played here")
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	socket := start(t, newFake(), func(cfg *server.Config, _ *server.Server) {
		cfg.Shared, cfg.Socket = true, filepath.Join(dir, "state.sock")
	})
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "stranger")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestAStrangerOpensItsOwnStatesOnly$")
	cmd.Dir, cmd.Env = dir, []string{strangerVariable + "=" + socket}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// beStranger is what the process of another user does.
func beStranger(t *testing.T, socket string) {
	t.Helper()
	k := connect(t, socket).hello()
	for _, c := range []struct {
		kind  wire.Type
		owner string
		want  error
	}{
		{wire.Open, "nobody", nil},
		{wire.Open, "root", stateapi.ErrDenied},
		{wire.Open, "", stateapi.ErrDenied},
		{wire.List, "", stateapi.ErrDenied},
		{wire.Verify, "", stateapi.ErrDenied},
	} {
		_, err := k.ask(c.kind, func(b *wire.Builder) {
			if c.kind == wire.Open {
				(&wire.OpenRequest{Definition: definition(c.owner, 1)}).Append(b)
			}
		})
		if !errors.Is(err, c.want) {
			t.Fatalf("request of type %d for %q: got %v, want %v", c.kind, c.owner, err, c.want)
		}
	}
}

func TestPeopleSeeWhatThereIs(t *testing.T) {
	t.Parallel()
	socket := start(t, newFake(), nil)
	k := connect(t, socket).hello()
	session := k.open(definition("ann", 3))
	gone := connect(t, socket).hello()
	gone.open(definition("ann", 4))
	if err := gone.conn.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		f := k.must(wire.List, nil)
		if n := f.U32(); n != 2 {
			t.Fatalf("%d states", n)
		}
		ended := false
		for range 2 {
			info := wire.ReadInfo(f)
			if info.Session == session && (!info.Connected || info.Task != 3 || info.Opened != 7) {
				t.Fatalf("got %+v", info)
			}
			ended = ended || !info.Connected
		}
		if f.End() != nil {
			t.Fatal(f.Err())
		}
		if ended {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a client that has gone counts as connected")
		}
	}
	if text := k.must(wire.Verify, nil).String(); text != stateapi.ErrCorrupt.Error() {
		t.Fatalf("got %q", text)
	}
	k.must(wire.Snapshot, nil)
	k.must(wire.Remove, func(b *wire.Builder) { wire.AppendName(b, definition("ann", 3).Name) })
}

func TestUntilTheStoreIsReadyClientsAreToldSo(t *testing.T) {
	t.Parallel()
	store := newFake()
	store.ready = make(chan struct{})
	k := connect(t, start(t, store, nil)).hello()
	ask := func(b *wire.Builder) { (&wire.OpenRequest{Definition: definition("ann", 1)}).Append(b) }
	if _, err := k.ask(wire.Open, ask); !errors.Is(err, stateapi.ErrNotReady) {
		t.Fatalf("got %v", err)
	}
	close(store.ready)
	k.must(wire.Open, ask)
}
