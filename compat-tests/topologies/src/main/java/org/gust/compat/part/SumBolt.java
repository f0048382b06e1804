// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseStatefulBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Sums row numbers by word in Storm's keyed state. A ledger line is {@code init}, {@code sum} with word, sum and row
 * number, {@code prepare} or {@code commit} with the transaction id.
 */
public final class SumBolt extends BaseStatefulBolt<KeyValueState<String, Long>> {
    private transient OutputCollector collector;
    private transient Ledger ledger;
    private transient KeyValueState<String, Long> sums;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.ledger = Ledger.open(conf, context);
    }

    @Override
    public void initState(KeyValueState<String, Long> state) {
        sums = state;
        ledger.line("init");
    }

    @Override
    public void execute(Tuple tuple) {
        int index = tuple.getIntegerByField("index");
        String word = tuple.getStringByField("word");
        long sum = sums.get(word, 0L) + index;
        sums.put(word, sum);
        ledger.line("sum", word, sum, index);
        collector.emit(tuple, new Values(index, word, sum));
        collector.ack(tuple);
    }

    @Override
    public void prePrepare(long txid) {
        ledger.line("prepare", txid);
    }

    @Override
    public void preCommit(long txid) {
        ledger.line("commit", txid);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("index", "word", "sum"));
    }
}
