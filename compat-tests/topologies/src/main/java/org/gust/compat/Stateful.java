// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.Config;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.CollectBolt;
import org.gust.compat.part.RowSpout;
import org.gust.compat.part.Rows;
import org.gust.compat.part.SumBolt;

/** A stateful bolt with checkpoints: a tuple is acked only after a commit. In one worker, as stock needs it. */
public final class Stateful {
    private Stateful() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        job.conf.put(Config.TOPOLOGY_STATE_CHECKPOINT_INTERVAL, 500);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new RowSpout(job.rows(400), new Fields("index", "word"),
            i -> new Values(i, Rows.word(i))), 1);
        builder.setBolt("sum", new SumBolt(), 2).fieldsGrouping("words", new Fields("word"));
        builder.setBolt("seen", new CollectBolt(), 1).shuffleGrouping("sum");
        job.submit(builder.createTopology());
    }
}
