// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseWindowedBolt.Count;
import org.apache.storm.topology.base.BaseWindowedBolt.Duration;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.RowSpout;
import org.gust.compat.part.WindowBolt;

/**
 * Sliding and tumbling windows, by count and by event time. One task each, so the order of events is the spout's and the windows
 * are the same in every run.
 */
public final class Windows {
    /** Event time of row 0, in milliseconds: any fixed instant will do. */
    private static final long EPOCH = 1_600_000_000_000L;

    private Windows() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        // A window acks a tuple when it expires, and the last ones never do: no more pending tuples than rows.
        int rows = job.rows(100);
        job.conf.setMaxSpoutPending(2 * rows);
        job.conf.setMessageTimeoutSecs(3600);

        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("events", new RowSpout(rows, new Fields("index", "at"),
            i -> new Values(i, EPOCH + 10L * i + i % 3)), 1);
        builder.setBolt("sliding-count", new WindowBolt(false).withWindow(Count.of(10), Count.of(3)), 1)
            .shuffleGrouping("events");
        builder.setBolt("tumbling-count", new WindowBolt(false).withTumblingWindow(Count.of(7)), 1)
            .shuffleGrouping("events");
        builder.setBolt("sliding-time", new WindowBolt(true).withWindow(millis(200), millis(100))
            .withTimestampField("at").withLag(millis(0)).withWatermarkInterval(millis(200)), 1)
            .shuffleGrouping("events");
        builder.setBolt("tumbling-time", new WindowBolt(true).withTumblingWindow(millis(150))
            .withTimestampField("at").withLag(millis(20)).withWatermarkInterval(millis(200)), 1)
            .shuffleGrouping("events");
        job.submit(builder.createTopology());
    }

    private static Duration millis(int n) {
        return Duration.of(n);
    }
}
