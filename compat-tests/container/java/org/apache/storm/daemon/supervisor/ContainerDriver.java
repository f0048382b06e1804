// SPDX-License-Identifier: Apache-2.0

package org.apache.storm.daemon.supervisor;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import net.minidev.json.JSONObject;
import net.minidev.json.JSONValue;
import org.apache.storm.container.ResourceIsolationInterface;
import org.apache.storm.generated.ExecutorInfo;
import org.apache.storm.generated.LocalAssignment;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.WorkerResources;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.utils.LocalState;
import org.apache.storm.utils.Utils;

/** Builds the worker command for one JSON question a line and answers with command and environment. It starts nothing. */
public final class ContainerDriver {
    private ContainerDriver() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // Storm logs to stdout
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            @SuppressWarnings("unchecked")
            Map<String, Object> question = (Map<String, Object>) JSONValue.parse(line);
            Map<String, Object> answer = new TreeMap<>();
            try {
                launch(question, answer);
            } catch (Exception e) {
                answer.put("error", e.toString());
            }
            out.println(JSONObject.toJSONString(answer));
        }
        out.flush();
    }

    /** Files that need not be on disk. */
    private static final class NoFiles extends AdvancedFSOps {
        private final StormTopology topology;

        NoFiles(Map<String, Object> conf, StormTopology topology) {
            super(conf);
            this.topology = topology;
        }

        @Override
        public boolean doRequiredTopoFilesExist(Map<String, Object> conf, String id) {
            return true;
        }

        @Override
        public byte[] slurp(File file) {
            return Utils.serialize(topology);
        }
    }

    @SuppressWarnings("unchecked")
    private static void launch(Map<String, Object> q, Map<String, Object> answer) throws Exception {
        for (Map.Entry<String, Object> e : ((Map<String, Object>) q.get("properties")).entrySet()) {
            System.setProperty(e.getKey(), (String) e.getValue());
        }
        Map<String, Object> conf = (Map<String, Object>) q.get("conf");
        Map<String, Object> topoConf = (Map<String, Object>) q.get("topology");
        StormTopology topology = new StormTopology(new HashMap<>(), new HashMap<>(), new HashMap<>());
        if (q.get("version") != null) {
            topology.set_storm_version((String) q.get("version"));
        }
        topology.set_dependency_jars(new ArrayList<>((List<String>) q.get("jars")));
        topology.set_dependency_artifacts(new ArrayList<>((List<String>) q.get("artifacts")));
        List<ExecutorInfo> executors = new ArrayList<>();
        executors.add(new ExecutorInfo(1, 1));
        LocalAssignment assignment = new LocalAssignment((String) q.get("id"), executors);
        assignment.set_owner("alice");
        WorkerResources resources = new WorkerResources();
        if (q.get("heap") != null) {
            resources.set_mem_on_heap(((Number) q.get("heap")).doubleValue());
        }
        if (q.get("offHeap") != null) {
            resources.set_mem_off_heap(((Number) q.get("offHeap")).doubleValue());
        }
        assignment.set_resources(resources);
        ResourceIsolationInterface isolation = (ResourceIsolationInterface) Proxy.newProxyInstance(
            ContainerDriver.class.getClassLoader(), new Class<?>[]{ResourceIsolationInterface.class}, (proxy, method, a) -> {
                if (method.getName().equals("launchWorkerProcess")) {
                    for (Object arg : a) {
                        if (arg instanceof List) {
                            answer.put("command", arg);
                        } else if (arg instanceof Map && ((Map<?, ?>) arg).containsKey("LD_LIBRARY_PATH")) {
                            answer.put("env", arg);
                        }
                    }
                }
                Class<?> r = method.getReturnType();
                return r == boolean.class ? (Object) false : r == long.class ? (Object) 0L : null;
            });
        StormMetricsRegistry metrics = new StormMetricsRegistry();
        LocalState state = new LocalState(Files.createTempDirectory("state").toString(), true);
        new BasicContainer(Container.ContainerType.LAUNCH, conf, "sup-1", 6628, ((Number) q.get("port")).intValue(), assignment,
            isolation, state, (String) q.get("worker"), metrics, new ContainerMemoryTracker(metrics), topoConf,
            new NoFiles(conf, topology), "profile").launch();
    }
}
