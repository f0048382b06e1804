// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.storm.task.TopologyContext;

/**
 * The results of one task: lines of tab-separated cells, appended to {@code OUT/COMPONENT/TASK.INCARNATION.tsv}.
 *
 * <p>Each start of the task opens a file of its own, so nothing that an earlier worker wrote is touched. A line goes
 * to the file in one write before the task acks; a killed worker leaves at most one line without its end, which
 * readers ignore.
 */
public final class Ledger {
    public static final String OUT = "compat.out";

    private final OutputStream file;

    private Ledger(OutputStream file) {
        this.file = file;
    }

    public static Ledger open(Map<String, Object> conf, TopologyContext context) {
        return open(conf, context.getThisComponentId(), context.getThisTaskId());
    }

    public static Ledger open(Map<String, Object> conf, String component, int task) {
        Path folder = Path.of((String) conf.get(OUT), component);
        String incarnation = ProcessHandle.current().pid() + "-" + Long.toHexString(ThreadLocalRandom.current().nextLong());
        try {
            Files.createDirectories(folder);
            return new Ledger(new FileOutputStream(folder.resolve(task + "." + incarnation + ".tsv").toFile(), true));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Window bolts write from a timer thread, hence synchronized. */
    public synchronized void line(Object... cells) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < cells.length; i++) {
            text.append(i == 0 ? "" : "\t").append(cells[i]);
        }
        try {
            file.write(text.append('\n').toString().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
