// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.storm.grouping.Load;
import org.apache.storm.messaging.ConnectionWithStatus;
import org.apache.storm.messaging.DeserializingConnectionCallback;
import org.apache.storm.messaging.IConnection;
import org.apache.storm.messaging.TaskMessage;
import org.apache.storm.messaging.netty.BackPressureStatus;
import org.apache.storm.messaging.netty.Context;
import org.apache.storm.serialization.KryoTupleSerializer;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.tuple.AddressedTuple;
import org.apache.storm.tuple.MessageId;
import org.apache.storm.tuple.TupleImpl;

/**
 * Storm's Netty server and client, led by lines on stdin, each with one line for an answer: bind PORT; count; take (what came, as text); status
 * BLOCKED FREE (ids with commas, or -); load TASK=L,...; connect HOST PORT; ready; send FROM N TASK; blocked; loads; close.
 */
public final class NettyDriver {
    private final Map<String, Object> conf = Topology.conf();
    private final GeneralTopologyContext context = Topology.context(conf);
    private final Context netty = new Context();
    private final KryoTupleSerializer ser = new KryoTupleSerializer(conf, context);
    private final AtomicInteger came = new AtomicInteger();
    private final ConcurrentLinkedQueue<AddressedTuple> got = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean[] blocked = IntStream.range(0, 10).mapToObj(i -> new AtomicBoolean()).toArray(AtomicBoolean[]::new);
    private List<Integer> bpTasks = new ArrayList<>();
    private List<Integer> freeTasks = List.of(1, 2, 3).stream().collect(Collectors.toCollection(ArrayList::new));
    private IConnection server;
    private IConnection client;

    private NettyDriver() throws Exception {
        netty.prepare(conf);
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // Storm logs to stdout
        NettyDriver d = new NettyDriver();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                out.println(d.answer(line.split(" ")));
            } catch (Exception e) {
                out.println("! " + e.toString().replace('\n', ' '));
            }
        }
        System.exit(0);
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "bind":
                server = netty.bind("wire-1", Integer.parseInt(words[1]), new DeserializingConnectionCallback(conf, context, batch -> {
                    got.addAll(batch);
                    came.addAndGet(batch.size());
                }), () -> new BackPressureStatus("java-worker", bpTasks, freeTasks));
                return "" + server.getPort();
            case "count":
                return "" + came.get();
            case "take": {
                List<String> texts = new ArrayList<>();
                for (AddressedTuple t = got.poll(); t != null; t = got.poll()) {
                    texts.add(t.getDest() + " " + KryoDriver.Text.of(t.getTuple()));
                }
                came.set(0);
                return String.join(";", texts);
            }
            case "status":
                bpTasks = ids(words[1]);
                freeTasks = ids(words[2]);
                server.sendBackPressureStatus(new BackPressureStatus("java-worker", bpTasks, freeTasks));
                return "";
            case "load": {
                Map<Integer, Double> load = new HashMap<>();
                for (String pair : words[1].split(",")) {
                    String[] kv = pair.split("=");
                    load.put(Integer.valueOf(kv[0]), Double.valueOf(kv[1]));
                }
                server.sendLoadMetrics(load);
                return "";
            }
            case "connect":
                client = netty.connect("wire-1", words[1], Integer.parseInt(words[2]), blocked);
                return "";
            case "ready":
                return "" + (((ConnectionWithStatus) client).status() == ConnectionWithStatus.Status.Ready);
            case "send": {
                int from = Integer.parseInt(words[1]);
                int task = Integer.parseInt(words[3]);
                List<TaskMessage> batch = new ArrayList<>();
                for (int i = from; i < from + Integer.parseInt(words[2]); i++) {
                    batch.add(new TaskMessage(task, ser.serialize(new TupleImpl(context, List.of("word " + i), "spout", 4, "default",
                        MessageId.makeRootId(i + 1, 7)))));
                }
                client.send(batch.iterator());
                return "";
            }
            case "alien":
                client.send(List.of(new TaskMessage(2, new byte[] {4, alienStream(), 0, 2, 24, 1})).iterator());
                return "";
            case "blocked":
                return IntStream.range(0, blocked.length).filter(i -> blocked[i].get()).mapToObj(Integer::toString).collect(Collectors.joining(","));
            case "loads": {
                Map<Integer, Load> loads = client.getLoad(List.of(1, 2, 3, 4, 5));
                return loads.keySet().stream().sorted().map(t -> t + "=" + loads.get(t).getBoltLoad()).collect(Collectors.joining(","));
            }
            case "close":
                (words[1].equals("server") ? server : client).close();
                return "";
            default:
                throw new IllegalStateException("unknown word " + words[0]);
        }
    }

    /** The place of the spout's default stream. */
    private byte alienStream() {
        List<String> streams = new ArrayList<>(context.getComponentStreams("spout"));
        Collections.sort(streams);
        return (byte) (streams.indexOf("default") + 1);
    }

    private static List<Integer> ids(String text) {
        List<Integer> out = new ArrayList<>();
        if (!text.equals("-")) {
            for (String id : text.split(",")) {
                out.add(Integer.valueOf(id));
            }
        }
        return out;
    }
}
