// SPDX-License-Identifier: Apache-2.0

// Shared by all tests: stores that run, and a process that writes until it is killed.

package shard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
)

// childEnv makes this test binary a process that writes into the store in this folder and can be killed.
const childEnv = "GUST_SHARD_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, child(dir, os.Getenv(childEnv+"_ANEW") != ""))
		os.Exit(1) //nolint:forbidigo // this process only writes
	}
	goleak.VerifyTestMain(m)
}

func definition(component string) stateapi.Definition {
	return stateapi.Definition{
		Name:  stateapi.Name{Topology: "words", Owner: "alice", Component: component, Task: 3},
		Tasks: 4, Shards: stateapi.DefaultShards, Encoder: "bytes",
	}
}

// running is a store with what ends it.
type running struct {
	*Store

	stop func() error
}

func run(c Config) (*running, error) {
	s := New(c, zap.NewNop())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r := &running{Store: s, stop: func() error {
		cancel()
		return <-done
	}}
	select {
	case <-s.Ready():
		return r, nil
	case err := <-done:
		cancel()
		return nil, errors.Join(errors.New("not ready"), err)
	}
}

// folders are a disk and a memory for a store; they go with the test.
func folders(tb testing.TB) Config {
	tb.Helper()
	memory, err := os.MkdirTemp("/dev/shm", "shard") //nolint:usetesting // memory
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(memory); err != nil {
			tb.Error(err)
		}
	})
	return Config{Dir: tb.TempDir(), ArenaDir: memory}
}

func start(tb testing.TB, c Config) *running {
	tb.Helper()
	r, err := run(c)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func (r *running) end(tb testing.TB) {
	tb.Helper()
	if err := r.stop(); err != nil {
		tb.Fatal(err)
	}
}

func (r *running) session(tb testing.TB, component string) Opened {
	tb.Helper()
	o, err := r.Open(context.Background(), definition(component), 0)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// keys is after how many rounds a key is written again.
const keys = 300

// round is the change of one round: its number, and one of the keys.
func round(n int) []byte {
	var b stateapi.Batch
	b.Put([]byte("n"), strconv.AppendInt(nil, int64(n), 10))
	b.Put(strconv.AppendInt([]byte("key "), int64(n%keys), 10), strconv.AppendInt(nil, int64(n), 10))
	if n%7 == 0 {
		b.Delete(strconv.AppendInt([]byte("key "), int64((n+keys/2)%keys), 10))
	}
	return b.Bytes()
}

// want is what key holds after n rounds, 0: nothing.
func want(key, n int) int {
	for ; n > 0; n-- {
		if n%keys == key {
			return n
		}
		if n%7 == 0 && (n+keys/2)%keys == key {
			return 0
		}
	}
	return 0
}

// check finds out how many rounds a session's state has, and that it has exactly those.
func check(s *Store, session uint64) (n int, err error) {
	number := func(key []byte) (int, error) {
		value, found, err := s.Get(context.Background(), session, nil, key)
		if err != nil || !found {
			return 0, err
		}
		return strconv.Atoi(string(value))
	}
	if n, err = number([]byte("n")); err != nil {
		return 0, err
	}
	for key := range keys {
		got, err := number(strconv.AppendInt([]byte("key "), int64(key), 10))
		if err != nil || got != want(key, n) {
			return n, errors.Join(err, fmt.Errorf("after %d rounds key %d is of round %d, not %d", n, key, got, want(key, n)))
		}
	}
	return n, nil
}
