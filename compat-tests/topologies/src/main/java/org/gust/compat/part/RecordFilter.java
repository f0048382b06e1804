// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.trident.operation.BaseFilter;
import org.apache.storm.trident.operation.TridentOperationContext;
import org.apache.storm.trident.tuple.TridentTuple;

/** Writes each Trident tuple that passes to a ledger; files are named by partition, as Trident hides task ids. */
public final class RecordFilter extends BaseFilter {
    private final String name;
    private transient Ledger ledger;

    public RecordFilter(String name) {
        this.name = name;
    }

    @Override
    public void prepare(Map<String, Object> conf, TridentOperationContext context) {
        ledger = Ledger.open(conf, name, context.getPartitionIndex());
    }

    @Override
    public boolean isKeep(TridentTuple tuple) {
        ledger.line(tuple.toArray());
        return true;
    }
}
