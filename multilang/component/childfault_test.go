// SPDX-License-Identifier: Apache-2.0

package component

// This file gives children what goes wrong at pipes, and components that go wrong.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/multilang/codec"
)

// relay passes words on and says which tasks got them.
func relay(in *Tuple, out *Output) error {
	v, _ := in.Value("word")
	tasks, err := out.Stream("late").SendAsk(Options{Anchors: []*Tuple{in}}, v)
	if err != nil {
		return err
	}
	out.Log(Debug, fmt.Sprint(tasks))
	out.Ack(in)
	return nil
}

func TestTaskIDsAmongTuples(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{execute: relay})
	emit := func(id string) string {
		return fmt.Sprintf(`{"command":"emit","stream":"late","anchors":[%q],"need_task_ids":true,"tuple":["w%s"]}`, id, id)
	}
	tuple := `{"id":"%[1]d","comp":"split","stream":"default","task":3,"tuple":["w%[1]d"]}`
	p.sendf(tuple, 1)
	p.want(emit("1"))
	p.sendf(tuple, 2)
	p.sendf(`{"id":"h","comp":null,"stream":"__heartbeat","task":-1,"tuple":[]}`)
	p.sendf(`[7,8]`)
	p.want(`{"command":"log","msg":"[7 8]","level":1}`, `{"command":"ack","id":"1"}`, emit("2"))
	p.sendf(`[]`)
	p.want(`{"command":"log","msg":"[]","level":1}`, `{"command":"ack","id":"2"}`, `{"command":"sync"}`)
	p.closes()
}

func TestEndWhileTaskIDsAreWaitedFor(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{execute: relay})
	p.sendf(word)
	p.receive()
	if err := p.to.Close(); err != nil {
		t.Fatal(err)
	}
	p.want(`{"command":"error","msg":"wait for task ids: EOF"}`, `{"command":"fail","id":"77"}`)
	if err := p.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestBadTaskIDs(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{execute: relay})
	p.sendf(word)
	p.receive()
	p.sendf(`["7"]`)
	p.want(`{"command":"error","msg":"emit on stream \"late\": the parent's task ids are [7]"}`, `{"command":"fail","id":"77"}`)
	p.closes()
}

func TestWrongEmitsStayHere(t *testing.T) {
	t.Parallel()
	for want, emit := range map[string]func(in *Tuple, out *Output) error{
		`2 values for the fields ["at"]`:             func(in *Tuple, out *Output) error { return out.EmitOn("late", in, 1, 2) },
		`the component declares no such`:             func(in *Tuple, out *Output) error { return out.EmitOn("never", in, 1) },
		`no form in json for a value of type func()`: func(in *Tuple, out *Output) error { return out.EmitOn("late", in, func() {}) },
		`is acked or failed already`:                 func(in *Tuple, out *Output) error { out.Fail(in); return out.EmitOn("late", in, 1) },
		`the component declares no such s`:           func(_ *Tuple, out *Output) error { return out.Stream("x").SendDirect(1, Options{}, 1) },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			p := bolted(t, &probe{execute: func(in *Tuple, out *Output) error {
				if err := emit(in, out); err == nil || !strings.Contains(err.Error(), want) {
					return fmt.Errorf("wrong error: %w", err)
				}
				out.Fail(in)
				return nil
			}})
			p.sendf(word)
			p.want(`{"command":"fail","id":"77"}`)
			p.closes()
		})
	}
}

