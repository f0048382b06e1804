// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.io.PrintStream;
import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.state.StateProvider;
import org.apache.storm.utils.ConfigUtils;

/** Times a bolt's calls: prints name and figure, a line each. */
public final class Measure {
    private static final int GETS = 200_000;
    private static final int SECONDS = 5;

    private final PrintStream out;

    private Measure(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] args) {
        PrintStream out = System.out;
        System.setOut(System.err); // logs go there too
        new Measure(out).run(args);
    }

    private void run(String[] args) {
        Map<String, Object> conf = ConfigUtils.readStormConfig();
        conf.put("topology.name", "measure");
        conf.put("topology.submitter.user", "alice");
        int keys = Integer.parseInt(args[1]);
        conf.put("topology.state.provider.config", args[2]);
        KeyValueState<String, Long> state = open(args[0], conf);
        long txid = 0;
        long began = System.nanoTime();
        for (int i = 0; i < keys; i++) {
            state.put(word(i), (long) i);
            if (i % 100_000 == 99_999) {
                checkpoint(state, ++txid);
            }
        }
        checkpoint(state, ++txid);
        tell("fill: ns a key", (System.nanoTime() - began) / (double) keys);
        SplittableRandom random = new SplittableRandom(1);
        for (int round = 0; round < 3; round++) {
            times(state, random, keys, round == 2);
        }
        txid = commits(state, random, keys, txid);
        for (int round = 0; round < 2; round++) { // the first warms up
            txid = counted(state, random, keys, txid, round == 1);
        }
    }

    /** Counts words for some seconds, with a checkpoint each second. */
    private long counted(KeyValueState<String, Long> state, SplittableRandom random, int keys, long txid, boolean tell) {
        long began = System.nanoTime();
        long words = 0;
        for (int second = 1; second <= SECONDS; second++) {
            for (; System.nanoTime() - began < second * 1_000_000_000L; words += 100) {
                count(state, random, keys, 100);
            }
            checkpoint(state, ++txid);
        }
        if (tell) {
            tell("words a second, with a checkpoint each second", words * 1e9 / (System.nanoTime() - began));
        }
        return txid;
    }

    /** Opens our state, if where is a socket's path, else that of a provider's class. */
    @SuppressWarnings("unchecked")
    private static KeyValueState<String, Long> open(String where, Map<String, Object> conf) {
        if (where.contains("/")) {
            return KeyValueStateProvider.open(where, "count-1", conf, Contexts.of(conf, "count"));
        }
        try {
            StateProvider provider = (StateProvider) Class.forName(where).getDeclaredConstructor().newInstance();
            return (KeyValueState<String, Long>) provider.newState("count-1", conf, Contexts.of(conf, "count"));
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(where, e);
        }
    }

    private static String word(int i) {
        return "word" + i;
    }

    private static void checkpoint(KeyValueState<String, Long> state, long txid) {
        state.prepareCommit(txid);
        state.commit(txid);
    }

    private void times(KeyValueState<String, Long> state, SplittableRandom random, int keys, boolean tell) {
        int[] times = new int[GETS];
        for (int i = 0; i < times.length; i++) {
            int n = random.nextInt(keys);
            String word = word(n);
            long began = System.nanoTime();
            long value = state.get(word);
            times[i] = (int) (System.nanoTime() - began);
            if (value != n) {
                throw new IllegalStateException(word + " has " + value);
            }
        }
        if (tell) {
            Arrays.sort(times);
            tell("get: ns, median", times[times.length / 2]);
            tell("get: ns, p99", times[times.length / 100 * 99]);
            tell("get: ns, p99.9", times[times.length / 1000 * 999]);
        }
    }

    private static void count(KeyValueState<String, Long> state, SplittableRandom random, int keys, int times) {
        for (int i = 0; i < times; i++) {
            String word = word(random.nextInt(keys));
            state.put(word, state.get(word, 0L) + 1);
        }
    }

    private long commits(KeyValueState<String, Long> state, SplittableRandom random, int keys, long txid) {
        long[] prepares = new long[21];
        long[] commits = new long[21];
        for (int round = 0; round < prepares.length; round++) {
            count(state, random, keys, 10_000);
            long began = System.nanoTime();
            state.prepareCommit(++txid);
            long prepared = System.nanoTime();
            state.commit(txid);
            commits[round] = System.nanoTime() - prepared;
            prepares[round] = prepared - began;
        }
        Arrays.sort(prepares);
        Arrays.sort(commits);
        tell("prepare of 10,000 keys: ms, median", prepares[10] / 1e6);
        tell("commit of 10,000 keys: ms, median", commits[10] / 1e6);
        return txid;
    }

    private void tell(String what, double figure) {
        out.printf("%s: %.3f%n", what, figure);
    }
}
