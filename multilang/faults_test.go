// SPDX-License-Identifier: Apache-2.0

package multilang

// This file has what stock Storm fails at, line by line, each with a real child that misbehaves.

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/tuple"
)

// misbehave starts testdata/child.py.
func misbehave(t *testing.T, settings Settings, mode ...string) *bed {
	t.Helper()
	return startBolt(t, settings, append([]string{python(t), script(t, "child.py")}, mode...)...)
}

// lines are what was logged of one kind.
func (b *bed) lines(what string) []string {
	var out []string
	for _, e := range b.logged.FilterMessage(what).All() {
		line, _ := e.ContextMap()["line"].(string)
		if e.ContextMap()["component_id"] != "split" || e.ContextMap()["task_id"] != int32(5) {
			b.t.Fatalf("a line names no component or task: %.200v", e.ContextMap())
		}
		out = append(out, line)
	}
	return out
}

// Line 1: stderr that nobody reads stops the child.
func TestStderrFlood(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{}, "stderr_flood")
	b.deliver("one", "two")
	b.until("acks", func() bool { return len(b.acked) == 2 })
	b.stop()
	got := b.lines("stderr of a child")
	if n := len(got); n < burst || n > burst+perSecond*30 {
		t.Errorf("%d lines of 4,100 were logged", n)
	}
	left := 0
	for _, e := range b.logged.FilterMessage("lines of a child left out, since there were too many").All() {
		n, _ := e.ContextMap()["lines"].(int64)
		left += int(n)
	}
	if total := len(got) + left; total < 4001 || total > 4300 { // the long line comes in pieces
		t.Errorf("%d lines logged and %d left out", len(got), left)
	}
}

// Line 2: output that is no message.
func TestStray(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"stray": "progress: one", "stray_glued": "dots... {not json}"} {
		t.Run(mode+" fails", func(t *testing.T) {
			t.Parallel()
			b := misbehave(t, Settings{}, mode)
			sent := b.deliver("one")
			end := b.end()
			if !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), strconv.Quote(want)) || !strings.Contains(end.Error(), "component split, task 5") {
				t.Error(end)
			}
			if len(b.acked) != 0 || !slices.Equal(b.bolt.Outstanding(), sent) {
				t.Error("the tuple counts as processed")
			}
		})
		t.Run(mode+" is logged", func(t *testing.T) {
			t.Parallel()
			b := misbehave(t, Settings{LogStray: true}, mode)
			b.deliver("one", "two")
			b.until("acks", func() bool { return len(b.acked) == 2 })
			if got := b.lines("output of a child that is no message"); len(got) != 2 || !strings.HasPrefix(got[0], want) {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestStrayMsgpack(t *testing.T) {
	t.Parallel()
	text := `printf '\201\243pid\001'; printf 'hello\n'; printf '\201\247command\244sync'; exec cat`
	b := startBolt(t, Settings{Format: codec.Msgpack}, "sh", "-c", text)
	if end := b.end(); !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), `it wrote "hello`) {
		t.Error(end)
	}
	b = startBolt(t, Settings{Format: codec.Msgpack, LogStray: true}, "sh", "-c", text)
	b.until("the line", func() bool { return len(b.lines("output of a child that is no message")) == 1 })
	if got := b.lines("output of a child that is no message"); got[0] != "hello" {
		t.Errorf("%q", got)
	}
}

// Line 3: JSON without a command.
func TestNoCommand(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{}, "no_command")
	b.deliver("one")
	if end := b.end(); !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), `a message without "command"`) || !strings.Contains(end.Error(), "cmd") {
		t.Error(end)
	}
}

// Line 4: life. The children here are silent for much longer than the timeout.
func TestBusyWithBacklog(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{Timeout: 5 * time.Second}, "busy")
	words := make([]any, 100)
	for i := range words {
		words[i] = i
	}
	b.deliver(words...)
	b.until("acks", func() bool { return len(b.acked) == 100 })
}

