// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.JavaObject;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.NullStruct;
import org.apache.storm.generated.RebalanceOptions;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.StreamInfo;
import org.apache.storm.generated.SubmitOptions;
import org.apache.storm.generated.TopologyInitialStatus;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;
import org.gust.compat.part.CollectBolt;
import org.gust.compat.part.RowSpout;

/**
 * Sends Nimbus what it must refuse, and prints what came back as one line of JSON: case to outcome.
 *
 * <p>Storm's builder refuses many of these before they leave the client, so the topologies are put together from
 * generated structs. What a cluster takes after all (outcome {@code accepted}) is killed at once.
 */
public final class BadSubmits {
    private static final String ALIVE = "bad-alive";

    private final Nimbus.Iface nimbus;
    private final String jar;
    private final Map<String, Object> outcomes = new LinkedHashMap<>();

    private BadSubmits(Nimbus.Iface nimbus, String jar) {
        this.nimbus = nimbus;
        this.jar = jar;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> conf = Utils.readStormConfig();
        String uploaded = StormSubmitter.submitJar(conf, System.getProperty("storm.jar"));
        try (NimbusClient client = NimbusClient.getConfiguredClient(conf)) {
            BadSubmits all = new BadSubmits(client.getClient(), uploaded);
            all.structures();
            all.names();
            all.confs();
            all.jars();
            all.commands();
            System.out.println("=" + Json.of(all.outcomes));
        }
    }

    private void structures() {
        topology("unknown-component", t -> inputs(t).put(stream("ghost", "default"), shuffle()));
        topology("unknown-stream", t -> inputs(t).put(stream("rows", "ghost"), shuffle()));
        topology("unknown-field", t -> inputs(t).put(stream("rows", "default"), Grouping.fields(List.of("ghost"))));
        topology("one-known-one-unknown-field",
            t -> inputs(t).put(stream("rows", "default"), Grouping.fields(List.of("index", "ghost"))));
        topology("no-field-grouping", t -> inputs(t).put(stream("rows", "default"), Grouping.fields(List.of())));
        topology("unknown-grouping-class", t -> inputs(t).put(stream("rows", "default"),
            Grouping.custom_object(new JavaObject("org.gust.compat.Ghost", List.of()))));
        topology("garbage-grouping", t -> inputs(t).put(stream("rows", "default"),
            Grouping.custom_serialized(new byte[] {1, 2, 3})));
        topology("direct-grouping-on-plain-stream",
            t -> inputs(t).put(stream("rows", "default"), Grouping.direct(new NullStruct())));
        topology("reserved-bolt-id", t -> t.put_to_bolts("__mine", t.get_bolts().remove("sink")));
        topology("reserved-spout-id", t -> t.put_to_spouts("__mine", spout()));
        topology("reserved-stream-id",
            t -> t.get_spouts().get("rows").get_common().put_to_streams("__mine", new StreamInfo(List.of("a"), false)));
        topology("acker-id", t -> t.put_to_bolts("__acker", t.get_bolts().remove("sink")));
        topology("same-id-twice", t -> t.put_to_bolts("rows", t.get_bolts().remove("sink")));
        topology("no-spout", t -> {
            t.get_spouts().clear();
            inputs(t).clear();
        });
        topology("component-conf-not-json", t -> t.get_spouts().get("rows").get_common().set_json_conf("{no"));
        topology("negative-parallelism", t -> t.get_spouts().get("rows").get_common().set_parallelism_hint(-1));
        topology("negative-tasks",
            t -> t.get_spouts().get("rows").get_common().set_json_conf("{\"topology.tasks\":-3}"));
        topology("self-loop", t -> inputs(t).put(stream("sink", "default"), shuffle()));
    }

    private void names() {
        for (String name : new String[] {"a/b", "a.b", "a:b", "a\\b", "", " ", "..", "a b", "ä"}) {
            attempt("name '" + name + "'", name, () -> nimbus.submitTopology(name, jar, "{}", good()));
        }
        attempt("name null", null, () -> nimbus.submitTopology(null, jar, "{}", good()));
    }

    private void confs() {
        conf("not-json", "{no");
        conf("empty", "");
        conf("list", "[1,2]");
        conf("number", "7");
        conf("null", "null");
        conf("null-string", null);
        conf("workers-negative", "{\"topology.workers\":-1}");
        conf("workers-text", "{\"topology.workers\":\"two\"}");
        conf("workers-fraction", "{\"topology.workers\":1.5}");
        conf("timeout-zero", "{\"topology.message.timeout.secs\":0}");
        conf("debug-text", "{\"topology.debug\":\"yes\"}");
        conf("kryo-register-number", "{\"topology.kryo.register\":[5]}");
        conf("kryo-decorators-text", "{\"topology.kryo.decorators\":\"one\"}");
        conf("childopts-number", "{\"topology.worker.childopts\":5}");
        conf("environment-list", "{\"topology.environment\":[\"a\"]}");
        conf("unknown-key", "{\"no.such.key\":5}");
        conf("blobstore-map-unknown-blob", "{\"topology.blobstore.map\":{\"ghost\":{\"localname\":\"g\"}}}");
        conf("blobstore-map-text", "{\"topology.blobstore.map\":\"ghost\"}");
        conf("heap-above-limit",
            "{\"topology.worker.max.heap.size.mb\":100.0,\"topology.component.resources.onheap.memory.mb\":200.0}");
        conf("strategy-unknown", "{\"topology.scheduler.strategy\":\"org.gust.compat.Ghost\"}");
        conf("priority-negative", "{\"topology.priority\":-1}");
        conf("max-spout-pending-zero", "{\"topology.max.spout.pending\":0}");
    }

