// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/**
 * The end of a stream: writes each tuple to its ledger, then acks it. A line has this worker's port, the tuple's
 * source component, source task and stream, then its values.
 */
public final class CollectBolt extends BaseRichBolt {
    private transient OutputCollector collector;
    private transient Ledger ledger;
    private transient int port;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.ledger = Ledger.open(conf, context);
        this.port = context.getThisWorkerPort();
    }

    @Override
    public void execute(Tuple tuple) {
        Object[] cells = new Object[4 + tuple.size()];
        cells[0] = port;
        cells[1] = tuple.getSourceComponent();
        cells[2] = tuple.getSourceTask();
        cells[3] = tuple.getSourceStreamId();
        for (int i = 0; i < tuple.size(); i++) {
            cells[4 + i] = tuple.getValue(i);
        }
        ledger.line(cells);
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