func TestSlowStart(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"slow_start", "slow_handshake"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := misbehave(t, Settings{Timeout: 3 * time.Second, StartTimeout: long}, mode, "6")
			b.deliver("one")
			b.until("the ack", func() bool { return len(b.acked) == 1 })
		})
		t.Run(mode+" without end", func(t *testing.T) {
			t.Parallel()
			b := misbehave(t, Settings{Timeout: time.Second / 10, StartTimeout: time.Second}, mode, "1000")
			if end := b.end(); !errors.Is(end, ErrSilent) {
				t.Error(end)
			}
		})
	}
}

// rest does not take batches for a while, as an executor that waits for others.
func (b *bed) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

func TestThrottledSpout(t *testing.T) {
	t.Parallel()
	b, cfg := newBed(t, Settings{Timeout: 3 * time.Second, StartTimeout: long, Beat: 100 * time.Millisecond}, python(t), script(t, "child.py"), "throttled", "1000")
	b.asSpout(cfg)
	b.spout.Activate()
	b.until("the answer", b.spout.Ready)
	b.rest(5 * time.Second) // nobody asks for tuples
	b.spout.Next()
	b.until("emits", func() bool { return len(b.emits) > 0 })
	b.rest(5 * time.Second) // nobody takes the tuples
	b.until("the answer", b.spout.Ready)
	if len(b.emits) != 1000 || b.spout.Emitted() != 1000 {
		t.Errorf("%d emits", len(b.emits))
	}
	b.spout.Deactivate()
	b.until("the answer", b.spout.Ready)
	b.rest(5 * time.Second) // deactivated
	b.spout.Activate()
	b.until("the answer", b.spout.Ready)
}

func TestThrottledBolt(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{Timeout: 4 * time.Second, StartTimeout: long, Beat: 100 * time.Millisecond}, "counts")
	b.deliver(1)
	b.until("the ack", func() bool { return len(b.acked) == 1 })
	b.deliver(3000)
	b.rest(8 * time.Second) // the child waits for task ids
	b.until("acks", func() bool { return len(b.acked) == 2 })
}

func TestHungChild(t *testing.T) {
	t.Parallel()
	t.Run("Stopped", func(t *testing.T) {
		t.Parallel()
		b := misbehave(t, Settings{Timeout: 5 * time.Second, StartTimeout: long}, "deaf")
		b.deliver("one")
		b.until("the ack", func() bool { return len(b.acked) == 1 })
		if err := syscall.Kill(b.pid(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if end := b.end(); !errors.Is(end, ErrSilent) || end.Exit != "killed by signal 15, terminated" {
			t.Error(end)
		}
	})
	t.Run("Asleep", func(t *testing.T) {
		t.Parallel()
		b := misbehave(t, Settings{Timeout: 5 * time.Second, StartTimeout: long}, "deaf")
		b.deliver("one", "stop", "two")
		if end := b.end(); !errors.Is(end, ErrSilent) || len(b.acked) != 1 || len(b.bolt.Outstanding()) != 2 {
			t.Errorf("%v; acked %d", end, len(b.acked))
		}
	})
	t.Run("Spout", func(t *testing.T) {
		t.Parallel()
		b := startSpout(t, Settings{Timeout: 5 * time.Second, StartTimeout: long}, python(t), script(t, "child.py"), "answers_late")
		b.spout.Activate()
		b.until("the answer", b.spout.Ready)
		b.spout.Next()
		if end := b.end(); !errors.Is(end, ErrSilent) {
			t.Error(end)
		}
	})
}

// pid is the child's, by its file.
func (b *bed) pid() int {
	b.t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.dir, "pids"))
	if err != nil || len(entries) != 1 {
		b.t.Fatalf("files of processes: %v, %v", entries, err)
	}
	pid, err := strconv.Atoi(entries[0].Name())
	if err != nil {
		b.t.Fatal(err)
	}
	return pid
}

