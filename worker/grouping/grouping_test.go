// SPDX-License-Identifier: Apache-2.0

package grouping_test

// Tests of choices: what Storm's own groupers answered, and rules that hold for any values.

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/worker/grouping"
	"github.com/gust-stream/gust/worker/grouping/groupingtest"
)

// TestChoicesOfStorm replays what stock Storm answered; compat-tests/grouping recorded it.
func TestChoicesOfStorm(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/storm.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(all), []byte("\n"))
	if len(lines) < 150 || len(lines)%2 != 0 {
		t.Fatalf("%d lines are recorded", len(lines))
	}
	for i := 0; i < len(lines); i += 2 {
		diff, err := groupingtest.Compare(lines[i], lines[i+1])
		if err != nil {
			t.Fatal(err)
		}
		if diff != "" {
			t.Errorf("%s\n%s", diff, lines[i])
		}
	}
}

var null = &storm.NullStruct{}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name string
		spec *storm.Grouping
		want string
	}{
		{"Undeclared", &storm.Grouping{Fields: []string{"word", "x"}}, `declares no field "x", only ["word" "count"]`},
		{"Twice", &storm.Grouping{Fields: []string{"word", "word"}}, `field "word" is named twice`},
		{"Object", &storm.Grouping{CustomObject: &storm.JavaObject{FullClassName: "org.example.Mine"}}, "org.example.Mine"},
		{"Garbage", &storm.Grouping{CustomSerialized: []byte{0xac, 0xed, 0, 5, 's'}}, "custom grouping"},
		{"Unset", &storm.Grouping{}, "none is set"},
		{"Nil", nil, "none is set"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			_, err := grouping.New(one.spec, grouping.Context{Fields: []string{"word", "count"}, Tasks: []int32{1}})
			if err == nil || !strings.Contains(err.Error(), one.want) {
				t.Fatalf("New() = %v, want %s", err, one.want)
			}
			custom := one.spec != nil && (one.spec.CustomObject != nil || one.spec.CustomSerialized != nil)
			if errors.Is(err, grouping.ErrCustom) != custom {
				t.Errorf("%v is ErrCustom: %v", err, !custom)
			}
		})
	}
}

func TestDirectIsNamedByTheEmitter(t *testing.T) {
	t.Parallel()
	g, err := grouping.New(&storm.Grouping{Direct: null}, grouping.Context{Tasks: []int32{1}})
	if err != nil || !grouping.IsDirect(g) || len(g.Choose(nil, nil)) != 0 {
		t.Fatal(g, err)
	}
	g, err = grouping.New(&storm.Grouping{All: null}, grouping.Context{Tasks: []int32{1}})
	if err != nil || grouping.IsDirect(g) {
		t.Fatal(g, err)
	}
}

// TestNoTasks lets a component without tasks, such as an acker of none, get nothing.
func TestNoTasks(t *testing.T) {
	t.Parallel()
	for _, spec := range []*storm.Grouping{{Fields: []string{"a"}}, {Fields: []string{}}, {Shuffle: null}, {LocalOrShuffle: null}, {All: null}, {None: null}} {
		for _, even := range []bool{true, false} {
			g, err := grouping.New(spec, grouping.Context{Fields: []string{"a"}, Even: even})
			if err != nil || len(g.Choose([]any{1}, nil)) != 0 {
				t.Errorf("%v chooses of no tasks: %v", spec, err)
			}
		}
	}
}

// TestShuffleIsEven counts whole rounds of the ring.
func TestShuffleIsEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(1, 300).Draw(t, "tasks")
		tasks := make([]int32, n)
		for i := range tasks {
			tasks[i] = int32(i) + 1
		}
		even := rapid.Bool().Draw(t, "even")
		g, err := grouping.New(&storm.Grouping{Shuffle: null}, grouping.Context{Tasks: tasks, Even: even, HigherBound: 0.8, LowerBound: 0.2, Seed: rapid.Int64().Draw(t, "seed")})
		if err != nil {
			t.Fatal(err)
		}
		counts := map[int32]int{}
		const rounds = 10
		round := int(n)
		if !even && n > 1 {
			round = max(1000, 5*int(n))
		}
		for range rounds * round {
			counts[g.Choose(nil, nil)[0]]++
		}
		for _, task := range tasks {
			// As in Java a share of 5 may come out as 4.99 and is cut to 4; what is left over goes to any task.
			least, most := rounds*max(1, round/int(n)-1), rounds*(round/int(n)+max(8, round%int(n)))
			if even {
				least, most = rounds, rounds
			}
			if counts[task] < least || counts[task] > most {
				t.Fatalf("task %d of %d got %d, want %d to %d", task, n, counts[task], least, most)
			}
		}
	})
}

// TestLoadMovesTuples tells a shuffle that one of two tasks is full.
func TestLoadMovesTuples(t *testing.T) {
	t.Parallel()
	g, err := grouping.New(&storm.Grouping{Shuffle: null}, grouping.Context{Tasks: []int32{1, 2}, HigherBound: 0.8, LowerBound: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	share := func() (n int) {
		for range 1000 {
			n += int(g.Choose(nil, nil)[0]) - 1
		}
		return n
	}
	if n := share(); n != 500 {
		t.Errorf("without load task 2 got %d of 1000", n)
	}
	for range 10 {
		g.(grouping.Refresher).Refresh(grouping.Load{1: 0, 2: 0.9}, nil) //nolint:errcheck // it is one
	}
	if n := share(); n != 0 {
		t.Errorf("full task 2 got %d of 1000", n)
	}
	for range 100 {
		g.(grouping.Refresher).Refresh(grouping.Load{1: 0, 2: 0}, nil) //nolint:errcheck // it is one
	}
	if n := share(); n != 500 {
		t.Errorf("after a while task 2 got %d of 1000", n)
	}
}

// TestFieldsAgree lets two forms of one string, and one list, come to the same task.
func TestFieldsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(1, 50).Draw(t, "tasks")
		for _, pair := range [][2]any{
			{"\U0001F600x", "\xED\xA0\xBD\xED\xB8\x80x"},
			{[]any{"a", int64(1)}, []any{"a", 1}},
			{[]string{"a", "b"}, []any{"a", "b"}},
			{map[string]any{"k": 1.5}, map[any]any{"k": 1.5}},
			{map[string]int{"k": 1}, map[string]any{"k": int64(1)}},
			{uint64(1 << 40), int64(1 << 40)},
		} {
			a, b := grouping.Index([]any{pair[0], n}, n), grouping.Index([]any{pair[1], n}, n)
			if a != b || a < 0 || a >= n {
				t.Fatalf("of %d: %v goes to %d, %v to %d", n, pair[0], a, pair[1], b)
			}
		}
	})
}

func TestChooseAppends(t *testing.T) {
	t.Parallel()
	g, err := grouping.New(&storm.Grouping{All: null}, grouping.Context{Tasks: []int32{5, 3}})
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Choose(nil, []int32{9}); !slices.Equal(got, []int32{9, 3, 5}) {
		t.Errorf("Choose() = %v", got)
	}
}
