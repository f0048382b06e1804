// SPDX-License-Identifier: Apache-2.0

package component

// This file drives children as a parent would, message by message.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// asChild is set where the test binary is to be a component.
const asChild = "GUST_TEST_COMPONENT"

func TestMain(m *testing.M) {
	switch os.Getenv(asChild) {
	case "":
		goleak.VerifyTestMain(m)
	case "spout":
		MainSpout(&noisy{})
	default:
		MainBolt(&noisy{})
	}
}

// patience is how long a child may take on a busy machine.
const patience = time.Minute

// parent is the other end of a child's pipes.
type parent struct {
	t      *testing.T
	to     *io.PipeWriter
	lines  chan string
	ended  chan error
	pidDir string
}

// handshakeOf is a parent's first message, as Storm 2.8 writes it, cut to what matters.
const handshakeOf = `{"pidDir":%q,"conf":{"topology.name":"words","storm.id":"words-1-2","big":9007199254740993,"ratio":0.5},
"context":{"taskid":4,"componentid":"count","task->component":{"3":"split","4":"count","-1":"__system"},
"streams":["default","late"],"stream->outputfields":{"late":["at"],"default":["word","n"]},
"source->stream->fields":{"split":{"default":["word"],"default2":["a","b"]}}}}`

// start runs a child and leaves the handshake to the test.
func start(t *testing.T, serve func(ctx context.Context, p Pipes) error) *parent {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	p := &parent{t: t, to: to, lines: make(chan string), ended: make(chan error, 1), pidDir: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		err := serve(ctx, Pipes{In: in, Out: out})
		_ = out.Close() // a pipe in memory
		p.ended <- err
	}()
	go func() {
		defer close(p.lines)
		scanner := bufio.NewScanner(from)
		scanner.Buffer(nil, 64<<20)
		for scanner.Scan() {
			p.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = to.Close() // a pipe in memory
		for range p.lines {
			// Nobody looks at it any more.
		}
	})
	return p
}

// bolted is start of a bolt with the handshake done.
func bolted(t *testing.T, b Bolt) *parent {
	t.Helper()
	p := start(t, func(ctx context.Context, pipes Pipes) error { return ServeBolt(ctx, b, pipes) })
	p.greet()
	return p
}

func spouted(t *testing.T, s Spout) *parent {
	t.Helper()
	p := start(t, func(ctx context.Context, pipes Pipes) error { return ServeSpout(ctx, s, pipes) })
	p.greet()
	return p
}

func (p *parent) greet() {
	p.t.Helper()
	p.sendf(handshakeOf, p.pidDir)
	p.want(fmt.Sprintf(`{"pid":%d}`, os.Getpid()))
}

func (p *parent) sendf(format string, args ...any) {
	p.t.Helper()
	p.raw(fmt.Sprintf(format, args...) + "\nend\n")
}

func (p *parent) raw(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.to, text); err != nil {
		p.t.Fatalf("send %q: %v", text, err)
	}
}

// receive is the child's next message.
func (p *parent) receive() any {
	p.t.Helper()
	var lines []string
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the child ended: %v, after %q", <-p.ended, lines)
			}
			if line != "end" {
				lines = append(lines, line)
				continue
			}
		case <-time.After(patience):
			p.t.Fatalf("the child is silent after %q", lines)
		}
		return parse(p.t, strings.Join(lines, "\n"))
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// want takes the child's next messages and compares them.
func (p *parent) want(messages ...string) {
	p.t.Helper()
	for _, message := range messages {
		if diff := cmp.Diff(parse(p.t, message), p.receive()); diff != "" {
			p.t.Fatalf("the child's message (-want +got):\n%s", diff)
		}
	}
}

// end is what the child returned once nothing more can come from it.
func (p *parent) end() error {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if ok {
			p.t.Fatalf("the child says %q before its end", line)
		}
	case <-time.After(patience):
		p.t.Fatal("the child does not end")
	}
	return <-p.ended
}

// closes closes the parent's end and wants a clean end.
func (p *parent) closes() {
	p.t.Helper()
	if err := p.to.Close(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.end(); err != nil {
		p.t.Fatalf("the child ended with %v", err)
	}
}

// probe is a bolt and a spout made of functions.
type probe struct {
	prepare func(ctx *Context, out *Output) error
	execute func(t *Tuple, out *Output) error
	closing func() error
}

func (b *probe) Prepare(ctx *Context, out *Output) error {
	if b.prepare == nil {
		return nil
	}
	return b.prepare(ctx, out)
}
func (b *probe) Execute(t *Tuple, out *Output) error { return b.execute(t, out) }
func (b *probe) Close() error {
	if b.closing == nil {
		return nil
	}
	return b.closing()
}

const word = `{"id":"77","comp":"split","stream":"default","task":3,"tuple":["gust"]}`

func TestHandshakeTellsTheContext(t *testing.T) {
	t.Parallel()
	var got Context
	p := bolted(t, &probe{prepare: func(ctx *Context, _ *Output) error { got = *ctx; return nil }})
	p.closes()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := Context{
		Topology: "words-1-2", Component: "count", Task: 4, Dir: dir, Tasks: map[int32]string{3: "split", 4: "count", -1: "__system"},
		Conf: map[string]any{"topology.name": "words", "storm.id": "words-1-2", "big": int64(9007199254740993), "ratio": 0.5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(p.pidDir, strconv.Itoa(os.Getpid()))); err != nil {
		t.Errorf("no pid file: %v", err)
	}
}

func TestBolt(t *testing.T) {
	t.Parallel()
	closed := false
	p := bolted(t, &probe{
		execute: func(t *Tuple, out *Output) error {
			text, err := String(t, "word")
			if err != nil {
				return err
			}
			if err := out.Emit(t, text, 1.0); err != nil {
				return err
			}
			out.Ack(t)
			out.Ack(t) // a second one must not reach the parent
			return nil
		},
		closing: func() error { closed = true; return nil },
	})
	p.sendf(word)
	p.want(`{"command":"emit","stream":"default","tuple":["gust",1.0],"anchors":["77"],"need_task_ids":false}`, `{"command":"ack","id":"77"}`)
	p.sendf(`{"id":"78","comp":null,"stream":"__heartbeat","task":-1,"tuple":[]}`)
	p.want(`{"command":"sync"}`)
	p.closes()
	if !closed {
		t.Error("the bolt was not closed")
	}
}

func TestErrorFailsTheTuple(t *testing.T) {
	t.Parallel()
	p := bolted(t, &probe{execute: func(*Tuple, *Output) error { return errors.New("no room") }})
	p.sendf(word)
	p.want(`{"command":"error","msg":"no room"}`, `{"command":"fail","id":"77"}`)
	p.closes()
}
