// SPDX-License-Identifier: Apache-2.0

package org.gust.compat;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.storm.thrift.TApplicationException;

/** An exception as a client sees it: its class, its text, and the kind of a TApplicationException. */
final class Fault {
    private Fault() {
    }

    static Map<String, Object> of(Throwable thrown) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("class", thrown.getClass().getSimpleName());
        out.put("message", text(thrown));
        if (thrown instanceof TApplicationException) {
            out.put("type", ((TApplicationException) thrown).getType());
        }
        if (thrown.getCause() != null && thrown.getCause() != thrown) {
            out.put("cause", of(thrown.getCause()));
        }
        return out;
    }

    /** Generated exceptions keep their text in a field and wrap it in their own name for getMessage. */
    private static String text(Throwable thrown) {
        try {
            return (String) thrown.getClass().getMethod("get_msg").invoke(thrown);
        } catch (ReflectiveOperationException notGenerated) {
            return thrown.getMessage();
        }
    }
}
