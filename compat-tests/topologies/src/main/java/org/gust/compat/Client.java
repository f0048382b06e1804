// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.ExecutorInfo;
import org.apache.storm.generated.ExecutorSummary;
import org.apache.storm.generated.GetInfoOptions;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.NumErrorsChoice;
import org.apache.storm.generated.RebalanceOptions;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.StreamInfo;
import org.apache.storm.generated.SupervisorSummary;
import org.apache.storm.generated.TopologyInfo;
import org.apache.storm.generated.TopologySummary;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;

/**
 * Asks Nimbus questions with Storm's own client, for the test runner: one line in, one line out.
 *
 * <p>A request is a verb and its arguments, separated by tabs. An answer is a line that begins with {@code =} and
 * goes on with JSON: {@code {"ok": ...}} or {@code {"fault": ...}}. Each request opens a connection of its own, as
 * the storm command does. Ends when its input ends.
 */
public final class Client {
    private Client() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try (NimbusClient client = NimbusClient.getConfiguredClient(Utils.readStormConfig())) {
                answer.put("ok", answer(client.getClient(), line.split("\t", -1)));
            } catch (Exception e) {
                answer.put("fault", Fault.of(e));
            }
            System.out.println("=" + Json.of(answer));
            System.out.flush();
        }
    }

    private static Object answer(Nimbus.Iface nimbus, String[] request) throws Exception {
        switch (request[0]) {
            case "cluster":
                return cluster(nimbus);
            case "list":
                return topologies(nimbus);
            case "info":
                return info(nimbus, request[1]);
            case "conf":
                return new Json.Raw(nimbus.getTopologyConf(request[1]));
            case "topology":
                return topology(nimbus.getTopology(request[1]));
            case "user-topology":
                return topology(nimbus.getUserTopology(request[1]));
            case "kill":
                KillOptions kill = new KillOptions();
                kill.set_wait_secs(Integer.parseInt(request[2]));
                nimbus.killTopologyWithOpts(request[1], kill);
                return true;
            case "activate":
                nimbus.activate(request[1]);
                return true;
            case "deactivate":
                nimbus.deactivate(request[1]);
                return true;
            case "rebalance":
                return rebalance(nimbus, request);
            case "name-allowed":
                return nimbus.isTopologyNameAllowed(request[1]);
            default:
                throw new IllegalArgumentException("unknown request " + request[0]);
        }
    }

    private static Object cluster(Nimbus.Iface nimbus) throws Exception {
        List<Object> supervisors = new ArrayList<>();
        for (SupervisorSummary each : nimbus.getClusterInfo().get_supervisors()) {
            supervisors.add(Map.of("host", each.get_host(), "slots", each.get_num_workers(),
                "used", each.get_num_used_workers(), "version", String.valueOf(each.get_version())));
        }
        return Map.of("supervisors", supervisors);
    }

    private static Object topologies(Nimbus.Iface nimbus) throws Exception {
        Map<String, Object> out = new TreeMap<>();
        for (TopologySummary each : nimbus.getTopologySummaries()) {
            out.put(each.get_name(), Map.of("id", each.get_id(), "status", each.get_status(),
                "tasks", each.get_num_tasks(), "executors", each.get_num_executors(), "workers", each.get_num_workers()));
        }
        return out;
    }

    private static Object info(Nimbus.Iface nimbus, String id) throws Exception {
        GetInfoOptions options = new GetInfoOptions();
        options.set_num_err_choice(NumErrorsChoice.ALL);
        TopologyInfo info = nimbus.getTopologyInfoWithOpts(id, options);
        List<Object> executors = new ArrayList<>();
        for (ExecutorSummary each : info.get_executors()) {
            ExecutorInfo range = each.get_executor_info();
            executors.add(Map.of("component", each.get_component_id(), "first", range.get_task_start(),
                "last", range.get_task_end(), "port", each.get_port(), "host", each.get_host()));
        }
        Map<String, Object> errors = new TreeMap<>();
        info.get_errors().forEach((component, list) -> {
            List<String> texts = new ArrayList<>();
            list.forEach(error -> texts.add(error.get_error()));
            errors.put(component, texts);
        });
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("name", info.get_name());
        out.put("status", info.get_status());
        out.put("owner", info.get_owner());
        out.put("version", info.get_storm_version());
        out.put("executors", executors);
        out.put("errors", errors);
        return out;
    }

    private static Object rebalance(Nimbus.Iface nimbus, String[] request) throws Exception {
        RebalanceOptions options = new RebalanceOptions();
        options.set_wait_secs(Integer.parseInt(request[2]));
        for (int i = 3; i < request.length; i++) {
            String[] pair = request[i].split("=", 2);
            if (pair[0].equals("workers")) {
                options.set_num_workers(Integer.parseInt(pair[1]));
            } else {
                options.put_to_num_executors(pair[0], Integer.parseInt(pair[1]));
            }
        }
        nimbus.rebalance(request[1], options);
        return true;
    }

    private static Object topology(StormTopology topology) {
        Map<String, Object> components = new TreeMap<>();
        for (Map.Entry<String, SpoutSpec> spout : topology.get_spouts().entrySet()) {
            components.put(spout.getKey(), component("spout", spout.getValue().get_common()));
        }
        for (Map.Entry<String, Bolt> bolt : topology.get_bolts().entrySet()) {
            components.put(bolt.getKey(), component("bolt", bolt.getValue().get_common()));
        }
        return components;
    }

    private static Object component(String kind, ComponentCommon common) {
        Map<String, Object> streams = new TreeMap<>();
        for (Map.Entry<String, StreamInfo> stream : common.get_streams().entrySet()) {
            streams.put(stream.getKey(),
                Map.of("fields", stream.getValue().get_output_fields(), "direct", stream.getValue().is_direct()));
        }
        Map<String, Object> inputs = new TreeMap<>();
        for (Map.Entry<GlobalStreamId, Grouping> input : common.get_inputs().entrySet()) {
            Grouping grouping = input.getValue();
            Object how = grouping.getSetField() == Grouping._Fields.FIELDS ? grouping.get_fields() : true;
            inputs.put(input.getKey().get_componentId() + "/" + input.getKey().get_streamId(),
                Map.of(grouping.getSetField().getFieldName(), how));
        }
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("kind", kind);
        out.put("parallelism", common.is_set_parallelism_hint() ? common.get_parallelism_hint() : null);
        out.put("conf", common.is_set_json_conf() ? new Json.Raw(common.get_json_conf()) : null);
        out.put("streams", streams);
        out.put("inputs", inputs);
        return out;
    }
}
