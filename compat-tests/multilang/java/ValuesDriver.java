// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.multilang.JsonSerializer;

/** Answers a message of a child with the classes that Storm gives to the values of its tuple, and their hash. */
public final class ValuesDriver {
    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // for what Storm logs
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonSerializer serializer = new JsonSerializer();
            serializer.initialize(new ByteArrayOutputStream(), new ByteArrayInputStream((line + "\nend\n").getBytes(StandardCharsets.UTF_8)));
            List<Object> values = serializer.readShellMsg().getTuple();
            out.println(kind(values) + " " + values.hashCode());
        }
    }

    private static String kind(Object value) {
        StringBuilder text = new StringBuilder();
        if (value instanceof List) {
            for (Object element : (List<?>) value) {
                text.append(kind(element)).append(' ');
            }
            return "[ " + text + "]";
        }
        if (value instanceof Map) {
            new TreeMap<>((Map<?, ?>) value).forEach((key, v) -> text.append(key).append(' ').append(kind(v)).append(' '));
            return "{ " + text + "}";
        }
        return value == null ? "null" : value.getClass().getSimpleName();
    }
}
