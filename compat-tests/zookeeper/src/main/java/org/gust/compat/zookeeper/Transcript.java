// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;

/** Prints a section's answers in a form that two servers can share. */
final class Transcript {
    private final String section;

    Transcript(String section) {
        this.section = section;
    }

    /** Something that a server is asked. */
    interface Question {
        Object ask() throws Exception;
    }

    void line(String text) {
        System.out.println(section + ": " + text);
        System.out.flush();
    }

    /** Asks and prints the answer or the error. */
    void ask(String what, Question q) {
        String answer;
        try {
            answer = show(q.ask());
        } catch (KeeperException e) {
            answer = "error " + e.code() + (e.getPath() == null ? "" : " " + e.getPath());
        } catch (Exception e) {
            answer = "exception " + e;
        }
        line(what + " -> " + answer);
    }

    /** Prints what clients were told since the last call, one line each. */
    void events(Client... clients) throws Exception {
        for (Client c : clients) {
            for (String e : c.events()) {
                line("  " + c.name() + " hears " + e);
            }
        }
    }

    static String show(Object o) {
        if (o == null) {
            return "null";
        }
        if (o instanceof byte[]) {
            return "'" + new String((byte[]) o, StandardCharsets.UTF_8) + "'";
        }
        if (o instanceof Stat) {
            return stat((Stat) o);
        }
        if (o instanceof ACL) {
            ACL a = (ACL) o;
            return a.getPerms() + ":" + a.getId().getScheme() + ":" + a.getId().getId();
        }
        if (o instanceof List) {
            return ((List<?>) o).stream().map(Transcript::show).collect(Collectors.joining(", ", "[", "]"));
        }
        return o.toString().replaceAll("\\s+", " ");
    }

    /** Children in order: servers may list them in any. */
    static List<String> sorted(List<String> names) {
        return new ArrayList<>(new TreeSet<>(names));
    }

    static String stat(Stat s) {
        long owner = s.getEphemeralOwner();
        String who = owner == 0 ? "none" : owner == Long.MIN_VALUE ? "container" : "session";
        return "version " + s.getVersion() + " cversion " + s.getCversion() + " aversion " + s.getAversion()
            + " owner " + who + " length " + s.getDataLength() + " children " + s.getNumChildren()
            + " mzxid" + relation(s.getMzxid(), s.getCzxid()) + " pzxid" + relation(s.getPzxid(), s.getCzxid())
            + " pzxid" + relation(s.getPzxid(), s.getMzxid()).replace("czxid", "mzxid")
            + " mtime" + (s.getMtime() >= s.getCtime() ? ">=ctime" : "<ctime")
            + (s.getCzxid() == 0 ? " system" : "");
    }

    private static String relation(long a, long b) {
        return a == b ? "=czxid" : a > b ? ">czxid" : "<czxid";
    }
}
