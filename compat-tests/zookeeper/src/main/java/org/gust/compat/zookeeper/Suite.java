// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Asks the ZooKeeper server at the first argument everything, and prints each answer as a line that does not depend
 * on chance (no zxids, session ids or times). The server must be fresh. Further arguments choose sections.
 *
 * <p>Lines that start with @ ask whoever started this program: "@restart" wants the server restarted on the same address
 * and answered by a line.
 */
public final class Suite {
    private static final BufferedReader IN = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    /** One part of the suite. */
    interface Section {
        void run(String server, Transcript out) throws Exception;
    }

    private Suite() {
    }

    public static void main(String[] args) throws Exception {
        Map<String, Section> sections = new LinkedHashMap<>();
        sections.put("fresh", Basics::fresh);
        sections.put("create", Basics::create);
        sections.put("read", Basics::read);
        sections.put("change", Basics::change);
        sections.put("watches", Watching::once);
        sections.put("persistent", Watching::persistent);
        sections.put("remove-watches", Watching::remove);
        sections.put("missed", Watching::missed);
        sections.put("multi", Transactions::multi);
        sections.put("multi-read", Transactions::multiRead);
        sections.put("acl", Access::acl);
        sections.put("auth", Access::auth);
        sections.put("acl-events", Access::events);
        sections.put("sessions", Sessions::sessions);
        sections.put("expiry", Sessions::expiry);
        sections.put("containers", Sessions::containers);
        sections.put("restart", Sessions::restart);
        sections.put("wire", Wire::run);
        sections.put("curator", Recipes::paths);
        sections.put("latch", Recipes::latch);
        sections.put("cache", Recipes::cache);
        sections.put("recipes", Recipes::others);
        sections.put("curator-restart", Recipes::restart);
        for (Map.Entry<String, Section> e : sections.entrySet()) {
            if (args.length > 1 && !java.util.Arrays.asList(args).subList(1, args.length).contains(e.getKey())) {
                continue;
            }
            Transcript out = new Transcript(e.getKey());
            try {
                e.getValue().run(args[0], out);
            } catch (Throwable t) {
                out.line("section ends with " + t);
                t.printStackTrace();
            }
        }
        System.out.println("end");
        System.out.flush();
        System.exit(0); // clients that are still open do not hold it up
    }

    /** Asks for a restart of the server and waits until it is done. */
    static void restart() throws Exception {
        System.out.println("@restart");
        System.out.flush();
        IN.readLine();
    }
}
