// SPDX-License-Identifier: Apache-2.0

// The code and conf of a topology: how they lie in blobs, and what follows from them.

package nimbus

import (
	"context"
	"fmt"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// maxBlob bounds a conf or code blob that is read into memory, in bytes as it is stored.
const maxBlob = 64 << 20

// code is what the blobs of a topology say; it changes only by a rebalance with overrides and is never changed in place.
type code struct {
	// conf is the saved conf.
	conf config.Conf
	// user is the topology as stored, without the system's components.
	user *storm.StormTopology
	// system is the topology with the system's components.
	system *storm.StormTopology
	// tasks has the component of each task.
	tasks topology.Tasks
	// requests are what one executor of each component asks for.
	requests topology.Requests
}

// newCode derives everything from the saved conf and the stored topology. The error is Storm's exception if the topology cannot be.
func newCode(conf config.Conf, user *storm.StormTopology) (*code, error) {
	c := &code{conf: conf, user: user}
	var err error
	if c.system, err = topology.System(conf, user); err != nil {
		return nil, err
	}
	if c.tasks, err = topology.TasksOf(c.system); err != nil {
		return nil, err
	}
	if c.requests, err = topology.RequestsOf(conf, c.system); err != nil {
		return nil, err
	}
	return c, nil
}

// encode returns the conf and the code as their blobs hold them: gzip over JSON, and gzip over Thrift binary.
func (c *code) encode(ctx context.Context) (conf, user []byte, err error) {
	text, err := c.conf.JSON()
	if err != nil {
		return nil, nil, asInvalid(err)
	}
	if conf, err = cluster.Pack(text); err != nil {
		return nil, nil, fmt.Errorf("write conf: %w", err)
	}
	if user, err = cluster.Encode(ctx, c.user); err != nil {
		return nil, nil, fmt.Errorf("write code: %w", err)
	}
	return conf, user, nil
}

// readCode reads the blobs of a topology.
func (n *Nimbus) readCode(ctx context.Context, id string) (*code, error) {
	packed, err := n.blobs.Read(confKey(id), maxBlob)
	if err != nil {
		return nil, err
	}
	conf, err := cluster.DecodeConf(packed)
	if err != nil {
		return nil, fmt.Errorf("read conf of topology %s: %w", id, err)
	}
	if packed, err = n.blobs.Read(codeKey(id), maxBlob); err != nil {
		return nil, err
	}
	user := storm.NewStormTopology()
	if err := cluster.Decode(ctx, packed, user); err != nil {
		return nil, fmt.Errorf("read code of topology %s: %w", id, err)
	}
	return newCode(conf, user)
}

// setCode gives a topology its code, and the executors that follow from code and base.
func (t *topologyState) setCode(c *code) {
	t.code, t.broken = c, nil
	executors := topology.Executors(c.tasks, t.base.ComponentExecutors)
	t.executors = make([]storm.ExecutorID, len(executors))
	t.components = make(map[storm.ExecutorID]string, len(executors))
	t.engines = nil
	engines := config.Conf(c.conf.Map(config.GustTopologyEngines))
	for i, e := range executors {
		id := storm.ExecutorID{int64(e.Start), int64(e.End)}
		t.executors[i] = id
		t.components[id] = e.Component
		if engine := engines.String(e.Component, ""); engine != "" {
			if t.engines == nil {
				t.engines = map[scheduler.Executor]scheduler.Engine{}
			}
			t.engines[executorOf(id)] = scheduler.Engine(engine)
		}
	}
}

// setBroken marks a topology whose blobs are not readable: it keeps the executors that are assigned.
func (t *topologyState) setBroken(err error) {
	t.broken = err
	t.code = &code{conf: config.Conf{}, user: storm.NewStormTopology(), system: storm.NewStormTopology()}
	t.components = map[storm.ExecutorID]string{}
	t.executors = nil
	if t.assignment != nil {
		for id := range t.assignment.ExecutorNodePort {
			t.executors = append(t.executors, id)
		}
	}
}
