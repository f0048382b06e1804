// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.util.Map;
import org.apache.storm.state.State;
import org.apache.storm.state.StateProvider;
import org.apache.storm.task.TopologyContext;

/**
 * Storm's way to gust's keyed state: {@code topology.state.provider: io.github.guststream.state.KeyValueStateProvider} in a topology's conf or in the storm.yaml
 * of the workers. The supervisor tells its workers where the state server is.
 */
public final class KeyValueStateProvider implements StateProvider {
    static final String SOCKET = "GUST_STATE_SOCKET";
    private static final String SHARDS = "gust.state.shards";

    @Override
    public State newState(String namespace, Map<String, Object> conf, TopologyContext context) {
        String socket = System.getenv(SOCKET);
        if (socket == null || socket.isEmpty()) {
            throw new IllegalStateException("state of " + namespace + ": " + SOCKET + " is not set: the supervisor of this worker keeps no state");
        }
        return open(socket, namespace, conf, context);
    }

    static <K, V> TableState<K, V> open(String socket, String namespace, Map<String, Object> conf, TopologyContext context) {
        Encoding<K, V> encoding = Encoding.of(conf, context);
        return new TableState<>(new TaskState(socket, definition(namespace, conf, context, encoding.name()), Session.WAIT, false), encoding);
    }

    static Definition definition(String namespace, Map<String, Object> conf, TopologyContext context, String encoder) {
        if (!(conf.get("topology.name") instanceof String topology)) {
            throw new IllegalArgumentException("state of " + namespace + ": the conf has no topology.name");
        }
        String owner = conf.get("topology.submitter.user") instanceof String user ? user : "";
        String component = context.getThisComponentId();
        int task = context.getThisTaskId();
        int shards = conf.get(SHARDS) instanceof Number number ? number.intValue() : Definition.DEFAULT_SHARDS;
        return new Definition(topology, owner, part(namespace, component, task), task, context.getComponentTasks(component).size(), shards, encoder);
    }

    /**
     * A bolt's state has the component's name. Further states of the same task, such as a window's, come as "component-task-what" and go by "component/what",
     * which is no component's name.
     */
    private static String part(String namespace, String component, int task) {
        String own = component + "-" + task;
        if (namespace.equals(own)) {
            return component;
        }
        return component + "/" + (namespace.startsWith(own + "-") ? namespace.substring(own.length() + 1) : namespace);
    }
}
