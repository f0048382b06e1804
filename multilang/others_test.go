// SPDX-License-Identifier: Apache-2.0

package multilang

// This file drives children in other languages and libraries than storm.py.

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/tuple"
)

var formats = map[string]codec.Format{"json": codec.JSON, "msgpack": codec.Msgpack}

func TestPystormBolt(t *testing.T) {
	t.Parallel()
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBolt(t, Settings{Format: f}, python(t), script(t, "pystorm_bolt.py"), name)
			sent := b.deliver("a", int64(math.MaxInt64), 1.0, nil, map[string]any{"k": []any{true, "é😀"}})
			b.until("acks", func() bool { return len(b.acked) == 5 })
			var want []emitted
			for _, s := range sent {
				want = append(want, emitted{Stream: "default", Anchors: []*tuple.Tuple{s}, Values: s.Values},
					emitted{Stream: "pair", Anchors: []*tuple.Tuple{s}, Values: []any{"words", []any{int32(8)}}})
			}
			if diff := cmp.Diff(want, b.emits, cmpopts.EquateNaNs()); diff != "" {
				t.Error(diff)
			}
			if len(b.logs) == 0 || !strings.Contains(b.logs[0], "pystorm StormHandler logging enabled") {
				t.Errorf("logs %q", b.logs)
			}
		})
	}
}

// TestPystormRaises has an exit with the error first; all that was said before it counts.
func TestPystormRaises(t *testing.T) {
	t.Parallel()
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBolt(t, Settings{Format: f}, python(t), script(t, "pystorm_bolt.py"), name)
			sent := b.deliver("raise")
			end := b.end()
			if end.Exit != "exit code 1" || len(b.reports) != 1 || !strings.Contains(b.reports[0], "ValueError: on purpose") || !slices.Equal(b.failed, sent) {
				t.Errorf("%v; reports %q, failed %v", end, b.reports, b.failed)
			}
		})
	}
}

// TestPystormLostEmit is about emits that pystorm cannot write: it logs that, and goes on as if nothing had happened.
func TestPystormLostEmit(t *testing.T) {
	t.Parallel()
	b := startBolt(t, Settings{}, python(t), script(t, "pystorm_bolt.py"), "json")
	sent := b.deliver("bytes", "a", "bytes and ids", "nan", "b")
	b.until("acks", func() bool { return len(b.acked)+len(b.failed) == 5 })
	bad := []*tuple.Tuple{sent[0], sent[2], sent[3]}
	if diff := cmp.Diff(bad, b.failed); diff != "" {
		t.Errorf("failed: %s", diff)
	}
	if len(b.reports) != 3 || !strings.Contains(b.reports[0], "component split, task 5: an emit was lost, since pystorm could not write it: UnicodeDecodeError") ||
		!strings.Contains(b.reports[2], "ValueError") {
		t.Errorf("reports %q", b.reports)
	}
	b.deliver("still alive")
	b.until("the next ack", func() bool { return len(b.acked) == 3 })
}

func TestPystormSpout(t *testing.T) {
	t.Parallel()
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startSpout(t, Settings{Format: f}, python(t), script(t, "pystorm_spout.py"), name)
			b.spout.Activate()
			b.until("the answer", b.spout.Ready)
			b.spout.Next()
			b.until("the answer", b.spout.Ready)
			b.spout.Fail("n1")
			b.spout.Ack("n1")
			b.until("the answers", b.spout.Ready)
			want := []emitted{{Stream: "default", ID: "n1", Values: []any{int32(1)}}, {Stream: "default", ID: "n1", Values: []any{int32(1)}}}
			if diff := cmp.Diff(want, b.emits); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPystormSpoutLostEmit gives the spout back what it could not say, until it gives up.
func TestPystormSpoutLostEmit(t *testing.T) {
	t.Parallel()
	b := startSpout(t, Settings{}, python(t), script(t, "pystorm_spout.py"), "json", "bytes")
	b.spout.Activate()
	b.until("the answer", b.spout.Ready)
	b.spout.Next()
	b.until("the answers", b.spout.Ready)
	if len(b.emits) != 0 || len(b.reports) != 4 { // the emit and three more tries
		t.Errorf("emits %v, reports %q", b.emits, b.reports)
	}
}

// TestStreamparse starts a component as streamparse's topologies do: command and class in one argument each.
func TestStreamparse(t *testing.T) {
	t.Parallel()
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, cfg := newBed(t, Settings{Format: f}, "streamparse_run", "-s "+name+" counter.WordCountBolt")
			cfg.Env = map[string]string{"PATH": filepath.Join(installed(t), "venv", "bin")}
			text, err := os.ReadFile(script(t, "counter.py"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(b.dir, "counter.py"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			b.asBolt(cfg)
			b.deliver("dog", "cat", "dog")
			b.until("acks", func() bool { return len(b.acked) == 3 })
			if diff := cmp.Diff([]any{"dog", int32(1), "cat", int32(1), "dog", int32(2)}, b.values()); diff != "" {
				t.Error(diff)
			}
			if !slices.ContainsFunc(b.logs, func(l string) bool { return strings.HasPrefix(l, "2 ") && strings.Contains(l, "counted cat") }) {
				t.Errorf("logs %q", b.logs)
			}
		})
	}
}

func TestNode(t *testing.T) {
	t.Parallel()
	b := startBolt(t, Settings{}, "node", script(t, "split.js"))
	sent := b.deliver("the cow", "fail", "jumped over the moon 😀")
	b.until("answers", func() bool { return len(b.acked) == 2 && len(b.failed) == 1 })
	if diff := cmp.Diff([]any{"the", "cow", "jumped", "over", "the", "moon", "😀"}, b.values()); diff != "" {
		t.Error(diff)
	}
	if b.failed[0] != sent[1] || len(b.logs) != 7 || b.logs[1] != "3 cow went to 7" {
		t.Errorf("logs %q, failed %v", b.logs, b.failed)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	// Reads the handshake, answers with its pid and acks each tuple, all in the shell.
	text := `read -r hello; read -r end; echo "{\"pid\":$$}"; echo end
while read -r line; do
  read -r end
  case $line in *__heartbeat*) printf '{"command":"sync"}\nend\n';;
  *) id=${line#*\"id\":\"}; id=${id%%\"*}; printf '{"command":"emit","tuple":["%s"],"need_task_ids":false,"anchors":["%s"]}\nend\n{"command":"ack","id":%s}\nend\n' "$id" "$id" "$id";;
  esac
done`
	b := startBolt(t, Settings{}, "sh", "-c", text)
	sent := b.deliver("x", "y", "z")
	b.until("acks", func() bool { return len(b.acked) == 3 })
	if diff := cmp.Diff(sent, b.acked); diff != "" {
		t.Error(diff)
	}
	if len(b.emits) != 3 || b.emits[1].Anchors[0] != sent[1] {
		t.Errorf("%v", b.emits)
	}
}
