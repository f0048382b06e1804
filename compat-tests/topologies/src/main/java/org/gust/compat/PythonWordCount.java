// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.gust.compat.part.CountBolt;
import org.gust.compat.part.PythonSplitBolt;

/** {@link WordCount} with the splitting done by Python children. */
public final class PythonWordCount {
    private PythonWordCount() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("sentences", WordCount.sentences(job.rows(300)), 1);
        builder.setBolt("split", new PythonSplitBolt(), 2).shuffleGrouping("sentences");
        builder.setBolt("count", new CountBolt(), 2).fieldsGrouping("split", new Fields("word"));
        job.submit(builder.createTopology());
    }
}
