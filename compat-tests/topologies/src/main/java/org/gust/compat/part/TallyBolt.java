// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** Acks each tuple and writes down how many there were, for measurements; bench/topology has the same in Go. */
public final class TallyBolt extends BaseRichBolt {
    private transient OutputCollector collector;
    private transient Tally tally;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        tally = new Tally(Ledger.open(conf, context), false);
    }

    @Override
    public void execute(Tuple tuple) {
        collector.ack(tuple);
        tally.one();
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
