// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.Config;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.CollectBolt;
import org.gust.compat.part.PassBolt;
import org.gust.compat.part.RowSpout;

/** 200 executors over 4 workers: 20 of a spout, 80 and 90 of two bolts, 10 ackers; some executors have two tasks. */
public final class ManyExecutors {
    private ManyExecutors() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        job.conf.setNumWorkers(4);
        job.conf.setNumAckers(10);
        // 50 executors share a small heap, and the queues are made in full.
        job.conf.put(Config.TOPOLOGY_EXECUTOR_RECEIVE_BUFFER_SIZE, 1024);
        Fields fields = new Fields("index");
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("rows", new RowSpout(job.rows(2000), fields, Values::new), 20);
        builder.setBolt("pass", new PassBolt(fields), 80).setNumTasks(120).shuffleGrouping("rows");
        builder.setBolt("gather", new CollectBolt(), 90).fieldsGrouping("pass", fields);
        job.submit(builder.createTopology());
    }
}
