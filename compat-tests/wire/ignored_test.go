// SPDX-License-Identifier: Apache-2.0

package wire

// This file holds what Storm's Netty classes make of frames that they do not expect. The handshake between Go workers is built on it.

import (
	"net"
	"strings"
	"testing"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"

	"github.com/gust-stream/gust/compat-tests/stockjava"
)

func status(t *testing.T, worker string) []byte {
	t.Helper()
	b, err := kryo.AppendObject(nil, kryo.Status{ID: 1, Worker: worker, Blocked: []int32{2}, Free: []int32{1, 3}})
	if err != nil {
		t.Fatal(err)
	}
	return frame.Append(nil, frame.Status, b)
}

// TestJavaClientIgnores proves that a server may say this to a Java client, and what it may not.
func TestJavaClientIgnores(t *testing.T) {
	d := stockjava.Start(t, "java", "NettyDriver")
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d.Ask(t, "connect 127.0.0.1 %s", port)
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	say := func(b []byte) {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	// Any name of a worker; control frames; a load of tasks that are not there.
	say(status(t, "0b9d6b0e gust/1 and more"))
	say(frame.AppendControl(frame.AppendControl(nil, frame.OK), frame.EndOfBatch))
	say(frame.Append(nil, frame.Load, kryo.AppendLoad(nil, map[int32]float64{1: 0.5, -1000: 1})))
	await(t, d, "the load", func() bool { return d.Ask(t, "loads") == "1=0.5" && d.Ask(t, "blocked") == "2" })
	clean(t, d)
	// A code of our own is taken for a task's and logged as an error, so a server says none before it knows its client.
	say(frame.Append(nil, frame.Upgrade, []byte{1}))
	await(t, d, "an error", func() bool { return strings.Contains(d.Log(), "Metrics messages are sent to the system task") })
}

// TestJavaServerLosesTuples proves why a client of ours sends no control frame but the end of a batch.
func TestJavaServerLosesTuples(t *testing.T) {
	sources := sourcesOf(t)
	d := stockjava.Start(t, "java", "NettyDriver")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+d.Ask(t, "bind 0"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	batch := func(from int) (b []byte) {
		for _, m := range words(sources, from, 3) {
			if b, err = frame.AppendTuple(b, m.Task, m.Tuple); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	say := func(b []byte) {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	say(frame.AppendControl(batch(0), frame.OK))
	await(t, d, "an error about the control frame", func() bool { return strings.Contains(d.Log(), "other than the expected class") })
	say(frame.AppendControl(batch(10), frame.EndOfBatch))
	await(t, d, "the second batch", func() bool { return d.Ask(t, "count") != "0" })
	if got := d.Ask(t, "take"); strings.Contains(got, text("word 0")) || !strings.Contains(got, text("word 10")) {
		t.Errorf("storm took %q", got)
	}
}