func TestDirectEmitAndValues(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{execute: func(in *Tuple, out *Output) error {
		value := []any{nil, true, 1, -0.5, 3.0, []byte("hi"), "é\"\\\x01", []any{}, map[string]any{"k": int64(9007199254740993)}, uint64(1 << 63)}
		if err := out.Stream("late").SendDirect(9, Options{}, value); err != nil {
			return err
		}
		out.Metric("size", map[string]any{"n": 1})
		out.Ack(in)
		return nil
	}})
	p.sendf(word)
	lines := p.lines
	if got, want := <-lines, `{"command":"emit","stream":"late","task":9,"need_task_ids":false,"tuple":[[null,true,1,-0.5,3.0,"aGk=","é\"\\\u0001",[],{"k":9007199254740993},9223372036854775808]]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	<-lines
	p.want(`{"command":"metrics","name":"size","params":{"n":1}}`, `{"command":"ack","id":"77"}`)
	p.closes()
}

func TestWhatIsNoTuple(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{execute: func(in *Tuple, out *Output) error { out.Ack(in); return nil }})
	for message, want := range map[string]string{
		`[1]`:                    `the parent sent task ids that nobody waits for: [1]`,
		`{"command":"next"}`:     `the parent sent the unknown command "next"`,
		`"x"`:                    `the parent sent what is no message: "\"x\""`,
		`{"tuple":[],"task":""}`: `the parent sent a tuple of task `,
	} {
		p.sendf("%s", message)
		p.want(fmt.Sprintf(`{"command":"log","msg":%q,"level":3}`, want))
	}
	p.sendf(word)
	p.want(`{"command":"ack","id":"77"}`)
	p.closes()
}

func TestBadTextFailsTheTuple(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{execute: func(in *Tuple, out *Output) error { out.Ack(in); return nil }})
	p.sendf(`{"id":"1","comp":"split","stream":"default","task":3,"tuple":["a%cb"]}`, 0xff)
	p.raw("{\"id\":\"1\",\"comp\":\"split\",\"stream\":\"default\",\"task\":3,\"tuple\":[\"a\xffb\"]}\nend\n")
	p.want(`{"command":"ack","id":"1"}`, `{"command":"error","msg":"tuple of split, stream default: text that is not UTF-8: \"a\\xffb\""}`, `{"command":"fail","id":"1"}`)
	p.closes()
}

func TestTicksAreAcked(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{execute: func(in *Tuple, _ *Output) error {
		if !in.IsTick() {
			return errors.New("no tick")
		}
		return nil
	}})
	p.sendf(`{"id":"5","comp":"__system","stream":"__tick","task":-1,"tuple":[1]}`)
	p.want(`{"command":"ack","id":"5"}`)
	p.closes()
}

// brokenEnds are what a parent may leave at its end, and what the child says of it.
func TestBrokenInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"HalfALine":   {`{"id":"7`, `the parent ended within a message, after "{\"id\":\"7": unexpected EOF`},
		"NoEnd":       {word + "\n", `the parent ended within a message`},
		"NotJSON":     {"{]\nend\n", `message of the parent "{]": not json: `},
		"TwoMessages": {word + word + "\nend\n", `something after the value`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := false
			p := bolted(t, &probe{execute: relay, closing: func() error { closed = true; return nil }})
			p.raw(c.text)
			if err := p.to.Close(); err != nil {
				t.Fatal(err)
			}
			m, ok := p.receive().(map[string]any)
			if !ok || m["command"] != "error" || !strings.Contains(fmt.Sprint(m["msg"]), c.want) {
				t.Errorf("the child says %v", m)
			}
			if err := p.end(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the child ended with %v", err)
			}
			if !closed {
				t.Error("the bolt was not closed")
			}
		})
	}
}

func TestBadHandshakes(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`[]`: `the parent's first message is "[]"`, `{"conf":{}}`: `no conf or no context but ["conf"]`, `{"conf":{},"context":{"task->component":{"x":"y"}}}`: `task->component`,
		`{"conf":{},"context":{},"pidDir":"/nowhere/at/all"}`: `no such file`, `{`: `not json`,
	} {
		t.Run(message, func(t *testing.T) {
			t.Parallel()
			p := start(t, func(ctx context.Context, pipes Pipes) error { return ServeBolt(ctx, &probe{}, pipes) })
			p.sendf("%s", message)
			m, ok := p.receive().(map[string]any)
			if !ok || m["command"] != "error" || !strings.Contains(fmt.Sprint(m["msg"]), want) {
				t.Errorf("the child says %v", m)
			}
			if err := p.end(); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestNoHandshakeIsNoError(t *testing.T) {
	t.Parallel()
	p := start(t, func(ctx context.Context, pipes Pipes) error { return ServeBolt(ctx, &probe{}, pipes) })
	p.closes()
}

func TestPanicIsReported(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{execute: func(*Tuple, *Output) error { panic(io.ErrNoProgress) }})
	p.sendf(word)
	m, ok := p.receive().(map[string]any)
	lines := strings.Split(fmt.Sprint(m["msg"]), "\n")
	if !ok || m["command"] != "error" || lines[0] != "panic: multiple Read calls return no data or error" || !strings.Contains(lines[1], "TestPanicIsReported.func1") {
		t.Errorf("the child says %q", lines)
	}
	err := p.end()
	if panicked := new(PanicError); !errors.As(err, &panicked) || !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("ended with %v", err)
	}
}

func TestPrepareThatFails(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{prepare: func(*Context, *Output) error { return errors.New("no database") }})
	p.want(`{"command":"error","msg":"prepare count: no database"}`)
	if err := p.end(); err == nil {
		t.Error("no error")
	}
}

func TestEndByContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	closed := false
	p := start(t, func(_ context.Context, pipes Pipes) error {
		return ServeBolt(ctx, &probe{closing: func() error { closed = true; return nil }}, pipes)
	})
	p.greet()
	cancel()
	if err := p.end(); err != nil || !closed {
		t.Errorf("ended with %v, closed %v", err, closed)
	}
}

