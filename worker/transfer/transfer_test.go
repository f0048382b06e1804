// SPDX-License-Identifier: Apache-2.0

package transfer

// This file tests who waits for whom, inboxes, routers and routes.

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
	"github.com/gust-stream/gust/worker/grouping"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGates(t *testing.T) {
	t.Parallel()
	got := Gates(map[string][]string{
		"spout": {"a", "acker"}, "a": {"b", "acker"}, "b": {"a", "c", "acker"}, "c": {"c", "d", "acker"}, "d": {"acker"},
	})
	want := map[[2]string][]string{
		{"spout", "a"}: {"a", "b"}, {"spout", "acker"}: {"acker"}, {"a", "b"}: nil, {"a", "acker"}: {"acker"}, {"b", "a"}: nil,
		{"b", "c"}: {"c"}, {"b", "acker"}: {"acker"}, {"c", "c"}: nil, {"c", "d"}: {"d"}, {"c", "acker"}: {"acker"}, {"d", "acker"}: {"acker"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNobodyWaitsInACircle draws any graph. Somebody who waits stops taking, so that waiting passes on from gate to gate.
func TestNobodyWaitsInACircle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "components")
		receivers := map[string][]string{}
		edges := rapid.SliceOfN(rapid.IntRange(0, n*n-1), 0, 20).Draw(t, "edges")
		for _, e := range edges {
			from, to := strconv.Itoa(e/n), strconv.Itoa(e%n)
			if !slices.Contains(receivers[from], to) {
				receivers[from] = append(receivers[from], to)
			}
		}
		waits := map[string][]string{}
		for edge, gates := range Gates(receivers) {
			if len(gates) > 0 && !slices.Contains(gates, edge[1]) {
				t.Fatalf("%v does not heed its receiver: %v", edge, gates)
			}
			waits[edge[0]] = append(waits[edge[0]], gates...)
		}
		for from, reach := range reachable(waits) {
			if reach[from] {
				t.Fatalf("%s may wait for itself in %v", from, receivers)
			}
		}
		// Every circle is fed through a gate that heeds all of it.
		reach := reachable(receivers)
		for edge, gates := range Gates(receivers) {
			for other := range reach[edge[1]] {
				if reach[other][edge[1]] && !reach[edge[1]][edge[0]] && !slices.Contains(gates, other) {
					t.Fatalf("%v feeds the circle of %s and heeds only %v", edge, other, gates)
				}
			}
		}
	})
}

func tuples(n int) *Batch { return &Batch{Tuples: make([]tuple.Message, n)} }

func TestInboxMark(t *testing.T) {
	t.Parallel()
	var told []bool
	in := NewInbox(10, 100, make(chan struct{}, 1), func(over bool) { told = append(told, over) })
	room := make(chan struct{}, 1)
	if in.await(room) {
		t.Error("an empty inbox has no room")
	}
	in.Put(tuples(9))
	if in.Over() {
		t.Error("over at 9 of 10")
	}
	in.Put(tuples(3))
	if !in.Over() || !in.await(room) {
		t.Error("not over at 12 of 10")
	}
	in.Done(6)
	if !in.Over() || len(room) != 0 {
		t.Error("room at 6 of 10")
	}
	in.Done(1)
	if in.Over() || len(room) != 1 {
		t.Error("no room at 5 of 10")
	}
	if diff := cmp.Diff([]bool{true, false}, told); diff != "" {
		t.Error(diff)
	}
	if taken := in.Take(nil); len(taken) != 2 {
		t.Errorf("%d batches", len(taken))
	}
}

