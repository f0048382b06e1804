// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.base.BaseWindowedBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.windowing.TupleWindow;

/**
 * Writes what each window holds. A ledger line has the window's number, its start and end, then the row numbers of
 * all, new and expired tuples. Start and end are {@code -} for counted windows: there they are wall-clock times.
 */
public final class WindowBolt extends BaseWindowedBolt {
    private final boolean timed;
    private transient Ledger ledger;
    private transient int windows;

    public WindowBolt(boolean timed) {
        this.timed = timed;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        super.prepare(conf, context, collector);
        ledger = Ledger.open(conf, context);
    }

    @Override
    public void execute(TupleWindow window) {
        ledger.line(windows++,
            timed ? window.getStartTimestamp() : "-",
            timed ? window.getEndTimestamp() : "-",
            rows(window.get()), rows(window.getNew()), rows(window.getExpired()));
    }

    private static String rows(List<Tuple> tuples) {
        return tuples.stream().map(t -> t.getInteger(0)).sorted(Comparator.naturalOrder()).map(String::valueOf)
            .collect(Collectors.joining(","));
    }
}
