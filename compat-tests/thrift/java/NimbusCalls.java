// SPDX-License-Identifier: Apache-2.0

// Storm's own client against the Nimbus at the port that is the first argument: prints what it sees, a line a call. With four more, it
// speaks TLS: "storm" for the way of Storm's client, which has no frames then, "framed" for Thrift's own classes with frames; its trust
// store, its key store, and the password of both.

import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.storm.generated.ClusterSummary;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.NotAliveException;
import org.apache.storm.thrift.TApplicationException;
import org.apache.storm.thrift.protocol.TBinaryProtocol;
import org.apache.storm.thrift.transport.TSSLTransportFactory;
import org.apache.storm.thrift.transport.TTransport;
import org.apache.storm.thrift.transport.TTransportException;
import org.apache.storm.thrift.transport.layered.TFramedTransport;
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
        boolean tls = args.length > 1;
        if (tls) {
            conf.put("nimbus.thrift.client.use.tls", true);
            conf.put("nimbus.thrift.tls.client.truststore.path", args[2]);
            conf.put("nimbus.thrift.tls.client.truststore.password", args[4]);
            conf.put("nimbus.thrift.tls.client.auth.required", true);
            conf.put("nimbus.thrift.tls.client.keystore.path", args[3]);
            conf.put("nimbus.thrift.tls.client.keystore.password", args[4]);
        }
        Opener opener = tls && args[1].equals("framed")
            ? () -> framed(port, args[2], args[3], args[4])
            : () -> Link.of(new NimbusClient(conf, "127.0.0.1", port, 30_000, null, tls));
        try (Link link = opener.open()) {
            Nimbus.Iface nimbus = link.nimbus;
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
        try (Link link = opener.open()) {
            tell(out, "large request", () -> {
                link.nimbus.uploadChunk("x", ByteBuffer.wrap(new byte[1 << 20]));
                return "accepted";
            });
        }
        tell(out, "short connections", () -> {
            int connections = tls ? 20 : SHORT_CONNECTIONS; // a handshake takes its time
            for (int i = 0; i < connections; i++) {
                try (Link link = opener.open()) {
                    link.nimbus.isTopologyNameAllowed("x");
                }
            }
            return connections;
        });
        System.exit(0);
    }

    /** An open connection. */
    private static final class Link implements AutoCloseable {
        final Nimbus.Iface nimbus;
        private final Runnable end;

        private Link(Nimbus.Iface nimbus, Runnable end) {
            this.nimbus = nimbus;
            this.end = end;
        }

        static Link of(NimbusClient client) {
            return new Link(client.getClient(), client::close);
        }

        @Override
        public void close() {
            end.run();
        }
    }

    /** How to open one. */
    private interface Opener {
        Link open() throws Exception;
    }

    private static Link framed(int port, String trusted, String keys, String password) throws Exception {
        TSSLTransportFactory.TSSLTransportParameters parameters = new TSSLTransportFactory.TSSLTransportParameters();
        parameters.setTrustStore(trusted, password, null, "PKCS12");
        parameters.setKeyStore(keys, password, null, "PKCS12");
        TTransport frames = new TFramedTransport(TSSLTransportFactory.getClientSocket("127.0.0.1", port, 30_000, parameters), 1 << 20);
        return new Link(new Nimbus.Client(new TBinaryProtocol(frames)), frames::close);
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
