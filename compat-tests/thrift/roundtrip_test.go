// SPDX-License-Identifier: Apache-2.0

// Every struct goes from Java to Go and back, and from Go to Java and back.

package thrift

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/google/go-cmp/cmp"
	"github.com/gust-stream/gust/thrift/rpc"
)

// instances is how many random instances of a class go each way.
const instances = 30

// classes is a JVM that answers questions about Storm's classes, see Structs.java.
type classes struct {
	in  io.Writer
	out io.Reader
}

func startClasses(t *testing.T) *classes {
	t.Helper()
	cmd := java(t, "Structs")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("Structs ended with %v", err)
		}
	})
	return &classes{in: in, out: out}
}

// ask asks one question. An error is Java's answer; a lost JVM ends the test.
func (c *classes) ask(t *testing.T, op byte, name string, rest ...any) ([]byte, error) {
	t.Helper()
	var q bytes.Buffer
	q.WriteByte(op)
	if name != "" {
		rest = append([]any{uint16(len(name)), []byte(name)}, rest...)
	}
	for _, v := range rest {
		if err := binary.Write(&q, binary.BigEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.in.Write(q.Bytes()); err != nil {
		t.Fatalf("ask %c of %s: %v", op, name, err)
	}
	var head struct {
		Failed bool
		Length uint32
	}
	if err := binary.Read(c.out, binary.BigEndian, &head); err != nil {
		t.Fatalf("answer to %c of %s: %v", op, name, err)
	}
	answer := make([]byte, head.Length)
	if _, err := io.ReadFull(c.out, answer); err != nil {
		t.Fatalf("answer to %c of %s: %v", op, name, err)
	}
	if head.Failed {
		return nil, fmt.Errorf("java: %s", answer)
	}
	return answer, nil
}

func TestStructsRoundTripWithJava(t *testing.T) {
	t.Parallel()
	java := startClasses(t)
	names, err := java.ask(t, 'L', "")
	if err != nil {
		t.Fatal(err)
	}
	known := structs()
	if diff := cmp.Diff(strings.Split(string(names), "\n"), slices.Sorted(maps.Keys(known))); diff != "" {
		t.Fatalf("classes that Java has and types that Go has: (-Java +Go)\n%s", diff)
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(instances) {
				if err := javaToGo(t, java, name, known[name](), seed); err != nil {
					t.Fatalf("from Java, seed %d: %v", seed, err)
				}
				if err := goToJava(t, java, name, known[name], seed); err != nil {
					t.Fatalf("from Go, seed %d: %v", seed, err)
				}
			}
		})
	}
}

// javaToGo decodes a random instance of Java's, encodes it, and lets Java compare.
func javaToGo(t *testing.T, java *classes, name string, s thrift.TStruct, seed uint64) error {
	t.Helper()
	encoded, err := java.ask(t, 'G', name, seed)
	if err != nil {
		return err
	}
	if err := decode(t.Context(), s, encoded); err != nil {
		return fmt.Errorf("decode % x: %w", encoded, err)
	}
	again, err := rpc.Encode(t.Context(), s)
	if err != nil {
		return err
	}
	difference, err := java.ask(t, 'C', name, seed, uint32(len(again)), again)
	if err != nil {
		return err
	}
	if len(difference) > 0 {
		return fmt.Errorf("java finds a difference:\n%s", difference)
	}
	return nil
}

// goToJava encodes a random instance, lets Java decode and encode it, decodes
// and encodes that, and compares all three encodings.
func goToJava(t *testing.T, java *classes, name string, fresh func() thrift.TStruct, seed uint64) error {
	t.Helper()
	first, err := rpc.Encode(t.Context(), random(name, fresh, seed))
	if err != nil {
		return err
	}
	second, err := java.ask(t, 'E', name, uint32(len(first)), first)
	if err != nil {
		return fmt.Errorf("% x: %w", first, err)
	}
	back := fresh()
	if err := decode(t.Context(), back, second); err != nil {
		return fmt.Errorf("decode % x: %w", second, err)
	}
	third, err := rpc.Encode(t.Context(), back)
	if err != nil {
		return err
	}
	want, err := canonical(first)
	if err != nil {
		return fmt.Errorf("bytes from Go: %w", err)
	}
	for who, b := range map[string][]byte{"Java": second, "Go after Java": third} {
		got, err := canonical(b)
		if err != nil {
			return fmt.Errorf("bytes from %s: %w", who, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("bytes from %s: (-Go +%s)\n%s", who, who, diff)
		}
	}
	return nil
}

func decode(ctx context.Context, s thrift.TStruct, encoded []byte) error {
	in := &thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(encoded)}
	if err := s.Read(ctx, thrift.NewTBinaryProtocolConf(in, nil)); err != nil {
		return err
	}
	if in.Len() > 0 {
		return fmt.Errorf("%d bytes are left over", in.Len())
	}
	return nil
}

// TestHeartbeatTimesOfEitherWidth: Storm 2 writes these fields as i32, Storm 3 as i64.
func TestHeartbeatTimesOfEitherWidth(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string][]int16{
		"ClusterWorkerHeartbeat":    {3, 4},
		"LSWorkerHeartbeat":         {1},
		"SupervisorWorkerHeartbeat": {3},
	} {
		fresh := structs()[name]
		for seed := range uint64(instances) {
			want := random(name, fresh, seed)
			narrow, err := rpc.Encode(t.Context(), want)
			if err != nil {
				t.Fatal(err)
			}
			r := &reader{b: narrow, widen: fields}
			wide, err := r.value(thrift.STRUCT)
			if err != nil {
				t.Fatal(err)
			}
			if len(wide) != len(narrow)+4*len(fields) {
				t.Fatalf("%s: %d bytes became %d, with %d fields to widen", name, len(narrow), len(wide), len(fields))
			}
			got := fresh()
			if err := decode(t.Context(), got, wide); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, err := rpc.Encode(t.Context(), got)
			if err != nil {
				t.Fatal(err)
			}
			a, errA := canonical(narrow)
			b, errB := canonical(again)
			if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
				t.Fatalf("%s: %v %v (-narrow +wide)\n%s", name, errA, errB, cmp.Diff(a, b))
			}
		}
	}
}
