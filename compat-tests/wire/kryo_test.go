// SPDX-License-Identifier: Apache-2.0

package wire

// This file asks Storm's serializers what they write, and what they make of what gust writes.

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/tuple"

	"github.com/gust-stream/gust/compat-tests/stockjava"
)

// many is how many generated questions go each way.
const many = 3000

// answer is what the driver says: bytes and what is in them as text, or what was thrown.
type answer struct{ bytes, text, thrown string }

func ask(t *testing.T, questions []string) []answer {
	t.Helper()
	lines := make([][]byte, len(questions))
	for i, q := range questions {
		lines[i] = []byte(q)
	}
	out := make([]answer, 0, len(questions))
	for _, line := range stockjava.Ask(t, "java", "KryoDriver", lines) {
		if thrown, ok := strings.CutPrefix(string(line), "! "); ok {
			out = append(out, answer{thrown: thrown})
			continue
		}
		b, text, _ := strings.Cut(string(line), " ")
		out = append(out, answer{bytes: b, text: text})
	}
	return out
}

func decoder(t *testing.T, text string) *kryo.Decoder {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	var d kryo.Decoder
	d.Reset(b)
	return &d
}

// TestKryoReadCompat reads what Storm writes, and writes the same bytes again.
func TestKryoReadCompat(t *testing.T) {
	questions := make([]string, 0, many)
	for i := range many {
		questions = append(questions, fmt.Sprintf("random %d", i))
	}
	same := 0
	for i, a := range ask(t, questions) {
		if a.thrown != "" {
			t.Fatalf("%s: %s", questions[i], a.thrown)
		}
		d := decoder(t, a.bytes)
		vs, err := d.Values()
		if err != nil {
			t.Fatalf("%s: read %s, %s: %v", questions[i], a.bytes, a.text, err)
		}
		if got := text(vs); got != a.text || d.Rest() != 0 {
			t.Fatalf("%s: %s\n java %s\n gust %s\n %d bytes left", questions[i], a.bytes, a.text, got, d.Rest())
		}
		b, err := kryo.AppendValues(nil, vs)
		if err != nil {
			t.Fatal(err)
		}
		// Maps have another order in Java, so there are other bytes for those with two pairs or more.
		if largestMap(vs) > 1 {
			continue
		}
		same++
		if hex.EncodeToString(b) != a.bytes {
			t.Fatalf("%s: %s\n java %s\n gust %x", questions[i], a.text, a.bytes, b)
		}
	}
	if same < many/2 {
		t.Errorf("only %d of %d were compared byte for byte", same, many)
	}
}

// TestKryoWriteCompat has Storm read what gust writes, and write the same bytes again.
func TestKryoWriteCompat(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var values [][]any
	var questions []string
	for range many {
		vs := anyList(random, 3)
		b, err := kryo.AppendValues(nil, vs)
		if err != nil {
			t.Fatalf("%v: %v", text(vs), err)
		}
		values = append(values, vs)
		questions = append(questions, "values "+hex.EncodeToString(b))
	}
	for i, a := range ask(t, questions) {
		want := text(values[i])
		if a.thrown != "" || a.text != want {
			t.Fatalf("%s\n gust %s\n java %s %s", questions[i], want, a.text, a.thrown)
		}
		if got := strings.TrimPrefix(questions[i], "values "); largestMap(values[i]) <= 1 && a.bytes != got {
			t.Fatalf("%s\n gust %s\n java %s", want, got, a.bytes)
		}
	}
}

