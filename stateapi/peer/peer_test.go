// SPDX-License-Identifier: Apache-2.0

package peer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/replica"
)

func definition(task int32) stateapi.Definition {
	return stateapi.Definition{
		Name: stateapi.Name{Topology: "words", Owner: "alice", Component: "count", Task: task}, Tasks: 4, Shards: 8, Encoder: "bytes",
	}
}

// bolt is a client of a store, with the truth.
type bolt struct {
	t       *testing.T
	m       *machine
	def     stateapi.Definition
	session uint64
	truth   map[string]string
}

// open opens the state on a machine, and answers what is prepared.
func (b *bolt) open(m *machine) (prepared bool, txid int64) {
	b.t.Helper()
	b.m = m
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	for {
		o, err := m.store.Open(ctx, b.def, 0)
		if err == nil {
			b.session = o.Session
			return o.Prepared, o.TxID
		}
		if !errors.Is(err, stateapi.ErrNotReady) || ctx.Err() != nil {
			b.t.Fatalf("open on %s: %v", m.id, err)
		}
	}
}

func batchOf(values map[string]string) []byte {
	var b stateapi.Batch
	for k, v := range values {
		b.Put([]byte(k), []byte(v))
	}
	return b.Bytes()
}

func (b *bolt) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("on %s: %v", b.m.id, err)
	}
}

// commit commits values with a txid.
func (b *bolt) commit(txid int64, values map[string]string) {
	b.t.Helper()
	b.must(b.m.store.Prepare(b.t.Context(), b.session, txid, batchOf(values)))
	_, err := b.m.store.Commit(b.t.Context(), b.session, txid)
	b.must(err)
	maps.Copy(b.truth, values)
}

// check compares all keys with the truth.
func (b *bolt) check() {
	b.t.Helper()
	got := map[string]string{}
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		entries, next, err := b.m.store.Iterate(b.t.Context(), b.session, cursor, 1<<20)
		b.must(err)
		for _, e := range entries {
			got[string(e.Key)] = string(e.Value)
		}
		cursor = next
	}
	if diff := cmp.Diff(b.truth, got); diff != "" {
		b.t.Fatalf("on %s (-want +got):\n%s", b.m.id, diff)
	}
}

func values(txid, count int) map[string]string {
	v := map[string]string{}
	for i := range count {
		v[fmt.Sprintf("key-%d", (txid*7+i)%5000)] = strconv.Itoa(txid)
	}
	return v
}

// succeed has Nimbus name a new owner for a task whose machine is lost.
func (s *site) succeed(def stateapi.Definition, to replica.Peer) {
	s.t.Helper()
	if !s.decide(def, func(c replica.Config, _ bool, r replica.Site) (replica.Config, bool) { return c.Succeed(r, to) }) {
		s.t.Fatal("no machine has all shards")
	}
}

func TestALostMachineLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, 4)
	b := &bolt{t: t, def: definition(1), truth: map[string]string{}}
	b.open(s.machines["m0"])
	for txid := range 20 {
		b.commit(int64(txid+1), values(txid, 300))
	}
	s.whole(b.def)
	for txid := 20; txid < 40; txid++ {
		b.commit(int64(txid+1), values(txid, 300))
	}
	prepared := values(99, 100)
	b.must(b.m.store.Prepare(t.Context(), b.session, 99, batchOf(prepared)))
	for i, next := range []replica.Peer{"m1", "m2"} {
		s.lose(b.m.id)
		s.succeed(b.def, next)
		has, txid := b.open(s.machines[next])
		if i == 0 && (!has || txid != 99) {
			t.Fatalf("what was prepared: %v %d", has, txid)
		}
		b.check()
		if i == 0 {
			_, err := b.m.store.Commit(t.Context(), b.session, 99)
			b.must(err)
			maps.Copy(b.truth, prepared)
			b.check()
		}
		b.commit(int64(200+i), values(200+i, 50))
		s.whole(b.def)
	}
}

func TestAnOldOwnerIsFenced(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, 3)
	b := &bolt{t: t, def: definition(1), truth: map[string]string{}}
	old := s.machines["m0"]
	b.open(old)
	b.commit(1, values(1, 100))
	s.whole(b.def)
	session := b.session
	// The old owner does not hear of the succession: it is taken out of those who are told.
	s.mu.Lock()
	delete(s.machines, "m0")
	s.mu.Unlock()
	s.succeed(b.def, "m1")
	b.open(s.machines["m1"])
	b.check()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := old.store.Prepare(ctx, session, 2, batchOf(values(2, 10))); !errors.Is(err, stateapi.ErrFenced) {
		t.Errorf("the old owner answered: %v", err)
	}
	b.commit(2, values(3, 10))
	b.check()
}

func TestProcessesStartAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, 3)
	b := &bolt{t: t, def: definition(1), truth: map[string]string{}}
	b.open(s.machines["m0"])
	b.commit(1, values(1, 100))
	s.whole(b.def)
	for i := range 4 {
		for _, id := range []replica.Peer{"m0", "m1", "m2"} {
			if id == "m0" || i%2 == 0 {
				s.machines[id].stop()
				s.start(id)
			}
		}
		b.open(s.machines["m0"])
		b.check()
		b.commit(int64(i+2), values(i+2, 300))
		_, err := b.m.store.Write(t.Context(), b.session, batchOf(map[string]string{"plain": strconv.Itoa(i)}))
		b.must(err)
		b.truth["plain"] = strconv.Itoa(i)
	}
	s.whole(b.def)
	s.lose("m0")
	s.succeed(b.def, "m2")
	b.open(s.machines["m2"])
	b.check()
}
