// SPDX-License-Identifier: Apache-2.0

// This file measures a Python child in a bare pipe: what it can do if the other side does next to nothing, and never sleeps.

package measure

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gust-stream/gust/multilang/codec"

	"github.com/gust-stream/gust/bench/rig"
)

const (
	// window is how many sentences a child in a bare pipe has at a time.
	window = 100
	// pipeWarmUp is short, since Python has no compiler to wait for.
	pipeWarmUp = 5 * time.Second
)

// childrenAlone measures the children that wanted rows are compared with.
func (r *Run) childrenAlone(ctx context.Context, b *rig.Bundle, rep int) error {
	for _, child := range []struct {
		row, series, script string
		format              codec.Format
		how                 string
		measure             func(*pipe) (float64, error)
	}{
		{"python-json-alone", pythonJSON + "alone", "split.py", codec.JSON, "in a bare pipe", (*pipe).run},
		{"python-msgpack-alone", pythonMsgpack + "alone", "split_msgpack.py", codec.Msgpack, "in a bare pipe", (*pipe).run},
		{"python-json-recorded", pythonJSON + "recorded", "split.py", codec.JSON, "on a recording", (*pipe).play},
		{"python-msgpack-recorded", pythonMsgpack + "recorded", "split_msgpack.py", codec.Msgpack, "on a recording", (*pipe).play},
	} {
		if !r.Wanted[child.row] {
			continue
		}
		if err := r.Lock.Hold(ctx, func() error {
			rate, err := pipeRate(ctx, b, child.script, child.format, child.measure)
			if err != nil {
				return fmt.Errorf("%s %s: %w", child.script, child.how, err)
			}
			r.Samples.Add(child.series, rate)
			r.Say("run %d: %s %s: %.0f sentences a second", rep+1, child.script, child.how, rate)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// pipeRate runs a child through a handshake and gives it sentences, warm-up and all.
func pipeRate(ctx context.Context, b *rig.Bundle, script string, f codec.Format, measure func(*pipe) (float64, error)) (rate float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "gust-bench-pipe-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cmd := exec.CommandContext(ctx, b.Python, filepath.Join(b.Resources, script))
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "PYTHONPATH="+b.Children, "PYTHONDONTWRITEBYTECODE=1"), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	words, err := newWakeful(stdout)
	if err != nil {
		return 0, err
	}
	p, err := newPipe(stdin, words, f, dir)
	if err != nil {
		return 0, err
	}
	return measure(p)
}

// pipe is the least that keeps a splitter going: it looks at a few bytes of what comes and writes text that was made before.
type pipe struct {
	in     *codec.Reader
	words  io.Reader // what in reads
	out    *bufio.Writer
	before []byte // of a sentence, up to its id
	after  []byte // of a sentence
	tasks  []byte // the answer to an emit
	format codec.Format
	sent   int
	acked  int
}

func newPipe(stdin io.Writer, stdout io.Reader, f codec.Format, pids string) (*pipe, error) {
	p := &pipe{in: codec.NewReader(stdout, f, 1<<20), words: stdout, out: bufio.NewWriterSize(stdin, 1<<16), format: f}
	hello, err := codec.Append(nil, f, map[string]any{
		"conf": map[string]any{"topology.name": "pipe"}, "pidDir": pids,
		"context": map[string]any{
			"taskid": 2, "componentid": splitID, "task->component": map[string]any{"1": sinkID, "2": splitID, "3": spoutID},
			"streams": []any{"default"}, "stream->outputfields": map[string]any{"default": []any{"word"}},
			"source->stream->fields": map[string]any{spoutID: map[string]any{"default": []any{"value"}}},
		},
	})
	if err != nil {
		return nil, err
	}
	tasks, err := codec.Append(nil, f, []any{1})
	if err != nil {
		return nil, err
	}
	p.tasks = codec.End(tasks, f)
	// The id is known when a sentence is sent; all else is always the same.
	const id = "1234567"
	message, err := codec.Append(nil, f, map[string]any{"id": id, "comp": spoutID, "stream": "default", "task": 3, "tuple": []any{sentence}})
	if err != nil {
		return nil, err
	}
	before, after, _ := bytes.Cut(message, []byte(id))
	p.before, p.after = before, codec.End(bytes.Clone(after), f)
	_, err = p.out.Write(codec.End(hello, f))
	return p, errors.Join(err, p.out.Flush())
}

// run keeps the window full, for a while unmeasured, and gives the rate after that.
func (p *pipe) run() (float64, error) {
	for range window {
		p.send()
	}
	warm := time.Now().Add(pipeWarmUp)
	var began time.Time
	var before int
	for {
		if !p.in.Ready() {
			if err := p.out.Flush(); err != nil {
				return 0, err
			}
		}
		raw, err := p.in.Next()
		if err != nil {
			return 0, err
		}
		switch head := raw[:min(len(raw), 24)]; {
		case bytes.Contains(head, []byte("emit")):
			_, _ = p.out.Write(p.tasks) // an error stays until Flush
		case bytes.Contains(head, []byte("ack")):
			p.acked++
			p.send()
		case bytes.Contains(head, []byte("fail")), bytes.Contains(head, []byte("error")):
			return 0, fmt.Errorf("it said %.200q", raw)
		}
		if p.acked%window != 0 {
			continue
		}
		switch now := time.Now(); {
		case began.IsZero() && now.After(warm):
			began, before = now, p.acked
		case !began.IsZero() && now.Sub(began) > span:
			return float64(p.acked-before) / now.Sub(began).Seconds(), nil
		}
	}
}

func (p *pipe) send() {
	p.sent++
	var id [20]byte
	_, _ = p.out.Write(p.before) // an error stays until Flush
	_, _ = p.out.Write(strconv.AppendInt(id[:0], int64(1_000_000+p.sent%9_000_000), 10))
	_, _ = p.out.Write(p.after)
}

// play gives the child sentences and the answers to all its emits, as fast as it reads, and looks at nothing: what it takes in is what it has
// worked through, but for a pipe full.
func (p *pipe) play() (float64, error) {
	var gone atomic.Bool
	dropped := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, p.words)
		gone.Store(true)
		dropped <- err
	}()
	warm := time.Now().Add(pipeWarmUp)
	var began time.Time
	var before int
	for !gone.Load() {
		for range window {
			p.send()
			for range strings.Count(sentence, " ") + 1 {
				_, _ = p.out.Write(p.tasks) // an error stays until Flush
			}
		}
		if err := p.out.Flush(); err != nil {
			return 0, err
		}
		switch now := time.Now(); {
		case began.IsZero() && now.After(warm):
			began, before = now, p.sent
		case !began.IsZero() && now.Sub(began) > span:
			return float64(p.sent-before) / now.Sub(began).Seconds(), nil
		}
	}
	return 0, fmt.Errorf("the child has ended: %w", cmp.Or(<-dropped, io.ErrUnexpectedEOF))
}

// wakeful reads from a pipe and never sleeps: to be woken takes longer than all that a splitter says between two turns.
type wakeful struct{ conn syscall.RawConn }

func newWakeful(f io.Reader) (*wakeful, error) {
	file, ok := f.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a %T is no pipe", f)
	}
	conn, err := file.SyscallConn()
	return &wakeful{conn}, err
}

func (w *wakeful) Read(b []byte) (n int, err error) {
	if rerr := w.conn.Read(func(fd uintptr) bool {
		for {
			if n, err = syscall.Read(int(fd), b); !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	}); rerr != nil {
		return 0, rerr
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}
