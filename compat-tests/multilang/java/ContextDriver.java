// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.StreamInfo;
import org.apache.storm.shade.net.minidev.json.JSONObject;
import org.apache.storm.shade.net.minidev.json.JSONValue;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.ThriftTopologyUtils;
import org.apache.storm.utils.Utils;

/** Answers a system topology, its tasks and one of them with the context that Storm's handshake holds. */
public final class ContextDriver {
    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // for what Storm logs
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JSONObject question = (JSONObject) JSONValue.parse(line);
            StormTopology topology = Utils.thriftDeserialize(
                StormTopology.class, Base64.getDecoder().decode((String) question.get("topology")));
            Map<Integer, String> tasks = new TreeMap<>();
            Map<String, List<Integer>> sorted = new HashMap<>();
            ((JSONObject) question.get("tasks")).forEach((task, component) -> tasks.put(Integer.parseInt(task), (String) component));
            tasks.forEach((task, component) -> sorted.computeIfAbsent(component, x -> new ArrayList<>()).add(task));
            Map<String, Map<String, Fields>> fields = new HashMap<>();
            for (String id : ThriftTopologyUtils.getComponentIds(topology)) {
                ComponentCommon common = ThriftTopologyUtils.getComponentCommon(topology, id);
                Map<String, Fields> streams = new HashMap<>();
                for (Map.Entry<String, StreamInfo> stream : common.get_streams().entrySet()) {
                    streams.put(stream.getKey(), new Fields(stream.getValue().get_output_fields()));
                }
                fields.put(id, streams);
            }
            TopologyContext context = new TopologyContext(topology, new HashMap<>(), tasks, sorted, fields, new HashMap<>(), "id", "code", "pids",
                ((Number) question.get("task")).intValue(), 6700, new ArrayList<>(), new HashMap<>(), new HashMap<>(), new HashMap<>(),
                new HashMap<>(), new AtomicBoolean(false), null);
            out.println(context.toJSONString());
        }
    }
}
