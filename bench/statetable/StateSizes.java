// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * Measures what entries take in a Java HashMap or in Storm's InMemoryKeyValueState, after a collection, and prints figures as lines of JSON. The entries
 * are those of load.go.
 */
public final class StateSizes {
    private StateSizes() {
    }

    public static void main(String[] args) throws Exception {
        String load = args[0];
        long from = Long.parseLong(args[1]);
        long to = Long.parseLong(args[2]);
        if (load.equals("in-memory")) {
            inMemory(to);
        } else {
            hashMap(load, from, to);
        }
    }

    private static void hashMap(String load, long from, long to) throws Exception {
        long[] before = memory();
        Map<Object, Object> map = new HashMap<>();
        long next = from;
        for (long i = 0; i < to; i++) {
            switch (load) {
                case "numbers" -> map.put(scattered(i), i);
                case "strings" -> map.put(letters(i, 16), i);
                case "words" -> map.put(letters(i, 8), i % 100 * (i % 100) / 50);
                default -> throw new IllegalArgumentException(load);
            }
            if (i + 1 == next || i + 1 == to) {
                show("", i + 1, before, memory());
                next += next / 16;
            }
        }
        if (map.size() != to) {
            throw new IllegalStateException(map.size() + " entries");
        }
    }

    /** Storm's class is not known here when there is no Storm on the class path. */
    private static void inMemory(long entries) throws Exception {
        Class<?> type = Class.forName("org.apache.storm.state.InMemoryKeyValueState");
        Object state = type.getDeclaredConstructor().newInstance();
        Method put = type.getMethod("put", Object.class, Object.class);
        long[] before = memory();
        for (long i = 0; i < entries; i++) {
            put.invoke(state, letters(i, 8 + (int) (i % 17)), i);
        }
        show("put ", entries, before, memory());
        type.getMethod("prepareCommit", long.class).invoke(state, 1L);
        type.getMethod("commit", long.class).invoke(state, 1L);
        show("committed ", entries, before, memory());
        put.invoke(state, "end", 1L);
    }

    private static long scattered(long i) {
        return i * 0x9E3779B97F4A7C15L;
    }

    private static String letters(long i, int n) {
        long x = scattered(i);
        char[] to = new char[n];
        for (int j = 0; j < n; j++) {
            to[j] = (char) ('a' + (x >>> (60 - 4 * (j & 15)) & 15));
        }
        return new String(to);
    }

    /** What the heap has in use, and the process's Pss. */
    private static long[] memory() throws Exception {
        System.gc();
        Runtime r = Runtime.getRuntime();
        long used = r.totalMemory() - r.freeMemory();
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps_rollup"))) {
            if (line.startsWith("Pss:")) {
                return new long[] {used, Long.parseLong(line.replaceAll("[^0-9]", "")) << 10};
            }
        }
        throw new IllegalStateException("smaps_rollup has no line Pss");
    }

    private static void show(String prefix, long entries, long[] before, long[] now) {
        String line = "{\"name\":\"%s%s\",\"entries\":%d,\"value\":%d}%n";
        System.out.printf(line, prefix, "bytes", entries, now[0] - before[0]);
        System.out.printf(line, prefix, "pss", entries, now[1] - before[1]);
    }
}
