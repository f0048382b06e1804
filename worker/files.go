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
	conf, err := localstate.ReadConf(dir)
	if err != nil {
		return nil, err
	}
	user, err := localstate.ReadCode(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &plan{conf: conf}
	if p.system, err = topology.System(p.conf, user); err != nil {
		return nil, fmt.Errorf("%s: %w", localstate.TopologyCode, err)
	}
	if p.tasks, err = topology.TasksOf(p.system); err != nil {
		return nil, fmt.Errorf("%s: %w", localstate.TopologyCode, err)
	}
	return p, nil
}