    private void jars() {
        attempt("jar missing", "bad-jar", () -> nimbus.submitTopology("bad-jar", "/nowhere/stormjar-x.jar", "{}", good()));
        attempt("jar null", "bad-jar", () -> nimbus.submitTopology("bad-jar", null, "{}", good()));
        attempt("jar empty", "bad-jar", () -> nimbus.submitTopology("bad-jar", "", "{}", good()));
        attempt("chunk to unknown location", null,
            () -> nimbus.uploadChunk("/nowhere/stormjar-x.jar", ByteBuffer.wrap(new byte[] {1})));
        attempt("finish unknown location", null, () -> nimbus.finishFileUpload("/nowhere/stormjar-x.jar"));
        attempt("client without jar", null, () -> StormSubmitter.submitJar(Utils.readStormConfig(), "/nowhere/app.jar"));
    }

    /** What needs one living topology, and what asks for one that does not live. */
    private void commands() throws Exception {
        SubmitOptions idle = new SubmitOptions(TopologyInitialStatus.INACTIVE);
        nimbus.submitTopologyWithOpts(ALIVE, jar, "{}", good(), idle);
        attempt("already alive", null, () -> nimbus.submitTopology(ALIVE, jar, "{}", good()));
        attempt("already alive, by StormSubmitter", null,
            () -> StormSubmitter.submitTopology(ALIVE, new Config(), good()));
        attempt("bad name, by StormSubmitter", null,
            () -> StormSubmitter.submitTopology("a/b", new Config(), good()));
        Map<String, Object> notJson = new HashMap<>(Map.of("a", new Object()));
        attempt("conf not JSON, by StormSubmitter", null, () -> StormSubmitter.submitTopology("bad-conf", notJson, good()));
        attempt("rebalance unknown component", null, () -> nimbus.rebalance(ALIVE, executors("ghost", 1)));
        attempt("rebalance to zero executors", null, () -> nimbus.rebalance(ALIVE, executors("sink", 0)));
        attempt("rebalance to negative executors", null, () -> nimbus.rebalance(ALIVE, executors("sink", -1)));
        kill(ALIVE);
        attempt("kill unknown", null, () -> nimbus.killTopology("ghost"));
        attempt("activate unknown", null, () -> nimbus.activate("ghost"));
        attempt("deactivate unknown", null, () -> nimbus.deactivate("ghost"));
        attempt("rebalance unknown", null, () -> nimbus.rebalance("ghost", executors("sink", 1)));
        attempt("conf of unknown", null, () -> nimbus.getTopologyConf("ghost-1-1"));
        attempt("info of unknown", null, () -> nimbus.getTopologyInfo("ghost-1-1"));
        attempt("topology of unknown", null, () -> nimbus.getTopology("ghost-1-1"));
        attempt("page of unknown", null, () -> nimbus.getTopologyPageInfo("ghost-1-1", "600", false));
        attempt("blob unknown", null, () -> nimbus.getBlobMeta("ghost"));
        attempt("blob bad key", null, () -> nimbus.getBlobMeta("a/b"));
        outcomes.put("name-allowed bad", nimbus.isTopologyNameAllowed("a/b"));
        outcomes.put("name-allowed good", nimbus.isTopologyNameAllowed("fresh"));
    }

    private interface Edit {
        void apply(StormTopology topology);
    }

    private interface Attempt {
        void run() throws Exception;
    }

    private void topology(String what, Edit edit) {
        StormTopology topology = good();
        edit.apply(topology);
        attempt("topology " + what, "bad-topology", () -> nimbus.submitTopology("bad-topology", jar, "{}", topology));
    }

    private void conf(String what, String json) {
        attempt("conf " + what, "bad-conf", () -> nimbus.submitTopology("bad-conf", jar, json, good()));
    }

    private void attempt(String what, String name, Attempt attempt) {
        try {
            attempt.run();
        } catch (Exception e) {
            outcomes.put(what, Fault.of(e));
            return;
        }
        outcomes.put(what, "accepted");
        if (name != null) {
            kill(name);
        }
    }

    /** Kills and waits until the name is free again, so that the next case may use it. */
    private void kill(String name) {
        KillOptions now = new KillOptions();
        now.set_wait_secs(0);
        try {
            nimbus.killTopologyWithOpts(name, now);
            while (nimbus.getTopologySummaries().stream().anyMatch(t -> t.get_name().equals(name))) {
                Utils.sleep(50);
            }
        } catch (Exception e) {
            outcomes.put("kill of " + name, Fault.of(e));
        }
    }

    private static StormTopology good() {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("rows", new RowSpout(0, new Fields("index"), Values::new), 1);
        builder.setBolt("sink", new CollectBolt(), 1).shuffleGrouping("rows");
        return builder.createTopology();
    }

    private static SpoutSpec spout() {
        return good().get_spouts().get("rows");
    }

    private static Map<GlobalStreamId, Grouping> inputs(StormTopology topology) {
        return topology.get_bolts().get("sink").get_common().get_inputs();
    }

    private static GlobalStreamId stream(String component, String stream) {
        return new GlobalStreamId(component, stream);
    }

    private static Grouping shuffle() {
        return Grouping.shuffle(new NullStruct());
    }

    private static RebalanceOptions executors(String component, int count) {
        RebalanceOptions options = new RebalanceOptions();
        options.set_wait_secs(3600);
        options.put_to_num_executors(component, count);
        return options;
    }
}