// TestKryoObjectsCompat compares Storm's own classes: what it writes is read, what is written for that is what it wrote.
func TestKryoObjectsCompat(t *testing.T) {
	var questions []string
	for _, name := range []string{
		"status", "status-null", "status-empty", "point", "point-null", "point-map", "task", "node", "delegate", "values", "attempt",
	} {
		questions = append(questions, "make "+name)
	}
	var again []string
	for i, a := range ask(t, questions) {
		if a.thrown != "" {
			t.Fatalf("%s: %s", questions[i], a.thrown)
		}
		v, err := decoder(t, a.bytes).Object()
		if questions[i] == "make attempt" {
			if err == nil || !strings.Contains(err.Error(), "TransactionAttempt") {
				t.Errorf("an attempt of Trident: %v, %v", v, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", questions[i], err)
		}
		// gust has no null status, point or list: those it reads as empty.
		if got := text(v); got != a.text && !strings.Contains(a.text, "null") {
			t.Errorf("%s:\n java %s\n gust %s", questions[i], a.text, got)
		}
		b, err := kryo.AppendObject(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, "object "+hex.EncodeToString(b))
	}
	for i, a := range ask(t, again) {
		b := strings.TrimPrefix(again[i], "object ")
		v, err := decoder(t, b).Object()
		if err != nil {
			t.Fatal(err)
		}
		if a.thrown != "" || a.text != text(v) || a.bytes != b {
			t.Errorf("%s\n gust %s\n java %s %s %s", again[i], text(v), a.bytes, a.text, a.thrown)
		}
	}
}

// TestKryoRegisteredCompat proves which id a class of topology.kryo.register has.
func TestKryoRegisteredCompat(t *testing.T) {
	classes := []string{"java.util.TreeMap", "java.util.LinkedHashMap", "java.util.LinkedList"}
	names := kryo.Registered(classes)
	answers := ask(t, []string{
		"register " + strings.Join(classes, ","),
		"object 1801", "object 1901", "object 1a0001", "object 1b01",
	})
	for i, want := range []string{"java.util.LinkedHashMap", "java.util.LinkedList", "java.util.TreeMap", ""} {
		a := answers[i+1]
		if names[uint32(24+i)] != want {
			t.Errorf("class %d is %q, want %q", 24+i, names[uint32(24+i)], want)
		}
		switch {
		case want == "":
			if !strings.Contains(a.thrown, "unregistered class ID: 25") {
				t.Errorf("class 27 of Java: %+v", a)
			}
		case a.thrown != "":
			t.Errorf("class %d of Java, %s: %s", 24+i, want, a.thrown)
		case (a.text == "[]") != (want == "java.util.LinkedList"):
			t.Errorf("class %d of Java is %s, want %s", 24+i, a.text, want)
		}
	}
}

// largestMap is the size of the largest map or set in a value.
func largestMap(v any) int {
	most := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			most = max(most, largestMap(e))
		}
	case tuple.Set:
		most = max(len(v), largestMap([]any(v)))
	case map[string]any:
		most = len(v)
		for _, e := range v {
			most = max(most, largestMap(e))
		}
	case map[any]any:
		most = len(v)
		for _, e := range v {
			most = max(most, largestMap(e))
		}
	}
	return most
}

// text writes a value as the driver does.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case int8:
		return fmt.Sprintf("Byte:%d", v)
	case int16:
		return fmt.Sprintf("Short:%d", v)
	case int32:
		return fmt.Sprintf("Integer:%d", v)
	case int64:
		return fmt.Sprintf("Long:%d", v)
	case *big.Int:
		return "BigInteger:" + v.String()
	case tuple.Char:
		return fmt.Sprintf("Char:%d", v)
	case float32:
		return fmt.Sprintf("Float:%x", math.Float32bits(v))
	case float64:
		return fmt.Sprintf("Double:%x", math.Float64bits(v))
	case string:
		return utf16Text(v)
	case []byte:
		return fmt.Sprintf("bytes:%x", v)
	case []any:
		return "[" + strings.Join(texts(v), ",") + "]"
	case tuple.Set:
		parts := texts(v)
		slices.Sort(parts)
		return "(" + strings.Join(parts, ",") + ")"
	case map[string]any, map[any]any, map[string]string:
		var parts []string
		for k, e := range reflect.ValueOf(v).Seq2() {
			parts = append(parts, text(k.Interface())+"="+text(e.Interface()))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case kryo.Status:
		return "status " + text(v.ID) + " " + text(v.Worker) + " " + text(integers(v.Blocked)) + " " + text(integers(v.Free))
	case tuple.DataPoint:
		return "point " + text(v.Name) + " " + text(v.Value) + " " + text(v.Dimensions)
	case tuple.TaskInfo:
		return fmt.Sprintf("task %s %d %s %d %d %d", text(v.Component), v.Task, text(v.Host), v.Port, v.Time, v.Interval)
	case kryo.NodeInfo:
		return "node " + text(v.Node) + " " + text(tuple.Set(integers(v.Ports)))
	default:
		return fmt.Sprintf("%T", v)
	}
}

