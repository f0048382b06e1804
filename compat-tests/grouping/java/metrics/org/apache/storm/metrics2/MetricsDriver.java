// SPDX-License-Identifier: Apache-2.0

package org.apache.storm.metrics2;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.minidev.json.JSONArray;
import net.minidev.json.JSONObject;
import net.minidev.json.JSONValue;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.utils.JCQueue;

/** Counts events of a task with Storm's TaskMetrics and gives what a metrics tick would make data points of: names, classes and values. */
public final class MetricsDriver {
    private static final int TASK = 7;

    private MetricsDriver() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer((JSONObject) JSONValue.parse(line)).toJSONString());
        }
        out.flush();
        System.exit(0); // timers of the queue
    }

    private static JSONObject answer(JSONObject question) throws Exception {
        StormMetricRegistry registry = new StormMetricRegistry();
        Map<String, Object> conf = new HashMap<>();
        conf.put("topology.stats.sample.rate", question.get("sample"));
        WorkerTopologyContext context = new WorkerTopologyContext(null, conf, null, null, null, "t", null, null, 6700, null, null, null);
        TaskMetrics metrics = new TaskMetrics(context, "c", TASK, registry, conf);
        for (Object o : (JSONArray) question.get("steps")) {
            step(metrics, (JSONArray) o);
        }
        RateCounter errors = registry.rateCounter("__reported-error-count", "c", TASK);
        errors.inc(2);
        JCQueue queue = new JCQueue("q", "receive-queue", 1024, 0, 1, null, "t", "c", List.of(TASK), 6700, registry);
        queue.tryPublishDirect("one");
        queue.tryPublishDirect("two");
        Field all = StormMetricRegistry.class.getDeclaredField("rateCounters");
        all.setAccessible(true);
        for (int i = 60 / registry.getRateCounterUpdateIntervalSeconds(); i > 0; i--) {
            for (Object counter : (Set<?>) all.get(registry)) {
                ((RateCounter) counter).update();
            }
        }
        JSONObject points = new JSONObject();
        for (Map.Entry<String, Gauge> e : registry.getTaskGauges(TASK).entrySet()) {
            put(points, e.getKey(), e.getValue().getValue());
        }
        for (Map.Entry<String, Counter> e : registry.getTaskCounters(TASK).entrySet()) {
            put(points, e.getKey(), e.getValue().getCount());
        }
        queue.close();
        return points;
    }

    private static void put(JSONObject points, String name, Object value) {
        points.put(name, List.of(value.getClass().getSimpleName(), value));
    }

    private static void step(TaskMetrics metrics, JSONArray step) {
        String component = (String) step.get(1);
        String stream = (String) step.get(2);
        int n = ((Number) step.get(3)).intValue();
        switch ((String) step.get(0)) {
            case "emit":
                metrics.emittedTuple(stream);
                metrics.transferredTuples(stream, n);
                break;
            case "spoutack":
                metrics.spoutAckedTuple(stream, n);
                break;
            case "spoutfail":
                metrics.spoutFailedTuple(stream);
                break;
            case "execute":
                metrics.boltExecuteTuple(component, stream, n);
                break;
            case "ack":
                metrics.boltAckedTuple(component, stream, n);
                break;
            default:
                metrics.boltFailedTuple(component, stream);
        }
    }
}
