// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.io.Serializable;
import java.util.Random;
import org.apache.storm.tuple.Values;

/** A finite data set: row {@code i} is the same in every run, on every machine, in every task. */
@FunctionalInterface
public interface Rows extends Serializable {
    Values row(int index);

    /** Words of uneven frequency, picked by the row's number. */
    static String word(int index) {
        String[] words = {
            "storm", "gust", "breeze", "gale", "squall", "zephyr", "mistral", "föhn", "sirocco", "bora", "monsoon", "calm"
        };
        Random random = random(index);
        return words[Math.min(random.nextInt(words.length), random.nextInt(words.length))];
    }

    static String sentence(int index) {
        StringBuilder text = new StringBuilder(word(index * 7));
        int more = random(index).nextInt(6);
        for (int i = 1; i <= more; i++) {
            text.append(' ').append(word(index * 7 + i));
        }
        return text.toString();
    }

    /** {@link Random} is specified to the bit, so a seed gives the same numbers in every JVM. */
    static Random random(int index) {
        return new Random(0x67757374L * 31 + index * 0x9E3779B97F4A7C15L);
    }
}
