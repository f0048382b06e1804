// SPDX-License-Identifier: Apache-2.0

// This file plays the contract's cases on the Java client.

package state

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/statetest"
)

func TestContract(t *testing.T) {
	d := startDriver(t)
	t.Run("in place", func(t *testing.T) { statetest.Run(t, newServed(t, d, false)) })
	t.Run("in place, the table late", func(t *testing.T) { statetest.Run(t, newBed(t, d, false)) })
	t.Run("through the server", func(t *testing.T) { statetest.Run(t, newServed(t, d, true)) })
}

// TestServerAway ends the server: what is in the table is still read, and calls that need the server fail after their time, until it is back.
func TestServerAway(t *testing.T) {
	b := newServed(t, startDriver(t), false)
	handle, err := b.driver.open(doOpen, 5, b.socket, "away", "alice", "count", "4", "4", "32", "bytes", "in place")
	if err != nil {
		t.Fatal(err)
	}
	s := &javaState{b.driver, handle}
	for _, err := range []error{s.Put([]byte("k"), []byte("v")), s.CommitNow(), s.Put([]byte("d"), []byte("w"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if value, ok, err := s.Get(nil, []byte("k")); string(value) != "v" || !ok || err != nil {
		t.Errorf("get: %q, %t, %v", value, ok, err)
	}
	if err := b.end(); err != nil {
		t.Fatal(err)
	}
	if value, ok, err := s.Get(nil, []byte("k")); string(value) != "v" || !ok || err != nil {
		t.Errorf("get without a server: %q, %t, %v", value, ok, err)
	}
	var f *fault
	want := "state of task 4 of count in topology away of alice: no answer of the state server at " + b.socket + " within 5 s: "
	if err := s.Prepare(1); !errors.As(err, &f) || f.reason != "AWAY" || !strings.HasPrefix(f.message, want) {
		t.Errorf("prepare without a server: %v; want %s...", err, want)
	}
	for _, err := range []error{b.start(), s.Prepare(1), s.Commit(1)} {
		if err != nil {
			t.Errorf("with the server again: %v", err)
		}
	}
	if value, ok, err := s.Get(nil, []byte("d")); string(value) != "w" || !ok || err != nil {
		t.Errorf("get of what was put before: %q, %t, %v", value, ok, err)
	}
}

// javaState is a state that the driver has open.
type javaState struct {
	d      *driver
	handle uint32
}

var _ stateapi.State = (*javaState)(nil)

func (b *bed) Open(d stateapi.Definition) (stateapi.State, error) {
	way := "in place"
	if b.remote {
		way = "remote"
	}
	handle, err := b.driver.open(doOpen, 20, b.socket, d.Topology, d.Owner, d.Component, strconv.Itoa(int(d.Task)), strconv.Itoa(int(d.Tasks)),
		strconv.Itoa(int(d.Shards)), d.Encoder, way)
	if err != nil {
		return nil, known(err)
	}
	return &javaState{b.driver, handle}, nil
}

// known wraps the contract's error of a fault.
func known(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	kinds := map[string]error{
		"FENCED": stateapi.ErrFenced, "UNKNOWN_PREPARE": stateapi.ErrUnknownPrepare, "OTHER_ENCODER": stateapi.ErrEncoder,
		"OTHER_TASK_COUNT": stateapi.ErrTasks, "TOO_LARGE": stateapi.ErrTooLarge, "NO_ROOM": stateapi.ErrNoRoom,
	}
	if kind := kinds[f.reason]; kind != nil {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}

func (s *javaState) do(what byte, txid int64, key, value []byte) error {
	_, err := s.d.ask(what, s.handle, txid, key, value, nil)
	return known(err)
}

func (s *javaState) Get(dst, key []byte) ([]byte, bool, error) {
	value, err := s.d.ask(doGet, s.handle, 0, key, nil, nil)
	if errors.Is(err, errNothing) {
		return dst, false, nil
	}
	return append(dst, value...), err == nil, known(err)
}

func (s *javaState) All(failed *error) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		more := true
		_, err := s.d.ask(doAll, s.handle, 0, nil, nil, func(key, value []byte) { more = more && yield(key, value) })
		*failed = known(err)
	}
}

func (s *javaState) Put(key, value []byte) error { return s.do(doPut, 0, key, value) }
func (s *javaState) Delete(key []byte) error     { return s.do(doDelete, 0, key, nil) }
func (s *javaState) Prepare(txid int64) error    { return s.do(doPrepare, txid, nil, nil) }
func (s *javaState) Commit(txid int64) error     { return s.do(doCommit, txid, nil, nil) }
func (s *javaState) CommitNow() error            { return s.do(doCommitNow, 0, nil, nil) }
func (s *javaState) Rollback() error             { return s.do(doRollback, 0, nil, nil) }
func (s *javaState) Close() error                { return s.do(doClose, 0, nil, nil) }
