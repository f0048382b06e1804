// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** Names the receiving task of each row itself: row i goes to the target's task number i modulo their count. */
public final class AddressedSpout extends RowSpout {
    public static final String STREAM = "addressed";

    private final String target;
    private transient List<Integer> tasks;

    public AddressedSpout(int rows, Fields fields, Rows source, String target) {
        super(rows, fields, source);
        this.target = target;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        super.open(conf, context, collector);
        tasks = new ArrayList<>(context.getComponentTasks(target));
        Collections.sort(tasks);
    }

    @Override
    protected void emit(SpoutOutputCollector collector, int index, Values row) {
        collector.emitDirect(tasks.get(index % tasks.size()), STREAM, row, index);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declareStream(STREAM, true, fields());
    }
}
