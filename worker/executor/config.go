// SPDX-License-Identifier: Apache-2.0

package executor

// This file holds what an engine is made from.

import (
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/transfer"
)

// Config is what an engine is made from. It is not changed.
type Config struct {
	TopologyID string
	// Host and Port name the worker to metrics consumers.
	Host string
	Port int
	// Conf is the topology's conf over the daemon's.
	Conf config.Conf
	// Topology is the topology with the system's components, Tasks says which component each task belongs to.
	Topology *storm.StormTopology
	Tasks    topology.Tasks
	// Executors are those of this worker, as first and last task, without the system's own one.
	Executors [][2]int32
	// Registry has the components that are linked into this binary, nil if there are none. All others are child processes.
	Registry component.Registry
	// Credentials are the topology's at the start, nil if it has none.
	Credentials map[string]string
	// Resources is the folder that children work in, Pids the one in which they note their process ids, "" for none.
	Resources, Pids string
	// Remote takes what goes to other workers, nil if there are none.
	Remote transfer.Remote
	// Sources gives the source of a task's stream, nil for a table of the engine's own.
	Sources func(task int32, stream string) *tuple.Source
	// Blocked is told when the inbox of a task's executor has come to its mark, and when it has room again. nil if nobody wants to know.
	Blocked func(task int32, blocked bool)
	// Report makes an error known as the component's. It does not block.
	Report func(component string, task int32, err error)
	Log    *zap.Logger
	// ComponentLog makes the logger that a component's own lines go to; nil for one below Log.
	ComponentLog func(component string, task int32) *zap.Logger
	// Events takes the lines of event loggers, Metrics those of Storm's metrics consumer that logs; nil for the component's log.
	Events, Metrics func(line string)
	// Drain bounds how long tuples under way are waited for after the spouts were stopped, and after that the components' ends. 0 is a second.
	Drain time.Duration
}

// Counts are what a component's tasks of this worker have done.
type Counts struct {
	Executed, Emitted, Acked, Failed, Errors int64
}

func (c *Counts) add(o Counts) {
	c.Executed += o.Executed
	c.Emitted += o.Emitted
	c.Acked += o.Acked
	c.Failed += o.Failed
	c.Errors += o.Errors
}
