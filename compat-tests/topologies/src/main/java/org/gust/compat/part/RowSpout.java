// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/**
 * Emits a finite set of rows, each with its number as message id, and again after a failure until all are acked.
 *
 * <p>Task k of n emits the rows whose number is k modulo n. Its ledger has a line {@code open} with the number of
 * its rows, then {@code acked} or {@code failed} with a row's number. A spout that is started anew knows nothing of what was acked and
 * emits all its rows again: delivery is at least once.
 */
public class RowSpout extends BaseRichSpout {
    private static final String PAUSE = "compat.pause.ms";

    private final int rows;
    private final Rows source;
    private final Fields fields;
    private transient Deque<Integer> pending;
    private transient Ledger ledger;
    private transient SpoutOutputCollector collector;
    private transient long pauseMillis;

    public RowSpout(int rows, Fields fields, Rows source) {
        this.rows = rows;
        this.fields = fields;
        this.source = source;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        this.pauseMillis = conf.containsKey(PAUSE) ? ((Number) conf.get(PAUSE)).longValue() : 0;
        this.pending = new ArrayDeque<>();
        int tasks = context.getComponentTasks(context.getThisComponentId()).size();
        for (int i = context.getThisTaskIndex(); i < rows; i += tasks) {
            pending.add(i);
        }
        this.ledger = Ledger.open(conf, context);
        ledger.line("open", pending.size(), context.getThisWorkerPort());
    }

    @Override
    public void nextTuple() {
        Integer index = pending.poll();
        if (index == null) {
            return;
        }
        emit(collector, index, source.row(index));
        if (pauseMillis > 0) {
            Utils.sleep(pauseMillis);
        }
    }

    /** Sends one row; a subclass chooses another way. */
    protected void emit(SpoutOutputCollector collector, int index, Values row) {
        collector.emit(row, index);
    }

    @Override
    public void ack(Object id) {
        ledger.line("acked", id);
    }

    @Override
    public void fail(Object id) {
        ledger.line("failed", id);
        pending.add((Integer) id);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(fields);
    }

    protected final Fields fields() {
        return fields;
    }
}
