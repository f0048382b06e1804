// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Collections;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** One client, one request after the other. */
final class Basics {
    private Basics() {
    }

    static byte[] bytes(String s) {
        return s.getBytes(UTF_8);
    }

    /** What a server holds before anybody has written. */
    static void fresh(String server, Transcript t) throws Exception {
        try (Client c = new Client("c", server)) {
            ZooKeeper zk = c.zk();
            for (String path : List.of("/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota")) {
                Stat st = new Stat();
                t.ask("data " + path, () -> zk.getData(path, false, st));
                t.ask("stat " + path, () -> zk.exists(path, false));
                t.ask("children " + path, () -> Transcript.sorted(zk.getChildren(path, false)));
                t.ask("acl " + path, () -> zk.getACL(path, st));
            }
            t.ask("all below /", () -> zk.getAllChildrenNumber("/"));
        }
    }

    static void create(String server, Transcript t) throws Exception {
        try (Client c = new Client("c", server)) {
            ZooKeeper zk = c.zk();
            String r = "/create";
            t.ask("root", () -> zk.create(r, bytes("r"), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("again", () -> zk.create(r, bytes("r"), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("no parent", () -> zk.create(r + "/x/y", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("no data", () -> zk.create(r + "/null", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("no data read", () -> zk.getData(r + "/null", false, null));
            t.ask("empty data", () -> zk.create(r + "/empty", new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("empty data read", () -> zk.getData(r + "/empty", false, null));
            t.ask("no acl", () -> zk.create(r + "/noacl", null, Collections.emptyList(), CreateMode.PERSISTENT));
            for (CreateMode m : CreateMode.values()) {
                t.ask("mode " + m, () -> zk.create(r + "/m" + m, bytes("m"), Ids.OPEN_ACL_UNSAFE, m));
                Stat st = new Stat();
                t.ask("mode with stat " + m, () -> zk.create(r + "/s" + m, bytes("m"), Ids.OPEN_ACL_UNSAFE, m, st));
                t.line("stat " + Transcript.stat(st));
                t.ask("mode with ttl " + m, () -> zk.create(r + "/t" + m, bytes("m"), Ids.OPEN_ACL_UNSAFE, m, st, 1000));
            }
            t.ask("stat of parent", () -> zk.exists(r, false));
            t.ask("under ephemeral", () -> zk.create(r + "/mEPHEMERAL/x", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("under container", () -> zk.create(r + "/mCONTAINER/x", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("sequence without name",
                () -> zk.create(r + "/", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_SEQUENTIAL));
            t.ask("deleted", () -> {
                zk.delete(r + "/null", -1);
                return "ok";
            });
            t.ask("sequence after delete",
                () -> zk.create(r + "/q", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL));
            t.ask("letters beyond ASCII", () -> zk.create(r + "/größe-日本", bytes("ü"), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("children", () -> Transcript.sorted(zk.getChildren(r, false)));
            t.ask("largest", () -> zk.create(r + "/large", new byte[1 << 19], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("largest read", () -> zk.getData(r + "/large", false, null).length);
        }
    }

    static void read(String server, Transcript t) throws Exception {
        try (Client c = new Client("c", server); Client other = new Client("other", server)) {
            ZooKeeper zk = c.zk();
            String r = "/read";
            zk.create(r, bytes("r"), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            for (String name : List.of("/b", "/a", "/a/c", "/a/c/d")) {
                zk.create(r + name, bytes(name), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
            zk.create(r + "/e1", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            zk.create(r + "/e2", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            other.zk().create(r + "/e3", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            Stat st = new Stat();
            t.ask("data", () -> zk.getData(r + "/a", false, st));
            t.line("stat " + Transcript.stat(st));
            t.ask("children", () -> Transcript.sorted(zk.getChildren(r, false, st)));
            t.line("stat " + Transcript.stat(st));
            t.ask("children without stat", () -> Transcript.sorted(zk.getChildren(r + "/a", false)));
            t.ask("no children", () -> zk.getChildren(r + "/b", false));
            t.ask("all below", () -> zk.getAllChildrenNumber(r));
            t.ask("my ephemerals", () -> Transcript.sorted(zk.getEphemerals()));
            t.ask("my ephemerals below", () -> Transcript.sorted(zk.getEphemerals(r + "/e1")));
            t.ask("other's ephemerals", () -> Transcript.sorted(other.zk().getEphemerals()));
            t.ask("who am I", () -> zk.whoAmI());
            t.ask("exists not", () -> zk.exists(r + "/none", false));
            t.ask("data of none", () -> zk.getData(r + "/none", false, null));
            t.ask("children of none", () -> zk.getChildren(r + "/none", false));
            t.ask("acl of none", () -> zk.getACL(r + "/none", null));
            t.ask("all below none", () -> zk.getAllChildrenNumber(r + "/none"));
            t.ask("sync", () -> {
                java.util.concurrent.CompletableFuture<String> f = new java.util.concurrent.CompletableFuture<>();
                zk.sync(r, (rc, path, ctx) -> f.complete(rc + " " + path), null);
                return f.get();
            });
        }
    }

    static void change(String server, Transcript t) throws Exception {
        try (Client c = new Client("c", server)) {
            ZooKeeper zk = c.zk();
            String r = "/change";
            zk.create(r, bytes("r"), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            t.ask("set", () -> zk.setData(r, bytes("1"), -1));
            t.ask("set with version", () -> zk.setData(r, bytes("22"), 1));
            t.ask("set with old version", () -> zk.setData(r, bytes("3"), 1));
            t.ask("set to null", () -> zk.setData(r, null, 2));
            t.ask("null", () -> zk.getData(r, false, null));
            t.ask("set none", () -> zk.setData(r + "/none", bytes("3"), -1));
            zk.create(r + "/a", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            t.ask("stat with child", () -> zk.exists(r, false));
            t.ask("delete with child", () -> delete(zk, r, -1));
            t.ask("delete with old version", () -> delete(zk, r + "/a", 7));
            t.ask("delete", () -> delete(zk, r + "/a", 0));
            t.ask("delete again", () -> delete(zk, r + "/a", -1));
            t.ask("delete below none", () -> delete(zk, r + "/none/x", -1));
            t.ask("stat without child", () -> zk.exists(r, false));
            t.ask("set acl", () -> zk.setACL(r, Ids.OPEN_ACL_UNSAFE, 0));
            t.ask("set acl with old version", () -> zk.setACL(r, Ids.OPEN_ACL_UNSAFE, 0));
            t.ask("set acl of none", () -> zk.setACL(r + "/none", Ids.OPEN_ACL_UNSAFE, -1));
            t.ask("stat", () -> zk.exists(r, false));
            for (String path : List.of("/zookeeper", "/zookeeper/quota", "/zookeeper/config")) {
                t.ask("delete " + path, () -> delete(zk, path, -1));
            }
            t.ask("set config", () -> zk.setData("/zookeeper/config", bytes("x"), -1));
        }
    }

    static String delete(ZooKeeper zk, String path, int version) throws Exception {
        zk.delete(path, version);
        return "ok";
    }
}
