// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.TupleUtils;

/** Counts words and shows the counts once a second as OUT/COMPONENT/TASK.now, lines of word, tab, count. */
public final class LiveCountBolt extends BaseRichBolt {
    private transient OutputCollector collector;
    private transient Path shown;
    private transient Map<String, Long> counts;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.counts = new TreeMap<>();
        Path folder = Path.of((String) conf.get(Ledger.OUT), context.getThisComponentId());
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        this.shown = folder.resolve(context.getThisTaskId() + ".now");
    }

    @Override
    public void execute(Tuple tuple) {
        if (TupleUtils.isTick(tuple)) {
            show();
        } else {
            counts.merge(tuple.getStringByField("word"), 1L, Long::sum);
        }
        collector.ack(tuple);
    }

    /** Writes beside the file and renames, so that a reader never sees half of it. */
    private void show() {
        StringBuilder text = new StringBuilder();
        counts.forEach((word, count) -> text.append(word).append('\t').append(count).append('\n'));
        Path fresh = shown.resolveSibling(shown.getFileName() + ".new");
        try {
            Files.write(fresh, text.toString().getBytes(StandardCharsets.UTF_8));
            Files.move(fresh, shown, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return Map.of(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 1);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
