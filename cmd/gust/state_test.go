// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/server"
	"github.com/gust-stream/gust/stateapi/wire"
)

// keepStates runs a machine's states in a folder until the returned function is called.
func keepStates(t *testing.T, dir string) (stop func()) {
	t.Helper()
	m, err := server.NewMachine(server.MachineConfig{
		Dir: dir, Memory: filepath.Join(dir, "memory"), Socket: filepath.Join(dir, server.SocketName),
	}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	select {
	case <-m.Ready():
	case err := <-done:
		t.Fatalf("no state is kept: %v", err)
	}
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("keep state: %v", err)
		}
	}
}

// openState opens a state and writes a value; the state stays open until the returned connection is closed.
func openState(t *testing.T, dir string, task int32) *stateClient {
	t.Helper()
	kept := make(chan *stateClient, 1)
	s := stateSettings{dir: dir}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.with(ctx, func(c *stateClient) error {
			kept <- c
			<-ctx.Done()
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("client: %v", err)
		}
	})
	c := <-kept
	f, err := c.ask(wire.Open, func(b *wire.Builder) {
		(&wire.OpenRequest{Definition: stateapi.Definition{
			Name:  stateapi.Name{Topology: "words", Owner: "ann", Component: "count", Task: task},
			Tasks: 4, Shards: 32, Encoder: "bytes",
		}}).Append(b)
	})
	if err != nil {
		t.Fatal(err)
	}
	session := wire.ReadOpened(f).Session
	var batch stateapi.Batch
	batch.Put([]byte("key"), []byte("value"))
	if _, err := c.ask(wire.Write, func(b *wire.Builder) {
		b.U64(session)
		b.Bytes(batch.Bytes())
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

func runState(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newGust()
	root.SetArgs(append([]string{"state"}, args...))
	root.SetOut(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestPeopleLookAfterStates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop := keepStates(t, dir)
	for task := range int32(3) {
		openState(t, dir, task)
	}
	stop() // and with it all clients
	stop = keepStates(t, dir)
	defer func() { stop() }()
	open := openState(t, dir, 2)

	var tasks []stateTask
	text, err := runState(t, "ls", "--json", "--dir", dir)
	if err == nil {
		err = json.Unmarshal([]byte(text), &tasks)
	}
	if err != nil || len(tasks) != 3 || tasks[1].Task != 1 || tasks[1].Connected || !tasks[2].Connected || tasks[0].Tasks != 4 {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err = runState(t, "show", "words", "--task", "1", "--dir", dir)
	if err != nil || !strings.Contains(text, "task 1 of count, topology words of ann") || !strings.Contains(text, "entries 1,") {
		t.Fatalf("%v\n%s", err, text)
	}
	if text, err = runState(t, "verify", "--dir", dir); err != nil || text != "all states are sound\n" {
		t.Fatalf("%v\n%s", err, text)
	}
	if _, err = runState(t, "rm", "words", "--dir", dir); err == nil || !strings.Contains(err.Error(), "task 2 of count has its state open") {
		t.Fatalf("got %v", err)
	}
	if text, err = runState(t, "rm", "words", "--task", "1", "--dir", dir); err != nil || text != "removed 1 state\n" {
		t.Fatalf("%v\n%s", err, text)
	}
	if text, err = runState(t, "rm", "words", "--force", "--dir", dir, "--json"); err != nil || !strings.Contains(text, `"removed": 2`) {
		t.Fatalf("%v\n%s", err, text)
	}
	if _, err := open.ask(wire.Commit, nil); err == nil {
		t.Fatal("a removed state is open")
	}
	if _, err = runState(t, "show", "words", "--dir", dir); err == nil || !strings.Contains(err.Error(), "no such state") {
		t.Fatalf("got %v", err)
	}
}

func TestAFlippedByteIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop := keepStates(t, dir)
	openState(t, dir, 1)
	stop()
	stop = keepStates(t, dir)
	defer func() { stop() }()
	s := stateSettings{dir: dir}
	if err := s.with(t.Context(), func(c *stateClient) error { _, err := c.ask(wire.Snapshot, nil); return err }); err != nil {
		t.Fatal(err)
	}
	flipped := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(filepath.Base(path), "image") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 {
			return err
		}
		data[len(data)/2] ^= 1
		flipped++
		return os.WriteFile(path, data, 0o600)
	})
	if err != nil || flipped == 0 {
		t.Fatalf("%d files, %v", flipped, err)
	}
	if text, err := runState(t, "verify", "--dir", dir); err == nil || !strings.Contains(text, "count") && !strings.Contains(text, "image") {
		t.Fatalf("%v\n%s", err, text)
	}
}