// deaf is a parent's end that takes nothing.
type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestParentThatDoesNotListen(t *testing.T) {
	t.Parallel()
	in, to := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- ServeBolt(t.Context(), &probe{}, Pipes{In: in, Out: deaf{}}) }()
	_, err := fmt.Fprintf(to, handshakeOf+"\nend\n", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
}

// talker is a spout that does what the test says.
type talker struct {
	next func(out *SpoutOutput) error
	told []string
}

func (s *talker) Next(out *SpoutOutput) error { return s.next(out) }
func (s *talker) Ack(id any)                  { s.told = append(s.told, fmt.Sprintf("ack %v %T", id, id)) }

func (s *talker) Fail(id any) { s.told = append(s.told, fmt.Sprintf("fail %v %T", id, id)) }
func (s *talker) Activate()   { s.told = append(s.told, "activate") }
func (s *talker) Deactivate() { s.told = append(s.told, "deactivate") }

func TestSpout(t *testing.T) {
	t.Parallel()
	turn := 0
	s := &talker{next: func(out *SpoutOutput) error {
		switch turn++; turn {
		case 1:
			return out.Emit(5, "a", 1)
		case 2:
			tasks, err := out.Stream("late").SendAsk(Options{ID: "x"}, 1)
			out.Log(Info, fmt.Sprint(tasks))
			return err
		case 3:
			return errors.New("not today")
		}
		return nil
	}}
	p := spouted(t, s)
	sync := `{"command":"sync"}`
	p.sendf(`{"command":"activate","id":""}`)
	p.want(sync)
	p.sendf(`{"command":"next","id":""}`)
	p.want(`{"command":"emit","stream":"default","id":5,"need_task_ids":false,"tuple":["a",1]}`, sync)
	p.sendf(`{"command":"next","id":""}`)
	p.want(`{"command":"emit","stream":"late","id":"x","need_task_ids":true,"tuple":[1]}`)
	p.sendf(`[3]`)
	p.want(`{"command":"log","msg":"[3]","level":2}`, sync)
	p.sendf(`{"command":"next"}`)
	p.want(`{"command":"error","msg":"not today"}`, sync)
	p.sendf(`{"command":"next"}`)
	p.want(sync)
	p.sendf(`{"command":"ack","id":5}`)
	p.want(sync)
	p.sendf(`{"command":"fail","id":"x"}`)
	p.want(sync)
	p.sendf(`{"command":"dance"}`)
	p.want(`{"command":"log","msg":"the parent sent the unknown command \"dance\"","level":3}`, sync)
	p.sendf(`[4]`)
	p.want(`{"command":"log","msg":"the parent sent task ids that nobody waits for: [4]","level":3}`)
	p.sendf(`{"command":"deactivate"}`)
	p.want(sync)
	p.closes()
	if diff := cmp.Diff([]string{"activate", "ack 5 int64", "fail x string", "deactivate"}, s.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestMsgpack(t *testing.T) {
	t.Parallel()
	in, to := io.Pipe()
	from, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := ServeBolt(t.Context(), &probe{execute: relay}, Pipes{In: in, Out: out})
		ended <- errors.Join(err, out.Close())
	}()
	r := codec.NewReader(from, codec.Msgpack, 1<<20)
	send := func(v any) {
		t.Helper()
		raw, err := codec.Append(nil, codec.Msgpack, v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(raw); err != nil {
			t.Fatal(err)
		}
	}
	want := func(v any) {
		t.Helper()
		raw, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec.Decode(raw, codec.Msgpack)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	send(parse(t, fmt.Sprintf(handshakeOf, t.TempDir())))
	raw, err := r.Next()
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	send(map[string]any{"id": "1", "comp": "split", "stream": "default", "task": 3, "tuple": []any{"gust"}})
	want(map[string]any{"command": "emit", "stream": "late", "anchors": []any{"1"}, "need_task_ids": true, "tuple": []any{"gust"}})
	send([]any{4})
	want(map[string]any{"command": "log", "msg": "[4]", "level": int64(1)})
	want(map[string]any{"command": "ack", "id": "1"})
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
