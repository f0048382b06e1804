// SPDX-License-Identifier: Apache-2.0

package container

// This file builds the command line of a Go worker: the arguments of a Java worker behind one word, and a file for what
// Java is told by system properties.

import (
	"slices"
	"strconv"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
)

// goWord is the first argument of a Go worker: "gust worker", and the same of a topology's own program.
const goWord = "worker"

func (c Command) buildGo() *Invocation {
	return &Invocation{
		Path: c.Program,
		Args: []string{goWord, c.Topology.ID, c.SupervisorID, strconv.Itoa(c.SupervisorPort), strconv.Itoa(c.Port), c.WorkerID},
		Env:  c.environment(),
	}
}

// writeGoWorker writes what the worker is told beyond its arguments. The worker's folder must be there.
func (c Command) writeGoWorker(layout localstate.Layout) error {
	conf := config.Merge(c.Host.Conf, nil)
	if c.Host.Hostname != "" {
		conf[config.StormLocalHostname] = c.Host.Hostname
	}
	if c.Host.TaskRefreshSecs > 0 {
		conf[config.TaskRefreshPollSecs] = int64(c.Host.TaskRefreshSecs)
	}
	return localstate.GoWorker{
		Conf: conf, LocalDir: layout.Local, Artifacts: layout.Artifacts, MemoryMB: c.memory().heap,
	}.Write(layout.GoWorker(c.WorkerID))
}

// isGoWorker says whether these are the arguments of the Go worker of that id.
func isGoWorker(args []string, workerID string) bool {
	return len(args) > 2 && args[1] == goWord && slices.Index(args, workerID) == len(args)-1
}
