// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.TupleUtils;

/** Writes each tick: source component, task and stream, then the values; other tuples are only acked. */
public final class TickBolt extends BaseRichBolt {
    private final Integer seconds;
    private transient OutputCollector collector;
    private transient Ledger ledger;

    /** A null leaves the frequency to the topology's conf. */
    public TickBolt(Integer seconds) {
        this.seconds = seconds;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.ledger = Ledger.open(conf, context);
    }

    @Override
    public void execute(Tuple tuple) {
        if (TupleUtils.isTick(tuple)) {
            ledger.line("tick", tuple.getSourceComponent(), tuple.getSourceTask(), tuple.getSourceStreamId(), tuple.getValues());
        } else {
            ledger.line("tuple", tuple.getValue(0));
        }
        collector.ack(tuple);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return seconds == null ? Map.of() : Map.of(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, seconds);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
