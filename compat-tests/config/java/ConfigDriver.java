// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import net.minidev.json.JSONValue;
import org.apache.storm.utils.ConfigUtils;
import org.apache.storm.utils.Utils;
import org.apache.storm.validation.ConfigValidation;

/**
 * Asks Storm about configurations. A question is one line, a word and a JSON value: topology {conf}, daemon "yaml text",
 * yaml "yaml text", options "storm.options", defaults null, mask {conf}. An answer is one line of JSON: {"value": ...} or {"class", "text"} of what
 * was thrown.
 */
public final class ConfigDriver {
    private ConfigDriver() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // Storm logs to stdout
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int space = line.indexOf(' ');
            Map<String, Object> answer = new TreeMap<>();
            try {
                answer.put("value", answer(line.substring(0, space), line.substring(space + 1)));
            } catch (RuntimeException e) {
                answer.put("class", e.getClass().getName());
                answer.put("text", e.getMessage());
            }
            StringBuilder sb = new StringBuilder();
            write(sb, answer);
            out.println(sb);
        }
        out.flush();
    }

    @SuppressWarnings("unchecked")
    private static Object answer(String verb, String question) throws Exception {
        switch (verb) {
            case "topology":
                ConfigValidation.validateTopoConf((Map<String, Object>) JSONValue.parse(question));
                return null;
            case "daemon":
                ConfigValidation.validateFields(yaml(question));
                return null;
            case "yaml":
                return yaml(question);
            case "options":
                System.setProperty("storm.options", (String) JSONValue.parse(question));
                return Utils.readCommandLineOpts();
            case "defaults":
                return Utils.readDefaultConfig();
            case "mask":
                return new HashMap<>(ConfigUtils.maskPasswords((Map<String, Object>) JSONValue.parse(question)));
            default:
                throw new IllegalStateException("unknown question " + verb);
        }
    }

    private static Map<String, Object> yaml(String question) throws Exception {
        Path file = Files.createTempFile("conf", ".yaml");
        try {
            Files.writeString(file, (String) JSONValue.parse(question));
            return Utils.findAndReadConfigFile(file.toString(), false);
        } finally {
            Files.delete(file);
        }
    }

    /** Writes a value as JSON with sorted keys; doubles as Java prints them. */
    private static void write(StringBuilder sb, Object o) {
        if (o == null || o instanceof Boolean || o instanceof Number) {
            boolean finite = !(o instanceof Double) || Double.isFinite((Double) o);
            sb.append(finite ? String.valueOf(o) : "null");
        } else if (o instanceof Map) {
            Map<String, Object> sorted = new TreeMap<>();
            for (Map.Entry<?, ?> e : ((Map<?, ?>) o).entrySet()) {
                sorted.put(String.valueOf(e.getKey()), e.getValue());
            }
            List<String> parts = new ArrayList<>();
            for (Map.Entry<String, Object> e : sorted.entrySet()) {
                StringBuilder part = new StringBuilder();
                write(part, e.getKey());
                write(part.append(':'), e.getValue());
                parts.add(part.toString());
            }
            sb.append('{').append(String.join(",", parts)).append('}');
        } else if (o instanceof Collection) {
            List<String> parts = new ArrayList<>();
            for (Object e : (Collection<?>) o) {
                StringBuilder part = new StringBuilder();
                write(part, e);
                parts.add(part.toString());
            }
            sb.append('[').append(String.join(",", parts)).append(']');
        } else {
            sb.append('"');
            for (char c : o.toString().toCharArray()) {
                if (c == '"' || c == '\\' || c < ' ') {
                    sb.append(String.format("\\u%04x", (int) c));
                } else {
                    sb.append(c);
                }
            }
            sb.append('"');
        }
    }
}
