// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import static org.gust.compat.zookeeper.Basics.bytes;

import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** Watches of every kind: what fires, what does not, and in what order. */
final class Watching {
    private Watching() {
    }

    private static void make(ZooKeeper zk, String... paths) throws Exception {
        for (String p : paths) {
            zk.create(p, bytes("0"), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        }
    }

    static void once(String server, Transcript t) throws Exception {
        try (Client a = new Client("a", server); Client b = new Client("b", server)) {
            ZooKeeper w = a.zk();
            String r = "/once";
            make(w, r, r + "/d", r + "/c");
            a.zk().getData(r + "/d", true, null);
            b.zk().getData(r + "/d", true, null);
            t.line("set");
            w.setData(r + "/d", bytes("1"), -1);
            t.events(a, b);
            t.line("set again");
            w.setData(r + "/d", bytes("2"), -1);
            t.events(a, b);

            b.zk().exists(r + "/new", true);
            a.zk().exists(r + "/d", true);
            t.line("create, set");
            w.create(r + "/new", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            w.setData(r + "/d", bytes("3"), -1);
            t.events(a, b);

            b.zk().getChildren(r, true);
            a.zk().getChildren(r + "/c", true);
            t.line("set of child is no change of children");
            w.setData(r + "/c", bytes("1"), -1);
            t.events(a, b);
            t.line("create child, create another");
            make(w, r + "/x", r + "/y");
            t.events(a, b);

            b.zk().getChildren(r, true);
            b.zk().getChildren(r + "/c", true);
            b.zk().getData(r + "/c", true, null);
            b.zk().exists(r + "/c", true);
            t.line("delete one that is watched in every way");
            w.delete(r + "/c", -1);
            t.events(a, b);
            t.line("watch that failed");
            t.ask("data of none", () -> b.zk().getData(r + "/none", true, null));
            t.ask("children of none", () -> b.zk().getChildren(r + "/none", true));
            make(w, r + "/none");
            t.events(b);
            t.line("several watchers of one client are told once over the wire");
            Client one = b;
            b.zk().getData(r + "/x", e -> one.process(e), null);
            b.zk().getData(r + "/x", e -> one.process(e), null);
            w.setData(r + "/x", bytes("1"), -1);
            t.events(b);
            t.line("closed client's ephemeral");
            b.zk().exists(r + "/e", true);
            b.zk().getChildren(r, true);
            try (Client e = new Client("e", server)) {
                e.zk().create(r + "/e", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
                t.events(b);
                b.zk().exists(r + "/e", true);
                b.zk().getChildren(r, true);
            }
            t.events(b);
        }
    }

    static void persistent(String server, Transcript t) throws Exception {
        try (Client a = new Client("a", server); Client b = new Client("b", server); Client w = new Client("w", server)) {
            String r = "/persistent";
            a.zk().addWatch(r, AddWatchMode.PERSISTENT);
            b.zk().addWatch(r, AddWatchMode.PERSISTENT_RECURSIVE);
            ZooKeeper zk = w.zk();
            t.line("create");
            make(zk, r);
            t.events(a, b);
            t.line("set twice");
            zk.setData(r, bytes("1"), -1);
            zk.setData(r, bytes("2"), -1);
            t.events(a, b);
            t.line("create below, and below that");
            make(zk, r + "/x", r + "/x/y");
            t.events(a, b);
            t.line("set below");
            zk.setData(r + "/x/y", bytes("1"), -1);
            t.events(a, b);
            t.line("with one-time watches on top");
            a.zk().getData(r, true, null);
            b.zk().getData(r, true, null);
            b.zk().getChildren(r, true);
            zk.setData(r, bytes("3"), -1);
            make(zk, r + "/z");
            t.events(a, b);
            zk.setData(r, bytes("4"), -1);
            t.events(a, b);
            t.line("both modes on one path");
            a.zk().addWatch(r, AddWatchMode.PERSISTENT_RECURSIVE);
            zk.setData(r, bytes("5"), -1);
            zk.setData(r + "/z", bytes("5"), -1);
            make(zk, r + "/v");
            t.events(a, b);
            t.line("delete all");
            for (String p : new String[] {"/x/y", "/x", "/v", "/z", ""}) {
                zk.delete(r + p, -1);
            }
            t.events(a, b);
            t.line("create again");
            make(zk, r);
            t.events(a, b);
            t.line("on the root");
            b.zk().addWatch("/", AddWatchMode.PERSISTENT_RECURSIVE);
            make(zk, "/persistent-other");
            t.events(a, b);
            zk.delete("/persistent-other", -1);
            t.events(a, b);
            t.line("chain of a multi");
            zk.transaction().setData(r, bytes("6"), -1).create(r + "/m", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)
                .delete(r + "/m", -1).commit();
            t.events(a, b);
        }
    }

    static void remove(String server, Transcript t) throws Exception {
        try (Client a = new Client("a", server); Client w = new Client("w", server)) {
            String r = "/remove-watches";
            ZooKeeper zk = w.zk();
            make(zk, r);
            for (Watcher.WatcherType type : Watcher.WatcherType.values()) {
                t.ask("remove " + type + " without", () -> removeAll(a, r, type, false));
            }
            for (Watcher.WatcherType type : Watcher.WatcherType.values()) {
                a.zk().getData(r, a, null);
                a.zk().getChildren(r, a);
                t.ask("remove " + type, () -> removeAll(a, r, type, false));
                zk.setData(r, bytes("1"), -1);
                zk.create(r + "/" + type, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
                t.events(a);
            }
            for (AddWatchMode mode : AddWatchMode.values()) {
                for (Watcher.WatcherType type : Watcher.WatcherType.values()) {
                    a.zk().addWatch(r, a, mode);
                    t.ask("remove " + type + " of " + mode, () -> removeAll(a, r, type, false));
                    zk.setData(r, bytes("2"), -1);
                    t.events(a);
                }
                t.ask("clean up", () -> removeAll(a, r, Watcher.WatcherType.Any, false));
                t.events(a);
            }
            a.zk().addWatch(r, a, AddWatchMode.PERSISTENT);
            a.zk().getData(r, a, null);
            t.ask("remove one watcher", () -> {
                a.zk().removeWatches(r, a, Watcher.WatcherType.Data, false);
                return "ok";
            });
            zk.setData(r, bytes("3"), -1);
            t.events(a);
            t.ask("of another path", () -> removeAll(a, r + "/none", Watcher.WatcherType.Any, false));
        }
    }

    private static String removeAll(Client c, String path, Watcher.WatcherType type, boolean local) throws Exception {
        try {
            c.zk().removeAllWatches(path, type, local);
        } catch (KeeperException.NoWatcherException e) {
            return "no watcher"; // the path in it is made up by the client
        }
        return "ok";
    }

    /** What a client is told about that happened while it was away. */
    static void missed(String server, Transcript t) throws Exception {
        try (Relay relay = new Relay(server); Client a = new Client("a", relay.address()); Client w = new Client("w", server)) {
            String r = "/missed";
            ZooKeeper zk = w.zk();
            make(zk, r, r + "/set", r + "/deleted", r + "/same", r + "/kids", r + "/gone", r + "/recreated", r + "/samekids");
            for (String p : new String[] {"/set", "/deleted", "/same", "/recreated"}) {
                a.zk().getData(r + p, true, null);
            }
            a.zk().exists(r + "/created", true);
            a.zk().exists(r + "/never", true);
            a.zk().getChildren(r + "/kids", true);
            a.zk().getChildren(r + "/gone", true);
            a.zk().getChildren(r + "/samekids", true);
            a.zk().addWatch(r + "/p", AddWatchMode.PERSISTENT);
            a.zk().addWatch(r + "/q", AddWatchMode.PERSISTENT_RECURSIVE);
            a.events();
            relay.cut();
            a.await(Watcher.Event.KeeperState.Disconnected);
            zk.setData(r + "/set", bytes("1"), -1);
            zk.delete(r + "/deleted", -1);
            zk.delete(r + "/gone", -1);
            zk.delete(r + "/recreated", -1);
            make(zk, r + "/recreated", r + "/created", r + "/kids/k", r + "/p", r + "/q", r + "/q/x");
            relay.mend();
            a.await(Watcher.Event.KeeperState.SyncConnected);
            for (String e : new java.util.TreeSet<>(a.events())) {
                t.line("  a hears on return: " + e);
            }
            t.line("those that did not fire still do");
            zk.setData(r + "/same", bytes("1"), -1);
            t.events(a);
            make(zk, r + "/never", r + "/samekids/k");
            t.events(a);
            zk.setData(r + "/p", bytes("1"), -1);
            zk.setData(r + "/q/x", bytes("1"), -1);
            t.events(a);
            t.line("those that fired do not");
            zk.setData(r + "/set", bytes("2"), -1);
            zk.setData(r + "/created", bytes("2"), -1);
            t.events(a);
        }
    }
}
