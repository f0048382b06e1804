// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** Reads what is being written, and looks for values that nobody has written. */
final class Torn {
    private Torn() {}

    /**
     * Reads the keys 0 to number for some time. A value is one byte over and over; key 0 holds one that never gets smaller. Tells how many reads there were,
     * how many of them found something.
     */
    static byte[] hammer(Reader reader, byte[] millis, long keys) throws Reader.Retired {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Long.parseLong(new String(millis, StandardCharsets.UTF_8)));
        long reads = 0;
        long found = 0;
        long busy = 0;
        while (System.nanoTime() < until) {
            for (int i = 0; i < keys; i++) {
                byte[] key = Integer.toString(i).getBytes(StandardCharsets.UTF_8);
                byte[] value;
                try {
                    value = reader.get(XxHash64.hash(key), key);
                } catch (Reader.Busy e) {
                    busy++;
                    continue;
                }
                reads++;
                if (value == null) {
                    continue;
                }
                found++;
                for (byte b : value) {
                    if (b != value[0]) {
                        throw new IllegalStateException("key " + i + " has a torn value of " + value.length + " bytes: " + value[0] + " and " + b);
                    }
                }
            }
        }
        return (reads + " " + found + " " + busy).getBytes(StandardCharsets.UTF_8);
    }
}
