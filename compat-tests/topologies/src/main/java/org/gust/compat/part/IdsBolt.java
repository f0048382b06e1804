// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseStatefulBolt;
import org.apache.storm.tuple.Tuple;

/**
 * Keeps for each key the set of the numbers that it came with. A ledger line is {@code has} with key and numbers
 * between commas, for what the state has when the task begins; then {@code init}.
 */
public final class IdsBolt extends BaseStatefulBolt<KeyValueState<String, Set<Long>>> {
    public static final int KEYS = 50;

    private transient OutputCollector collector;
    private transient Ledger ledger;
    private transient KeyValueState<String, Set<Long>> ids;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.ledger = Ledger.open(conf, context);
    }

    @Override
    public void initState(KeyValueState<String, Set<Long>> state) {
        ids = state;
        for (Map.Entry<String, Set<Long>> entry : state) {
            StringBuilder all = new StringBuilder();
            for (long id : new TreeSet<>(entry.getValue())) {
                all.append(all.length() == 0 ? "" : ",").append(id);
            }
            ledger.line("has", entry.getKey(), all);
        }
        ledger.line("init");
    }

    @Override
    public void execute(Tuple tuple) {
        long number = tuple.getLongByField("number");
        String key = "key" + number % KEYS;
        Set<Long> seen = ids.get(key);
        if (seen == null) {
            seen = new HashSet<>();
        }
        seen.add(number);
        ids.put(key, seen);
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
