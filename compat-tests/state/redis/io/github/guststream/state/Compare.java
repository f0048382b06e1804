// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.apache.storm.redis.state.RedisKeyValueStateProvider;
import org.apache.storm.state.InMemoryKeyValueStateProvider;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.utils.ConfigUtils;

/** Does the same with Storm's Redis state and with ours: at random, where they must agree, and case by case where Storm's two states and ours differ. */
public final class Compare {
    private static final int KEYS = 12;
    private static final int STEPS = 150;

    private final String socket;
    private final Map<String, Object> conf = ConfigUtils.readStormConfig();
    private final List<String> done = new ArrayList<>();

    private KeyValueState<Object, Object> redis;
    private KeyValueState<Object, Object> memory;
    private KeyValueState<Object, Object> ours;

    private Compare(String socket, int port) {
        this.socket = socket;
        conf.put("topology.name", "compare");
        conf.put("topology.submitter.user", "alice");
        conf.put("topology.state.provider.config", "{\"jedisPoolConfig\": {\"host\": \"127.0.0.1\", \"port\": " + port + "}}");
    }

    public static void main(String[] args) {
        PrintStream out = System.out;
        System.setOut(System.err); // logs go there too
        Compare compare = new Compare(args[0], Integer.parseInt(args[1]));
        if (args[2].equals("differences")) {
            compare.differences(out);
            return;
        }
        long seed = Long.parseLong(args[2]);
        for (int round = 0; round < Integer.parseInt(args[3]); round++) {
            compare.agree(seed + round);
        }
        out.println("agreed");
    }

    /** Takes a namespace of its own in both, as a worker that is started, or started again. */
    private void open(String component) {
        redis = cast(new RedisKeyValueStateProvider().newState(component + "-1", conf, context(component)));
        memory = cast(new InMemoryKeyValueStateProvider().newState(component + "-1", conf, context(component)));
        ours = cast(KeyValueStateProvider.open(socket, component + "-1", conf, context(component)));
    }

    @SuppressWarnings("unchecked")
    private static KeyValueState<Object, Object> cast(Object state) {
        return (KeyValueState<Object, Object>) state;
    }

    private TopologyContext context(String component) {
        return Contexts.of(conf, component);
    }

    private void agree(long seed) {
        Random random = new Random(seed);
        String component = "agree" + seed;
        done.clear();
        open(component);
        Long committed = null;
        Long prepared = null; // and not committed
        for (int step = 0; step < STEPS; step++) {
            Object key = random.nextInt(10) == 0 ? null : "k" + random.nextInt(KEYS);
            Object value = value(random);
            switch (random.nextInt(14)) {
                case 0, 1, 2, 3 -> both("put " + key + " " + value, state -> {
                    state.put(key, value);
                    return null;
                });
                case 4, 5, 6 -> both("get " + key, state -> state.get(key));
                case 7 -> both("get " + key + " or 7", state -> state.get(key, 7));
                case 8, 9 -> both("delete " + key, state -> state.delete(key));
                case 10 -> {
                    long txid = (committed == null ? 0 : committed) + 1 + random.nextInt(2);
                    both("prepare " + txid, state -> {
                        state.prepareCommit(txid);
                        return null;
                    });
                    prepared = txid;
                }
                case 11 -> {
                    if (prepared == null && committed == null) {
                        continue; // difference 1
                    }
                    long txid = prepared != null ? prepared : committed;
                    if (prepared != null && random.nextInt(5) == 0) {
                        txid += 1 + random.nextInt(3);
                    }
                    long which = txid;
                    if (both("commit " + which, state -> {
                        state.commit(which);
                        return null;
                    })) {
                        committed = which;
                        prepared = null;
                    }
                }
                case 12 -> {
                    if (random.nextBoolean()) {
                        both("commit", state -> {
                            state.commit();
                            return null;
                        });
                    } else {
                        both("rollback", state -> {
                            state.rollback();
                            return null;
                        });
                        prepared = null;
                    }
                }
                default -> {
                    if (random.nextBoolean()) {
                        done.add("open");
                        open(component);
                    }
                    both("iterate", Compare::all);
                }
            }
        }
        both("iterate", Compare::all);
    }

