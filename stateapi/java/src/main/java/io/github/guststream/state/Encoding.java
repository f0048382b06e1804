// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import com.esotericsoftware.kryo.Kryo;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.storm.state.DefaultStateSerializer;
import org.apache.storm.state.Serializer;
import org.apache.storm.task.TopologyContext;

/**
 * How a topology's keys and values become bytes, and the name of that: bytes that were written under one name cannot be read under another.
 *
 * <p>topology.state.provider.config means what it means to Storm's Redis state: a JSON object with keySerializerClass and valueSerializerClass, or with
 * keyClass and valueClass, which Kryo then has in its register.
 */
record Encoding<K, V>(Serializer<K> keys, Serializer<V> values, String name) {
    private static final String PROVIDER_CONFIG = "topology.state.provider.config";
    private static final List<String> KRYO = List.of("topology.kryo.register", "topology.state.kryo.register", "topology.kryo.decorators",
            "topology.kryo.factory", "topology.fall.back.on.java.serialization", "topology.skip.missing.kryo.registrations");
    private static final Pattern CLASS = Pattern.compile("\"(key|value)(Serializer)?Class\"\\s*:\\s*\"([^\"\\\\]+)\"");
    private static final int READABLE = 500;

    static <K, V> Encoding<K, V> of(Map<String, Object> conf, TopologyContext context) {
        String config = conf.get(PROVIDER_CONFIG) instanceof String text ? text : "";
        Side<K> key = side("key", config, conf, context);
        Side<V> value = side("value", config, conf, context);
        String name = key.name.equals(value.name) ? key.name : key.name + " to " + value.name;
        if (key.kryo || value.kryo) {
            name += "; kryo " + kryoVersion() + registrations(conf);
        }
        return new Encoding<>(key.serializer, value.serializer, name);
    }

    private record Side<T>(Serializer<T> serializer, String name, boolean kryo) {}

    private static <T> Side<T> side(String which, String config, Map<String, Object> conf, TopologyContext context) {
        String plain = null;
        String serializer = null;
        for (Matcher found = CLASS.matcher(config); found.find();) {
            if (!found.group(1).equals(which)) {
                continue;
            }
            if (found.group(2) == null) {
                plain = found.group(3);
            } else {
                serializer = found.group(3);
            }
        }
        try {
            if (serializer != null) {
                @SuppressWarnings("unchecked")
                Serializer<T> made = (Serializer<T>) Class.forName(serializer).getDeclaredConstructor().newInstance();
                return new Side<>(made, serializer, false);
            }
            if (plain != null) {
                return new Side<>(new DefaultStateSerializer<>(conf, context, List.of(Class.forName(plain))), "default of " + plain, true);
            }
        } catch (ReflectiveOperationException | ClassCastException e) {
            throw new IllegalArgumentException(PROVIDER_CONFIG + " names a class for " + which + "s that cannot be used: " + e, e);
        }
        return new Side<>(new DefaultStateSerializer<>(conf, context), "default", true);
    }

    /** Kryo's major version: Storm 2.4 brings 3, 2.8 brings 5. */
    private static String kryoVersion() {
        try (InputStream file = Kryo.class.getResourceAsStream("/META-INF/maven/com.esotericsoftware/kryo/pom.properties")) {
            Properties properties = new Properties();
            if (file != null) {
                properties.load(file);
            }
            return properties.getProperty("version", "of unknown version").replaceFirst("\\..*", "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What gives classes their numbers, in Kryo's encoding; by name, since Storm registers by name. */
    private static String registrations(Map<String, Object> conf) {
        StringBuilder all = new StringBuilder();
        for (String key : KRYO) {
            Object value = conf.get(key);
            if (value == null || value instanceof Collection<?> none && none.isEmpty()) {
                continue;
            }
            boolean sorted = key.endsWith(".register");
            all.append("; ").append(key).append(' ').append(sorted && value instanceof Collection<?> list ? sorted(list) : value);
        }
        return all.length() <= READABLE ? all.toString() : "; registrations sha256 " + digest(all.toString());
    }

    private static Collection<String> sorted(Collection<?> list) {
        TreeSet<String> names = new TreeSet<>();
        for (Object each : list) {
            names.add(String.valueOf(each));
        }
        return names;
    }

    private static String digest(String of) {
        try {
            byte[] sum = MessageDigest.getInstance("SHA-256").digest(of.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(sum, 0, 16);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java has it
        }
    }
}