// Line 5: text that is no text. TestPystormLostEmit has what pystorm makes of it.
func TestBadBytes(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{}, "bad_bytes")
	sent := b.deliver("bad", "fine")
	b.until("the good emits", func() bool { return len(b.emits) == 2 && len(b.acked) == 1 })
	if !slices.Equal(b.failed, sent[:1]) || !slices.Equal(b.acked, sent[1:]) {
		t.Errorf("failed %v, acked %v", b.failed, b.acked)
	}
	if len(b.emits[0].Anchors) != 0 || b.emits[1].Anchors[0] != sent[1] {
		t.Errorf("anchors %v", b.emits)
	}
	if len(b.reports) != 1 || !strings.Contains(b.reports[0], "component split, task 5: the child emitted text that is not UTF-8: \"caf\\xe9\"") {
		t.Errorf("reports %q", b.reports)
	}
	if b.bolt.Held() != 0 {
		t.Error("a tuple is held")
	}
}

func TestUnwritableTuple(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{MaxMessage: 1000}, "echo")
	sent := b.deliver("caf\xe9", strings.Repeat("x", 2000), struct{}{}, "fine")
	b.until("the ack", func() bool { return len(b.acked) == 1 })
	if !slices.Equal(b.failed, sent[:3]) || len(b.reports) != 3 || !strings.Contains(b.reports[0], "not UTF-8") ||
		!strings.Contains(b.reports[1], "gust.multilang.message.max.bytes") || !strings.Contains(b.reports[2], "struct {}") {
		t.Errorf("reports %q", b.reports)
	}
}

// Line 6: values at the edge come back as they went, through Python.
func TestValues(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{}, "echo")
	over := new(big.Int).Lsh(big.NewInt(1), 63)
	huge, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	values := []any{
		math.NaN(), math.Inf(1), math.Inf(-1), int64(1<<53 + 1), int64(math.MaxInt64), int64(math.MinInt64), over, huge, 1.0, 1e300, -0.5,
		"\xed\xa0\x80 alone", "\xed\xb0\x80\xed\xa0\x80", "😀\u2028\x00\"\\/\r\n\nend\n", "", strings.Repeat("é", 8<<20), nil, true,
		[]any{},
		[]any{[]any{nil}},
		map[string]any{},
		map[string]any{"a": []any{int32(1)}, "": map[string]any{"b": "c"}},
	}
	b.deliver(values...)
	b.until("acks", func() bool { return len(b.acked) == len(values) })
	bigs := cmp.Comparer(func(x, y *big.Int) bool { return x.Cmp(y) == 0 })
	if diff := cmp.Diff(values, b.values(), bigs, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff[:min(len(diff), 2000)])
	}
	b.source = &tuple.Source{Component: "words", Stream: "empty", Task: 3}
	b.emits = nil
	b.bolt.Deliver(b.tuple())
	b.bolt.Flush()
	b.until("the empty tuple", func() bool { return len(b.emits) == 1 })
	if e := b.emits[0]; e.Stream != "empty" || len(e.Values) != 0 || len(e.Anchors) != 1 {
		t.Errorf("%+v", e)
	}
}

func TestPartialMessage(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{}, "partial")
	b.deliver("one")
	end := b.end()
	if !errors.Is(end, ErrExited) || end.Exit != "exit code 4" || !strings.Contains(end.Error(), `in the middle of a message: "{\"command\": \"emit\", \"tuple\": [\"half"`) || len(b.acked) != 1 {
		t.Errorf("%v; acked %v", end, b.acked)
	}
}

func TestLongMessage(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{MaxMessage: 4 << 20}, "message")
	b.deliver(`{"command": "log", "msg": "` + strings.Repeat("x", 4<<20-1000) + `"}`)
	b.until("the ack", func() bool { return len(b.acked) == 1 })
	if len(b.logs) != 1 {
		t.Errorf("%d logs", len(b.logs))
	}
	b = startBolt(t, Settings{MaxMessage: 4 << 20}, "sh", "-c", `printf '{"pid":1}\nend\n'; exec yes '{"x":'`)
	if end := b.end(); !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), "more than 4194304 bytes") {
		t.Error(end)
	}
}

