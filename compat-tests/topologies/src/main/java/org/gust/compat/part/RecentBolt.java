// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseStatefulWindowedBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.windowing.TupleWindow;

/**
 * Takes numbers in windows that Storm keeps in state too. A ledger line is {@code has} with the amount of
 * numbers that the state knows of when the task begins, then {@code init}; {@code window} and the numbers of one.
 */
public final class RecentBolt extends BaseStatefulWindowedBolt<KeyValueState<String, Long>> {
    private static final String AMOUNT = "amount";

    private transient Ledger ledger;
    private transient KeyValueState<String, Long> state;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.ledger = Ledger.open(conf, context);
    }

    @Override
    public void initState(KeyValueState<String, Long> state) {
        this.state = state;
        ledger.line("has", state.get(AMOUNT, 0L));
        ledger.line("init");
    }

    @Override
    public void execute(TupleWindow window) {
        StringBuilder all = new StringBuilder();
        long amount = 0;
        for (Tuple tuple : window.get()) {
            all.append(amount++ == 0 ? "" : ",").append(tuple.getLongByField("number"));
        }
        state.put(AMOUNT, state.get(AMOUNT, 0L) + amount);
        ledger.line("window", all);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
