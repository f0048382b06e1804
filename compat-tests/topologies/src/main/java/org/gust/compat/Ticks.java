// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.Config;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.RowSpout;
import org.gust.compat.part.TickBolt;

/** Tick tuples, asked for by the topology (every 2 s) and by one component itself (every second). */
public final class Ticks {
    private Ticks() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        job.conf.put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 2);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("rows", new RowSpout(job.rows(10), new Fields("index"), Values::new), 1);
        builder.setBolt("own", new TickBolt(1), 2).allGrouping("rows");
        builder.setBolt("topology", new TickBolt(null), 1).allGrouping("rows");
        job.submit(builder.createTopology());
    }
}
