// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.trident.operation.TridentCollector;
import org.apache.storm.trident.spout.IBatchSpout;
import org.apache.storm.tuple.Fields;

/**
 * Cuts a finite set of rows into Trident batches; a batch's number says what is in it, so a replay is the same batch.
 * Its ledger, {@code batches}, has a line for each batch that was acked.
 */
public final class BatchSpout implements IBatchSpout {
    private final int rows;
    private final int batch;
    private final Fields fields;
    private final Rows source;
    private transient Ledger ledger;

    public BatchSpout(int rows, int batch, Fields fields, Rows source) {
        this.rows = rows;
        this.batch = batch;
        this.fields = fields;
        this.source = source;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context) {
        ledger = Ledger.open(conf, "batches", context.getThisTaskId());
    }

    @Override
    public void emitBatch(long batchId, TridentCollector collector) {
        // Trident counts batches from 1 and goes on for ever; past the last row they are empty.
        for (long i = (batchId - 1) * batch; i < Math.min(rows, batchId * batch); i++) {
            collector.emit(source.row((int) i));
        }
    }

    @Override
    public void ack(long batchId) {
        if ((batchId - 1) * batch < rows) {
            ledger.line("acked", batchId);
        }
    }

    @Override
    public void close() {
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        Config conf = new Config();
        conf.setMaxTaskParallelism(1);
        return conf;
    }

    @Override
    public Fields getOutputFields() {
        return fields;
    }
}
