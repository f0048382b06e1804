// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.storm.generated.NodeInfo;
import org.apache.storm.messaging.netty.BackPressureStatus;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;
import org.apache.storm.serialization.KryoTupleDeserializer;
import org.apache.storm.serialization.KryoTupleSerializer;
import org.apache.storm.serialization.KryoValuesDeserializer;
import org.apache.storm.serialization.KryoValuesSerializer;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.tuple.MessageId;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.ListDelegate;

/**
 * Asks Storm's serializers. Questions, one a line: "values HEX" and "object HEX" and "tuple HEX" are decoded, written as text and encoded again;
 * "random SEED" makes values, "randomtuple SEED" a tuple, "make NAME" one object; "streams x" lists who sends on which streams. Answer: HEX, a space, the text; or "! " and what was thrown.
 */
public final class KryoDriver {
    private static final HexFormat HEX = HexFormat.of();

    private KryoDriver() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // Storm logs to stdout
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Wire wire = new Wire(Collections.emptyMap());
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int space = line.indexOf(' ');
            try {
                String rest = line.substring(space + 1);
                if (line.startsWith("register ")) {
                    wire = new Wire(Map.of("topology.kryo.register", Arrays.asList(rest.split(","))));
                    out.println(" ");
                } else {
                    out.println(wire.answer(line.substring(0, space), rest));
                }
            } catch (RuntimeException e) {
                out.println("! " + e.toString().replace('\n', ' '));
            }
        }
        out.flush();
    }

    /** Storm's serializers with one configuration. */
    private static final class Wire {
        private final KryoValuesSerializer ser;
        private final KryoValuesDeserializer des;
        private final KryoTupleSerializer tupleSer;
        private final KryoTupleDeserializer tupleDes;
        private final GeneralTopologyContext context;

        Wire(Map<String, Object> extra) throws Exception {
            Map<String, Object> conf = Topology.conf();
            conf.putAll(extra);
            context = Topology.context(conf);
            ser = new KryoValuesSerializer(conf);
            des = new KryoValuesDeserializer(conf);
            tupleSer = new KryoTupleSerializer(conf, context);
            tupleDes = new KryoTupleDeserializer(conf, context);
        }

        String answer(String verb, String rest) {
            switch (verb) {
                case "values": {
                    List<Object> values = des.deserialize(HEX.parseHex(rest));
                    return HEX.formatHex(ser.serialize(values)) + " " + Text.of(values);
                }
                case "object": {
                    Object v = des.deserializeObject(HEX.parseHex(rest));
                    return HEX.formatHex(ser.serializeObject(v)) + " " + Text.of(v);
                }
                case "tuple": {
                    Tuple t = tupleDes.deserialize(HEX.parseHex(rest));
                    return HEX.formatHex(tupleSer.serialize(t)) + " " + Text.of(t);
                }
                case "random": {
                    List<Object> values = new Values(new Gen(Long.parseLong(rest)).list(3).toArray());
                    return HEX.formatHex(ser.serialize(values)) + " " + Text.of(values);
                }
                case "randomtuple": {
                    Tuple t = new Gen(Long.parseLong(rest)).tuple(context);
                    return HEX.formatHex(tupleSer.serialize(t)) + " " + Text.of(t);
                }
                case "streams": {
                    StringBuilder sb = new StringBuilder(" ");
                    for (int task : Topology.TASKS) {
                        String component = context.getComponentId(task);
                        for (String stream : context.getComponentStreams(component)) {
                            String fields = String.join(",", context.getComponentOutputFields(component, stream));
                            sb.append(task).append(':').append(component).append(':').append(stream).append(':').append(fields).append(';');
                        }
                    }
                    return sb.toString();
                }
                case "make": {
                    Object v = make(rest);
                    return HEX.formatHex(ser.serializeObject(v)) + " " + Text.of(v);
                }
                default:
                    throw new IllegalStateException("unknown question " + verb);
            }
        }

        private static Object make(String name) {
            switch (name) {
                case "status":
                    return new BackPressureStatus("worker-1", new ArrayList<>(List.of(3, 300)), new ArrayList<>(List.of(7)));
                case "status-null":
                    return new BackPressureStatus(null, null, null);
                case "status-empty":
                    return new BackPressureStatus("", new ArrayList<>(), new ArrayList<>());
                case "point":
                    return new DataPoint("name", 42L, new HashMap<>());
                case "point-null":
                    return new DataPoint(null, null, null);
                case "point-map":
                    return new DataPoint("m", new HashMap<>(Map.of("k", 1.5)), new HashMap<>(Map.of("host", "h1")));
                case "task":
                    return new TaskInfo("host", 6700, "comp", 12, 1700000000000L, 60);
                case "node":
                    return new NodeInfo("node-1", new HashSet<>(Set.of(6700L)));
                case "delegate": {
                    ListDelegate d = new ListDelegate();
                    d.setDelegate(new ArrayList<>(List.of("a", 1)));
                    return d;
                }
                case "values":
                    return new Values("a", 1L, null);
                case "attempt":
                    return new org.apache.storm.transactional.TransactionAttempt(new BigInteger("12"), 34L);
                default:
                    throw new IllegalStateException("unknown object " + name);
            }
        }
    }

    /** Makes values. */
    private static final class Gen {
        private final Random random;

        Gen(long seed) {
            random = new Random(seed);
        }

        Tuple tuple(GeneralTopologyContext context) {
            int task = Topology.TASKS[random.nextInt(Topology.TASKS.length)];
            String component = context.getComponentId(task);
            List<String> streams = new ArrayList<>(context.getComponentStreams(component));
            Collections.sort(streams);
            String stream = streams.get(random.nextInt(streams.size()));
            Map<Long, Long> anchors = new HashMap<>();
            for (int i = stream.startsWith("__ack_") ? 0 : random.nextInt(4); i > 1; i--) {
                anchors.put(random.nextLong(), random.nextLong());
            }
            int n = context.getComponentOutputFields(component, stream).size();
            List<Object> values = new ArrayList<>();
            for (int i = 0; i < n; i++) {
                // What Storm says to ackers is two Longs and an Integer; anything else would end an acker.
                values.add(!stream.startsWith("__ack_") ? value(2) : i < 2 ? (Object) number() : (Object) random.nextInt());
            }
            return new TupleImpl(context, values, component, task, stream, MessageId.makeId(anchors));
        }

        List<Object> list(int depth) {
            int n = random.nextInt(5) == 0 ? random.nextInt(80) : random.nextInt(6);
            List<Object> out = new ArrayList<>(n);
            int kind = random.nextBoolean() ? random.nextInt(KINDS) : -1;
            for (int i = 0; i < n; i++) {
                out.add(kind >= 0 && random.nextInt(20) != 0 ? value(depth - 1, kind) : value(depth - 1));
            }
            return out;
        }

        private static final int KINDS = 15;

        Object value(int depth) {
            return value(depth, random.nextInt(KINDS));
        }

        Object value(int depth, int kind) {
            switch (kind) {
                case 0:
                    return null;
                case 1:
                    return number().intValue();
                case 2:
                    return number();
                case 3:
                    return string();
                case 4:
                    return Float.intBitsToFloat(random.nextInt());
                case 5:
                    return Double.longBitsToDouble(random.nextLong());
                case 6:
                    return random.nextBoolean();
                case 7:
                    return (byte) random.nextInt();
                case 8:
                    return (char) random.nextInt();
                case 9:
                    return (short) random.nextInt();
                case 10: {
                    byte[] b = new byte[random.nextInt(300)];
                    random.nextBytes(b);
                    return b;
                }
                case 11:
                    return new BigInteger(random.nextInt(300), random).subtract(BigInteger.valueOf(random.nextInt(1000)));
                case 12:
                    return depth <= 0 ? number() : list(depth);
                case 13:
                    return depth <= 0 ? string() : map(depth);
                default:
                    return depth <= 0 ? random.nextBoolean() : set();
            }
        }

        private Map<Object, Object> map(int depth) {
            Map<Object, Object> out = new HashMap<>();
            boolean strings = random.nextBoolean();
            for (int i = random.nextInt(4); i > 0; i--) {
                out.put(strings ? string() : random.nextInt(8) == 0 ? null : number(), value(depth - 1));
            }
            return out;
        }

        private Set<Object> set() {
            Set<Object> out = new HashSet<>();
            boolean mixed = random.nextInt(4) == 0;
            for (int i = random.nextInt(5); i > 0; i--) {
                out.add(mixed && random.nextBoolean() ? (random.nextInt(5) == 0 ? null : string()) : number());
            }
            return out;
        }

        private Long number() {
            return random.nextLong() >> random.nextInt(64);
        }

        private String string() {
            int n = random.nextInt(10) == 0 ? random.nextInt(3000) : random.nextInt(40);
            StringBuilder sb = new StringBuilder();
            int kind = random.nextInt(6);
            for (int i = 0; i < n; i++) {
                switch (random.nextInt(12) == 0 ? random.nextInt(6) : kind) {
                    case 4:
                        sb.append((char) random.nextInt(0x10000));
                        break;
                    case 5:
                        sb.appendCodePoint(random.nextInt(0x110000));
                        break;
                    case 3:
                        sb.append((char) random.nextInt(0x800));
                        break;
                    default:
                        sb.append((char) random.nextInt(0x80));
                        break;
                }
            }
            return sb.toString();
        }
    }

    /** Writes values as text that tells types apart and does not depend on the order of maps and sets. */
    static final class Text {
        static String of(Object v) {
            if (v == null) {
                return "null";
            } else if (v instanceof Integer || v instanceof Long || v instanceof Short || v instanceof Byte || v instanceof BigInteger) {
                return v.getClass().getSimpleName() + ":" + v;
            } else if (v instanceof Boolean) {
                return v.toString();
            } else if (v instanceof Character) {
                return "Char:" + (int) (Character) v;
            } else if (v instanceof Float) {
                return "Float:" + Integer.toHexString(Float.floatToIntBits((Float) v));
            } else if (v instanceof Double) {
                return "Double:" + Long.toHexString(Double.doubleToLongBits((Double) v));
            } else if (v instanceof String) {
                return "'" + HEX.formatHex(((String) v).getBytes(StandardCharsets.UTF_16BE)) + surrogates((String) v) + "'";
            } else if (v instanceof byte[]) {
                return "bytes:" + HEX.formatHex((byte[]) v);
            } else if (v instanceof List) {
                return "[" + join((List<?>) v, false) + "]";
            } else if (v instanceof Set) {
                return "(" + join((Set<?>) v, true) + ")";
            } else if (v instanceof Map) {
                List<String> parts = new ArrayList<>();
                for (Map.Entry<?, ?> e : ((Map<?, ?>) v).entrySet()) {
                    parts.add(of(e.getKey()) + "=" + of(e.getValue()));
                }
                Collections.sort(parts);
                return "{" + String.join(",", parts) + "}";
            } else if (v instanceof BackPressureStatus) {
                BackPressureStatus s = (BackPressureStatus) v;
                return "status " + of(s.id) + " " + of(s.workerId) + " " + of(s.bpTasks) + " " + of(s.nonBpTasks);
            } else if (v instanceof DataPoint) {
                return "point " + of(((DataPoint) v).name) + " " + of(((DataPoint) v).value) + " " + of(((DataPoint) v).dimensions);
            } else if (v instanceof TaskInfo) {
                TaskInfo t = (TaskInfo) v;
                return "task " + of(t.srcComponentId) + " " + t.srcTaskId + " " + of(t.srcWorkerHost) + " " + t.srcWorkerPort + " " + t.timestamp + " "
                    + t.updateIntervalSecs;
            } else if (v instanceof NodeInfo) {
                return "node " + of(((NodeInfo) v).get_node()) + " " + of(((NodeInfo) v).get_port());
            } else if (v instanceof Tuple) {
                Tuple t = (Tuple) v;
                return "tuple " + t.getSourceComponent() + " " + t.getSourceTask() + " " + t.getSourceStreamId() + " "
                    + of(t.getMessageId().getAnchorsToIds()) + " " + of(t.getValues());
            }
            return v.getClass().getName() + " " + v;
        }

        /** Java's UTF-16 encoder puts a question mark in place of half a pair: show which halves there were. */
        private static String surrogates(String s) {
            StringBuilder sb = new StringBuilder();
            for (int i = 0; i < s.length(); i++) {
                boolean pair = Character.isHighSurrogate(s.charAt(i)) && i + 1 < s.length() && Character.isLowSurrogate(s.charAt(i + 1));
                if (pair) {
                    i++;
                } else if (Character.isSurrogate(s.charAt(i))) {
                    sb.append('!').append(i).append(':').append((int) s.charAt(i));
                }
            }
            return sb.toString();
        }

        private static String join(Collection<?> c, boolean sort) {
            List<String> parts = new ArrayList<>();
            for (Object o : c) {
                parts.add(of(o));
            }
            if (sort) {
                Collections.sort(parts);
            }
            return String.join(",", parts);
        }
    }
}
