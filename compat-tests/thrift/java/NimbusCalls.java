// SPDX-License-Identifier: Apache-2.0

// Storm's own client against the Nimbus at the port that is the argument: prints what it sees, a line a call.

import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.storm.generated.ClusterSummary;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.NotAliveException;
import org.apache.storm.thrift.TApplicationException;
import org.apache.storm.thrift.transport.TTransportException;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;

public final class NimbusCalls {
    private static final int SHORT_CONNECTIONS = 300;

    private NimbusCalls() {
    }

    /** What a call gives. */
    private interface Call {
        Object make() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        Map<String, Object> conf = Utils.readDefaultConfig();
        int port = Integer.parseInt(args[0]);
        try (NimbusClient client = new NimbusClient(conf, "127.0.0.1", port, 30_000)) {
            Nimbus.Iface nimbus = client.getClient();
            tell(out, "leader", nimbus::getLeader);
            tell(out, "allowed", () -> nimbus.isTopologyNameAllowed("x"));
            tell(out, "conf", () -> nimbus.getTopologyConf("{\"größe\": \"流\"}"));
            tell(out, "declared", () -> nimbus.getTopologyConf("declared"));
            tell(out, "undeclared", () -> nimbus.getTopologyConf("undeclared"));
            tell(out, "application", () -> nimbus.getTopologyConf("application"));
            for (int size : new int[] {0, 307_200, 1 << 19}) {
                tell(out, "upload", () -> {
                    nimbus.uploadChunk(Integer.toString(size), ByteBuffer.wrap(new byte[size]));
                    return size;
                });
            }
            tell(out, "cluster", () -> {
                ClusterSummary summary = nimbus.getClusterInfo();
                return summary.get_topologies().get(0).get_name() + " " + summary.get_topologies().get(0).get_owner() + " "
                    + summary.get_nimbuses().get(0).get_host() + " " + summary.get_supervisors_size();
            });
            tell(out, "large reply", () -> nimbus.getTopologyConf("large").length());
            tell(out, "after", () -> nimbus.getTopologyConf("after"));
        }
        try (NimbusClient client = new NimbusClient(conf, "127.0.0.1", port, 30_000)) {
            tell(out, "large request", () -> {
                client.getClient().uploadChunk("x", ByteBuffer.wrap(new byte[1 << 20]));
                return "accepted";
            });
        }
        tell(out, "short connections", () -> {
            for (int i = 0; i < SHORT_CONNECTIONS; i++) {
                try (NimbusClient client = new NimbusClient(conf, "127.0.0.1", port, 30_000)) {
                    client.getClient().isTopologyNameAllowed("x");
                }
            }
            return SHORT_CONNECTIONS;
        });
        System.exit(0);
    }

    private static void tell(PrintStream out, String what, Call call) {
        String text;
        try {
            text = String.valueOf(call.make());
        } catch (TApplicationException e) {
            text = "TApplicationException " + e.getType() + " " + e.getMessage();
        } catch (NotAliveException e) {
            text = "NotAliveException " + e.get_msg();
        } catch (TTransportException e) {
            text = "TTransportException";
        } catch (Exception e) {
            text = e.toString();
        }
        out.println(what + ": " + text);
    }
}
