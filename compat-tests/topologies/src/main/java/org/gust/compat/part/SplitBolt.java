// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Splits (index, sentence) into (index, position, word). */
public final class SplitBolt extends BaseBasicBolt {
    public static final Fields FIELDS = new Fields("index", "position", "word");

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        String[] words = tuple.getStringByField("sentence").split(" ");
        for (int i = 0; i < words.length; i++) {
            collector.emit(new Values(tuple.getValueByField("index"), i, words[i]));
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(FIELDS);
    }
}
