// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import net.minidev.json.JSONArray;
import net.minidev.json.JSONObject;
import net.minidev.json.JSONValue;
import org.apache.storm.daemon.GrouperFactory;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.NodeInfo;
import org.apache.storm.generated.NullStruct;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.grouping.LoadAwareCustomStreamGrouping;
import org.apache.storm.grouping.LoadMapping;
import org.apache.storm.grouping.PartialKeyGrouping;
import org.apache.storm.grouping.ShuffleGrouping;
import org.apache.storm.networktopography.AbstractDNSToSwitchMapping;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.Utils;

/** Makes Storm's own groupers and lets them choose. A question and an answer are one line of JSON each. */
public final class GroupingDriver {
    /** The racks of hosts, as the question says. */
    public static final class Racks extends AbstractDNSToSwitchMapping {
        static Map<String, Object> racks = new HashMap<>();

        public Racks() {
        }

        @Override
        public Map<String, String> resolve(List<String> names) {
            Map<String, String> found = new HashMap<>();
            for (String name : names) {
                if (racks.containsKey(name)) {
                    found.put(name, (String) racks.get(name));
                }
            }
            return found;
        }
    }

    private final JSONObject question;
    private final AtomicReference<Map<Integer, NodeInfo>> places = new AtomicReference<>(new HashMap<>());
    private final AtomicReference<Map<String, String>> hosts = new AtomicReference<>(new HashMap<>());

