// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import java.nio.file.Path;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.StormTopology;
import org.gust.compat.part.Ledger;

/**
 * What every topology of this JAR does with its command line: {@code NAME OUT [KEY=VALUE ...]}.
 *
 * <p>NAME is the topology's name, OUT the folder for its results (see {@link Ledger}); every further argument
 * becomes an entry of the topology's conf and wins over what the topology sets itself. {@code compat.rows} is the
 * number of rows the spouts emit, {@code compat.pause.ms} the pause between two of them.
 */
final class Job {
    static final String ROWS = "compat.rows";

    final Config conf = new Config();
    private final Config given = new Config();
    private final String name;

    private Job(String name) {
        this.name = name;
    }

    static Job of(String[] args) {
        if (args.length < 2) {
            throw new IllegalArgumentException("usage: NAME OUT [KEY=VALUE ...]");
        }
        Job job = new Job(args[0]);
        job.conf.put(Ledger.OUT, Path.of(args[1]).toAbsolutePath().toString());
        // On a busy machine a worker may take long; a replay that no test asked for would blur exact counts.
        job.conf.put(Config.TOPOLOGY_MESSAGE_TIMEOUT_SECS, 180);
        job.conf.put(Config.TOPOLOGY_MAX_SPOUT_PENDING, 100);
        for (int i = 2; i < args.length; i++) {
            int at = args[i].indexOf('=');
            if (at < 1) {
                throw new IllegalArgumentException("not KEY=VALUE: " + args[i]);
            }
            job.given.put(args[i].substring(0, at), value(args[i].substring(at + 1)));
        }
        return job;
    }

    /** The number of rows that the caller asked for, else the topology's own choice. */
    int rows(int fallback) {
        Object rows = given.getOrDefault(ROWS, fallback);
        conf.put(ROWS, rows);
        return ((Number) rows).intValue();
    }

    void submit(StormTopology topology) throws Exception {
        conf.putAll(given);
        StormSubmitter.submitTopology(name, conf, topology);
    }

    private static Object value(String text) {
        if (text.equals("true") || text.equals("false")) {
            return Boolean.valueOf(text);
        }
        try {
            return Long.valueOf(text);
        } catch (NumberFormatException notWhole) {
            try {
                return Double.valueOf(text);
            } catch (NumberFormatException notNumber) {
                return text;
            }
        }
    }
}
