// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/** Emits (index, sentence) for ever, in bursts: quick enough to watch, slow enough to leave the machine to its user. */
public final class EndlessSpout extends BaseRichSpout {
    private static final int BURST = 20;

    private transient SpoutOutputCollector collector;
    private transient int next;

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void nextTuple() {
        for (int i = 0; i < BURST; i++) {
            int index = next++;
            collector.emit(new Values(index, Rows.sentence(index)), index);
        }
        Utils.sleep(10);
    }

    @Override
    public void fail(Object id) {
        int index = (Integer) id;
        collector.emit(new Values(index, Rows.sentence(index)), id);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("index", "sentence"));
    }
}