// TestMessages has odd messages, sent by a child, and what becomes of them: an error, or what is emitted or logged.
func TestMessages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"command": "emit"}`:                                          `error an emit without "tuple"`,
		`{"command": "emit", "tuple": "x"}`:                            `error tuple is not a list but x`,
		`{"command": "emit", "tuple": ["x"], "anchors": ["77"]}`:       `error it anchored a tuple on id "77", which is not outstanding`,
		`{"command": "emit", "tuple": ["x"], "anchors": ["no"]}`:       `error anchor "no" is the id of no tuple`,
		`{"command": "emit", "tuple": ["x"], "task": "5"}`:             `error task is 5, which is no task's number`,
		`{"command": "emit", "tuple": ["x"], "need_task_ids": 0}`:      `error need_task_ids is 0`,
		`{"command": "ack", "id": "x1"}`:                               `error it acked id "x1", which is not outstanding`,
		`{"command": "fail", "id": null}`:                              `error it failed id "<nil>"`,
		`{"command": "ack"}`:                                           `error it acked id "", which is not outstanding`,
		`{"command": "metrics", "params": 1}`:                          `error a metric without a name`,
		`{"command": 5}`:                                               `error command is not a string but 5`,
		`[1, 2]`:                                                       `error it wrote "[1, 2]"`,
		``:                                                             `error not json: no object`,
		`{"command": "dance", "x": [{"y": null}]}`:                     `nothing`,
		`{"command": "log", "msg": {"a": 1}, "level": "high"}`:         `log 2 {"a":1}`,
		"{\n\"command\"\n: \"log\",\r\n \"msg\": \"two\\nlines\"\n}\n": "log 2 two\nlines",
		`{"tuple": ["x"], "stream": null, "task": null, "need_task_ids": null, "anchors": null, "command": "emit"}`: `emit default [x]`,
		`{"tuple": ["a", "b"], "anchors": ["ID", "ID"], "stream": "pair", "task": 0, "command": "emit"}`:            `emit pair [a b]`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			b := misbehave(t, Settings{}, "message")
			b.deliver(text)
			if wrong, ok := strings.CutPrefix(want, "error "); ok {
				if end := b.end(); !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), wrong) {
					t.Error(end)
				}
				return
			}
			b.until("the ack", func() bool { return len(b.acked) == 1 })
			got := "nothing"
			if len(b.logs) > 0 {
				got = "log " + b.logs[0]
			}
			if len(b.emits) > 0 {
				got = fmt.Sprint("emit ", b.emits[0].Stream, " ", b.emits[0].Values)
			}
			if got != want {
				t.Errorf("%q", got)
			}
		})
	}
}

// Line 7: task ids, thousands of them, each to its emit.
func TestTaskIDs(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{}, "counts")
	next := int32(0)
	b.ids = func() []int32 {
		next++
		return []int32{next, next + 1}
	}
	b.deliver(3000, 2000, 1)
	b.until("acks", func() bool { return len(b.acked) == 3 })
	answers := 0
	var want int64
	for _, e := range b.emits {
		got, ok := e.Values[0].([]any)
		if !ok {
			want++
			continue
		}
		for _, ids := range got {
			answers++
			if diff := cmp.Diff([]any{int32(answers), int32(answers + 1)}, ids); diff != "" {
				t.Fatalf("emit %d: %s", answers, diff)
			}
		}
	}
	if answers < 3000 || int64(answers) != want {
		t.Errorf("%d answers to %d emits", answers, want)
	}
}

func TestTaskIDsUnread(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{}, "never_reads_ids")
	b.forget = true
	b.deliver("go")
	if end := b.end(); !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), "it does not read its task ids") {
		t.Error(end)
	}
}

