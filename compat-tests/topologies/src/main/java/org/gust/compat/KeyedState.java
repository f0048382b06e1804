// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import java.util.concurrent.TimeUnit;
import org.apache.storm.Config;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseWindowedBolt.Count;
import org.apache.storm.tuple.Fields;
import org.gust.compat.part.AmountBolt;
import org.gust.compat.part.IdsBolt;
import org.gust.compat.part.OffsetSpout;
import org.gust.compat.part.RecentBolt;

/**
 * Numbers, and three bolts that keep what they saw of them: sets of ids, which a replay does not change; amounts, which
 * it does; windows. {@code compat.numbers} says how many there are.
 */
public final class KeyedState {
    private KeyedState() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        job.conf.put(Config.TOPOLOGY_STATE_CHECKPOINT_INTERVAL, 500);
        job.conf.put(Config.TOPOLOGY_MESSAGE_TIMEOUT_SECS, (int) TimeUnit.MINUTES.toSeconds(1));
        // Kryo looks into these packages for what windows are kept as; without that, Java 17 ends the worker.
        job.conf.put(Config.TOPOLOGY_WORKER_CHILDOPTS,
            "--add-opens=java.base/java.util=ALL-UNNAMED --add-opens=java.base/java.util.concurrent=ALL-UNNAMED"
                + " --add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED");
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new OffsetSpout(), 1);
        builder.setBolt("ids", new IdsBolt(), 2).fieldsGrouping("numbers", new Fields("number"));
        builder.setBolt("amounts", new AmountBolt(), 1).shuffleGrouping("numbers");
        builder.setBolt("recent", new RecentBolt().withPersistence().withTumblingWindow(Count.of(10)), 1).shuffleGrouping("numbers");
        job.submit(builder.createTopology());
    }
}
