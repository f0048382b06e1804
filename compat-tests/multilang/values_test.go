// SPDX-License-Identifier: Apache-2.0

package multilang

// Tests that values of a child are of the types that Storm's own parent gives them, which decide where tuples go.

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/worker/grouping"
)

// targets are the tasks among which a fields grouping chooses; a prime, so that most hashes differ.
const targets = 65521

// kind is a value's Java class.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "Boolean"
	case int32:
		return "Integer"
	case int64:
		return "Long"
	case *big.Int:
		return "BigInteger"
	case float64:
		return "Double"
	case string:
		return "String"
	case []any:
		text := "[ "
		for _, element := range v {
			text += kind(element) + " "
		}
		return text + "]"
	case map[string]any:
		var keys []string
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		text := "{ "
		for _, key := range keys {
			text += key + " " + kind(v[key]) + " "
		}
		return text + "}"
	default:
		return fmt.Sprintf("%T", v)
	}
}

// integer is a number near a power of two, of either sign.
func integer(r *rand.Rand) string {
	n := new(big.Int).Lsh(big.NewInt(1), uint(r.IntN(70)))
	n.Add(n, big.NewInt(r.Int64N(5)-2))
	if r.IntN(2) == 0 {
		n.Neg(n)
	}
	return n.String()
}

func TestValuesCompat(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 0))
	var tuples []string
	for range 500 {
		tuples = append(tuples, fmt.Sprintf(`[%s,"a",%s,[%s,null,1.5],{"k":%s,"l":[%s,true]}]`,
			integer(r), integer(r), integer(r), integer(r), integer(r)))
	}
	for _, n := range []int{0, 1, -1, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MinInt32 - 1, math.MaxInt64, math.MinInt64} {
		tuples = append(tuples, fmt.Sprintf("[%d]", n))
	}
	var questions [][]byte
	for _, values := range tuples {
		questions = append(questions, []byte(`{"command":"emit","tuple":`+values+`}`))
	}
	tasks := make([]int32, targets)
	for i := range tasks {
		tasks[i] = int32(i)
	}
	// One field that is a list: Storm hashes the list of it.
	group, err := grouping.New(&storm.Grouping{Fields: []string{"all"}}, grouping.Context{Fields: []string{"all"}, Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range stockjava.Ask(t, "java", "ValuesDriver", questions) {
		w := codec.NewWalker(codec.JSON)
		w.Reset([]byte(tuples[i]))
		v, err := w.Stock()
		if err != nil {
			t.Fatal(err)
		}
		values, _ := v.([]any)
		want := string(answer[:strings.LastIndexByte(string(answer), ' ')])
		if got := kind(values); got != want {
			t.Errorf("%s: %s, Storm has %s", tuples[i], got, want)
		}
		var hash int32
		if _, err := fmt.Sscan(string(answer[len(want)+1:]), &hash); err != nil {
			t.Fatal(err)
		}
		if got, want := group.Choose([]any{values}, nil)[0], ((31+hash)%targets+targets)%targets; got != want {
			t.Errorf("%s: goes to %d, in Storm to %d", tuples[i], got, want)
		}
	}
}
