// SPDX-License-Identifier: Apache-2.0

package org.apache.storm.metric.internal;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.minidev.json.JSONArray;
import net.minidev.json.JSONObject;
import net.minidev.json.JSONValue;
import org.apache.storm.generated.BoltStats;
import org.apache.storm.generated.ExecutorStats;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.SpoutStats;
import org.apache.storm.shade.com.google.common.collect.Lists;
import org.apache.storm.stats.BoltExecutorStats;
import org.apache.storm.stats.CommonStats;
import org.apache.storm.stats.SpoutExecutorStats;

/**
 * Lets Storm's executor statistics live through events at given times. Storm begins the buckets of a key at its first event and turns them by a
 * timer; here all begin with the executor and are turned when the question says so.
 */
public final class StatsDriver {
    private static long now;

    private static final class Count extends CountStat {
        Count(int buckets) {
            super(buckets, now);
        }

        @Override
        public Map<String, Long> getTimeCounts() {
            return getTimeCounts(now);
        }
    }

    private static final class Latency extends LatencyStat {
        Latency(int buckets) {
            super(buckets, now);
        }

        @Override
        public Map<String, Double> getTimeLatAvg() {
            return getTimeLatAvg(now);
        }
    }

    private final int buckets;
    private final CommonStats stats;
    private final BoltExecutorStats bolt;
    private final SpoutExecutorStats spout;
    private final long start = now;
    private final Map<Object, CountStat> counts = new HashMap<>();
    private final Map<Object, LatencyStat> latencies = new HashMap<>();

    private StatsDriver(JSONObject question) {
        int rate = ((Number) question.get("rate")).intValue();
        buckets = ((Number) question.get("buckets")).intValue();
        boolean isBolt = (Boolean) question.get("bolt");
        bolt = isBolt ? new BoltExecutorStats(rate, buckets) : null;
        spout = isBolt ? null : new SpoutExecutorStats(rate, buckets);
        stats = isBolt ? bolt : spout;
        for (Object key : (JSONArray) question.get("keys")) {
            for (String kind : new String[] {"emitted", "transferred", "acked", "failed", "executed"}) {
                counts.put(Lists.newArrayList(kind, key(key)), new Count(buckets));
            }
            for (String kind : new String[] {"execute", "process", "complete"}) {
                latencies.put(Lists.newArrayList(kind, key(key)), new Latency(buckets));
            }
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JSONObject question = (JSONObject) JSONValue.parse(line);
            now = ((Number) question.get("start")).longValue();
            StatsDriver driver = new StatsDriver(question);
            JSONArray answers = new JSONArray();
            for (Object step : (JSONArray) question.get("steps")) {
                driver.step((JSONObject) step, answers);
            }
            out.println(answers.toJSONString());
        }
        out.flush();
    }

    /** A key is a stream, or the list of a component and a stream. */
    private static Object key(Object json) {
        return json instanceof JSONArray ? new ArrayList<>((JSONArray) json) : json;
    }

    private void step(JSONObject step, JSONArray answers) throws Exception {
        now = ((Number) step.get("at")).longValue();
        Object key = key(step.get("key"));
        List<String> pair = key instanceof List ? (List<String>) key : List.of("", key == null ? "" : (String) key);
        String component = pair.get(0);
        String stream = pair.get(1);
        int n = ((Number) step.get("n")).intValue();
        switch ((String) step.get("do")) {
            case "emit":
                use(stats.getEmitted(), "emitted", key);
                use(stats.getTransferred(), "transferred", key);
                stats.emittedTuple(stream);
                stats.transferredTuples(stream, n);
                break;
            case "execute":
                use(bolt.getExecuted(), "executed", key);
                use(bolt.getExecuteLatencies(), "execute", key);
                bolt.getExecuted().incBy(key, bolt.getRate());
                bolt.getExecuteLatencies().record(key, n);
                break;
            case "ack":
                use(stats.getAcked(), "acked", key);
                if (bolt != null) {
                    use(bolt.getProcessLatencies(), "process", key);
                    bolt.boltAckedTuple(component, stream, n);
                } else {
                    use(spout.getCompleteLatencies(), "complete", key);
                    spout.spoutAckedTuple(stream, n);
                }
                break;
            case "fail":
                use(stats.getFailed(), "failed", key);
                if (bolt != null) {
                    bolt.boltFailedTuple(component, stream);
                } else {
                    spout.spoutFailedTuple(stream);
                }
                break;
            case "turn":
                counts.values().forEach(c -> c.rotateSched(now));
                latencies.values().forEach(l -> l.rotateSched(now));
                break;
            default:
                answers.add(render());
        }
    }

    private void use(Object multi, String kind, Object key) throws Exception {
        boolean counts = multi instanceof MultiCountStat;
        Field f = multi.getClass().getDeclaredField(counts ? "counts" : "lat");
        f.setAccessible(true);
        Object stat = (counts ? this.counts : latencies).get(Lists.newArrayList(kind, key));
        ((Map<Object, Object>) f.get(multi)).putIfAbsent(key, stat);
    }

    private JSONObject render() throws Exception {
        ExecutorStats rendered = stats.renderStats();
        JSONObject out = new JSONObject();
        out.put("emitted", rendered.get_emitted());
        out.put("transferred", rendered.get_transferred());
        out.put("rate", rendered.get_rate());
        if (bolt != null) {
            BoltStats s = rendered.get_specific().get_bolt();
            out.put("acked", texts(s.get_acked()));
            out.put("failed", texts(s.get_failed()));
            out.put("executed", texts(s.get_executed()));
            out.put("process", texts(s.get_process_ms_avg()));
            out.put("execute", texts(s.get_execute_ms_avg()));
            Method capacity = BoltExecutorStats.class.getDeclaredMethod("calculateCapacity", long.class);
            capacity.setAccessible(true);
            out.put("capacity", capacity.invoke(bolt, (now - start) / 1000));
        } else {
            SpoutStats s = rendered.get_specific().get_spout();
            out.put("acked", s.get_acked());
            out.put("failed", s.get_failed());
            out.put("complete", s.get_complete_ms_avg());
        }
        return out;
    }

    private static <V> Map<String, Map<String, V>> texts(Map<String, Map<GlobalStreamId, V>> windows) {
        Map<String, Map<String, V>> out = new HashMap<>();
        windows.forEach((window, values) -> {
            Map<String, V> flat = new HashMap<>();
            values.forEach((id, v) -> flat.put(id.get_componentId() + "/" + id.get_streamId(), v));
            out.put(window, flat);
        });
        return out;
    }
}
