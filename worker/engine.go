// SPDX-License-Identifier: Apache-2.0

package worker

// This file is where the frame and the executors meet.

import (
	"context"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// Executor is a run of tasks of one component, both ends included.
type Executor = [2]int32

// Engine runs the executors of a worker. All methods but Run may be called from any goroutine, before Run too, and do not block.
type Engine interface {
	// Run opens the components and runs them until ctx ends; it returns when all of them are closed. An error before that ends the
	// worker, and the supervisor starts another.
	Run(ctx context.Context) error
	// SetActive says whether spouts shall emit. They are not opened before the first true.
	SetActive(active bool)
	// SetCredentials replaces the credentials of the topology.
	SetCredentials(creds map[string]string)
	// SetPeers says where the tasks of other workers are. It is called before Run and whenever that changes.
	SetPeers(peers map[int32]Peer)
	// Connected is closed once every peer was connected once.
	Connected() <-chan struct{}
	// Stats gives the statistics of all executors.
	Stats() map[Executor]*storm.ExecutorStats
	// SetDebug says how much of what each component emits goes to the event loggers, in percent; "" is all components.
	SetDebug(percent map[string]float64)
}

// Peer is another worker: its slot, as assignments name it, and its address as host:port.
type Peer struct {
	Node string
	Port int32
	Addr string
}

// Factory makes the engine of a worker. It opens nothing.
type Factory func(Setup) (Engine, error)

// Setup is what an engine is made from.
type Setup struct {
	TopologyID string
	// Node and Port are this slot, as assignments name it; Host is this machine, as metrics name it.
	Node string
	Port int
	Host string
	// Conf is the topology's conf.
	Conf config.Conf
	// Topology is the topology with the system's components, Tasks says which component each task belongs to.
	Topology *storm.StormTopology
	Tasks    topology.Tasks
	// Executors are those of this worker, by ascending first task, without the system's own one.
	Executors []Executor
	// Credentials are those at the start, nil if the topology has none.
	Credentials map[string]string
	// Resources is the folder that children of components work in, Pids the one in which their process ids are noted.
	Resources, Pids string
	// Report makes an error known as the component's. It does not block.
	Report func(component string, task int32, err error)
	// Log is the engine's logger; ComponentLog makes the one of a component's task, whose lines appear whatever the level of
	// all others is.
	Log          *zap.Logger
	ComponentLog func(component string, task int32) *zap.Logger
}
