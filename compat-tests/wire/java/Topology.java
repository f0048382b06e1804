// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.ThriftTopologyUtils;
import org.apache.storm.utils.Utils;

/** The topology that both sides of the tests know: a spout with tasks 4 and 5, a bolt with 2 and 3, an acker with task 1. */
final class Topology {
    static final int[] TASKS = {-1, 1, 2, 3, 4, 5};

    private Topology() {
    }

    static Map<String, Object> conf() {
        Map<String, Object> conf = Utils.readDefaultConfig();
        conf.put("topology.acker.executors", 1);
        conf.put("topology.name", "wire");
        return conf;
    }

    static GeneralTopologyContext context(Map<String, Object> conf) throws Exception {
        TopologyBuilder b = new TopologyBuilder();
        b.setSpout("spout", new TestWordSpout(), 2);
        b.setBolt("bolt", new TestWordCounter(), 2).fieldsGrouping("spout", new Fields("word"));
        StormTopology topology = StormCommon.systemTopology(conf, b.createTopology());
        Map<Integer, String> tasks = new HashMap<>(Map.of(1, "__acker", 2, "bolt", 3, "bolt", 4, "spout", 5, "spout"));
        tasks.put(-1, "__system");
        Map<String, List<Integer>> sorted = new HashMap<>();
        tasks.forEach((task, component) -> sorted.computeIfAbsent(component, c -> new ArrayList<>()).add(task));
        sorted.values().forEach(Collections::sort);
        Map<String, Map<String, Fields>> streams = new HashMap<>();
        for (String component : ThriftTopologyUtils.getComponentIds(topology)) {
            Map<String, Fields> fields = new HashMap<>();
            ThriftTopologyUtils.getComponentCommon(topology, component).get_streams()
                .forEach((name, info) -> fields.put(name, new Fields(info.get_output_fields())));
            streams.put(component, fields);
        }
        return new GeneralTopologyContext(topology, conf, tasks, sorted, streams, "wire-1");
    }
}
