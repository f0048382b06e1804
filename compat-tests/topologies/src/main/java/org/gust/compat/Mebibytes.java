// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.gust.compat.part.DigestBolt;
import org.gust.compat.part.RowSpout;
import org.gust.compat.part.Rows;

/** Tuples of 1 MiB, to every task of a bolt that runs in two workers: within a worker and over the network. */
public final class Mebibytes {
    private Mebibytes() {
    }

    public static void main(String[] args) throws Exception {
        Job job = Job.of(args);
        job.conf.setNumWorkers(2);
        job.conf.setMaxSpoutPending(2);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("blocks", new RowSpout(job.rows(12), new Fields("index", "body"), Mebibytes::row), 1);
        builder.setBolt("digest", new DigestBolt(), 2).allGrouping("blocks");
        job.submit(builder.createTopology());
    }

    private static Values row(int index) {
        byte[] body = new byte[1 << 20];
        Rows.random(index).nextBytes(body);
        return new Values(index, body);
    }
}
