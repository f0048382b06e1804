// SPDX-License-Identifier: Apache-2.0

// This file adds the components that every topology gets from the system.

package topology

import (
	"fmt"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// Ids of the system's components and streams.
const (
	AckerID       = "__acker"
	EventLoggerID = "__eventlogger"
	SystemID      = "__system"
	// MetricsPrefix begins the id of each metrics consumer; its class name follows, then #2, #3 for repeats.
	MetricsPrefix = "__metrics_"

	ackInit         = "__ack_init"
	ackAck          = "__ack_ack"
	ackFail         = "__ack_fail"
	ackResetTimeout = "__ack_reset_timeout"
	eventStream     = "__eventlog"
	metricsStream   = "__metrics"
	systemStream    = "__system"
)

// System gives the topology as it runs: the user's components with the streams
// that the system wants of them, and the system's own. Workers compute the same
// from the same conf (the saved one over the daemon's defaults). It also is
// the check of a topology's structure; a fault is a *storm.InvalidTopologyException.
func System(conf config.Conf, user *storm.StormTopology) (*storm.StormTopology, error) {
	if err := checkBasic(user); err != nil {
		return nil, err
	}
	t := clone(user)
	for _, add := range []func(config.Conf, *storm.StormTopology) error{addAcker, addEventLogger, addMetricsConsumers} {
		if err := add(conf, t); err != nil {
			return nil, fmt.Errorf("system topology: %w", err)
		}
	}
	t.Bolts[SystemID] = &storm.Bolt{
		BoltObject: serialized(systemBoltObject),
		Common: &storm.ComponentCommon{
			Inputs: map[*storm.GlobalStreamId]*storm.Grouping{},
			Streams: map[string]*storm.StreamInfo{
				"__tick": fields("rate_secs"), "__flush": fields(), "__metrics_tick": fields("interval"),
			},
			ParallelismHint: new(int32),
		},
	}
	if err := (component{SystemID, t.Bolts[SystemID].Common}).setConf(config.Conf{config.TopologyTasks: int64(0)}); err != nil {
		return nil, err
	}
	for _, c := range components(t) {
		c.common.Streams[metricsStream] = fields("task-info", "data-points")
		c.common.Streams[systemStream] = fields("event")
	}
	if err := checkStructure(t); err != nil {
		return nil, err
	}
	return t, nil
}

// addAcker adds the acker, even when it has no task, and wires all others to it.
func addAcker(conf config.Conf, t *storm.StormTopology) error {
	count, err := integer(conf, config.TopologyWorkers, 1)
	if err != nil {
		return err
	}
	if count, err = integer(conf, config.TopologyAckerExecutors, count); err != nil {
		return err
	}
	timeout, err := messageTimeout(conf)
	if err != nil {
		return err
	}
	inputs := map[*storm.GlobalStreamId]*storm.Grouping{}
	for id := range t.Spouts {
		inputs[stream(id, ackInit)] = byFields("id")
	}
	for id, b := range t.Bolts {
		for _, s := range []string{ackAck, ackFail, ackResetTimeout} {
			inputs[stream(id, s)] = byFields("id")
		}
		b.Common.Streams[ackAck] = fields("id", "ack-val")
		b.Common.Streams[ackFail] = fields("id")
		b.Common.Streams[ackResetTimeout] = fields("id")
	}
	for id, s := range t.Spouts {
		c := component{id, s.Common}
		own, err := c.conf()
		if err != nil {
			return err
		}
		own[config.TopologyTickTupleFreqSecs] = timeout
		if err := c.setConf(own); err != nil {
			return err
		}
		c.common.Streams[ackInit] = fields("id", "init-val", "spout-task")
		for _, out := range []string{ackAck, ackFail, ackResetTimeout} {
			c.common.Inputs[stream(AckerID, out)] = &storm.Grouping{Direct: &storm.NullStruct{}}
		}
	}
	direct := func() *storm.StreamInfo {
		return &storm.StreamInfo{OutputFields: []string{"id", "time-delta-ms"}, Direct: true}
	}
	return addBolt(t, AckerID, serialized(ackerObject), count, inputs,
		map[string]*storm.StreamInfo{ackAck: direct(), ackFail: direct(), ackResetTimeout: direct()},
		config.Conf{config.TopologyTickTupleFreqSecs: timeout})
}

// addEventLogger adds the event logger unless it would have no task.
func addEventLogger(conf config.Conf, t *storm.StormTopology) error {
	count, err := integer(conf, config.TopologyWorkers, 0)
	if err != nil {
		return err
	}
	if count, err = integer(conf, config.TopologyEventloggerExecutors, count); err != nil {
		return err
	}
	if count <= 0 {
		return nil
	}
	timeout, err := messageTimeout(conf)
	if err != nil {
		return err
	}
	inputs := map[*storm.GlobalStreamId]*storm.Grouping{}
	for id := range t.Spouts {
		inputs[stream(id, eventStream)] = byFields("component-id")
	}
	for id := range t.Bolts {
		inputs[stream(id, eventStream)] = byFields("component-id")
	}
	for _, c := range components(t) {
		c.common.Streams[eventStream] = fields("component-id", "message-id", "ts", "values")
	}
	return addBolt(t, EventLoggerID, serialized(eventLoggerObject), count, inputs, map[string]*storm.StreamInfo{},
		config.Conf{config.TopologyTickTupleFreqSecs: timeout})
}

// addMetricsConsumers adds a bolt for each entry of topology.metrics.consumer.register.
// All get the metrics of every component that is there before the first of them.
func addMetricsConsumers(conf config.Conf, t *storm.StormTopology) error {
	list, ok := conf[config.TopologyMetricsConsumerRegister].([]any)
	if !ok || len(list) == 0 {
		return nil
	}
	sources := []string{SystemID}
	for _, c := range components(t) {
		sources = append(sources, c.id)
	}
	repeats := map[string]int{}
	for _, entry := range list {
		m, ok := entry.(map[string]any)
		if !ok {
			return invalid("%s has an entry that is not a map", config.TopologyMetricsConsumerRegister)
		}
		info := config.Conf(m)
		class, err := info.RequireString("class")
		if err != nil {
			return invalid("%s has an entry without class", config.TopologyMetricsConsumerRegister)
		}
		count, err := integer(info, "parallelism.hint", 1)
		if err != nil {
			return invalid("%s: %v", config.TopologyMetricsConsumerRegister, err)
		}
		id := MetricsPrefix + class
		if repeats[class]++; repeats[class] > 1 {
			id = fmt.Sprintf("%s#%d", id, repeats[class])
		}
		inputs := make(map[*storm.GlobalStreamId]*storm.Grouping, len(sources))
		for _, from := range sources {
			inputs[stream(from, metricsStream)] = &storm.Grouping{Shuffle: &storm.NullStruct{}}
		}
		if err := addBolt(t, id, metricsConsumer(class), count, inputs, map[string]*storm.StreamInfo{}, config.Conf{}); err != nil {
			return err
		}
	}
	return nil
}

// addBolt adds a system bolt with as many tasks as executors.
func addBolt(t *storm.StormTopology, id string, object *storm.ComponentObject, count int32,
	inputs map[*storm.GlobalStreamId]*storm.Grouping, streams map[string]*storm.StreamInfo, conf config.Conf,
) error {
	conf[config.TopologyTasks] = int64(count)
	c := component{id, &storm.ComponentCommon{Inputs: inputs, Streams: streams, ParallelismHint: &count}}
	if err := c.setConf(conf); err != nil {
		return err
	}
	t.Bolts[id] = &storm.Bolt{BoltObject: object, Common: c.common}
	return nil
}

func messageTimeout(conf config.Conf) (int64, error) {
	return conf.RequireInt(config.TopologyMessageTimeoutSecs)
}

func stream(id, name string) *storm.GlobalStreamId {
	return &storm.GlobalStreamId{ComponentId: id, StreamId: name}
}

func fields(names ...string) *storm.StreamInfo {
	if names == nil {
		names = []string{}
	}
	return &storm.StreamInfo{OutputFields: names}
}

func byFields(names ...string) *storm.Grouping { return &storm.Grouping{Fields: names} }
