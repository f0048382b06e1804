// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/**
 * Emits small tuples at a rate and writes down how their acks come, for measurements; bench/topology has the same in Go.
 *
 * <p>By the topology's conf: {@code bench.rate} is how many a second, 0 as many as go, below 0 none; {@code bench.acked}
 * whether they have ids; {@code bench.sentence} what they say, a number if it is missing. The ledger is a {@link Tally}.
 */
public final class RateSpout extends BaseRichSpout {
    private static final long SECOND = 1_000_000_000L;
    /** How far it may fall behind its rate before what it missed is let go. */
    private static final long BEHIND = SECOND / 10;

    private transient SpoutOutputCollector collector;
    private transient Tally tally;
    private transient String sentence;
    private transient boolean acked;
    private transient long gap;
    private transient long due;
    private transient long next;

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        long rate = ((Number) conf.getOrDefault("bench.rate", 0)).longValue();
        gap = rate > 0 ? SECOND / rate : rate;
        acked = (Boolean) conf.getOrDefault("bench.acked", true);
        sentence = (String) conf.get("bench.sentence");
        tally = new Tally(Ledger.open(conf, context), gap > 0);
        due = System.nanoTime();
    }

    @Override
    public void nextTuple() {
        if (gap < 0) {
            return;
        }
        Long id;
        if (gap > 0) {
            long now = System.nanoTime();
            if (now < due) {
                return;
            }
            due = Math.max(due + gap, now - BEHIND);
            id = now; // so that an ack tells how long it took
        } else {
            id = next++;
        }
        Values values = new Values(sentence == null ? id : sentence);
        if (acked) {
            collector.emit(values, id);
        } else {
            collector.emit(values);
        }
    }

    @Override
    public void ack(Object id) {
        if (gap > 0) {
            tally.took(System.nanoTime() - (Long) id);
        }
        tally.one();
    }

    @Override
    public void fail(Object id) {
        tally.failed();
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("value"));
    }
}
