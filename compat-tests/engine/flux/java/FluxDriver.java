// SPDX-License-Identifier: Apache-2.0

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Properties;
import org.apache.storm.Config;
import org.apache.storm.flux.FluxBuilder;
import org.apache.storm.flux.model.ExecutionContext;
import org.apache.storm.flux.model.TopologyDef;
import org.apache.storm.flux.parser.FluxParser;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.thrift.TSerializer;
import org.apache.storm.thrift.protocol.TBinaryProtocol;
import org.apache.storm.shade.net.minidev.json.JSONValue;

/** Takes a properties file and YAML files; prints a line for each: name, conf, topology, or what went wrong. */
public final class FluxDriver {
    private FluxDriver() {
    }

    private static String encode(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // Flux prints
        Properties properties = FluxParser.parseProperties(args[0], false);
        for (int i = 1; i < args.length; i++) {
            try {
                TopologyDef def = FluxParser.parseFile(args[i], false, true, properties, true);
                Config conf = FluxBuilder.buildConfig(def);
                StormTopology topology = FluxBuilder.buildTopology(new ExecutionContext(def, conf));
                byte[] bytes = new TSerializer(new TBinaryProtocol.Factory()).serialize(topology);
                out.println("ok " + encode(def.getName()) + " " + encode(JSONValue.toJSONString(conf)) + " " + Base64.getEncoder().encodeToString(bytes));
            } catch (Exception e) {
                out.println("fault " + encode(String.valueOf(e)));
            }
        }
    }
}
