// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.Config;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.AddressedSpout;
import org.gust.compat.part.CollectBolt;
import org.gust.compat.part.ResidueGrouping;
import org.gust.compat.part.RowSpout;
import org.gust.compat.part.Rows;

/** One bolt for each grouping, over two workers. */
public final class Groupings {
    private Groupings() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        job.conf.setNumWorkers(2);
        // Plain shuffle deals tuples out evenly; the load-aware one depends on how busy the machine is.
        job.conf.put(Config.TOPOLOGY_DISABLE_LOADAWARE_MESSAGING, true);
        Fields fields = new Fields("index", "word");
        Rows rows = i -> new Values(i, Rows.word(i));
        int count = job.rows(300);

        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("source", new RowSpout(count, fields, rows), 2);
        builder.setSpout("director", new AddressedSpout(count, fields, rows, "by-direct"), 2);
        builder.setBolt("by-shuffle", new CollectBolt(), 3).shuffleGrouping("source");
        builder.setBolt("by-fields", new CollectBolt(), 3).fieldsGrouping("source", new Fields("word"));
        builder.setBolt("by-both-fields", new CollectBolt(), 3).fieldsGrouping("source", fields);
        builder.setBolt("by-partial", new CollectBolt(), 3).partialKeyGrouping("source", new Fields("word"));
        builder.setBolt("by-all", new CollectBolt(), 3).allGrouping("source");
        builder.setBolt("by-global", new CollectBolt(), 3).globalGrouping("source");
        builder.setBolt("by-none", new CollectBolt(), 3).noneGrouping("source");
        builder.setBolt("by-local", new CollectBolt(), 3).localOrShuffleGrouping("source");
        builder.setBolt("by-custom", new CollectBolt(), 3).customGrouping("source", new ResidueGrouping());
        builder.setBolt("by-direct", new CollectBolt(), 3).directGrouping("director", AddressedSpout.STREAM);
        job.submit(builder.createTopology());
    }
}
