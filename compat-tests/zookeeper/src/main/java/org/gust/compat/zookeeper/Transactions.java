// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import static org.gust.compat.zookeeper.Basics.bytes;

import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** Several operations as one. */
final class Transactions {
    private Transactions() {
    }

    private static Op create(String path, CreateMode mode) {
        return Op.create(path, bytes("0"), Ids.OPEN_ACL_UNSAFE, mode);
    }

    private static String results(List<OpResult> results) {
        List<String> out = new ArrayList<>();
        for (OpResult r : results) {
            String s = r.getClass().getSimpleName() + " type " + r.getType();
            if (r instanceof OpResult.CreateResult) {
                OpResult.CreateResult c = (OpResult.CreateResult) r;
                s += " " + c.getPath() + (c.getStat() == null ? "" : " " + Transcript.stat(c.getStat()));
            } else if (r instanceof OpResult.SetDataResult) {
                s += " " + Transcript.stat(((OpResult.SetDataResult) r).getStat());
            } else if (r instanceof OpResult.ErrorResult) {
                s += " " + ((OpResult.ErrorResult) r).getErr();
            } else if (r instanceof OpResult.GetDataResult) {
                OpResult.GetDataResult g = (OpResult.GetDataResult) r;
                s += " " + Transcript.show(g.getData()) + " " + Transcript.stat(g.getStat());
            } else if (r instanceof OpResult.GetChildrenResult) {
                s += " " + Transcript.sorted(((OpResult.GetChildrenResult) r).getChildren());
            }
            out.add(s);
        }
        return out.toString();
    }

    private static void ask(Transcript t, String what, ZooKeeper zk, Op... ops) {
        t.ask(what, () -> {
            try {
                return results(zk.multi(List.of(ops)));
            } catch (KeeperException e) {
                List<OpResult> r = e.getResults();
                return "error " + e.code() + " " + (r == null ? "without results" : results(r));
            }
        });
    }

    static void multi(String server, Transcript t) throws Exception {
        try (Client c = new Client("c", server); Client w = new Client("w", server)) {
            ZooKeeper zk = c.zk();
            String r = "/multi";
            zk.create(r, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            w.zk().addWatch(r, AddWatchMode.PERSISTENT_RECURSIVE);
            w.zk().getChildren(r, true);
            ask(t, "all kinds", zk, create(r + "/a", CreateMode.PERSISTENT), create(r + "/e", CreateMode.EPHEMERAL),
                create(r + "/c", CreateMode.CONTAINER), create(r + "/s", CreateMode.PERSISTENT_SEQUENTIAL),
                create(r + "/s", CreateMode.EPHEMERAL_SEQUENTIAL), Op.setData(r + "/a", bytes("1"), 0), Op.check(r + "/a", 1),
                create(r + "/d", CreateMode.PERSISTENT), Op.delete(r + "/d", -1), create(r + "/a/b", CreateMode.PERSISTENT));
            t.events(w);
            t.ask("stat", () -> zk.exists(r, false));
            t.ask("stat of changed", () -> zk.exists(r + "/a", false));
            w.zk().getChildren(r, true);
            ask(t, "third fails", zk, create(r + "/x", CreateMode.PERSISTENT), Op.setData(r + "/a", bytes("2"), -1),
                Op.delete(r + "/none", -1), create(r + "/y", CreateMode.PERSISTENT));
            ask(t, "check fails", zk, Op.delete(r + "/a/b", -1), Op.check(r + "/a", 7));
            ask(t, "last fails", zk, create(r + "/x", CreateMode.EPHEMERAL), create(r + "/x", CreateMode.PERSISTENT));
            ask(t, "not empty", zk, Op.delete(r + "/a", -1), Op.delete(r + "/a/b", -1));
            ask(t, "under an ephemeral of its own", zk, create(r + "/f", CreateMode.EPHEMERAL), create(r + "/f/g", CreateMode.PERSISTENT));
            ask(t, "ttl", zk, Op.create(r + "/ttl", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_WITH_TTL, 100));
            t.events(w);
            t.ask("nothing changed", () -> zk.exists(r, false));
            t.ask("nothing changed below", () -> zk.exists(r + "/a", false));
            t.ask("children", () -> Transcript.sorted(zk.getChildren(r, false)));
            t.ask("my ephemerals", () -> Transcript.sorted(zk.getEphemerals()));
            ask(t, "sequence goes on", zk, create(r + "/s", CreateMode.PERSISTENT_SEQUENTIAL));
            ask(t, "check alone", zk, Op.check(r, -1));
            ask(t, "check of none", zk, Op.check(r + "/none", -1));
            ask(t, "nothing", zk);
            t.ask("deep", () -> results(zk.multi(List.of(create(r + "/1", CreateMode.PERSISTENT),
                create(r + "/1/2", CreateMode.PERSISTENT), create(r + "/1/2/3", CreateMode.PERSISTENT),
                Op.delete(r + "/1/2/3", 0), Op.delete(r + "/1/2", 0), Op.setData(r + "/1", null, 0)))));
            t.events(w);
            t.ask("async", () -> {
                java.util.concurrent.CompletableFuture<String> f = new java.util.concurrent.CompletableFuture<>();
                zk.multi(List.of(Op.check(r + "/none", 0), Op.check(r, -1)),
                    (rc, path, ctx, res) -> f.complete(rc + " " + results(res)), null);
                return f.get();
            });
        }
    }

    static void multiRead(String server, Transcript t) throws Exception {
        try (Client c = new Client("c", server)) {
            ZooKeeper zk = c.zk();
            String r = "/multi-read";
            zk.create(r, bytes("x"), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            zk.create(r + "/a", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            ask(t, "read", zk, Op.getData(r), Op.getChildren(r), Op.getData(r + "/a"), Op.getData(r + "/none"),
                Op.getChildren(r + "/none"), Op.getChildren(r + "/a"));
        }
    }
}
