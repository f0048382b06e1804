// SPDX-License-Identifier: Apache-2.0

package multilang

// This file holds the goroutine that reads what a child says.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gust-stream/gust/multilang/codec"
)

// batchSize bounds the messages of a batch.
const batchSize = 256

// read takes in messages until the stream ends or one cannot be understood.
func (c *child) read(ctx context.Context, stdout io.Reader, exited <-chan struct{}) {
	r := codec.NewReader(stdout, c.cfg.Settings.Format, c.cfg.Settings.MaxMessage)
	greeted := false
	for {
		raw, err := r.Next()
		if err != nil {
			c.endOfOutput(r, err, exited)
			return
		}
		now := c.now()
		b := c.batch()
		for {
			if err = c.take(raw, r.Rest(), b, &greeted); err != nil || len(b.messages) == batchSize || !r.Ready() {
				break
			}
			if raw, err = r.Next(); err != nil {
				break
			}
		}
		c.heard(b, now)
		if !c.hand(ctx, b) {
			return
		}
		if err != nil {
			c.fault(err)
			return
		}
	}
}

// hand gives a batch to the executor, by doing its work if it is parked. While it takes no batches the child's silence says nothing.
func (c *child) hand(ctx context.Context, b *Batch) bool {
	c.life.blocked.Store(true)
	defer c.unblock()
	if c.cfg.TryApply != nil && c.queued.Load() == 0 && c.cfg.TryApply(b) {
		c.vigil.expect = c.working.Load()
		return true
	}
	c.queued.Add(1)
	b.queued = true
	select {
	case c.events <- b:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *child) unblock() {
	c.life.sign(c.now())
	c.life.blocked.Store(false)
}

// endOfOutput waits for the child's own end first, which the exit code is of.
func (c *child) endOfOutput(r *codec.Reader, err error, exited <-chan struct{}) {
	var long *codec.TooLongError
	switch {
	case errors.Is(err, io.EOF):
		c.gone(exited, fmt.Errorf("%w: it closed its stdout", ErrProtocol))
	case errors.Is(err, io.ErrUnexpectedEOF):
		ended := awaitExit(exited)
		c.fault(fmt.Errorf("%w in the middle of a message: %s", ended, excerpt(r.Rest(), nil)))
	case errors.As(err, &long):
		c.fault(fmt.Errorf("%w: %w (%s)", ErrProtocol, err, keyMessageBytes))
	default:
		c.fault(fmt.Errorf("read from the child: %w", err))
	}
}

// heard notes signs of life.
func (c *child) heard(b *Batch, now int64) {
	c.life.sign(now)
	if b.up {
		c.life.waiting.Store(c.decode.bolt)
	}
	for i := range b.messages {
		switch b.messages[i].kind {
		case kindSync:
			c.life.beatAnswered(now)
			c.life.waiting.Store(c.decode.bolt)
			c.life.started.Store(true)
		case kindEmit, kindAck, kindFail:
			c.life.started.Store(true)
		default:
		}
	}
}

// take reads one message into a batch; rest is what was read behind it.
func (c *child) take(raw, rest []byte, b *Batch, greeted *bool) error {
	if !*greeted {
		*greeted = true
		b.up = true
		if c.greet(raw) {
			return nil
		}
	}
	m := b.next()
	err := c.decode.decode(raw, m)
	if err == nil {
		return nil
	}
	if !notAMessage(err) {
		b.messages = b.messages[:len(b.messages)-1]
		return fmt.Errorf("%w: %w: %s", ErrProtocol, err, excerpt(raw, nil))
	}
	at, found := c.behindStray(raw, m)
	if !found {
		b.messages = b.messages[:len(b.messages)-1]
		at = len(raw)
	}
	if c.cfg.Settings.LogStray {
		c.stray(raw[:at])
		return nil
	}
	if found {
		b.messages = b.messages[:len(b.messages)-1]
	}
	if c.out.format == codec.JSON {
		rest = nil
	}
	return fmt.Errorf("%w: its stdout is for messages, but it wrote %s: %w (%s: log goes on)", ErrProtocol, excerpt(raw[:at], rest), err, keyStray)
}

// stray logs output that is no message. In msgpack each byte of a text is a message of its own, so they are gathered.
func (c *child) stray(text []byte) {
	c.gathered = append(c.gathered, text...)
	if c.out.format == codec.Msgpack && len(c.gathered) < lineLength && !bytes.HasSuffix(text, []byte("\n")) {
		return
	}
	for line := range strings.Lines(strings.ToValidUTF8(string(c.gathered), "\uFFFD")) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			c.strays.line(time.Now(), clip(line, lineLength))
		}
	}
	c.gathered = c.gathered[:0]
}

// greet reads the answer to the handshake. As in Storm a child that says something else first is taken as it is.
func (c *child) greet(raw []byte) bool {
	v, err := codec.Decode(raw, c.cfg.Settings.Format)
	answer, ok := v.(map[string]any)
	if err != nil || !ok {
		return false
	}
	if pid, ok := answer["pid"].(int64); ok && pid > 0 {
		c.ownPid(pid)
	}
	_, command := answer["command"]
	return !command
}

func notAMessage(err error) bool {
	var syntax *codec.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, errNoCommand)
}

// maxStrayTries bounds how often a message is looked for behind output that is none.
const maxStrayTries = 64

// behindStray finds a message behind other output: print statements end up in front of one. It gives where the message begins.
func (c *child) behindStray(raw []byte, m *message) (int, bool) {
	if c.cfg.Settings.Format != codec.JSON {
		return 0, false
	}
	at := 0
	for range maxStrayTries {
		next := bytes.IndexByte(raw[at:], '{')
		if next < 0 {
			return 0, false
		}
		at += next
		if c.decode.decode(raw[at:], m) == nil {
			return at, true
		}
		at++
	}
	return 0, false
}

// clip shortens a text of a child's.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf(" and %d bytes more", len(text)-most)
}

const excerptLength = 200

// excerpt shows the beginning of what a child wrote.
func excerpt(raw, rest []byte) string {
	all := bytes.TrimSpace(raw)
	if len(all) <= excerptLength {
		all = bytes.TrimSpace(append(bytes.Clone(raw), rest[:min(len(rest), excerptLength+1)]...))
	}
	if len(all) > excerptLength {
		return fmt.Sprintf("%q and more", all[:excerptLength])
	}
	return fmt.Sprintf("%q", all)
}
