// SPDX-License-Identifier: Apache-2.0

package multilang

// This file takes in what a child writes to stderr.

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	keptLines  = 20
	lineLength = 8 << 10
	// A child may write burst lines at once and perSecond lines for long; more are counted, not logged.
	burst     = 500
	perSecond = 100
)

// limiter passes on so many lines and counts the rest. It is for one goroutine.
type limiter struct {
	log   *zap.Logger
	what  string
	room  float64
	last  time.Time
	left  int
	since time.Time // when the first line was left out
}

func newLimiter(log *zap.Logger, what string) *limiter {
	return &limiter{log: log, what: what, room: burst}
}

func (l *limiter) line(now time.Time, line string) {
	if !l.last.IsZero() {
		l.room = min(burst, l.room+perSecond*now.Sub(l.last).Seconds())
	}
	l.last = now
	if l.room < 1 {
		if l.left == 0 {
			l.since = now
		}
		l.left++
		if now.Sub(l.since) >= time.Second {
			l.flush()
		}
		return
	}
	l.flush()
	l.room--
	l.log.Info(l.what, zap.String("line", line))
}

// flush says how many lines were left out.
func (l *limiter) flush() {
	if l.left > 0 {
		l.log.Info("lines of a child left out, since there were too many", zap.String("of", l.what), zap.Int("lines", l.left))
		l.left = 0
	}
}

// tail keeps the last lines of stderr.
type tail struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == keptLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, line)
}

func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}

// drain reads lines until the stream ends, so that a child never waits for somebody to read its stderr.
func drain(src io.Reader, keep *tail, lines *limiter) {
	r := bufio.NewReaderSize(src, lineLength)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 { // one that is too long comes in pieces
			text := strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD")
			keep.add(text)
			lines.line(time.Now(), text)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			lines.flush()
			return
		}
	}
}
