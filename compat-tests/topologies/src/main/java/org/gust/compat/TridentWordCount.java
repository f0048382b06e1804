// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.Config;
import org.apache.storm.trident.TridentTopology;
import org.apache.storm.trident.operation.builtin.Count;
import org.apache.storm.trident.testing.MemoryMapState;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.BatchSpout;
import org.gust.compat.part.RecordFilter;
import org.gust.compat.part.Rows;
import org.gust.compat.part.SplitFunction;

/** Counts words exactly once, in batches. Trident keeps its transactions in the cluster state. */
public final class TridentWordCount {
    private TridentWordCount() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        job.conf.put(Config.TOPOLOGY_TRIDENT_BATCH_EMIT_INTERVAL_MILLIS, 50);
        job.conf.setMaxSpoutPending(2);
        TridentTopology topology = new TridentTopology();
        topology.newStream("sentences", new BatchSpout(job.rows(300), 25, new Fields("sentence"),
                i -> new Values(Rows.sentence(i))))
            .each(new Fields("sentence"), new SplitFunction(), new Fields("word"))
            .groupBy(new Fields("word"))
            .persistentAggregate(new MemoryMapState.Factory(), new Count(), new Fields("count"))
            .parallelismHint(3)
            .newValuesStream()
            .filter(new Fields("word", "count"), new RecordFilter("counts"));
        job.submit(topology.build());
    }
}
