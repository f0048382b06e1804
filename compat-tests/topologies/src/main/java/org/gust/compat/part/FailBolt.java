// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** Fails each n-th row the first time it comes, and takes it the second time. */
public final class FailBolt extends BaseRichBolt {
    private final int every;
    private transient OutputCollector collector;
    private transient Ledger ledger;
    private transient Set<Integer> failed;

    public FailBolt(int every) {
        this.every = every;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.ledger = Ledger.open(conf, context);
        this.failed = new HashSet<>();
    }

    @Override
    public void execute(Tuple tuple) {
        int index = tuple.getInteger(0);
        if (index % every == 0 && failed.add(index)) {
            ledger.line("failed", index);
            collector.fail(tuple);
            return;
        }
        ledger.line("taken", index);
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
