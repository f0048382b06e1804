// SPDX-License-Identifier: Apache-2.0

package org.apache.storm.daemon.nimbus;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.generated.InvalidTopologyException;
import org.apache.storm.generated.StormBase;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.TopologyStatus;
import org.apache.storm.generated.WorkerResources;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.ResourceUtils;
import org.apache.storm.scheduler.resource.normalization.ResourceMetrics;
import org.apache.storm.shade.net.minidev.json.JSONValue;
import org.apache.storm.thrift.TDeserializer;
import org.apache.storm.thrift.TSerializer;
import org.apache.storm.thrift.protocol.TBinaryProtocol;
import org.apache.storm.utils.ServerUtils;
import org.apache.storm.utils.Utils;

/**
 * Reads one topology a line from stdin, with the confs of Nimbus and of the topology, and prints what Storm makes of it:
 * a line with one entry for each question. An entry is {"ok": value}, {"invalid": text} for an InvalidTopologyException,
 * or {"thrown": text} for anything else. It sits in Nimbus's package to reach what is not public there.
 */
public final class TopologyDriver {
    private interface Question {
        Object answer() throws Exception;
    }

    private TopologyDriver() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // Storm logs to stdout
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSONValue.toJSONString(answer(map(JSONValue.parse(line)))));
        }
    }

    private static Map<String, Object> answer(Map<String, Object> q) throws Exception {
        Map<String, Object> nimbus = map(q.get("nimbus"));
        Map<String, Object> submitted = map(q.get("conf"));
        StormTopology user = read((String) q.get("topology"));
        Map<String, Object> answers = new LinkedHashMap<>();

        ask(answers, "name", () -> {
            Method m = Nimbus.class.getDeclaredMethod("validateTopologyName", String.class);
            return call(m, (String) q.get("name"));
        });
        ask(answers, "heap", () -> {
            ServerUtils.validateTopologyWorkerMaxHeapSizeConfigs(submitted, user,
                ((Number) nimbus.get("topology.worker.max.heap.size.mb")).doubleValue());
            return null;
        });
        Map<String, Object> mutable = new HashMap<>(submitted);
        ask(answers, "conf", () -> Nimbus.normalizeConf(nimbus, mutable, user));
        Map<String, Object> merged = Utils.merge(nimbus, submitted);
        StormTopology[] normal = new StormTopology[1];
        ask(answers, "normalized", () -> {
            Method m = Nimbus.class.getDeclaredMethod("normalizeTopology", Map.class, StormTopology.class);
            normal[0] = (StormTopology) call(m, merged, user);
            return write(normal[0]);
        });
        ask(answers, "size", () -> {
            Method m = Nimbus.class.getDeclaredMethod("validateTopologySize", Map.class, Map.class, StormTopology.class);
            return call(m, submitted, nimbus, user);
        });
        StormTopology last = normal[0] == null ? user : normal[0];
        ask(answers, "system", () -> write(StormCommon.systemTopology(merged, last)));
        ask(answers, "tasks", () -> new TreeMap<>(StormCommon.stormTaskInfo(last, merged)));
        Map<String, Object> counts = map(q.get("counts"));
        Map<List<Integer>, String> executors = new HashMap<>();
        ask(answers, "executors", () -> {
            executors.putAll(executors(StormCommon.stormTaskInfo(last, merged), counts));
            List<Object> lines = new ArrayList<>();
            executors.keySet().stream().sorted((a, b) -> a.get(0) - b.get(0)).forEach(e ->
                lines.add(List.of(e.get(0), e.get(1), executors.get(e))));
            return lines;
        });
        ask(answers, "worker", () -> worker(nimbus, merged, last, executors));
        ask(answers, "overridden", () -> {
            StormTopology copy = last.deepCopy();
            Map<String, Map<String, Double>> overrides = new HashMap<>();
            map(q.get("overrides")).forEach((k, v) -> {
                Map<String, Double> one = new HashMap<>();
                map(v).forEach((name, n) -> one.put(name, ((Number) n).doubleValue()));
                overrides.put(k, one);
            });
            ResourceUtils.updateStormTopologyResources(copy, overrides);
            return write(copy);
        });
        return answers;
    }

    /** Cuts tasks into executors as Nimbus.computeExecutors does, which needs a whole Nimbus. */
    private static Map<List<Integer>, String> executors(Map<Integer, String> tasks, Map<String, Object> counts) {
        Map<List<Integer>, String> out = new HashMap<>();
        for (Map.Entry<String, List<Integer>> e : Utils.reverseMap(tasks).entrySet()) {
            e.getValue().sort(null);
            Object count = counts.get(e.getKey());
            if (count == null) {
                continue;
            }
            for (List<Integer> p : Utils.partitionFixed(((Number) count).intValue(), e.getValue())) {
                out.put(List.of(p.get(0), p.get(p.size() - 1)), e.getKey());
            }
        }
        return out;
    }

    /** Puts all executors on one slot and gives that worker's resources. */
    private static Object worker(Map<String, Object> nimbus, Map<String, Object> conf, StormTopology topology,
                                 Map<List<Integer>, String> executors) {
        if (executors.isEmpty()) {
            return null;
        }
        Map<ExecutorDetails, String> details = new HashMap<>();
        executors.forEach((e, c) -> details.put(new ExecutorDetails(e.get(0), e.get(1)), c));
        TopologyDetails td = new TopologyDetails("id", conf, topology, 1, details, "owner");
        Map<String, SupervisorDetails> supervisors = Map.of("node",
            new SupervisorDetails("node", "host", null, Arrays.asList(1), Map.of("memory.mb", 1e9, "cpu.pcore.percent", 1e9)));
        Cluster cluster = new Cluster(new Nimbus.StandaloneINimbus(), new ResourceMetrics(new StormMetricsRegistry()), supervisors,
            new HashMap<>(), new Topologies(td), nimbus);
        WorkerSlot slot = new WorkerSlot("node", 1);
        cluster.assign(slot, "id", details.keySet());
        WorkerResources r = cluster.getWorkerResources(slot);
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("on_heap", r.get_mem_on_heap());
        out.put("off_heap", r.get_mem_off_heap());
        out.put("cpu", r.get_cpu());
        out.put("shared_on_heap", r.get_shared_mem_on_heap());
        out.put("shared_off_heap", r.get_shared_mem_off_heap());
        out.put("resources", r.get_resources());
        out.put("shared_resources", r.get_shared_resources());
        return out;
    }

    private static void ask(Map<String, Object> answers, String name, Question q) {
        Map<String, Object> a = new HashMap<>();
        try {
            a.put("ok", q.answer());
        } catch (InvalidTopologyException e) {
            a.put("invalid", e.get_msg());
        } catch (Exception e) {
            a.put("thrown", e.toString());
        }
        answers.put(name, a);
    }

    private static Object call(Method m, Object... args) throws Exception {
        m.setAccessible(true);
        try {
            return m.invoke(null, args);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exception) {
                throw (Exception) e.getCause();
            }
            throw e;
        }
    }

    private static StormTopology read(String base64) throws Exception {
        StormTopology t = new StormTopology();
        new TDeserializer(new TBinaryProtocol.Factory()).deserialize(t, Base64.getDecoder().decode(base64));
        return t;
    }

    private static String write(StormTopology t) throws Exception {
        return Base64.getEncoder().encodeToString(new TSerializer(new TBinaryProtocol.Factory()).serialize(t));
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object o) {
        return o == null ? new HashMap<>() : (Map<String, Object>) o;
    }
}
