// SPDX-License-Identifier: Apache-2.0

// This file makes the conf that a topology is stored with from the one that was submitted.

package topology

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// NormalizeConf gives a submitted conf with the values that Nimbus decides:
// serializers of all components in one map, keys that both sides must agree on,
// keys that only Nimbus sets. nimbus is Nimbus's whole conf. Keys of the
// submitter's identity and of ZooKeeper are not its business.
func NormalizeConf(nimbus, submitted config.Conf, user *storm.StormTopology) (config.Conf, error) {
	out := config.Merge(nil, submitted)
	delete(out, config.StormWorkersArtifactsDir)
	get := func(key string) any { return overlay(nimbus, out, key) }

	serializers, decorators, err := kryo(get, user)
	if err != nil {
		return nil, err
	}
	next := config.Conf{
		config.TopologyKryoRegister:         serializers,
		config.TopologyKryoDecorators:       decorators,
		config.TopologyAckerExecutors:       get(config.TopologyAckerExecutors),
		config.TopologyEventloggerExecutors: get(config.TopologyEventloggerExecutors),
		config.TopologyMaxTaskParallelism:   get(config.TopologyMaxTaskParallelism),
		config.StormCgroupHierarchyDir:      nimbus[config.StormCgroupHierarchyDir],
		config.WorkerMetrics:                nimbus[config.WorkerMetrics],
	}
	either := func(key string) bool { return nimbus.Bool(key, false) || out.Bool(key, false) }
	next[config.StormMessagingNettyAuthentication] = either(config.StormMessagingNettyAuthentication)
	tls := either(config.TopologyWorkerNimbusThriftClientUseTls)
	next[config.TopologyWorkerNimbusThriftClientUseTls] = tls
	next[config.NimbusThriftClientUseTls] = tls
	if reporters, set := reporters(nimbus, out); set {
		next[config.TopologyMetricsReporters] = reporters
	}
	if get(config.TopologyWorkerTimeoutSecs) != nil {
		limits := config.Conf{"wanted": get(config.TopologyWorkerTimeoutSecs), "most": get(config.WorkerMaxTimeoutSecs)}
		wanted, err := integer(limits, "wanted", 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", config.TopologyWorkerTimeoutSecs, err)
		}
		most, err := integer(limits, "most", wanted)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", config.WorkerMaxTimeoutSecs, err)
		}
		if wanted > most {
			next[config.TopologyWorkerTimeoutSecs] = int64(most)
		}
	}
	maps.Copy(out, next)
	return out, nil
}

// kryo collects serializers and decorators of all components and of the topology
// (or, if it has none, of Nimbus): every worker must know all of them.
func kryo(get func(string) any, user *storm.StormTopology) (map[string]any, []any, error) {
	serializers, decorators := map[string]any{}, []any{}
	add := func(register, decorate any) {
		list, _ := register.([]any)
		for _, entry := range list {
			switch e := entry.(type) {
			case map[string]any:
				maps.Copy(serializers, e)
			case string:
				serializers[e] = nil
			}
		}
		list, _ = decorate.([]any)
		for _, d := range list {
			if class, ok := d.(string); ok && !slices.Contains(decorators, any(class)) {
				decorators = append(decorators, class)
			}
		}
	}
	for _, c := range components(user) {
		conf, err := c.conf()
		if err != nil {
			return nil, nil, err
		}
		add(conf[config.TopologyKryoRegister], conf[config.TopologyKryoDecorators])
	}
	add(get(config.TopologyKryoRegister), get(config.TopologyKryoDecorators))
	return serializers, decorators, nil
}

// reporters gives topology.metrics.reporters where it differs from the
// submitted one: the cluster's if nobody named any, and the ones that the cluster wants in every topology.
func reporters(nimbus, submitted config.Conf) (list []any, set bool) {
	own, named := submitted[config.TopologyMetricsReporters]
	if !named {
		_, named = nimbus[config.TopologyMetricsReporters]
	}
	if !named {
		for _, conf := range []config.Conf{submitted, nimbus} {
			if v, ok := conf[config.StormMetricsReporters]; ok {
				own, set = v, true
				break
			}
		}
	}
	list, _ = own.([]any)
	if system, ok := nimbus[config.StormTopologyMetricsSystemReporters]; ok {
		more, _ := system.([]any)
		return slices.Concat([]any{}, list, more), true
	}
	return list, set
}
