// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.FailBolt;
import org.gust.compat.part.RowSpout;

/** Every seventh row fails once and is replayed. */
public final class Failing {
    private Failing() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("rows", new RowSpout(job.rows(350), new Fields("index"), Values::new), 2);
        // By row, so that a replay comes to the task that remembers the failure.
        builder.setBolt("picky", new FailBolt(7), 2).fieldsGrouping("rows", new Fields("index"));
        job.submit(builder.createTopology());
    }
}
