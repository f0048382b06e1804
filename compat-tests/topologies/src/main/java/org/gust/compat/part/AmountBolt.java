// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseStatefulBolt;
import org.apache.storm.tuple.Tuple;

/**
 * Counts how often each key came. A ledger line is {@code has} with key and amount, for what the state has when the task
 * begins; then {@code init}.
 */
public final class AmountBolt extends BaseStatefulBolt<KeyValueState<String, Long>> {
    private transient OutputCollector collector;
    private transient Ledger ledger;
    private transient KeyValueState<String, Long> amounts;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.ledger = Ledger.open(conf, context);
    }

    @Override
    public void initState(KeyValueState<String, Long> state) {
        amounts = state;
        for (Map.Entry<String, Long> entry : state) {
            ledger.line("has", entry.getKey(), entry.getValue());
        }
        ledger.line("init");
    }

    @Override
    public void execute(Tuple tuple) {
        String key = "key" + tuple.getLongByField("number") % IdsBolt.KEYS;
        amounts.put(key, amounts.get(key, 0L) + 1);
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
