// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import java.util.zip.CRC32;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** Writes row number, length and CRC-32 of a byte array, and this worker's port. */
public final class DigestBolt extends BaseRichBolt {
    private transient OutputCollector collector;
    private transient Ledger ledger;
    private transient int port;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.ledger = Ledger.open(conf, context);
        this.port = context.getThisWorkerPort();
    }

    @Override
    public void execute(Tuple tuple) {
        byte[] body = tuple.getBinary(1);
        CRC32 crc = new CRC32();
        crc.update(body);
        ledger.line(tuple.getInteger(0), body.length, Long.toHexString(crc.getValue()), port);
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
    }
}