func TestInboxLimit(t *testing.T) {
	t.Parallel()
	in := NewInbox(2, 10, make(chan struct{}, 1), nil)
	for i, want := range []bool{true, true, false} {
		if got := in.Put(tuples(4)); got != want {
			t.Errorf("batch %d is taken: %v", i, got)
		}
	}
	if !in.Put(&Batch{Trees: make([]acker.Message, 20)}) {
		t.Error("what is said of trees is refused")
	}
	if arrived, dropped := in.Totals(); in.Size() != 28 || arrived != 28 || dropped != 4 {
		t.Errorf("%d in it, %d arrived, %d dropped", in.Size(), arrived, dropped)
	}
}

func TestInboxWakesOnlyWhoIsParked(t *testing.T) {
	t.Parallel()
	wake := make(chan struct{}, 1)
	in := NewInbox(10, 100, wake, nil)
	in.Put(tuples(1))
	if len(wake) != 0 || in.Park() {
		t.Error("woken, or parked beside a batch")
	}
	in.Take(nil)
	if !in.Park() {
		t.Error("not parked though empty")
	}
	in.Put(tuples(1))
	if len(wake) != 1 {
		t.Error("not woken")
	}
}

// TestInboxNeverForgetsRoom has many senders that wait for room and one receiver. Whoever is not woken hangs the test.
func TestInboxNeverForgetsRoom(t *testing.T) {
	t.Parallel()
	const senders, batches = 4, 3000
	wake := make(chan struct{}, 1)
	in := NewInbox(8, 1<<20, wake, nil)
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			room := make(chan struct{}, 1)
			for range batches {
				in.Put(tuples(3))
				for in.await(room) {
					<-room
				}
			}
		})
	}
	got := 0
	for got < senders*batches*3 {
		for _, b := range in.Take(nil) {
			got += b.Len()
			in.Done(b.Len())
		}
		if in.Park() && got < senders*batches*3 {
			<-wake
		}
	}
	all.Wait()
	if in.Over() || in.Size() != 0 {
		t.Errorf("over: %v, %d left", in.Over(), in.Size())
	}
}

// far is a Remote that keeps what it gets.
type far struct {
	got     []tuple.Message
	blocked map[int32]bool
}

func (f *far) Send(batch []tuple.Message) { f.got = append(f.got, batch...) }
func (f *far) Blocked(task int32) bool    { return f.blocked[task] }
func (*far) Load(int32) (float64, bool)   { return 0, false }
func (f *far) tasks() (out []int32)       { return tasksOf(f.got) }
func tasksOf(list []tuple.Message) (out []int32) {
	for _, m := range list {
		out = append(out, m.Task)
	}
	return out
}

func TestRouter(t *testing.T) {
	t.Parallel()
	remote := &far{blocked: map[int32]bool{}}
	near := NewInbox(batchSize+10, 1<<20, make(chan struct{}, 1), nil)
	here, there, free := Local(near), Elsewhere(2), Elsewhere(3)
	here.Gates, there.RemoteGates = []*Inbox{near}, []int32{2}
	r := NewRouter(&Pool{}, remote, []*Target{nil, here, there, free})
	if r.Known(0) || !r.Known(3) || r.Known(4) || r.Known(-1) || !r.Local(1) || r.Local(2) {
		t.Error("wrong about what it knows")
	}
	one := &tuple.Tuple{}
	r.Send(1, one)
	r.Send(2, one)
	r.Send(3, one)
	r.Tell(1, acker.Message{Root: 5})
	if near.Size() != 0 || len(remote.got) != 0 {
		t.Error("handed over before the flush")
	}
	r.Flush()
	if batch := near.Take(nil); len(batch) != 1 || len(batch[0].Tuples) != 1 || len(batch[0].Trees) != 1 {
		t.Errorf("got %+v", batch)
	}
	if diff := cmp.Diff([]int32{2, 3}, remote.tasks()); diff != "" || r.Full() {
		t.Error(diff, r.Full())
	}
	for range batchSize {
		r.Send(1, one)
	}
	if near.Size() != batchSize+2 || r.Full() {
		t.Errorf("%d handed over, full: %v", near.Size(), r.Full())
	}
	for range 8 {
		r.Send(1, one)
	}
	remote.blocked[2], remote.blocked[3] = true, true
	r.Send(3, one)
	r.Flush()
	if !r.Full() {
		t.Error("not full above the mark")
	}
	room := make(chan struct{}, 1)
	near.Done(near.Size())
	if !r.Room(room) {
		t.Error("still full, though only a task without gate is blocked")
	}
	r.Send(2, one)
	r.Flush()
	if !r.Full() || r.Room(room) {
		t.Error("not full, though the task is blocked")
	}
	remote.blocked[2] = false
	if !r.Room(room) {
		t.Error("still full")
	}
}

