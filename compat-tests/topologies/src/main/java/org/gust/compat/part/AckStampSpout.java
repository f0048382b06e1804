// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.time.Instant;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/**
 * Emits a number a millisecond for ever and writes down when tuples are acked, for measurements: its ledger, named by
 * the topology, has a line "open NANOSECONDS", then for the first ack and once in 100 ms "acked NANOSECONDS COUNT".
 */
public final class AckStampSpout extends BaseRichSpout {
    private static final long EVERY = 100_000_000L;

    private transient SpoutOutputCollector collector;
    private transient Ledger ledger;
    private transient long next;
    private transient long acked;
    private transient long written;

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        ledger = Ledger.open(conf, (String) conf.get(Config.TOPOLOGY_NAME), context.getThisTaskId());
        ledger.line("open", now());
    }

    @Override
    public void nextTuple() {
        long id = next++;
        collector.emit(new Values(id), id);
        Utils.sleep(1);
    }

    @Override
    public void ack(Object id) {
        acked++;
        long now = now();
        if (now - written >= EVERY) {
            written = now;
            ledger.line("acked", now, acked);
        }
    }

    private static long now() {
        Instant instant = Instant.now();
        return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("number"));
    }
}
