// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.TreeSet;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/**
 * Emits the numbers from 0 without an end, or up to {@code compat.numbers} of them, each as its own message id, and goes
 * on after a restart behind what was acked, as a spout over a log with offsets does. One task only.
 *
 * <p>{@code OUT/offsets/COMPONENT} holds, as eight bytes, the smallest number that is not acked: every smaller one is.
 * The ledger has a line {@code open} with the number that this start begins with, then {@code acked} or {@code failed}
 * with a number. What fails is emitted again.
 */
public final class OffsetSpout extends BaseRichSpout {
    private static final String PAUSE = "compat.pause.ms";
    private static final String NUMBERS = "compat.numbers";

    private transient SpoutOutputCollector collector;
    private transient Ledger ledger;
    private transient RandomAccessFile offsets;
    private transient Deque<Long> failed;
    private transient TreeSet<Long> open;
    private transient long next;
    private transient long end;
    private transient long pauseMillis;

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        this.pauseMillis = conf.containsKey(PAUSE) ? ((Number) conf.get(PAUSE)).longValue() : 0;
        this.end = conf.containsKey(NUMBERS) ? ((Number) conf.get(NUMBERS)).longValue() : Long.MAX_VALUE;
        this.failed = new ArrayDeque<>();
        this.open = new TreeSet<>();
        Path file = Path.of((String) conf.get(Ledger.OUT), "offsets", context.getThisComponentId());
        try {
            Files.createDirectories(file.getParent());
            this.offsets = new RandomAccessFile(file.toFile(), "rw");
            this.next = offsets.length() == Long.BYTES ? offsets.readLong() : 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        this.ledger = Ledger.open(conf, context);
        ledger.line("open", next, context.getThisWorkerPort());
    }

    @Override
    public void nextTuple() {
        Long number = failed.poll();
        if (number == null) {
            if (next >= end) {
                return;
            }
            number = next++;
            open.add(number);
        }
        collector.emit(new Values(number), number);
        if (pauseMillis > 0) {
            Utils.sleep(pauseMillis);
        }
    }

    @Override
    public void ack(Object id) {
        ledger.line("acked", id);
        if (open.first().equals(id)) {
            open.pollFirst();
            save(open.isEmpty() ? next : open.first());
        } else {
            open.remove(id);
        }
    }

    @Override
    public void fail(Object id) {
        ledger.line("failed", id);
        failed.add((Long) id);
    }

    private void save(long smallest) {
        byte[] bytes = new byte[Long.BYTES];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (smallest >>> (Long.SIZE - Byte.SIZE * (i + 1)));
        }
        try {
            offsets.seek(0);
            offsets.write(bytes); // one call, so that a killed worker leaves the old number or the new one
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("number"));
    }
}
