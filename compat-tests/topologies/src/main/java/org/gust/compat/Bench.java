// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.gust.compat.part.AckStampSpout;
import org.gust.compat.part.PassBolt;

/** A spout that writes down when its tuples are acked, and one bolt: what measurements submit. */
public final class Bench {
    private Bench() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("stamps", new AckStampSpout(), 1);
        builder.setBolt("pass", new PassBolt(new Fields("number")), 1).shuffleGrouping("stamps");
        job.submit(builder.createTopology());
    }
}
