// SPDX-License-Identifier: Apache-2.0

package groupingtest

// This file makes up questions.

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"

	"github.com/gust-stream/gust/tuple"
)

// Generate makes up a question.
func Generate(r *rand.Rand) *Question {
	kinds := []string{"fields", "fields", "fields", "fields", "custom", "custom", "shuffle", "shuffle", "local", "all", "none"}
	q := &Question{
		Kind: kinds[r.IntN(len(kinds))], Out: []string{"a", "b", "c", "d"}[:1+r.IntN(4)], Even: r.IntN(4) == 0,
		High: 0.8, Low: 0.2, Seed: r.Int64(), Here: Place{"n0", 6700.0}, Local: []int32{},
	}
	for id := int32(1); id < 16; id++ {
		if r.IntN(3) == 0 {
			q.Tasks = append(q.Tasks, id)
		}
		if r.IntN(4) == 0 {
			q.Local = append(q.Local, id)
		}
	}
	if len(q.Tasks) == 0 {
		q.Tasks = []int32{7}
	}
	r.Shuffle(len(q.Tasks), func(i, j int) { q.Tasks[i], q.Tasks[j] = q.Tasks[j], q.Tasks[i] })
	if q.Kind == "fields" || q.Kind == "custom" && r.IntN(3) > 0 {
		q.Fields = []string{}
		for _, i := range r.Perm(len(q.Out))[:r.IntN(len(q.Out)+1)] {
			q.Fields = append(q.Fields, q.Out[i])
		}
	}
	if q.Kind == "fields" && r.IntN(50) == 0 {
		q.Fields = append(q.Fields, "unknown")
	}
	q.Places = *places(r)
	for range 4 {
		q.Steps = append(q.Steps, q.emit(r), q.emit(r), q.emit(r), Step{Load: loads(r), Places: places(r)})
		if r.IntN(8) == 0 {
			q.Steps = append(q.Steps, q.emit(r), Step{Load: map[string]float64{"99": 1}, Places: places(r)})
		}
	}
	q.Steps = append(q.Steps, q.emit(r))
	return q
}

func (q *Question) emit(r *rand.Rand) Step {
	step := Step{Times: 1 + r.IntN(20)}
	if q.Kind == "shuffle" && r.IntN(20) == 0 {
		step.Times = 1100 // more than a ring
	}
	for i := range q.Out {
		if q.Kind == "custom" && i == 0 {
			// Whole-tuple keys are texts, and the text of some values differs by the release of Java.
			step.Values = append(step.Values, Encode(textual(r)))
			continue
		}
		step.Values = append(step.Values, Encode(Value(r, 0)))
	}
	return step
}

func places(r *rand.Rand) *Places {
	p := &Places{Tasks: map[string]Place{}, Nodes: []string{}, Racks: map[string]string{}}
	nodes := []string{"n0", "n1", "n2", "n3"}
	spread := 1 + r.IntN(len(nodes))
	for id := 1; id < 16; id++ {
		if r.IntN(10) > 0 {
			p.Tasks[strconv.Itoa(id)] = Place{nodes[r.IntN(spread)], float64(6700 + r.IntN(2))}
		}
	}
	for _, node := range nodes {
		if r.IntN(6) > 0 {
			p.Nodes = append(p.Nodes, node)
		}
		if r.IntN(6) > 0 {
			p.Racks[node] = []string{"/one", "/two"}[r.IntN(2)]
		}
	}
	return p
}

func loads(r *rand.Rand) map[string]float64 {
	load := map[string]float64{"99": 0}
	top := r.Float64() * 1.2
	for id := 1; id < 16; id++ {
		if r.IntN(12) > 0 {
			load[strconv.Itoa(id)] = r.Float64() * top
		}
	}
	return load
}

// textual gives a value whose text is the same in each release of Java.
func textual(r *rand.Rand) any {
	switch r.IntN(8) {
	case 0:
		return r.Int64() >> r.IntN(64)
	case 1:
		return r.IntN(2) == 0
	case 2:
		return float64(r.IntN(1<<20)-1<<19) / 8
	case 3:
		return float64(r.IntN(64)) * 1e9
	case 4:
		return float32(r.IntN(1<<16)) / 4
	case 5:
		return tuple.Char(r.IntN(1 << 16))
	case 6:
		return []any{r.Int64(), Text(r), nil, []any{true}}
	}
	return Text(r)
}

// Value makes up a value of any class that tuples have.
func Value(r *rand.Rand, depth int) any {
	kinds := 13
	if depth < 3 {
		kinds = 17
	}
	switch r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return int32(r.Uint32()) >> r.IntN(32)
	case 3:
		return r.Int64() >> r.IntN(64) * []int64{1, -1}[r.IntN(2)]
	case 4:
		return int16(r.Uint32())
	case 5:
		return int8(r.Uint32())
	case 6:
		return tuple.Char(r.Uint32())
	case 7:
		odd := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), math.Float32frombits(0xffc12345), float32(math.Inf(-1)), 1.5}
		return append(odd, math.Float32frombits(r.Uint32()))[r.IntN(7)]
	case 8:
		odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0xfff8123400000001), math.Inf(1), 0.1}
		return append(odd, math.Float64frombits(r.Uint64()))[r.IntN(7)]
	case 9:
		if depth > 0 { // Java hashes its address there
			return Text(r)
		}
		b := make([]byte, r.IntN(20))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	case 10:
		v := new(big.Int).Lsh(big.NewInt(r.Int64()), uint(r.IntN(200)))
		return v.Add(v, big.NewInt(r.Int64()>>r.IntN(64))).Mul(v, big.NewInt(int64(r.IntN(3)-1)))
	case 11, 12:
		return Text(r)
	case 13, 14:
		list := []any{}
		for range r.IntN(5) {
			list = append(list, Value(r, depth+1))
		}
		return list
	case 15:
		set := tuple.Set{}
		for i := range r.IntN(5) {
			set = append(set, []any{int64(i), Value(r, depth+1)})
		}
		return set
	}
	m := map[any]any{}
	for range r.IntN(5) {
		m[key(r)] = Value(r, depth+1)
	}
	return m
}

func key(r *rand.Rand) any {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return r.Int64()
	case 2:
		return int32(r.Uint32())
	}
	return Text(r)
}

// Text makes up a string: ASCII, Latin, Chinese, beyond the basic plane, and surrogates without partners.
func Text(r *rand.Rand) string {
	kind := r.IntN(5)
	var text []byte
	for range r.IntN(40) {
		switch min(kind, r.IntN(6)) {
		case 0, 1:
			text = append(text, byte(r.IntN(128)))
		case 2:
			text = append(text, string(rune(0x80+r.IntN(0x700)))...)
		case 3:
			text = append(text, string(rune(0x10000+r.IntN(0x100000)))...)
		default:
			text = append(text, 0xED, 0xA0|byte(r.IntN(32)), 0x80|byte(r.IntN(64)))
		}
	}
	return string(text)
}
