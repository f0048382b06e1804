// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.gust.compat.part.EndlessSpout;
import org.gust.compat.part.LiveCountBolt;
import org.gust.compat.part.SplitBolt;

/** A word count without an end, for people to look at: each counting task shows its counts once a second. */
public final class Demo {
    private Demo() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("sentences", new EndlessSpout(), 1);
        builder.setBolt("split", new SplitBolt(), 2).shuffleGrouping("sentences");
        builder.setBolt("count", new LiveCountBolt(), 2).fieldsGrouping("split", new Fields("word"));
        job.submit(builder.createTopology());
    }
}
