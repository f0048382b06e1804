// SPDX-License-Identifier: Apache-2.0

package multilang

// This file has children that write without end, and measures what they cost the worker.

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// allocated is how much memory was taken so far, given back or not.
func allocated() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.TotalAlloc)
}

// flooded starts a child of a shell script that answers the handshake.
func flooded(t *testing.T, settings Settings, text string) (b *bed, before int) {
	t.Helper()
	before = allocated()
	return startBolt(t, settings, "sh", "-c", `printf '{"pid":1}\nend\n'; `+text), before
}

func TestStdoutFlood(t *testing.T) { //nolint:paralleltest // it measures memory
	for name, c := range map[string]struct {
		text, want string
		most       int
	}{
		"no message": {"exec cat /dev/zero", "its stdout is for messages", 8 << 20},
		"no end":     {`exec yes '{"x":'`, "more than 67108864 bytes", 256 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			b, before := flooded(t, Settings{}, c.text)
			if end := b.end(); !errors.Is(end, ErrProtocol) || !strings.Contains(end.Error(), c.want) || len(end.Error()) > 4096 {
				t.Error(end)
			}
			if took := allocated() - before; took > c.most {
				t.Errorf("it took %d bytes", took)
			}
		})
	}
}

// TestStrayFlood has 200 MB of output that is no message logged in part.
func TestStrayFlood(t *testing.T) { //nolint:paralleltest // it measures memory
	for name, text := range map[string]string{
		"lines":    "yes 'progress: some of many' | head -c 200000000",
		"one line": "head -c 200000000 /dev/zero | tr '\\0' x",
	} {
		t.Run(name, func(t *testing.T) {
			b, before := flooded(t, Settings{LogStray: true}, text+`; printf '\n{"command":"log","msg":"done"}\nend\n'; exec cat >/dev/null`)
			b.until("the message behind it", func() bool { return len(b.logs) == 1 })
			b.stop()
			bytes := 0
			lines := b.lines("output of a child that is no message")
			for _, line := range lines {
				bytes += len(line)
			}
			if took := allocated() - before; len(lines) == 0 || bytes > 8<<20 || took > 2<<30 {
				t.Errorf("%d lines of %d bytes, and it took %d", len(lines), bytes, took)
			}
		})
	}
}

// TestMessageFlood has a child say more than the executor takes: it waits, and the worker does not grow.
func TestMessageFlood(t *testing.T) { //nolint:paralleltest // it measures memory
	text := strings.Repeat("x", 1000)
	b, before := flooded(t, Settings{}, "exec yes '{\"command\":\"log\",\"msg\":\""+text+"\"}\nend'")
	for !b.bolt.child.life.blocked.Load() || len(b.events) < cap(b.events) {
		b.rest(10 * time.Millisecond)
	}
	if took := allocated() - before; took > 32<<20 {
		t.Errorf("%d messages wait, which took %d bytes", len(b.events)*batchSize, took)
	}
	b.until("messages", func() bool { return len(b.logs) > 50_000 })
}

// TestLongText has a child log 40 MB in one message.
func TestLongText(t *testing.T) {
	t.Parallel()
	const n = 40_000_000
	for _, command := range []string{"log", "error"} {
		b := startBolt(t, Settings{}, "sh", "-c", `printf '{"pid":1}\nend\n{"command":"`+command+`","msg":"'; head -c `+strconv.Itoa(n)+
			` /dev/zero | tr '\0' x; printf '"}\nend\n'; exec cat >/dev/null`)
		b.until("the text", func() bool { return len(b.logs)+len(b.reports) > 0 })
		text := strings.Join(append(b.logs, b.reports...), "")
		if len(text) > maxText+100 || !strings.HasSuffix(text, " and "+strconv.Itoa(n-maxText)+" bytes more") {
			t.Errorf("%s: %d bytes, %.60q to %q", command, len(text), text, text[max(len(text)-60, 0):])
		}
	}
}
