// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.part;

import java.util.Map;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.OutputFieldsDeclarer;

/** What {@link SplitBolt} does, done by a Python child through the multilang protocol. */
public final class PythonSplitBolt extends ShellBolt implements IRichBolt {
    public PythonSplitBolt() {
        super("python3", "split_words.py");
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(SplitBolt.FIELDS);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return null;
    }
}
