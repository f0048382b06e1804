// SPDX-License-Identifier: Apache-2.0

import java.io.PrintStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.storm.Config;
import org.apache.storm.DaemonConfig;
import org.apache.storm.utils.Utils;
import org.apache.storm.validation.ConfigValidation;
import org.apache.storm.validation.ConfigValidationAnnotations;

/**
 * Prints the facts of Storm's configuration keys as YAML: name, field, class, checks with their parameters, default.
 *
 * <p>The order is that of reflection, because it decides which of two faults Storm reports first. Run by regen.sh with the JARs of
 * one Storm release on the class path; the result is config/keys.yaml.
 */
public final class DumpKeys {
    private static final Set<Class<?>> WANTED = new HashSet<>();

    private DumpKeys() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Map<String, Object> defaults = Utils.readDefaultConfig();
        Set<String> seen = new HashSet<>();
        out.println("# SPDX-License-Identifier: Apache-2.0");
        out.println();
        out.println("# Facts about the configuration keys of Apache Storm, read from its JARs by config/gen/regen.sh. Do not edit.");
        out.println("# The order of keys and checks is the order in which Storm validates them.");
        out.println("version: " + json(args[0]));
        out.println("keys:");
        for (Class<?> owner : List.of(Config.class, DaemonConfig.class)) {
            for (Field field : owner.getDeclaredFields()) {
                if (ConfigValidation.isFieldAllowed(field)) {
                    out.println(line(owner, field, defaults));
                    seen.add((String) field.get(null));
                }
            }
        }
        for (String key : new TreeSet<>(defaults.keySet())) {
            if (!seen.contains(key)) {
                out.println("  - {key: " + json(key) + ", default: " + json(defaults.get(key)) + "}");
            }
        }
        printClasses(out, Arrays.copyOfRange(args, 1, args.length));
    }

    private static String line(Class<?> owner, Field field, Map<String, Object> defaults) throws Exception {
        String key = (String) field.get(null);
        StringBuilder sb = new StringBuilder("  - {key: " + json(key));
        sb.append(", field: ").append(json(field.getName())).append(", class: ").append(json(owner.getSimpleName()));
        if (defaults.containsKey(key)) {
            sb.append(", default: ").append(json(defaults.get(key)));
        }
        List<String> checks = new ArrayList<>();
        for (Annotation a : field.getAnnotations()) {
            if (a.annotationType().equals(Deprecated.class)) {
                sb.append(", deprecated: true");
            } else if (a.annotationType().getName().startsWith(ConfigValidationAnnotations.class.getName() + "$")) {
                checks.add(check(a));
            }
        }
        return sb.append(", checks: [").append(String.join(", ", checks)).append("]}").toString();
    }

    /** One check as {is: annotation, parameter: value, ...}; what the annotation's name already says is left out. */
    private static String check(Annotation a) throws Exception {
        Map<String, Object> params = new TreeMap<>();
        for (Method m : a.annotationType().getDeclaredMethods()) {
            Object v = m.invoke(a);
            if (m.getName().equals("implementsClass") || m.getName().equals("baseType")) {
                WANTED.add((Class<?>) v);
            }
            boolean implied = m.getName().equals("validatorClass") && m.getDefaultValue() != null;
            boolean empty = v instanceof String[] && Arrays.equals((String[]) v, new String[] {""});
            if (!implied && !empty) {
                params.put(m.getName(), v);
            }
        }
        String rest = json(params);
        return "{\"is\": " + json(a.annotationType().getSimpleName()) + (params.isEmpty() ? "}" : ", " + rest.substring(1));
    }

    /** Lists, for each type that a key's value must implement, the classes of the given JARs that do. */
    private static void printClasses(PrintStream out, String[] jars) throws Exception {
        Map<String, Set<String>> found = new TreeMap<>();
        for (Class<?> w : WANTED) {
            found.put(w.getName(), new TreeSet<>());
        }
        for (String jar : jars) {
            try (JarFile file = new JarFile(jar)) {
                for (JarEntry e : (Iterable<JarEntry>) file.stream()::iterator) {
                    if (!e.getName().endsWith(".class") || !e.getName().startsWith("org/apache/storm/")
                        || e.getName().startsWith("org/apache/storm/shade/")) {
                        continue;
                    }
                    Class<?> c;
                    try {
                        c = Class.forName(e.getName().replace('/', '.').replaceAll("\\.class$", ""), false, DumpKeys.class.getClassLoader());
                        if (c.isAnonymousClass()) {
                            continue;
                        }
                    } catch (LinkageError missing) {
                        continue; // needs a JAR that is not part of Storm's own class path
                    }
                    for (Class<?> w : WANTED) {
                        if (w.isAssignableFrom(c)) {
                            found.get(w.getName()).add(c.getName());
                        }
                    }
                }
            }
        }
        out.println("# For each type that a value must name an implementation of: the classes of Storm's JARs that Storm accepts.");
        out.println("classes:");
        for (Map.Entry<String, Set<String>> e : found.entrySet()) {
            out.println("  " + e.getKey() + ": " + json(new ArrayList<>(e.getValue())));
        }
    }

    private static String json(Object o) {
        if (o == null || o instanceof Number || o instanceof Boolean) {
            return String.valueOf(o);
        }
        if (o instanceof Class) {
            return json(((Class<?>) o).getName());
        }
        if (o instanceof Object[]) {
            return json(Arrays.asList((Object[]) o));
        }
        if (o instanceof List) {
            List<String> parts = new ArrayList<>();
            for (Object e : (List<?>) o) {
                parts.add(json(e));
            }
            return "[" + String.join(", ", parts) + "]";
        }
        if (o instanceof Map) {
            List<String> parts = new ArrayList<>();
            for (Map.Entry<?, ?> e : new TreeMap<>((Map<?, ?>) o).entrySet()) {
                parts.add(json(String.valueOf(e.getKey())) + ": " + json(e.getValue()));
            }
            return "{" + String.join(", ", parts) + "}";
        }
        StringBuilder sb = new StringBuilder("\"");
        for (char c : o.toString().toCharArray()) {
            if (c == '"' || c == '\\') {
                sb.append('\\').append(c);
            } else if (c < ' ') {
                sb.append(String.format("\\u%04x", (int) c));
            } else {
                sb.append(c);
            }
        }
        return sb.append('"').toString();
    }
}
