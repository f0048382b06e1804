// SPDX-License-Identifier: Apache-2.0

// This file plays the contract's cases on the Java client.

package state

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"testing"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/statetest"
)

func TestContract(t *testing.T) {
	d := startDriver(t)
	for _, way := range []struct {
		name   string
		remote bool
	}{{"in place", false}, {"through the server", true}} {
		t.Run(way.name, func(t *testing.T) { statetest.Run(t, newBed(t, d, way.remote)) })
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
