// SPDX-License-Identifier: Apache-2.0

package client

// This file is the state of a component's task.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/stateapi"
)

// Task is the state of a bolt, and the tuples that wait for its commit.
type Task struct {
	*State

	out  *component.Output
	held []*component.Tuple
}

// ForTask opens the state of a bolt that is being prepared, linked into a worker or as a child of one. Keys and values are bytes.
//
// A tuple is acked after the state that it changed is committed, or a crash between the two loses its change. So a bolt gives each tuple to Hold where it
// would ack it, and calls CommitAndAck at each tick. A tuple that is replayed after a crash changes the state again: counts are at least what they
// should be, and exact where a change sets what it would set the second time.
func ForTask(ctx *component.Context, out *component.Output) (*Task, error) {
	socket := os.Getenv(SocketVariable)
	if socket == "" {
		return nil, fmt.Errorf("state of task %d of %s: %s is not set: this worker's supervisor keeps no state", ctx.Task, ctx.Component, SocketVariable)
	}
	d, err := DefinitionOf(ctx)
	if err != nil {
		return nil, err
	}
	s, err := Open(context.Background(), Config{Socket: socket, Log: loggerOf(out)}, d)
	if err != nil {
		return nil, err
	}
	return &Task{State: s, out: out}, nil
}

// DefinitionOf says whose state a task's is.
func DefinitionOf(ctx *component.Context) (stateapi.Definition, error) {
	topology, _ := ctx.Conf["topology.name"].(string)
	if topology == "" {
		return stateapi.Definition{}, fmt.Errorf("state of task %d of %s: the conf has no topology.name", ctx.Task, ctx.Component)
	}
	owner, _ := ctx.Conf["topology.submitter.user"].(string)
	d := stateapi.Definition{
		Name:   stateapi.Name{Topology: topology, Owner: owner, Component: ctx.Component, Task: ctx.Task},
		Shards: stateapi.DefaultShards, Encoder: "bytes",
	}
	if n, ok := ctx.Conf["gust.state.shards"].(int64); ok && n > 0 {
		d.Shards = int32(n)
	}
	for _, component := range ctx.Tasks {
		if component == ctx.Component {
			d.Tasks++
		}
	}
	return d, nil
}

// Hold keeps a tuple until the changes made so far are committed.
func (t *Task) Hold(of *component.Tuple) { t.held = append(t.held, of) }

// Held is how many tuples wait.
func (t *Task) Held() int { return len(t.held) }

// CommitAndAck commits the changes and acks the tuples that wait. If that fails, it takes back the changes and fails the tuples, so that they are
// replayed, and returns why.
func (t *Task) CommitAndAck() error {
	settle := t.out.Ack
	err := t.CommitNow()
	if err != nil {
		t.dirty = newChanges()
		settle = t.out.Fail
	}
	for _, of := range t.held {
		settle(of)
	}
	clear(t.held)
	t.held = t.held[:0]
	return err
}

// Close commits, acks and ends the session.
func (t *Task) Close() error { return errors.Join(t.CommitAndAck(), t.State.Close()) }

// loggerOf writes into the component's own log.
func loggerOf(out *component.Output) *zap.Logger {
	lines := zapcore.NewConsoleEncoder(zapcore.EncoderConfig{MessageKey: "M", EncodeDuration: zapcore.StringDurationEncoder, SkipLineEnding: true})
	return zap.New(zapcore.NewCore(lines, zapcore.AddSync(logWriter{out}), zapcore.WarnLevel))
}

type logWriter struct{ out *component.Output }

func (w logWriter) Write(line []byte) (int, error) {
	w.out.Log(component.Warn, strings.TrimSpace(string(line)))
	return len(line), nil
}
