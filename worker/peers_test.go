// SPDX-License-Identifier: Apache-2.0

package worker

// Tests of the links as a set, with links that only note.

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/tuple"
)

// fakePeer notes what it gets.
type fakePeer struct {
	addr  string
	ready atomic.Bool
	runs  atomic.Int32

	mu   sync.Mutex
	sent []int32 // tasks, guarded by mu
}

func (f *fakePeer) Run(ctx context.Context) error {
	f.runs.Add(1)
	defer f.runs.Add(-1)
	<-ctx.Done()
	return ctx.Err()
}

func (f *fakePeer) Send(batch []tuple.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range batch {
		f.sent = append(f.sent, m.Task)
	}
}

func (f *fakePeer) tasks() []int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent
}

func (f *fakePeer) Blocked(task int32) bool         { return task == 3 }
func (f *fakePeer) Load(task int32) (float64, bool) { return float64(task) / 10, true }
func (f *fakePeer) Ready() bool                     { return f.ready.Load() }

// fakePeers are peers over fake links, by address.
type fakePeers struct {
	*peers
	made map[string]*fakePeer
}

func newFakePeers() *fakePeers {
	f := &fakePeers{made: map[string]*fakePeer{}}
	f.peers = newPeers(func(addr string) peer {
		f.made[addr] = &fakePeer{addr: addr}
		return f.made[addr]
	}, zap.NewNop())
	return f
}

func (f *fakePeers) isConnected() bool {
	select {
	case <-f.connected:
		return true
	default:
		return false
	}
}

// at makes peers of addresses.
func at(addrs map[int32]string) map[int32]Peer {
	peers := map[int32]Peer{}
	for task, addr := range addrs {
		peers[task] = Peer{Addr: addr}
	}
	return peers
}

func batch(tasks ...int32) (out []tuple.Message) {
	for _, task := range tasks {
		out = append(out, tuple.Message{Task: task})
	}
	return out
}

func TestPeersFindTheLinkOfATask(t *testing.T) {
	t.Parallel()
	f := newFakePeers()
	f.set(at(map[int32]string{2: "a", 3: "a", 5: "b"}))
	for range 2 { // the second time rows are used again
		f.Send(nil)
		f.Send(batch(2, 3))
		f.Send(batch(5, 2, 5, 3, 2))
		f.Send(batch(7, 0, -1))
		f.Send(batch(7, 5, 100))
	}
	once := map[string][]int32{"a": {2, 3, 2, 3, 2}, "b": {5, 5, 5}}
	for addr, want := range once {
		if diff := cmp.Diff(append(want, want...), f.made[addr].tasks()); diff != "" {
			t.Errorf("%s: %s", addr, diff)
		}
	}
	if !f.Blocked(3) || f.Blocked(2) || f.Blocked(4) || f.Blocked(-1) {
		t.Error("Blocked")
	}
	if load, ok := f.Load(5); load != 0.5 || !ok {
		t.Errorf("Load(5) = %v, %v", load, ok)
	}
	if _, ok := f.Load(4); ok {
		t.Error("a task that is nowhere has a load")
	}
}

func TestPeersComeAndGo(t *testing.T) {
	t.Parallel()
	f := newFakePeers()
	f.set(at(map[int32]string{2: "a", 5: "b"}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.run(ctx); close(ended) }()
	running := func(want map[string]int32) {
		t.Helper()
		deadline := time.After(patience)
		for {
			got := map[string]int32{}
			for addr, p := range f.made {
				if n := p.runs.Load(); n > 0 {
					got[addr] = n
				}
			}
			if cmp.Equal(want, got) {
				return
			}
			select {
			case <-deadline:
				t.Fatalf("links %v run, want %v", got, want)
			case <-time.After(time.Millisecond):
			}
		}
	}
	running(map[string]int32{"a": 1, "b": 1})
	f.set(at(map[int32]string{2: "c", 5: "b"}))
	running(map[string]int32{"b": 1, "c": 1})
	f.Send(batch(2, 5))
	if diff := cmp.Diff([]int32{2}, f.made["c"].tasks()); diff != "" {
		t.Error(diff)
	}
	cancel()
	<-ended
	running(map[string]int32{})
	f.set(at(map[int32]string{2: "d"}))
	running(map[string]int32{})
}

func TestConnectedOnce(t *testing.T) {
	t.Parallel()
	alone := newFakePeers()
	alone.set(nil)
	if !alone.isConnected() {
		t.Error("a worker alone waits for links")
	}
	f := newFakePeers()
	f.set(at(map[int32]string{2: "a", 5: "b"}))
	for _, addr := range []string{"a", "b"} {
		if f.isConnected() {
			t.Fatalf("connected before %s was", addr)
		}
		f.made[addr].ready.Store(true)
		f.notice()
	}
	if !f.isConnected() {
		t.Error("not connected")
	}
	f.set(at(map[int32]string{2: "c"})) // and never again
	if !f.isConnected() {
		t.Error("not connected any more")
	}
}

func BenchmarkPeersSend(b *testing.B) {
	f := newFakePeers()
	f.peers = newPeers(func(string) peer { return nullPeer{} }, zap.NewNop())
	tasks := map[int32]string{}
	for task := range int32(16) {
		tasks[task] = itoa(int(task % 4))
	}
	f.set(at(tasks))
	mixed := batch(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	for b.Loop() {
		f.Send(mixed)
	}
}

// nullPeer takes everything.
type nullPeer struct{ peer }

func (nullPeer) Send([]tuple.Message) {}
func (nullPeer) Ready() bool          { return true }
