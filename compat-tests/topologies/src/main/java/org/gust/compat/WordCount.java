// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.CountBolt;
import org.gust.compat.part.RowSpout;
import org.gust.compat.part.Rows;
import org.gust.compat.part.SplitBolt;

/** Counts the words of sentences. */
public final class WordCount {
    private WordCount() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("sentences", sentences(job.rows(500)), 2);
        builder.setBolt("split", new SplitBolt(), 3).shuffleGrouping("sentences");
        builder.setBolt("count", new CountBolt(), 4).fieldsGrouping("split", new Fields("word"));
        job.submit(builder.createTopology());
    }

    static RowSpout sentences(int rows) {
        return new RowSpout(rows, new Fields("index", "sentence"), i -> new Values(i, Rows.sentence(i)));
    }
}
