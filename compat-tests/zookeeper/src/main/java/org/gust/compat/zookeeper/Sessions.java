// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import static org.gust.compat.zookeeper.Basics.bytes;

import java.util.List;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** Sessions over connections, time and restarts. The server's tick is 500 ms. */
final class Sessions {
    private Sessions() {
    }

    static void sessions(String server, Transcript t) throws Exception {
        for (int asked : new int[] {300, 1000, 4321, 10000, 1000000}) {
            try (Client c = new Client("c", server, asked)) {
                t.line("asked " + asked + " got " + c.zk().getSessionTimeout());
            }
        }
        String r = "/sessions";
        try (Client w = new Client("w", server)) {
            Client a = new Client("a", server);
            w.zk().create(r, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            a.zk().create(r + "/e", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            t.ask("owner", () -> w.zk().exists(r + "/e", true).getEphemeralOwner() == a.zk().getSessionId());
            t.ask("password", () -> a.zk().getSessionPasswd().length);

            Client twin = new Client("twin", server, 30000, a.zk().getSessionId(), a.zk().getSessionPasswd());
            twin.await(KeeperState.SyncConnected);
            t.ask("same session", () -> twin.zk().getSessionId() == a.zk().getSessionId());
            t.ask("its ephemerals", () -> twin.zk().getEphemerals());

            byte[] wrong = a.zk().getSessionPasswd().clone();
            wrong[3] ^= 1;
            Client thief = new Client("thief", server, 30000, a.zk().getSessionId(), wrong);
            t.line("wrong password: " + thief.next(KeeperState.Disconnected));
            Client ghost = new Client("ghost", server, 30000, 4711, new byte[16]);
            t.line("unknown session: " + ghost.next(KeeperState.Disconnected));
            t.ask("still there", () -> w.zk().exists(r + "/e", true) != null);

            // Both now hold the same session; the one that closes ends it for both.
            twin.await(KeeperState.SyncConnected);
            twin.close();
            t.line("closed: " + w.event());
            t.ask("ephemeral", () -> w.zk().exists(r + "/e", false));
            a.await(KeeperState.Expired);
            t.ask("the other", () -> a.zk().exists("/", false));
        } catch (IllegalStateException e) {
            t.line(e.getMessage());
        }
    }

    static void expiry(String server, Transcript t) throws Exception {
        String r = "/expiry";
        try (Relay relay = new Relay(server); Client w = new Client("w", server);
             Client a = new Client("a", relay.address(), 1000)) {
            w.zk().create(r, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            w.zk().addWatch(r, AddWatchMode.PERSISTENT);
            a.zk().create(r + "/e", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            t.events(w);
            long start = System.nanoTime();
            relay.cut();
            t.line("expired: " + w.event());
            long took = (System.nanoTime() - start) / 1_000_000;
            t.line(took > 300 && took < 20000 ? "in time" : "after " + took + " ms");
            relay.mend();
            a.await(KeeperState.Expired);
            t.ask("request", () -> a.zk().exists(r, false));
        }
    }

    static void containers(String server, Transcript t) throws Exception {
        String r = "/containers";
        try (Client w = new Client("w", server)) {
            ZooKeeper zk = w.zk();
            zk.create(r, null, Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER);
            zk.create(r + "/young", null, Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER);
            zk.create(r + "/old", null, Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER);
            zk.create(r + "/full", null, Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER);
            zk.create(r + "/full/x", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            zk.exists(r + "/old", true);
            zk.create(r + "/old/x", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            zk.delete(r + "/old/x", -1);
            t.line("emptied container: " + w.event());
            t.ask("left", () -> Transcript.sorted(zk.getChildren(r, false)));
        }
    }

    static void restart(String server, Transcript t) throws Exception {
        String r = "/restart";
        try (Client a = new Client("a", server); Client w = new Client("w", server)) {
            ZooKeeper zk = w.zk();
            zk.create(r, bytes("0"), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            for (String p : List.of("/d", "/c", "/acl", "/p", "/q")) {
                zk.create(r + p, bytes("0"), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
            zk.setACL(r + "/acl", Ids.READ_ACL_UNSAFE, -1);
            zk.setData(r + "/d", bytes("12"), -1);
            a.zk().create(r + "/e", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            a.zk().create(r + "/s", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL);
            a.zk().addAuthInfo("digest", bytes("alice:secret"));
            a.zk().create(r + "/mine", bytes("m"), Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
            zk.delete(r + "/c", -1);
            zk.create(r + "/c", bytes("1"), Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER);
            a.zk().getData(r + "/d", true, null);
            a.zk().getChildren(r, true);
            a.zk().exists(r + "/new", true);
            a.zk().addWatch(r + "/p", AddWatchMode.PERSISTENT);
            a.zk().addWatch(r + "/q", AddWatchMode.PERSISTENT_RECURSIVE);
            long id = a.zk().getSessionId();
            Suite.restart();
            a.await(KeeperState.SyncConnected);
            w.await(KeeperState.SyncConnected);
            t.ask("same session", () -> a.zk().getSessionId() == id);
            t.events(a, w);
            for (String p : List.of("", "/d", "/c", "/acl", "/e", "/s0000000006", "/mine")) {
                t.ask("stat " + p, () -> zk.exists(r + p, false));
                t.ask("acl " + p, () -> zk.getACL(r + p, null));
            }
            t.ask("children", () -> Transcript.sorted(zk.getChildren(r, false)));
            t.ask("identity came along", () -> a.zk().getData(r + "/mine", false, null));
            t.ask("ephemerals", () -> Transcript.sorted(a.zk().getEphemerals()));
            t.line("watches are there again");
            zk.setData(r + "/d", bytes("3"), -1);
            zk.create(r + "/new", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            zk.setData(r + "/p", bytes("3"), -1);
            zk.create(r + "/q/x", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            t.events(a);
            t.ask("sequence goes on", () -> zk.create(r + "/s", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_SEQUENTIAL));
        }
        try (Client w = new Client("w", server)) {
            t.ask("ephemerals are gone", () -> Transcript.sorted(w.zk().getChildren(r, false)));
        }
    }
}