// Line 8: death, told with all that is known.
func TestDeath(t *testing.T) {
	t.Parallel()
	t.Run("Exit", func(t *testing.T) {
		t.Parallel()
		b := misbehave(t, Settings{}, "exits")
		sent := b.deliver("one", "two")
		end := b.end()
		want := fmt.Sprintf("component split, task 5, command [%q %q \"exits\"]: the child ended (exit code 3); last lines of stderr:\nfirst words\nlast words of one",
			python(t), script(t, "child.py"))
		if end.Error() != want {
			t.Errorf("got  %s\nwant %s", end, want)
		}
		if !slices.Equal(b.acked, sent[:1]) || !slices.Equal(b.bolt.Outstanding(), sent[1:]) {
			t.Errorf("acked %v", b.acked)
		}
		if files, err := os.ReadDir(filepath.Join(b.dir, "pids")); err != nil || len(files) != 0 {
			t.Errorf("files of processes stayed: %v, %v", files, err)
		}
		if b.bolt.Room() != 0 {
			t.Error("a dead child has room")
		}
	})
	t.Run("AtStart", func(t *testing.T) {
		t.Parallel()
		b := misbehave(t, Settings{}, "exits_at_start")
		if end := b.end(); !errors.Is(end, ErrExited) || end.Exit != "exit code 7" || !slices.Equal(end.Lines, []string{"cannot find my config"}) {
			t.Errorf("%v", end)
		}
	})
	t.Run("Killed", func(t *testing.T) {
		t.Parallel()
		b := misbehave(t, Settings{}, "deaf")
		b.deliver("one")
		b.until("the ack", func() bool { return len(b.acked) == 1 })
		if err := syscall.Kill(b.pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if end := b.end(); !errors.Is(end, ErrExited) || end.Exit != "killed by signal 9, killed" {
			t.Error(end)
		}
	})
	t.Run("ClosedStdout", func(t *testing.T) {
		t.Parallel()
		b := misbehave(t, Settings{}, "closes_stdout")
		if end := b.end(); !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), "it closed its stdout") {
			t.Error(end)
		}
	})
}

// TestForks has children of the child, which must be gone with it, zombies too.
func TestForks(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"exit", "stay"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			b := misbehave(t, Settings{}, "forks")
			b.deliver(word)
			b.until("the emit", func() bool { return len(b.emits) == 1 })
			pids := strings.Fields(fmt.Sprint(b.emits[0].Values[0]))
			if len(pids) != 3 {
				t.Fatalf("processes %v", pids)
			}
			if word == "exit" {
				if end := b.end(); !errors.Is(end, ErrExited) {
					t.Error(end)
				}
			} else {
				b.stop()
			}
			for _, pid := range pids {
				if _, err := os.Stat("/proc/" + pid); err == nil {
					stat, _ := os.ReadFile("/proc/" + pid + "/stat")
					t.Errorf("process %s is still there: %s", pid, stat)
				}
			}
		})
	}
}

// TestSweep has an orphan that ends while its child lives on. It runs alone: it looks at all children of the test.
func TestSweep(t *testing.T) { //nolint:paralleltest // see above
	b := startBolt(t, Settings{}, "sh", "-c", `printf '{"pid":1}\nend\n'; sh -c 'sleep 1000 & printf "{\"command\":\"log\",\"msg\":\"%d\"}\nend\n" $!'; exec sleep 1000`)
	b.until("the orphan's number", func() bool { return len(b.logs) == 1 })
	pid, err := strconv.Atoi(strings.TrimPrefix(b.logs[0], "2 "))
	if err != nil {
		t.Fatal(err)
	}
	orphan := func() stat { s, _ := readStat(pid); return s }
	b.until("the orphan to be ours", func() bool { return orphan().parent == os.Getpid() })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.until("the orphan's end", func() bool { return orphan().state == 'Z' })
	var s sweeper
	s.sweep()
	if orphan().state != 'Z' {
		t.Error("a zombie was buried at first sight, which may be somebody's")
	}
	s.sweep()
	if orphan().state != 0 {
		t.Error("the zombie is still there")
	}
}

