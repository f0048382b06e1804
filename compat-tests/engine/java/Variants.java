// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.grouping.PartialKeyGrouping;
import org.apache.storm.spout.ShellSpout;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.IRichSpout;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;

/**
 * Serializes components and groupings of many makes. For each name on a line of its input it prints the object and the class files; for a line of
 * "read" and an object it prints what that runs.
 */
public final class Variants {
    /** As in every tutorial. */
    public static class Plain extends ShellBolt implements IRichBolt {
        public Plain() {
            super("python3", "split.py");
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }

        @Override
        public Map<String, Object> getComponentConfiguration() {
            return null;
        }
    }

    /** Constants, helpers, lambdas: nothing that a worker calls. */
    public static final class Helpers extends ShellBolt implements IRichBolt {
        private static final long serialVersionUID = 7;
        private static final Fields FIELDS = new Fields("word", "count");
        private static final List<String> NAMES = Arrays.asList("a", "b");
        private static final Map<String, Object> CONF = new HashMap<>();
        private final String label;
        private final int[] numbers = {1, 2};
        private transient Thread thread;

        static {
            CONF.put("topology.tick.tuple.freq.secs", 5);
        }

        public Helpers(String label) {
            super("python3", "-u", "split.py", "zweiundzwanzig \u00e4 \ud83d\ude00");
            this.label = label;
            thread = new Thread(() -> System.err.println(label));
        }

        public Helpers withWord(String word) {
            return this;
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            NAMES.forEach(name -> declarer.declareStream(name, FIELDS));
        }

        @Override
        public Map<String, Object> getComponentConfiguration() {
            return CONF;
        }

        @Override
        public String toString() {
            return label + numbers.length + thread;
        }
    }

    /** Assertions make the compiler add an initializer. */
    public static class Asserting extends Plain {
        @Override
        public Map<String, Object> getComponentConfiguration() {
            assert hashCode() != 17;
            return null;
        }
    }

    /** A subclass of a subclass. */
    public static class Deeper extends Plain {
        private int depth = 2;
    }