    private GroupingDriver(JSONObject question) {
        this.question = question;
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // Storm logs to stdout
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JSONObject answer = new JSONObject();
            try {
                new GroupingDriver((JSONObject) JSONValue.parse(line)).answer(answer);
            } catch (RuntimeException e) {
                answer.put("error", e.toString());
            }
            out.println(answer.toJSONString());
        }
        out.flush();
    }

    private void answer(JSONObject answer) throws Exception {
        Grouping grouping = grouping();
        if (grouping.is_set_custom_serialized()) {
            answer.put("object", Base64.getEncoder().encodeToString(grouping.get_custom_serialized()));
        }
        JSONArray chosen = new JSONArray();
        answer.put("chosen", chosen);
        LoadAwareCustomStreamGrouping grouper = grouper(grouping);
        for (Object o : (JSONArray) question.get("steps")) {
            JSONObject step = (JSONObject) o;
            if (step.containsKey("load")) {
                place((JSONObject) step.get("places"));
                grouper.refreshLoad(load((JSONObject) step.get("load")));
                continue;
            }
            List<Object> values = new ArrayList<>();
            for (Object v : (JSONArray) step.get("values")) {
                values.add(value(v));
            }
            for (int i = ((Number) step.get("times")).intValue(); i > 0; i--) {
                chosen.add(new ArrayList<>(grouper.chooseTasks(1, values)));
            }
        }
    }

    private Grouping grouping() {
        List<String> fields = strings(question.get("fields"));
        switch ((String) question.get("kind")) {
            case "fields":
                return Grouping.fields(fields);
            case "shuffle":
                return Grouping.shuffle(new NullStruct());
            case "local":
                return Grouping.local_or_shuffle(new NullStruct());
            case "all":
                return Grouping.all(new NullStruct());
            case "none":
                return Grouping.none(new NullStruct());
            default:
                CustomStreamGrouping g = fields == null ? new PartialKeyGrouping() : new PartialKeyGrouping(new Fields(fields));
                return Grouping.custom_serialized(Utils.javaSerialize(g));
        }
    }

    private LoadAwareCustomStreamGrouping grouper(Grouping grouping) throws Exception {
        Map<String, Object> conf = new HashMap<>();
        conf.put("topology.disable.loadaware.messaging", question.get("even"));
        conf.put("topology.localityaware.higher.bound", question.get("high"));
        conf.put("topology.localityaware.lower.bound", question.get("low"));
        conf.put("storm.network.topography.plugin", Racks.class.getName());
        place((JSONObject) question.get("places"));
        Fields out = new Fields(strings(question.get("out")));
        Map<String, Map<String, Fields>> streams = Map.of("source", Map.of("default", out));
        JSONArray here = (JSONArray) question.get("here");
        WorkerTopologyContext context = new WorkerTopologyContext(null, conf, null, null, streams, "t", null, null,
            ((Number) here.get(1)).intValue(), integers(question.get("local")), null, null, places, (String) here.get(0), hosts);
        LoadAwareCustomStreamGrouping grouper = GrouperFactory.mkGrouper(context, "source", "default", out, grouping,
            integers(question.get("tasks")), conf);
        seed(grouper, ((Number) question.get("seed")).longValue());
        return grouper;
    }

    /** Starts the random choices of a grouper anew, from a seed. */
    private static void seed(LoadAwareCustomStreamGrouping grouper, long seed) throws Exception {
        Object inner = grouper;
        if (grouper instanceof GrouperFactory.BasicLoadAwareCustomStreamGrouping) {
            inner = field(grouper, "customStreamGrouping").get(grouper);
        }
        if (inner instanceof ShuffleGrouping) {
            List<List<Integer>> choices = (List<List<Integer>>) field(inner, "choices").get(inner);
            choices.sort((a, b) -> a.get(0) - b.get(0));
            Collections.shuffle(choices, new Random(seed));
            return;
        }
        try {
            field(inner, "random").set(inner, new Random(seed));
        } catch (NoSuchFieldException e) {
            return;
        }
        grouper.refreshLoad(null);
    }

    private static Field field(Object o, String name) throws NoSuchFieldException {
        Field f = o.getClass().getDeclaredField(name);
        f.setAccessible(true);
        return f;
    }

    private void place(JSONObject at) {
        Map<Integer, NodeInfo> tasks = new HashMap<>();
        for (Map.Entry<String, Object> e : ((JSONObject) at.get("tasks")).entrySet()) {
            JSONArray place = (JSONArray) e.getValue();
            tasks.put(Integer.valueOf(e.getKey()), new NodeInfo((String) place.get(0), Collections.singleton(((Number) place.get(1)).longValue())));
        }
        Map<String, String> names = new HashMap<>();
        for (Object node : (JSONArray) at.get("nodes")) {
            names.put((String) node, (String) node);
        }
        Racks.racks = (JSONObject) at.get("racks");
        places.set(tasks);
        hosts.set(names);
    }

    private static LoadMapping load(JSONObject json) {
        Map<Integer, Double> loads = new HashMap<>();
        for (Map.Entry<String, Object> e : json.entrySet()) {
            loads.put(Integer.valueOf(e.getKey()), ((Number) e.getValue()).doubleValue());
        }
        LoadMapping mapping = new LoadMapping();
        mapping.setLocal(loads);
        return mapping;
    }

    private static List<String> strings(Object json) {
        if (json == null) {
            return null;
        }
        List<String> all = new ArrayList<>();
        for (Object o : (JSONArray) json) {
            all.add((String) o);
        }
        return all;
    }

    private static List<Integer> integers(Object json) {
        List<Integer> all = new ArrayList<>();
        for (Object o : (JSONArray) json) {
            all.add(((Number) o).intValue());
        }
        return all;
    }

    /** A value is null or a list of the letter of its class and its content. */
    private static Object value(Object json) {
        if (json == null) {
            return null;
        }
        JSONArray pair = (JSONArray) json;
        if (pair.get(1) instanceof String) {
            return simple((String) pair.get(0), (String) pair.get(1));
        }
        JSONArray content = (JSONArray) pair.get(1);
        switch ((String) pair.get(0)) {
            case "list":
                List<Object> list = new ArrayList<>();
                content.forEach(v -> list.add(value(v)));
                return list;
            case "set":
                HashSet<Object> set = new HashSet<>();
                content.forEach(v -> set.add(value(v)));
                return set;
            default:
                HashMap<Object, Object> map = new HashMap<>();
                for (int i = 0; i < content.size(); i += 2) {
                    map.put(value(content.get(i)), value(content.get(i + 1)));
                }
                return map;
        }
    }

    private static Object simple(String kind, String text) {
        switch (kind) {
            case "bool":
                return Boolean.valueOf(text);
            case "int":
                return Integer.valueOf(text);
            case "long":
                return Long.valueOf(text);
            case "short":
                return Short.valueOf(text);
            case "byte":
                return Byte.valueOf(text);
            case "char":
                return (char) Integer.parseInt(text);
            case "float":
                return Float.intBitsToFloat(Integer.parseUnsignedInt(text));
            case "double":
                return Double.longBitsToDouble(Long.parseUnsignedLong(text));
            case "big":
                return new BigInteger(text);
            case "bytes":
                return Base64.getDecoder().decode(text);
            default: // UTF-16, four hexadecimal digits each
                StringBuilder s = new StringBuilder();
                for (int i = 0; i < text.length(); i += 4) {
                    s.append((char) Integer.parseInt(text.substring(i, i + 4), 16));
                }
                return s.toString();
        }
    }
}
