// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.CollectBolt;
import org.gust.compat.part.ExclaimBolt;
import org.gust.compat.part.RowSpout;
import org.gust.compat.part.Rows;

/** Two bolts in a row, of which the second gets both the first one's tuples and the spout's own. */
public final class Exclamation {
    private Exclamation() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new RowSpout(job.rows(400), new Fields("index", "word"),
            i -> new Values(i, Rows.word(i))), 2);
        builder.setBolt("once", new ExclaimBolt(), 3).shuffleGrouping("words");
        builder.setBolt("more", new ExclaimBolt(), 2).shuffleGrouping("once").shuffleGrouping("words");
        builder.setBolt("heard", new CollectBolt(), 1).globalGrouping("more");
        job.submit(builder.createTopology());
    }
}