    /** Does something before it starts. */
    public static class Prepares extends Plain {
        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            super.prepare(conf, context, collector);
        }
    }

    /** Below a class that does something. */
    public static class BelowPrepares extends Prepares {
    }

    /** Looks at each tuple. */
    public static class Executes extends Plain {
        @Override
        public void execute(Tuple tuple) {
            super.execute(tuple);
        }
    }

    /** Decides its own folder. */
    public static class OwnFolder extends Plain {
        @Override
        public boolean shouldChangeChildCWD() {
            return false;
        }
    }

    /** Has code when it is read. */
    public static class Reads extends Plain {
        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
        }
    }

    /** Is replaced when it is read. */
    public static class Resolves extends Plain {
        private Object readResolve() {
            return this;
        }
    }

    /** Runs code when its class is loaded. */
    public static class Static extends Plain {
        private static final String HOME = System.getProperty("user.home");
    }

    /** Makes an object of the user's when its class is loaded. */
    public static class StaticObject extends Plain {
        private static final Holder HOLDER = new Holder();
    }

    /** Listens to more than Storm's plain interfaces. */
    public static class Listens extends Plain implements Runnable {
        @Override
        public void run() {
        }
    }

    /** An object of the user's. */
    public static class Holder implements Serializable {
        private final String inside = "x";
    }

    /** Holds an object of the user's. */
    public static class Holds extends Plain {
        private final Holder[] holders = {new Holder()};
    }

    /** A spout in the usual form. */
    public static class Spout extends ShellSpout implements IRichSpout {
        public Spout() {
            super("node", "spout.js");
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("sentence"));
        }

        @Override
        public Map<String, Object> getComponentConfiguration() {
            return null;
        }
    }

    /** A spout with code for failures. */
    public static class FailingSpout extends Spout {
        @Override
        public void fail(Object id) {
            super.fail(id);
        }
    }

    /** No child process at all. */
    public static class Bolt extends BaseRichBolt {
        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        }

        @Override
        public void execute(Tuple input) {
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }

    /** A grouping of the user's. */
    public static class Grouping implements CustomStreamGrouping {
        @Override
        public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targets) {
        }

        @Override
        public List<Integer> chooseTasks(int task, List<Object> values) {
            return null;
        }
    }

    /** A choice of the user's inside of Storm's grouping. */
    public static class Creator implements PartialKeyGrouping.AssignmentCreator {
        @Override
        public int[] createAssignment(List<Integer> targets, byte[] key) {
            return new int[] {targets.get(0)};
        }
    }

    private static <T extends ShellBolt> T env(T bolt, Map<String, String> env) {
        bolt.setEnv(env);
        return bolt;
    }

    private static Map<String, String> filled(Map<String, String> map) {
        map.put("GREETING", "gr\u00fc\u00df");
        map.put("EMPTY", "");
        return map;
    }

    private static Object make(String name) {
        switch (name) {
            case "bare": return new ShellBolt("python3", "split.py");
            case "bare-spout": return new ShellSpout("python3", "spout.py");
            case "plain": return new Plain();
            case "helpers": return new Helpers("x");
            case "asserting": return new Asserting();
            case "deeper": return new Deeper();
            case "prepares": return new Prepares();
            case "below-prepares": return new BelowPrepares();
            case "executes": return new Executes();
            case "own-folder": return new OwnFolder();
            case "reads": return new Reads();
            case "resolves": return new Resolves();
            case "static": return new Static();
            case "static-object": return new StaticObject();
            case "listens": return new Listens();
            case "holds": return new Holds();
            case "spout": return new Spout();
            case "failing-spout": return new FailingSpout();
            case "bolt": return new Bolt();
            case "anonymous": return new ShellBolt("sh", "x.sh") { };
            case "env-hash": return env(new Plain(), filled(new HashMap<>()));
            case "env-linked": return env(new Plain(), filled(new LinkedHashMap<>()));
            case "env-tree": return env(new Plain(), filled(new TreeMap<>()));
            case "env-of": return env(new Plain(), Map.of("GREETING", "gr\u00fc\u00df", "EMPTY", ""));
            case "env-of-one": return env(new Plain(), Map.of("EMPTY", ""));
            case "env-single": return env(new Plain(), Collections.singletonMap("EMPTY", ""));
            case "env-none": return env(new Plain(), Collections.emptyMap());
            case "env-read-only": return env(new Plain(), Collections.unmodifiableMap(filled(new HashMap<>())));
            case "env-odd": return env(new Plain(), filled(new ConcurrentHashMap<>()));
            case "keep-folder": {
                Plain bolt = new Plain();
                bolt.changeChildCWD(false);
                return bolt;
            }
            case "no-command": return new ShellBolt();
            case "partial-key": return new PartialKeyGrouping(new Fields("word", "count"));
            case "partial-key-all": return new PartialKeyGrouping();
            case "partial-key-own": return new PartialKeyGrouping(new Fields("word"), new Creator());
            case "grouping": return new Grouping();
            default: throw new IllegalArgumentException(name);
        }
    }

    private static String encode(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    /** The class files between the object's class and Storm's. */
    private static String classes(Class<?> c) throws IOException {
        List<String> out = new ArrayList<>();
        for (; c.getName().startsWith("Variants"); c = c.getSuperclass()) {
            try (InputStream in = Variants.class.getResourceAsStream(c.getName() + ".class")) {
                out.add(c.getName() + ".class=" + encode(in.readAllBytes()));
            }
        }
        return String.join(" ", out);
    }

    private static String read(byte[] bytes) throws Exception {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            Object o = in.readObject();
            if (o instanceof PartialKeyGrouping) {
                Field field = PartialKeyGrouping.class.getDeclaredField("fields");
                field.setAccessible(true);
                Fields fields = (Fields) field.get(o);
                return fields + " " + (fields == null ? -1 : fields.fieldIndex(fields.get(fields.size() - 1)));
            }
            Class<?> base = o instanceof ShellBolt ? ShellBolt.class : ShellSpout.class;
            Map<String, Object> values = new HashMap<>();
            for (String name : List.of("command", "env", "changeDirectory", "running", "inputs", "pendingWrites")) {
                try {
                    Field field = base.getDeclaredField(name);
                    field.setAccessible(true);
                    values.put(name, field.get(o));
                } catch (NoSuchFieldException e) {
                    values.put(name, name); // a spout has fewer
                }
            }
            boolean whole = values.get("running").equals(true) && values.get("inputs") != null && values.get("pendingWrites") != null;
            return base.getSimpleName() + " " + Arrays.toString((String[]) values.get("command")) + " " + new TreeMap<>((Map<?, ?>) values.get("env"))
                + " " + values.get("changeDirectory") + " " + whole;
        }
    }

    public static void main(String[] args) throws Exception {
        Scanner names = new Scanner(System.in);
        while (names.hasNextLine()) {
            String name = names.nextLine();
            if (name.startsWith("read ")) {
                System.out.println(read(Base64.getDecoder().decode(name.substring(5))));
                continue;
            }
            Object o = make(name);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                out.writeObject(o);
            }
            System.out.println((name + " " + encode(bytes.toByteArray()) + " " + classes(o.getClass())).trim());
        }
    }
}
