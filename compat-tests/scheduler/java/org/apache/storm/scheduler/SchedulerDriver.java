// SPDX-License-Identifier: Apache-2.0

package org.apache.storm.scheduler;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.storm.daemon.nimbus.Nimbus;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.resource.normalization.ResourceMetrics;
import org.apache.storm.shade.net.minidev.json.JSONValue;
import org.apache.storm.utils.Utils;

/**
 * Reads one scheduling case a line from stdin, lets Storm's DefaultScheduler
 * solve it, prints the placement as one line, or {"error": ...} where Storm throws. It sits in Storm's package because
 * the order of Topologies, a hash map's, has to be replaced by the case's own.
 */
public final class SchedulerDriver {
    private SchedulerDriver() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // Storm logs to stdout
        Map<String, Object> conf = Utils.readDefaultConfig();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> answer;
            try {
                answer = solve(conf, map(JSONValue.parse(line)));
            } catch (RuntimeException e) {
                answer = Map.of("error", e.toString());
            }
            out.println(JSONValue.toJSONString(answer));
        }
    }

    private static Map<String, Object> solve(Map<String, Object> conf, Map<String, Object> problem) {
        Map<String, TopologyDetails> topologies = new LinkedHashMap<>();
        Map<String, SchedulerAssignment> current = new HashMap<>();
        Map<String, Set<Integer>> deadPorts = new HashMap<>();
        for (Object o : list(problem.get("topologies"))) {
            readTopology(conf, map(o), topologies, current, deadPorts);
        }
        Map<String, SupervisorDetails> supervisors = new HashMap<>();
        for (Object o : list(problem.get("supervisors"))) {
            Map<String, Object> s = map(o);
            String id = (String) s.get("id");
            Set<Integer> ports = new HashSet<>();
            for (Object port : list(s.get("ports"))) {
                ports.add(number(port));
            }
            ports.removeAll(deadPorts.getOrDefault(id, Set.of()));
            supervisors.put(id, new SupervisorDetails(id, (String) s.get("host"), null, ports, Map.of()));
        }
        Topologies ordered = new Topologies(topologies);
        ordered.topologies = topologies;
        StormMetricsRegistry metrics = new StormMetricsRegistry();
        Cluster cluster = new Cluster(new Nimbus.StandaloneINimbus(), new ResourceMetrics(metrics), supervisors,
            current, ordered, conf);
        new DefaultScheduler().schedule(ordered, cluster);
        Map<String, Object> answer = new TreeMap<>();
        for (String id : topologies.keySet()) {
            answer.put(id, lines(cluster.getAssignmentById(id)));
        }
        return answer;
    }

    private static void readTopology(Map<String, Object> conf, Map<String, Object> t, Map<String, TopologyDetails> topologies,
                                     Map<String, SchedulerAssignment> current, Map<String, Set<Integer>> deadPorts) {
        String id = (String) t.get("id");
        Map<ExecutorDetails, String> executors = new HashMap<>();
        for (Object o : list(t.get("executors"))) {
            executors.put(new ExecutorDetails(number(list(o).get(0)), number(list(o).get(1))), "c");
        }
        StormTopology structure = new StormTopology(new HashMap<>(), new HashMap<>(), new HashMap<>());
        topologies.put(id, new TopologyDetails(id, conf, structure, number(t.get("workers")), executors, "owner"));
        if (Boolean.TRUE.equals(t.get("rebalance")) || list(t.get("current")).isEmpty()) {
            return;
        }
        Map<ExecutorDetails, WorkerSlot> kept = new HashMap<>();
        for (Object o : list(t.get("current"))) {
            Map<String, Object> l = map(o);
            ExecutorDetails executor = new ExecutorDetails(number(l.get("s")), number(l.get("e")));
            String node = (String) l.get("n");
            int port = number(l.get("p"));
            if (!executors.containsKey(executor)) {
                continue;
            }
            if (Boolean.TRUE.equals(l.get("a"))) {
                kept.put(executor, new WorkerSlot(node, port));
            } else {
                deadPorts.computeIfAbsent(node, k -> new HashSet<>()).add(port);
            }
        }
        current.put(id, new SchedulerAssignmentImpl(id, kept, null, null));
    }

    private static List<Object> lines(SchedulerAssignment assignment) {
        List<Object> lines = new ArrayList<>();
        if (assignment == null) {
            return lines;
        }
        List<ExecutorDetails> executors = new ArrayList<>(assignment.getExecutors());
        executors.sort(Comparator.comparingInt(ExecutorDetails::getStartTask));
        for (ExecutorDetails e : executors) {
            WorkerSlot slot = assignment.getExecutorToSlot().get(e);
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("s", e.getStartTask());
            line.put("e", e.getEndTask());
            line.put("n", slot.getNodeId());
            line.put("p", slot.getPort());
            lines.add(line);
        }
        return lines;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object o) {
        return (Map<String, Object>) o;
    }

    @SuppressWarnings("unchecked")
    private static List<Object> list(Object o) {
        return o == null ? List.of() : (List<Object>) o;
    }

    private static int number(Object o) {
        return ((Number) o).intValue();
    }
}
