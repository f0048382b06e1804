// SPDX-License-Identifier: Apache-2.0

package worker

// This file notes on disk that the process is there, and reads the topology's files.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// notePid writes the process id where supervisors, old and new, and profilers look for it.
func (w *Worker) notePid() error {
	pid := strconv.Itoa(os.Getpid())
	err := errors.Join(
		os.WriteFile(filepath.Join(w.layout.WorkerPids(w.args.WorkerID), pid), nil, 0o644),                                      //nolint:gosec // as a Java worker does
		os.WriteFile(filepath.Join(w.layout.WorkerArtifacts(w.args.TopologyID, w.args.Port), "worker.pid"), []byte(pid), 0o644), //nolint:gosec // as a Java worker does
	)
	if err != nil {
		return fmt.Errorf("note the process id: %w", err)
	}
	return nil
}

// plan is what the topology's files say.
type plan struct {
	conf   config.Conf
	system *storm.StormTopology
	tasks  topology.Tasks
}

// readPlan reads conf and code of the topology.
func readPlan(ctx context.Context, dir string) (*plan, error) {
	packed, err := os.ReadFile(filepath.Join(dir, localstate.TopologyConf))
	if err != nil {
		return nil, err
	}
	text, err := cluster.Unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", localstate.TopologyConf, err)
	}
	p := &plan{}
	if p.conf, err = config.ParseJSON(text); err != nil {
		return nil, fmt.Errorf("%s: %w", localstate.TopologyConf, err)
	}
	if packed, err = os.ReadFile(filepath.Join(dir, localstate.TopologyCode)); err != nil {
		return nil, err
	}
	user := storm.NewStormTopology()
	if err := cluster.Decode(ctx, packed, user); err != nil {
		return nil, fmt.Errorf("%s: %w", localstate.TopologyCode, err)
	}
	if p.system, err = topology.System(p.conf, user); err != nil {
		return nil, fmt.Errorf("%s: %w", localstate.TopologyCode, err)
	}
	if p.tasks, err = topology.TasksOf(p.system); err != nil {
		return nil, fmt.Errorf("%s: %w", localstate.TopologyCode, err)
	}
	return p, nil
}
