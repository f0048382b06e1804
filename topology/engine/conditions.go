// SPDX-License-Identifier: Apache-2.0

package engine

// This file holds what in a topology and its conf keeps components on Java.

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/config"
)

// Classes of Storm's whose work Go workers do themselves.
const (
	jsonSerializer   = "org.apache.storm.multilang.JsonSerializer"
	defaultHandler   = "org.apache.storm.utils.DefaultShellLogHandler"
	nettyTransport   = "org.apache.storm.messaging.netty.Context"
	kryoFactory      = "org.apache.storm.serialization.DefaultKryoFactory"
	listSerializer   = "org.apache.storm.serialization.types.ListDelegateSerializer"
	fileEventLogger  = "org.apache.storm.metric.FileBasedEventLogger"
	loggingConsumer  = "org.apache.storm.metric.LoggingMetricsConsumer"
	registerServices = "META-INF/services/org.apache.storm.serialization.SerializationRegister"
)

// barred gives what keeps a component on Java whatever its neighbours are, "" if nothing does.
func (d *decision) barred(c *component) string {
	if v := d.in.Topology.GetStormVersion(); older(v) {
		return fmt.Sprintf("the topology is made for Storm %s, and Go workers speak to workers of 2.6 and newer", v)
	}
	if len(d.in.Topology.WorkerHooks) > 0 {
		return "the topology has worker hooks, which are Java"
	}
	for _, key := range []string{config.StormMessagingNettyAuthentication, config.StormMessagingNettyTlsEnable} {
		if d.in.Conf.Bool(key, false) {
			return key + " is on"
		}
	}
	for _, k := range []struct{ key, own string }{
		{config.StormMessagingTransport, nettyTransport},
		{config.TopologyMultilangSerializer, jsonSerializer},
		{config.TopologyMultilangLogHandler, defaultHandler},
	} {
		if k.key == config.TopologyMultilangSerializer && c.conf.Has(config.GustMultilangSerializer) {
			continue // which says what Go workers do in place of that class
		}
		if class := c.conf.String(k.key, ""); class != "" && class != k.own {
			return fmt.Sprintf("%s is %s", k.key, class)
		}
	}
	if hooks := c.conf.Strings(config.TopologyAutoTaskHooks); len(hooks) > 0 {
		return fmt.Sprintf("%s is %s", config.TopologyAutoTaskHooks, strings.Join(hooks, ", "))
	}
	return d.foreignGrouping(c)
}

// foreignGrouping gives a custom grouping of one of the component's streams. The sender's worker runs it.
func (d *decision) foreignGrouping(c *component) string {
	var out []string
	for _, to := range d.all {
		for in, g := range to.common.Inputs {
			if in.ComponentId != c.id {
				continue
			}
			if why := foreign(g); why != "" {
				out = append(out, fmt.Sprintf("%s takes its stream %s by a %s", to.id, in.StreamId, why))
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// oddWire gives what makes tuples between Go and Java workers uncertain, "" if nothing does.
func (d *decision) oddWire(c *component) string {
	if v := c.conf[config.TopologyKryoRegister]; !empty(v) && !onlyCheckpoints(v) {
		return config.TopologyKryoRegister + " is set"
	}
	if v := c.conf[config.TopologyKryoDecorators]; !empty(v) {
		return config.TopologyKryoDecorators + " is set"
	}
	if class := c.conf.String(config.TopologyKryoFactory, kryoFactory); class != kryoFactory {
		return fmt.Sprintf("%s is %s", config.TopologyKryoFactory, class)
	}
	if class := c.conf.String(config.TopologyTupleSerializer, listSerializer); class != listSerializer {
		return fmt.Sprintf("%s is %s", config.TopologyTupleSerializer, class)
	}
	if c.conf.Bool(config.TopologyFallBackOnJavaSerialization, false) {
		return config.TopologyFallBackOnJavaSerialization + " is on"
	}
	if d.in.Jar != nil {
		if _, err := fs.Stat(d.in.Jar, registerServices); err == nil {
			return "the JAR has " + registerServices
		}
	}
	return ""
}

// onlyCheckpoints says whether nothing is registered but what goes from the checkpoint spout to Java bolts.
func onlyCheckpoints(register any) bool {
	classes, ok := register.(map[string]any)
	_, checkpoint := classes["org.apache.storm.spout.CheckPointState$Action"]
	return ok && checkpoint && len(classes) == 1
}

// empty says whether a value of a conf is null or has no entry.
func empty(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	default:
		return false
	}
}

// customLoggers gives an event logger that is the user's, "" if there is none.
func customLoggers(conf config.Conf) string {
	list, _ := conf[config.TopologyEventLoggerRegister].([]any)
	for _, entry := range list {
		info, _ := entry.(map[string]any)
		if class := config.Conf(info).String("class", "unknown"); class != fileEventLogger {
			return fmt.Sprintf("%s names %s", config.TopologyEventLoggerRegister, class)
		}
	}
	return ""
}

// older says whether a version of Storm is below 2.6. One that is unknown is not: then workers are of the cluster's own version.
func older(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return false
	}
	return major < 2 || (major == 2 && minor < 6)
}