// TestManyDeaths starts and kills children and counts what stays: no descriptor, file, process or tuple may.
func TestManyDeaths(t *testing.T) { //nolint:paralleltest // it counts descriptors
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	text := `read -r hello; read -r end; printf '{"pid":%d}\nend\n' $$; sleep 1000 & while read -r line; do
  read -r end
  case $line in *__heartbeat*) ;; *) id=${line#*\"id\":\"}; printf '{"command":"ack","id":"%s"}\nend\n' "${id%%\"*}";; esac
done`
	before := 0
	for i := range 30 {
		b := startBolt(t, Settings{}, "sh", "-c", text)
		b.deliver(1, 2, 3, 4, 5)
		b.until("an ack", func() bool { return len(b.acked) > 0 })
		if err := syscall.Kill(b.pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if end := b.end(); !errors.Is(end, ErrExited) {
			t.Fatal(end)
		}
		if n := len(b.acked) + len(b.bolt.Outstanding()); n != 5 {
			t.Errorf("%d of 5 tuples are acked or outstanding", n)
		}
		if i == 2 {
			before = open()
		}
	}
	if after := open(); after > before {
		t.Errorf("%d open files after 30 children, %d after three", after, before)
	}
	for pid, stat := range processes() {
		if stat.parent == os.Getpid() {
			t.Errorf("process %d is still there, in state %c", pid, stat.state)
		}
	}
}

// Line 9: the kill.
func TestKill(t *testing.T) {
	t.Parallel()
	t.Run("Deaf", func(t *testing.T) {
		t.Parallel()
		b := misbehave(t, Settings{KillWait: 100 * time.Millisecond}, "ignores_sigterm")
		b.deliver("one")
		b.until("the ack", func() bool { return len(b.acked) == 1 })
		pid := b.pid()
		b.stop()
		if b.err != nil {
			t.Error(b.err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("the child is still there: %v", err)
		}
	})
	t.Run("Polite", func(t *testing.T) {
		t.Parallel()
		b := misbehave(t, Settings{KillWait: long}, "ends_well")
		b.deliver("one")
		b.until("the ack", func() bool { return len(b.acked) == 1 })
		b.stop()
		if _, err := os.Stat(filepath.Join(b.dir, "ended-well")); err != nil {
			t.Error(err)
		}
	})
}

func TestMemory(t *testing.T) {
	t.Parallel()
	b := misbehave(t, Settings{MemoryMB: 150, Beat: 50 * time.Millisecond}, "eats_memory")
	b.deliver("one")
	if end := b.end(); !errors.Is(end, ErrMemory) || !strings.Contains(end.Error(), "gust.multilang.child.memory.mb is 150") {
		t.Error(end)
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command []string
		dir     string
		want    string
	}{
		"NoInterpreter": {[]string{"python9.9", "x.py"}, "", "python9.9: no such program in PATH="},
		"NoFile":        {[]string{"/nowhere/python", "x.py"}, "", "no such file or directory"},
		"NoDir":         {[]string{"python3"}, "/nowhere", "working directory: stat /nowhere"},
		"NoCommand":     {nil, "", "there is no command"},
		"Empty":         {[]string{"", "x"}, "", "the command is empty"},
		"BadFirstLine":  {[]string{"./script"}, "", "does its interpreter exist?"},
		"NotExecutable": {[]string{"./data"}, "", "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, cfg := newBed(t, Settings{}, c.command...)
			for file, mode := range map[string]os.FileMode{"script": 0o755, "data": 0o644} {
				if err := os.WriteFile(filepath.Join(b.dir, file), []byte("#!/nowhere/python\n"), mode); err != nil {
					t.Fatal(err)
				}
			}
			if c.dir != "" {
				cfg.Dir = c.dir
			}
			b.asBolt(cfg)
			if end := b.end(); !errors.Is(end, ErrStart) || !strings.Contains(end.Error(), c.want) || end.Exit != "" {
				t.Error(end)
			}
		})
	}
}

// TestEnvironment has what a child finds around it.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	b, cfg := newBed(t, Settings{}, "./run-it", "-s json some.Class")
	text := "exec " + python(t) + " " + script(t, "child.py") + " environment \"$@\"\n"       // no first line: the shell's
	if err := os.WriteFile(filepath.Join(b.dir, "run-it"), []byte(text), 0o755); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	cfg.Environ = append(cfg.Environ, "GREETING=worker", "KEPT=worker")
	cfg.Env = map[string]string{"GREETING": "component", "PATH": "/more/bin"}
	b.asBolt(cfg)
	b.deliver("x")
	b.until("the emit", func() bool { return len(b.emits) == 1 })
	got, ok := b.emits[0].Values[0].(map[string]any)
	if !ok {
		t.Fatalf("%v", b.emits)
	}
	env, _ := got["env"].(map[string]any)
	if env["GREETING"] != "component" || env["KEPT"] != "worker" || env["PATH"] != os.Getenv("PATH")+":/more/bin" {
		t.Errorf("environment %v", env)
	}
	if got["cwd"] != b.dir {
		t.Errorf("working directory %v", got["cwd"])
	}
	if diff := cmp.Diff([]any{"environment", "-s json some.Class"}, got["argv"]); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{
		"pidDir": cfg.PidDir, "conf": map[string]any{"topology.name": "test", "topology.debug": false},
		"context": map[string]any{"taskid": int32(5), "componentid": "split"},
	}
	if diff := cmp.Diff(want, got["setup"]); diff != "" {
		t.Error(diff)
	}
}