func TestRouterHoldsLongRows(t *testing.T) {
	t.Parallel()
	near := NewInbox(10, 1<<20, make(chan struct{}, 1), nil)
	to := Local(near)
	to.Gates = []*Inbox{near}
	r := NewRouter(&Pool{}, nil, []*Target{to})
	held := 0
	r.Hold = func() {
		held++
		near.Done(near.Size())
		r.Room(make(chan struct{}, 1))
	}
	for range 100 * batchSize {
		r.Send(0, &tuple.Tuple{})
		if near.Size() > (holdAfter+1)*batchSize {
			t.Fatalf("%d in the inbox", near.Size())
		}
	}
	if held == 0 {
		t.Error("never held")
	}
}

func TestRouterTellsOfRefused(t *testing.T) {
	t.Parallel()
	near := NewInbox(1, 4, make(chan struct{}, 1), nil)
	trees := NewInbox(10, 100, make(chan struct{}, 1), nil)
	r := NewRouter(&Pool{}, nil, []*Target{Local(near), Local(trees)})
	refused := 0
	r.Refused = func(tuple.Message) {
		refused++
		r.Tell(1, acker.Message{Kind: acker.Fail})
	}
	for range 2 {
		for range 3 {
			r.Send(0, &tuple.Tuple{})
		}
		r.Flush()
	}
	if refused != 3 || trees.Size() != 3 || r.Pending() {
		t.Errorf("%d refused, %d told, pending: %v", refused, trees.Size(), r.Pending())
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	null := storm.NewNullStruct()
	c := grouping.Context{Fields: []string{"word"}, Local: []int32{1, 2, 3, 4, 5, 6, 7, 8}}
	r, err := NewRoute([]Consumer{
		{"one", &storm.Grouping{Shuffle: null}, []int32{1}},
		{"all", &storm.Grouping{All: null}, []int32{2, 3}},
		{"fields", &storm.Grouping{Fields: []string{"word"}}, []int32{4, 5}},
	}, c)
	if err != nil {
		t.Fatal(err)
	}
	first, err := r.Choose([]any{"a"}, nil)
	if err != nil || len(first) != 4 || !slices.Equal(first[:3], []int32{1, 2, 3}) {
		t.Errorf("chose %v, %v", first, err)
	}
	if again, _ := r.Choose([]any{"a"}, nil); !slices.Equal(first, again) {
		t.Errorf("chose %v, then %v", first, again)
	}
	if _, err := r.Direct(4); err == nil {
		t.Error("direct to a task that takes the stream by fields")
	}
	if takes, err := r.Direct(8); takes || err != nil {
		t.Errorf("direct to a stranger: %v, %v", takes, err)
	}
	r, err = NewRoute([]Consumer{{"direct", &storm.Grouping{Direct: null}, []int32{6, 7}}}, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Choose([]any{"a"}, nil); err == nil {
		t.Error("regular emit on a direct stream")
	}
	if takes, err := r.Direct(7); !takes || err != nil {
		t.Errorf("direct: %v, %v", takes, err)
	}
	if _, err := NewRoute([]Consumer{{"x", &storm.Grouping{Fields: []string{"no"}}, []int32{1, 2}}}, c); err == nil {
		t.Error("no error for an unknown field")
	}
}
