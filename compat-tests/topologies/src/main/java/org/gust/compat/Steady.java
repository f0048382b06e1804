// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.gust.compat.part.CollectBolt;
import org.gust.compat.part.OffsetSpout;
import org.gust.compat.part.PassBolt;

/** Numbers without an end through two steps, from a source that goes on behind what was acked: for tests that do harm meanwhile. */
public final class Steady {
    private Steady() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new OffsetSpout(), 1);
        builder.setBolt("pass", new PassBolt(new Fields("number")), 2).shuffleGrouping("numbers");
        builder.setBolt("sink", new CollectBolt(), 2).fieldsGrouping("pass", new Fields("number"));
        job.submit(builder.createTopology());
    }
}
