// SPDX-License-Identifier: Apache-2.0

package worker

// This file reads an assignment: what this worker runs, and where everything else is.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/thrift/storm"
)

// errReassigned ends a worker whose slot is somebody else's by now; the supervisor starts what belongs there.
var errReassigned = errors.New("this slot was assigned anew")

// executorsOn lists the executors of a slot, by ascending first task.
func executorsOn(a *storm.Assignment, node string, port int) []Executor {
	var found []Executor
	for e, at := range a.ExecutorNodePort {
		if at != nil && at.Node == node && slices.Contains(at.Port, int64(port)) {
			found = append(found, Executor{int32(e[0]), int32(e[1])}) //nolint:gosec // task ids are below 32768
		}
	}
	slices.SortFunc(found, func(a, b Executor) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return found
}

// peersOf says where each task is that runs on another slot. One on a node whose host is not known is nowhere.
func peersOf(a *storm.Assignment, node string, port int) map[int32]Peer {
	peers := map[int32]Peer{}
	for e, at := range a.ExecutorNodePort {
		if at == nil || len(at.Port) == 0 || (at.Node == node && slices.Contains(at.Port, int64(port))) {
			continue
		}
		host, known := a.NodeHost[at.Node]
		if !known {
			continue
		}
		peer := Peer{Node: at.Node, Port: int32(at.Port[0]), Addr: net.JoinHostPort(host, strconv.FormatInt(at.Port[0], 10))} //nolint:gosec // a port
		for task := e[0]; task <= e[1] && task-e[0] < maxTasks; task++ {
			peers[int32(task)] = peer //nolint:gosec // bounded by the line above and by the topology's tasks
		}
	}
	return peers
}

// maxTasks bounds an executor that an assignment names: task ids are below it.
const maxTasks = 1 << 15

// fetchAssignment asks the supervisor, and the cluster state if that does not know or does not answer.
func (w *Worker) fetchAssignment(ctx context.Context) (*storm.Assignment, error) {
	a, err := w.upstream.assignment(ctx, w.args.TopologyID)
	if a != nil && err == nil {
		return a, nil
	}
	a, err2 := w.cluster.Assignment(ctx, w.args.TopologyID)
	if err2 != nil {
		return nil, errors.Join(err, err2)
	}
	return a, nil
}

// followAssignment looks for changes of the assignment. It returns an error when the slot's executors are others.
func (w *Worker) followAssignment(ctx context.Context) error {
	peers := w.peers
	trouble := newTrouble(w.log, "assignment could not be read", "the assignment can be read again")
	ticker := time.NewTicker(w.times.refresh)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		asking, cancel := context.WithTimeout(ctx, callTimeout)
		a, err := w.fetchAssignment(asking)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		trouble.report(err)
		if err != nil {
			continue
		}
		if err := w.checkAssignment(a); err != nil {
			return err
		}
		if now := peersOf(a, w.args.SupervisorID, w.args.Port); !maps.Equal(now, peers) {
			w.log.Info("other workers have moved", zap.Int("tasks", len(now)))
			peers = now
			w.engine.SetPeers(now)
		}
	}
}

// checkAssignment says whether the slot is still what this worker was started for.
func (w *Worker) checkAssignment(a *storm.Assignment) error {
	if a == nil {
		return fmt.Errorf("%w: topology %s has no assignment", errReassigned, w.args.TopologyID)
	}
	if now := executorsOn(a, w.args.SupervisorID, w.args.Port); !slices.Equal(now, w.executors) {
		return fmt.Errorf("%w: it had executors %v, now %v", errReassigned, w.executors, now)
	}
	return nil
}