    private static Object value(Random random) {
        return switch (random.nextInt(6)) {
            case 0 -> null;
            case 1 -> "v".repeat(random.nextInt(400));
            case 2 -> new ArrayList<>(List.of(random.nextInt(), "x"));
            case 3 -> new HashSet<>(Set.of(random.nextLong()));
            default -> (long) random.nextInt(1000);
        };
    }

    private static Map<Object, Object> all(KeyValueState<Object, Object> state) {
        Map<Object, Object> all = new HashMap<>();
        for (Map.Entry<Object, Object> entry : state) {
            if (all.containsKey(entry.getKey())) {
                throw new AssertionError("key " + entry.getKey() + " came twice");
            }
            all.put(entry.getKey(), entry.getValue());
        }
        return all;
    }

    private interface Step {
        Object on(KeyValueState<Object, Object> state);
    }

    /** Takes a step with both; says whether it succeeded. */
    private boolean both(String what, Step step) {
        done.add(what);
        Object theirs = outcome(redis, step);
        Object mine = outcome(ours, step);
        if (!Objects.equals(theirs, mine)) {
            throw new AssertionError("after " + done + ": Redis " + theirs + ", ours " + mine);
        }
        return !"refused".equals(mine);
    }

    private static Object outcome(KeyValueState<Object, Object> state, Step step) {
        try {
            return step.on(state);
        } catch (RuntimeException e) {
            return "refused";
        }
    }

    /** The differences by number, each as what Storm's states do and what ours does. */
    private void differences(PrintStream out) {
        open("d1");
        tell(out, 1, "commit of a txid that nobody prepared", state -> {
            state.commit(5);
            return "accepted";
        });
        open("d2");
        tell(out, 2, "value after a prepare and commit under a txid not above the last committed one", state -> {
            state.prepareCommit(5);
            state.commit(5);
            state.put("k", 1);
            state.prepareCommit(4);
            state.commit(4);
            return state.get("k");
        });
        open("d3");
        set();
        conf.put("topology.name", "another");
        open("d3");
        conf.put("topology.name", "compare");
        tell(out, 3, "a component and task of the same names in another topology", state -> state.get("k"));
        open("d4");
        KeyValueState<Object, Object> oldRedis = redis;
        KeyValueState<Object, Object> oldMemory = memory;
        KeyValueState<Object, Object> oldOurs = ours;
        open("d4");
        KeyValueState<Object, Object> newOurs = ours;
        redis = oldRedis;
        memory = oldMemory;
        ours = oldOurs;
        tell(out, 4, "prepare after another worker has opened the state", state -> {
            state.prepareCommit(1);
            return "accepted";
        });
        newOurs.rollback();
        open("d5");
        set();
        conf.put("topology.state.kryo.register", List.of("java.util.BitSet"));
        tell(out, 5, "opening under other registrations", state -> state == redis
                ? accepted(new RedisKeyValueStateProvider().newState("d5-1", conf, context("d5")))
                : accepted(state == memory
                        ? new InMemoryKeyValueStateProvider().newState("d5-1", conf, context("d5"))
                        : KeyValueStateProvider.open(socket, "d5-1", conf, context("d5"))));
        conf.remove("topology.state.kryo.register");
        open("d6");
        tell(out, 6, "a list that was put and then got an element", state -> {
            List<Object> list = new ArrayList<>();
            state.put("k", list);
            list.add(1);
            return state.get("k");
        });
        open("d7");
        set();
        open("d7");
        tell(out, 7, "a committed value after a restart of the worker", state -> state.get("k"));
        open("d8");
        tell(out, 8, "a null value", state -> {
            state.put("k", null);
            return state.get("k", "default");
        });
    }

    private static String accepted(Object opened) {
        return opened == null ? "nothing" : "accepted";
    }

    private void set() {
        for (KeyValueState<Object, Object> state : List.of(redis, memory, ours)) {
            state.put("k", 1);
            state.commit();
        }
    }

    private void tell(PrintStream out, int number, String what, Step step) {
        out.println(number + " " + what + ": Redis " + outcome(redis, step) + ", in memory " + outcome(memory, step) + ", gust " + outcome(ours, step));
    }
}