// TestOwnDir has a component that stays where the worker is.
func TestOwnDir(t *testing.T) {
	t.Parallel()
	b, cfg := newBed(t, Settings{}, python(t), filepath.Join("testdata", "child.py"), "environment")
	cfg.Dir = ""
	b.asBolt(cfg)
	b.deliver("x")
	b.until("the emit", func() bool { return len(b.emits) == 1 })
	want, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := b.emits[0].Values[0].(map[string]any); !ok || got["cwd"] != want {
		t.Errorf("working directory %v", got["cwd"])
	}
}

// TestSpoutFaults has a command that a spout does not know.
func TestSpoutFaults(t *testing.T) {
	t.Parallel()
	b := startSpout(t, Settings{}, python(t), script(t, "child.py"), "bad_command")
	b.spout.Activate()
	if end := b.end(); !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), `unknown command "dance"`) {
		t.Error(end)
	}
}

// TestSpoutIDs has what a tuple may be called.
func TestSpoutIDs(t *testing.T) {
	t.Parallel()
	b := startSpout(t, Settings{}, "sh", "-c", `printf '{"pid":1}\nend\n{"command":"emit","tuple":["x"],"id":[1]}\nend\n'; exec cat`)
	if end := b.end(); !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), "id is not a string and not a number but [1]") {
		t.Error(end)
	}
}

// TestPending has a child that does not read: no more tuples than the bound are taken for it, apart from those in its pipe.
func TestPending(t *testing.T) {
	t.Parallel()
	b := startBolt(t, Settings{MaxPending: 10}, "sh", "-c", `printf '{"pid":1}\nend\n'; exec sleep 1000`)
	b.until("room", func() bool { return b.bolt.Room() == 10 })
	taken := 0
	for b.bolt.Room() > 0 {
		b.bolt.Deliver(b.tuple(strings.Repeat("x", 1000)))
		b.bolt.Flush()
		taken++
	}
	if taken < 10 || taken > 10+64<<10/1000+1 {
		t.Errorf("%d tuples were taken", taken)
	}
	if n := len(b.bolt.Outstanding()); n != taken {
		t.Errorf("%d of %d tuples are outstanding", n, taken)
	}
}
