// SPDX-License-Identifier: Apache-2.0

// This file says no to topologies and rebalances that cannot work, with Storm's texts.

package topology

import (
	"maps"
	"slices"
	"strings"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/java"
	"github.com/gust-stream/gust/thrift/storm"
)

// CheckName refuses a topology name that is empty or holds one of / . : \ or a line break.
func CheckName(name string) error {
	// A line terminator passes Storm's pattern inside a name; one at the end would
	// pass only because of how the pattern ends. Names become file names: none passes here.
	if name == "" || strings.ContainsAny(name, "/.:\\\n\r\x00") {
		return invalid("Topology name '%s' is not valid. It can't be null and it must match ^[^/.:\\\\]+$", name)
	}
	return nil
}

// checkBasic refuses reserved and repeated ids, spouts with inputs, and tasks without executors.
func checkBasic(t *storm.StormTopology) error {
	all := components(t)
	for i, c := range all {
		if c.common == nil {
			return invalid("Component: [%s] has no common part", c.id)
		}
		if isSystem(c.id) {
			return invalid("%s is not a valid component id.", c.id)
		}
		for _, stream := range slices.Sorted(maps.Keys(c.common.Streams)) {
			if isSystem(stream) {
				return invalid("%s is not a valid stream id.", stream)
			}
		}
		if i > 0 && all[i-1].id == c.id {
			return invalid("Duplicate component ids: [%s]", strings.Join(repeated(all), ", "))
		}
	}
	for _, s := range t.Spouts {
		if len(s.Common.Inputs) > 0 {
			return invalid("May not declare inputs for a spout")
		}
	}
	for _, s := range t.StateSpouts {
		if len(s.Common.Inputs) > 0 {
			return invalid("May not declare inputs for a spout")
		}
	}
	for _, c := range all {
		conf, err := c.conf()
		if err != nil {
			return err
		}
		tasks, err := integer(conf, config.TopologyTasks, 0)
		if err != nil {
			return invalid("Component: [%s] has a configuration that cannot be read: %v", c.id, err)
		}
		if tasks > 0 && c.executors() <= 0 {
			return invalid("Number of executors must be greater than 0 when number of tasks is greater than 0")
		}
	}
	return nil
}

// repeated gives the ids that a sorted list has more than once.
func repeated(all []component) []string {
	var out []string
	for i := 1; i < len(all); i++ {
		if all[i].id == all[i-1].id {
			out = append(out, all[i].id)
		}
	}
	return out
}

// checkStructure refuses inputs from components, streams or fields that do not exist.
func checkStructure(t *storm.StormTopology) error {
	all := components(t)
	byID := make(map[string]*storm.ComponentCommon, len(all))
	for _, c := range all {
		byID[c.id] = c.common
	}
	for _, c := range all {
		for _, in := range sortedInputs(c.common) {
			from, stream := in.ComponentId, in.StreamId
			source, ok := byID[from]
			if !ok {
				return invalid("Component: [%s] subscribes from non-existent component [%s]", c.id, from)
			}
			if _, ok := source.Streams[stream]; !ok {
				return invalid("Component: [%s] subscribes from non-existent stream: [%s] of component [%s]", c.id, stream, from)
			}
			grouping := c.common.Inputs[in]
			if grouping == nil || grouping.CountSetFieldsGrouping() != 1 {
				// Storm lets this pass, and the worker dies of it.
				return invalid("Component: [%s] subscribes from stream: [%s] of component [%s] with an unknown grouping", c.id, stream, from)
			}
			if missing := missingFields(grouping.Fields, source.Streams); len(missing) > 0 {
				return invalid("Component: [%s] subscribes from stream: [%s] of component [%s] + with non-existent fields: [%s]",
					c.id, stream, from, strings.Join(missing, ", "))
			}
		}
	}
	return nil
}

func sortedInputs(c *storm.ComponentCommon) []*storm.GlobalStreamId {
	return slices.SortedFunc(maps.Keys(c.Inputs), func(a, b *storm.GlobalStreamId) int {
		if n := java.Compare(a.ComponentId, b.ComponentId); n != 0 {
			return n
		}
		return java.Compare(a.StreamId, b.StreamId)
	})
}

// missingFields are the grouping's fields that no stream of the source has. Storm
// looks at all streams, not only at the one that is subscribed to.
func missingFields(fields []string, streams map[string]*storm.StreamInfo) []string {
	var missing []string
	for _, f := range fields {
		known := false
		for _, s := range streams {
			known = known || slices.Contains(s.OutputFields, f)
		}
		if !known {
			missing = append(missing, f)
		}
	}
	return missing
}

// CheckSize refuses a topology with more workers or executors than the cluster
// allows (nimbus.slots.perTopology, nimbus.executors.perTopology). conf is the
// topology's; only the executors of its own components count.
func CheckSize(conf, nimbus config.Conf, t *storm.StormTopology) error {
	workers, err := integer(conf, config.TopologyWorkers, 1)
	if err != nil {
		return invalid("%v", err)
	}
	if nimbus.Has(config.NimbusSlotsPerTopology) {
		if limit := nimbus.Int(config.NimbusSlotsPerTopology, 0); int64(workers) > limit {
			return invalid("Failed to submit topology. Topology requests more than %d workers.", limit)
		}
	}
	sum := int64(0)
	for _, c := range components(t) {
		sum += int64(c.executors())
	}
	if nimbus.Has(config.NimbusExecutorsPerTopology) {
		if limit := nimbus.Int(config.NimbusExecutorsPerTopology, 0); sum > limit {
			return invalid("Failed to submit topology. Topology requests more than %d executors.", limit)
		}
	}
	return nil
}

// CheckRebalance refuses options that name a component which the topology does
// not have, or that give one no executor. Ids of the system pass, whether they exist or not.
func CheckRebalance(name string, user *storm.StormTopology, options *storm.RebalanceOptions) error {
	var own []string
	for _, c := range components(user) {
		own = append(own, c.id)
	}
	for _, id := range slices.Sorted(maps.Keys(options.GetNumExecutors())) {
		if !isSystem(id) && !slices.Contains(own, id) {
			return invalid("Invalid component %s for topology %s, valid values are %s", id, name, strings.Join(own, ","))
		}
		if options.NumExecutors[id] <= 0 {
			return invalid("Number of executors must be greater than 0")
		}
	}
	return nil
}
