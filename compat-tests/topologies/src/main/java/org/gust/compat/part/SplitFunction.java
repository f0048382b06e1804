// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import org.apache.storm.trident.operation.BaseFunction;
import org.apache.storm.trident.operation.TridentCollector;
import org.apache.storm.trident.tuple.TridentTuple;
import org.apache.storm.tuple.Values;

/** Splits a sentence into words, for Trident. */
public final class SplitFunction extends BaseFunction {
    @Override
    public void execute(TridentTuple tuple, TridentCollector collector) {
        for (String word : tuple.getString(0).split(" ")) {
            collector.emit(new Values(word));
        }
    }
}
