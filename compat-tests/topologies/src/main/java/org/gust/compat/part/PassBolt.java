// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;

/** Hands tuples on as they are. */
public final class PassBolt extends BaseBasicBolt {
    private final Fields fields;

    public PassBolt(Fields fields) {
        this.fields = fields;
    }

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        collector.emit(tuple.getValues());
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(fields);
    }
}
