// SPDX-License-Identifier: Apache-2.0

// Storm's own Thrift server with a Nimbus that only answers what tests ask. Prints its port when it serves, and ends
// with its standard input. With three arguments (key store, trust store, the password of both) it is Thrift's server
// with TLS and frames, since Storm's own has no frames under TLS.

import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.storm.generated.ClusterSummary;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.NimbusSummary;
import org.apache.storm.generated.NotAliveException;
import org.apache.storm.generated.TopologySummary;
import org.apache.storm.security.auth.ThriftConnectionType;
import org.apache.storm.security.auth.ThriftServer;
import org.apache.storm.thrift.TApplicationException;
import org.apache.storm.thrift.TProcessor;
import org.apache.storm.thrift.protocol.TBinaryProtocol;
import org.apache.storm.thrift.server.TThreadPoolServer;
import org.apache.storm.thrift.transport.TSSLTransportFactory;
import org.apache.storm.thrift.transport.TServerSocket;
import org.apache.storm.thrift.transport.layered.TFramedTransport;
import org.apache.storm.utils.Utils;

public final class NimbusServer {
    private NimbusServer() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Map<String, Object> conf = Utils.readDefaultConfig();
        try (ServerSocket free = new ServerSocket(0)) { // the server itself does not tell which port it took
            conf.put("nimbus.thrift.port", free.getLocalPort());
        }
        conf.put("nimbus.thrift.threads", 4);
        Nimbus.Iface nimbus = (Nimbus.Iface) Proxy.newProxyInstance(NimbusServer.class.getClassLoader(),
            new Class<?>[] {Nimbus.Iface.class}, (self, method, arguments) -> answer(method.getName(), arguments));
        if (args.length > 0) {
            out.println(serveTls(new Nimbus.Processor<>(nimbus), args[0], args[1], args[2]));
            out.flush();
            while (System.in.read() >= 0) { // the end of the input is the end of the program
            }
            System.exit(0);
        }
        ThriftServer server = new ThriftServer(conf, new Nimbus.Processor<>(nimbus), ThriftConnectionType.NIMBUS);
        Thread serving = new Thread(server::serve);
        serving.setDaemon(true);
        serving.start();
        while (!server.isServing()) {
            Thread.sleep(5);
        }
        out.println(conf.get("nimbus.thrift.port"));
        out.flush();
        while (System.in.read() >= 0) { // the end of the input is the end of the program
        }
        System.exit(0);
    }

    /** Serves in the background and gives the port. */
    private static int serveTls(TProcessor processor, String keys, String trusted, String password) throws Exception {
        TSSLTransportFactory.TSSLTransportParameters parameters = new TSSLTransportFactory.TSSLTransportParameters();
        parameters.setKeyStore(keys, password, null, "PKCS12");
        parameters.setTrustStore(trusted, password, null, "PKCS12");
        parameters.requireClientAuth(true);
        TServerSocket socket = TSSLTransportFactory.getServerSocket(0, 30_000, InetAddress.getByName("127.0.0.1"), parameters);
        TThreadPoolServer server = new TThreadPoolServer(new TThreadPoolServer.Args(socket).processor(processor)
            .transportFactory(new TFramedTransport.Factory(1 << 20)).protocolFactory(new TBinaryProtocol.Factory(false, true)));
        Thread serving = new Thread(server::serve);
        serving.setDaemon(true);
        serving.start();
        return socket.getServerSocket().getLocalPort();
    }

    /** The same answers as the stub in service_test.go. */
    private static Object answer(String method, Object[] args) throws Exception {
        switch (method) {
            case "getLeader":
                return null;
            case "isTopologyNameAllowed":
                return true;
            case "uploadChunk":
                if (((ByteBuffer) args[1]).remaining() != Integer.parseInt((String) args[0])) {
                    throw new IllegalStateException("chunk of " + args[1]);
                }
                return null;
            case "getClusterInfo": {
                ClusterSummary summary = new ClusterSummary();
                TopologySummary topology = new TopologySummary("wörds-1-2", "wörds", 3, 3, 1, 17, "ACTIVE");
                topology.set_owner("流");
                summary.add_to_topologies(topology);
                NimbusSummary leader = new NimbusSummary("here", 6627, 5, true, "v");
                summary.add_to_nimbuses(leader);
                summary.set_supervisors(new java.util.ArrayList<>());
                return summary;
            }
            case "getTopologyConf":
                return conf((String) args[0]);
            default:
                throw new UnsupportedOperationException(method);
        }
    }

    private static String conf(String id) throws Exception {
        switch (id) {
            case "declared":
                throw new NotAliveException("declared is not alive");
            case "undeclared":
                throw new IllegalStateException("on purpose");
            case "application":
                throw new TApplicationException(TApplicationException.MISSING_RESULT, "of the handler");
            default:
                return id;
        }
    }
}