func integers[T any](vs []T) []any {
	out := make([]any, 0, len(vs))
	for _, v := range vs {
		out = append(out, v)
	}
	return out
}

func texts(vs []any) []string {
	out := make([]string, 0, len(vs))
	for _, v := range vs {
		out = append(out, text(v))
	}
	return out
}

// utf16Text is a string as UTF-16 in hex with a question mark for half a pair, and then where the halves are, as the driver writes it.
func utf16Text(s string) string {
	var b []byte
	halves, at := "", 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			r, size = rune(s[0]&0x0F)<<12|rune(s[1]&0x3F)<<6|rune(s[2]&0x3F), 3
			halves += fmt.Sprintf("!%d:%d", at, r)
			r = 0xFFFD
		}
		s = s[size:]
		for _, u := range utf16.Encode([]rune{r}) {
			b = binary.BigEndian.AppendUint16(b, u)
			at++
		}
	}
	return "'" + hex.EncodeToString(b) + halves + "'"
}

// anyList makes a list of values that come back from Java as they are.
func anyList(r *rand.Rand, depth int) []any {
	n := r.IntN(6)
	if r.IntN(5) == 0 {
		n = r.IntN(80)
	}
	kind := r.IntN(30)
	out := make([]any, 0, n)
	for range n {
		k := kind
		if kind >= 15 || r.IntN(20) == 0 {
			k = r.IntN(15)
		}
		out = append(out, anyValue(r, depth-1, k))
	}
	return out
}

func anyValue(r *rand.Rand, depth, kind int) any {
	number := int64(r.Uint64()) >> r.IntN(64)
	switch kind {
	case 0:
		return nil
	case 1:
		return int32(number)
	case 2:
		return number
	case 3:
		return anyString(r)
	case 4:
		return float32(r.NormFloat64())
	case 5:
		return r.NormFloat64()
	case 6:
		return r.IntN(2) == 0
	case 7:
		return int8(number)
	case 8:
		return tuple.Char(r.UintN(1 << 16))
	case 9:
		return int16(number)
	case 10:
		return []byte(anyString(r))
	case 11:
		return new(big.Int).Mul(big.NewInt(number), big.NewInt(int64(r.Uint64())))
	case 12:
		if depth > 0 {
			return anyList(r, depth)
		}
	case 13:
		return anyMap(r, depth)
	case 14:
		set := tuple.Set{}
		for i := range r.IntN(4) {
			set = append(set, number+int64(i))
		}
		return set
	}
	return number
}

func anyMap(r *rand.Rand, depth int) any {
	named := map[string]any{}
	mixed := map[any]any{nil: true}
	for range r.IntN(4) {
		v := any(nil)
		if depth > 0 {
			v = anyValue(r, depth-1, r.IntN(15))
		}
		named[anyString(r)] = v
		mixed[r.Int32()] = v
	}
	if r.IntN(2) == 0 {
		return named
	}
	return mixed
}

func anyString(r *rand.Rand) string {
	n := r.IntN(40)
	if r.IntN(10) == 0 {
		n = r.IntN(3000)
	}
	limit := []int{0x80, 0x80, 0x80, 0x800, 0xD800, 0x110000}[r.IntN(6)]
	var b strings.Builder
	for range n {
		b.WriteRune(rune(r.IntN(limit)))
	}
	return b.String()
}
