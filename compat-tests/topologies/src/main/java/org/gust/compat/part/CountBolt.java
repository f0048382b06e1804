// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** Counts words in memory; a ledger line has word, count so far, index and position. */
public final class CountBolt extends BaseRichBolt {
    private transient OutputCollector collector;
    private transient Ledger ledger;
    private transient Map<String, Long> counts;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.ledger = Ledger.open(conf, context);
        this.counts = new HashMap<>();
    }

    @Override
    public void execute(Tuple tuple) {
        String word = tuple.getStringByField("word");
        long count = counts.merge(word, 1L, Long::sum);
        ledger.line(word, count, tuple.getValueByField("index"), tuple.getValueByField("position"));
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
