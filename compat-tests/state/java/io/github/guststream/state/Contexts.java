// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.TopologyBuilder;

/** What a bolt's task gets told of its topology. */
final class Contexts {
    private Contexts() {}

    /** The only task, with number 1, of a component. */
    static TopologyContext of(Map<String, Object> conf, String component) {
        StormTopology topology = new TopologyBuilder().createTopology();
        return new TopologyContext(topology, conf, Map.of(1, component), Map.of(component, List.of(1)), Map.of(), Map.of(), "test-1", "", "", 1, 6700,
                List.of(1), new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashMap<>(), new AtomicBoolean(), new StormMetricRegistry());
    }
}
