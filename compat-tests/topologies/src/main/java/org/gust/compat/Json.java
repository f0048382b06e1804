// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import java.util.Map;
import java.util.TreeMap;

/** Writes maps, lists, numbers, booleans and strings as JSON; Storm's own JSON library differs from version to version. */
final class Json {
    private Json() {
    }

    /** Text that already is JSON. */
    static final class Raw {
        private final String text;

        Raw(String text) {
            this.text = text;
        }
    }

    static String of(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value == null || value instanceof Boolean || value instanceof Number) {
            out.append(value);
        } else if (value instanceof Raw) {
            out.append(((Raw) value).text);
        } else if (value instanceof Map) {
            String comma = "{";
            for (Map.Entry<?, ?> entry : new TreeMap<>((Map<?, ?>) value).entrySet()) {
                out.append(comma);
                text(out, entry.getKey().toString());
                out.append(':');
                write(out, entry.getValue());
                comma = ",";
            }
            out.append(comma.equals("{") ? "{}" : "}");
        } else if (value instanceof Iterable) {
            String comma = "[";
            for (Object element : (Iterable<?>) value) {
                out.append(comma);
                write(out, element);
                comma = ",";
            }
            out.append(comma.equals("[") ? "[]" : "]");
        } else {
            text(out, value.toString());
        }
    }

    private static void text(StringBuilder out, String text) {
        out.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
