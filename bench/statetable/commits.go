// SPDX-License-Identifier: Apache-2.0

// This file times what a checkpoint does with a task's state, in the store that the state server keeps.

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/shard"
)

// What commits are measured with.
const (
	dirtyKeys   = 10_000
	checkpoints = 40
)

// commits shows how long each prepare and commit of dirtyKeys of so many keys takes, with the journal in dir.
func commits(dir string, entries uint64) (err error) {
	memory, err := os.MkdirTemp("/dev/shm", "statetable-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(memory)) }()
	store := shard.New(shard.Config{Dir: dir, ArenaDir: memory, Capacity: capacity}, zap.NewNop())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- store.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended)
	}()
	select {
	case <-store.Ready():
	case err := <-ended:
		ended <- nil
		return err
	}
	opened, err := store.Open(ctx, stateapi.Definition{
		Name:  stateapi.Name{Topology: "bench", Owner: "bench", Component: "bolt", Task: 1},
		Tasks: 1, Shards: stateapi.DefaultShards, Encoder: "bytes",
	}, 0)
	if err != nil {
		return err
	}
	for first := uint64(0); first < entries; first += dirtyKeys {
		if _, err := store.Write(ctx, opened.Session, changes(first, 1)); err != nil {
			return err
		}
	}
	for i := range int64(checkpoints) {
		batch := changes(uint64(i), max(entries/dirtyKeys, 1))
		began := time.Now()
		if err := store.Prepare(ctx, opened.Session, i, batch); err != nil {
			return err
		}
		prepared := time.Now()
		if _, err := store.Commit(ctx, opened.Session, i); err != nil {
			return err
		}
		if err := errors.Join(
			show("prepare", dirtyKeys, prepared.Sub(began).Seconds()), show("commit", dirtyKeys, time.Since(prepared).Seconds()),
		); err != nil {
			return err
		}
	}
	return nil
}

// changes puts dirtyKeys keys, each so far from the last.
func changes(first, step uint64) []byte {
	var batch stateapi.Batch
	var key, value [8]byte
	for i := range uint64(dirtyKeys) {
		binary.LittleEndian.PutUint64(key[:], scattered(first+i*step))
		binary.LittleEndian.PutUint64(value[:], first)
		batch.Put(key[:], value[:])
	}
	return batch.Bytes()
}
