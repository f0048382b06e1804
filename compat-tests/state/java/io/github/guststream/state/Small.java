// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.utils.ConfigUtils;

/** Opens a state as a worker of whatever Storm release does, and prints what it had, what it then has, and how it encodes. */
public final class Small {
    private Small() {}

    public static void main(String[] args) {
        PrintStream out = System.out;
        System.setOut(System.err); // logs go there too
        Map<String, Object> conf = ConfigUtils.readStormConfig();
        conf.put("topology.name", args[1]);
        conf.put("topology.submitter.user", "alice");
        TableState<String, Object> state = KeyValueStateProvider.open(args[0], "count-1", conf, Contexts.of(conf, "count"));
        TreeMap<String, Object> had = new TreeMap<>();
        state.forEach(entry -> had.put(entry.getKey(), entry.getValue()));
        state.put("word", 1L);
        state.put("list", new java.util.ArrayList<>(List.of("a", 2)));
        state.put("none", null);
        state.prepareCommit(1);
        state.commit(1);
        out.println(had);
        out.println(state.get("word") + " " + state.get("list") + " " + state.get("none") + " " + state.get("missing", "default"));
        out.println(Encoding.of(conf, Contexts.of(conf, "count")).name().replaceAll("; topology.*", ""));
    }
}
