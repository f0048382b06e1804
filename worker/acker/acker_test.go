// SPDX-License-Identifier: Apache-2.0

package acker

// This file checks the acker against a plain model of Storm's, and whole trees in any order.

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/worker/grouping"
)

func TestTreeIsDoneOnceInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := New()
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var all []Message
		trees := rapid.IntRange(1, 50).Draw(t, "trees")
		for root := range trees {
			all = append(all, grow(random, int64(root)*1_000_003-7, int32(root))...)
		}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		answers := map[int64]int{}
		left := map[int64]int{}
		for _, m := range all {
			left[m.Root]++
		}
		for _, m := range all {
			left[m.Root]--
			answer, ok := a.Tell(m, 1)
			if ok != (left[m.Root] == 0) {
				t.Fatalf("answered %v with %d messages of the tree to come", ok, left[m.Root])
			}
			if ok {
				answers[m.Root]++
				if want := (Message{Root: m.Root, Kind: Ack, Task: int32((m.Root + 7) / 1_000_003)}); answer != want {
					t.Fatalf("answer %+v, want %+v", answer, want)
				}
			}
		}
		if len(answers) != trees || a.Len() != 0 {
			t.Fatalf("%d of %d trees answered, %d left", len(answers), trees, a.Len())
		}
	})
}

// grow makes the messages of a random tree.
func grow(random *rand.Rand, root int64, task int32) []Message {
	var out []Message
	edge := func() int64 { return int64(random.Uint64() | 1) }
	first := edge()
	out = append(out, Message{Root: root, Value: first, Task: task, Kind: Init})
	open := []int64{first}
	for n := 0; len(open) > 0; n++ {
		at := open[0]
		open = open[1:]
		for range random.IntN(3) {
			if n < 20 {
				child := edge()
				open = append(open, child)
				at ^= child
			}
		}
		out = append(out, Message{Root: root, Value: at, Kind: Ack})
	}
	return out
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell []Message
		want []Message
	}{
		{"NothingSent", []Message{{Root: 5, Task: 3, Kind: Init}}, []Message{{Root: 5, Task: 3, Kind: Ack}}},
		{"FailBeforeInit", []Message{{Root: 5, Kind: Fail}, {Root: 5, Value: 9, Task: 3, Kind: Init}}, []Message{{Root: 5, Task: 3, Kind: Fail}}},
		{
			"FailedOnce",
			[]Message{{Root: 5, Value: 9, Task: 3, Kind: Init}, {Root: 5, Kind: Fail}, {Root: 5, Value: 9, Kind: Ack}},
			[]Message{{Root: 5, Task: 3, Kind: Fail}},
		},
		{
			"Reset",
			[]Message{{Root: 5, Value: 9, Task: 3, Kind: Init}, {Root: 5, Kind: Reset}, {Root: 5, Value: 9, Kind: Ack}},
			[]Message{{Root: 5, Task: 3, Kind: Reset}, {Root: 5, Task: 3, Kind: Ack}},
		},
		{"ResetOfUnknown", []Message{{Root: 5, Kind: Reset}}, nil},
		{"RootZero", []Message{{Root: 0, Value: 9, Task: 3, Kind: Init}, {Root: 0, Value: 9, Kind: Ack}}, []Message{{Root: 0, Task: 3, Kind: Ack}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := New()
			var got []Message
			for _, m := range c.tell {
				if answer, ok := a.Tell(m, 4); ok {
					got = append(got, answer)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTimeOfTree(t *testing.T) {
	t.Parallel()
	a := New()
	a.Tell(Message{Root: 1, Value: 2, Kind: Ack}, 1_000_000)
	answer, ok := a.Tell(Message{Root: 1, Value: 2, Kind: Init}, 8_500_000)
	if !ok || answer.Value != 7_500_000 || answer.Delta() != 7 {
		t.Errorf("answer %+v, %v", answer, ok)
	}
}

func TestRotateForgetsAfterThree(t *testing.T) {
	t.Parallel()
	a := New()
	a.Tell(Message{Root: 1, Value: 2, Kind: Init}, 0)
	a.Tell(Message{Root: 2, Value: 2, Kind: Init}, 0)
	for i, want := range []int{0, 0, 1, 0, 1} {
		if i == 2 {
			a.Tell(Message{Root: 2, Kind: Reset}, 0)
		}
		if got := a.Rotate(); got != want {
			t.Errorf("rotation %d forgot %d, want %d", i+1, got, want)
		}
	}
	if a.Len() != 0 {
		t.Errorf("%d left", a.Len())
	}
}

// TestRotatingAgainstMap has few roots, which collide, and many deletions.
func TestRotatingAgainstMap(t *testing.T) {
	t.Parallel()
	type entry struct{ value, age int64 }
	rapid.Check(t, func(t *rapid.T) {
		r := NewRotating[int64](2)
		r.clear(8)
		model := map[int64]entry{}
		for _, step := range rapid.SliceOfN(rapid.Int64Range(0, 1<<12), 1, 400).Draw(t, "steps") {
			root := step >> 6
			switch e, there := model[root]; {
			case step%31 == 0:
				gone := map[int64]int64{}
				r.Rotate(func(root, value int64) { gone[root] = value })
				for root, e := range model {
					if e.age++; e.age < 2 {
						model[root] = e
						continue
					}
					if value, ok := gone[root]; !ok || value != e.value {
						t.Fatalf("root %d went with %d, %v, want %d", root, value, ok, e.value)
					}
					delete(model, root)
					delete(gone, root)
				}
				if len(gone) > 0 {
					t.Fatalf("went too early: %v", gone)
				}
			case there && step%7 == 0:
				r.Touch(root)
				model[root] = entry{e.value, 0}
			case there:
				if value, ok := r.Remove(root); !ok || value != e.value {
					t.Fatalf("root %d has %d, %v, want %d", root, value, ok, e.value)
				}
				delete(model, root)
			default:
				value, isNew := r.Put(root)
				if !isNew || *value != 0 {
					t.Fatalf("root %d is there with %d", root, *value)
				}
				*value = step
				model[root] = entry{value: step}
			}
			if r.Len() != len(model) {
				t.Fatalf("%d entries, want %d", r.Len(), len(model))
			}
			for root, e := range model {
				if value := r.Get(root); value == nil || *value != e.value {
					t.Fatalf("root %d has another value than %d", root, e.value)
				}
			}
		}
	})
}

func TestChooseIsFieldsGrouping(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 9; n++ {
		tasks := make([]int32, n)
		for i := range tasks {
			tasks[i] = int32(i)
		}
		g, err := grouping.New(&storm.Grouping{Fields: []string{"id"}}, grouping.Context{Fields: []string{"id", "ack-val"}, Tasks: tasks})
		if err != nil {
			t.Fatal(err)
		}
		for range 10_000 {
			root := int64(rand.Uint64())
			if got := g.Choose([]any{root, int64(0)}, nil); int(got[0]) != Choose(root, n) {
				t.Fatalf("root %d of %d: %d, the grouping says %d", root, n, Choose(root, n), got[0])
			}
		}
	}
}

func BenchmarkTell(b *testing.B) {
	a := New()
	roots := make([]int64, 8192)
	for i := range roots {
		roots[i] = int64(rand.Uint64())
		a.Tell(Message{Root: roots[i], Value: 3, Kind: Init}, 0)
	}
	for i := 0; b.Loop(); i++ {
		at := &roots[i%len(roots)]
		a.Tell(Message{Root: *at, Value: 3, Kind: Ack}, 0)
		*at = int64(rand.Uint64())
		a.Tell(Message{Root: *at, Value: 3, Kind: Init}, 0)
	}
}
