// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import static org.gust.compat.zookeeper.Basics.bytes;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;

/** Who may do what. */
final class Access {
    private Access() {
    }

    private static List<ACL> acl(int perms, String scheme, String id) {
        return Collections.singletonList(new ACL(perms, new Id(scheme, id)));
    }

    /** Servers keep a connection's identities in any order. */
    private static List<String> sorted(List<?> list) {
        return list.stream().map(Transcript::show).sorted().collect(Collectors.toList());
    }

    /** Which ACLs can be set at all. */
    static void acl(String server, Transcript t) throws Exception {
        try (Client c = new Client("c", server)) {
            ZooKeeper zk = c.zk();
            String r = "/acl";
            zk.create(r, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            String[][] ids = {{"world", "anyone"}, {"world", "nobody"}, {"digest", "u:h"}, {"digest", "u"}, {"digest", "u:"},
                {"digest", ":h"}, {"digest", "u:h:x"}, {"digest", ""}, {"ip", "127.0.0.1"}, {"ip", "127.0.0.0/8"}, {"ip", "10.0.0.0/33"},
                {"ip", "300.1.1.1"}, {"ip", "::1"}, {"ip", "x"}, {"auth", ""}, {"sasl", "u"}, {"x509", "u"}, {"none", "u"}, {"super", "u"}};
            for (String[] id : ids) {
                String path = r + "/" + id[0] + "-" + id[1].replace('/', '_');
                t.ask("create " + id[0] + ":" + id[1],
                    () -> zk.create(path, null, acl(Perms.ALL, id[0], id[1]), CreateMode.PERSISTENT));
                t.ask("acl", () -> zk.getACL(path, null));
            }
            t.ask("twice the same", () -> zk.create(r + "/twice", null,
                Arrays.asList(new ACL(31, Ids.ANYONE_ID_UNSAFE), new ACL(31, Ids.ANYONE_ID_UNSAFE), new ACL(1, Ids.ANYONE_ID_UNSAFE)),
                CreateMode.PERSISTENT));
            t.ask("acl", () -> zk.getACL(r + "/twice", null));
            t.ask("odd permissions", () -> zk.create(r + "/odd", null, acl(0, "world", "anyone"), CreateMode.PERSISTENT));
            t.ask("read without permission", () -> zk.getData(r + "/odd", false, null));
            Stat st = new Stat();
            t.ask("set", () -> zk.setACL(r + "/twice", Ids.READ_ACL_UNSAFE, 0));
            t.ask("acl", () -> zk.getACL(r + "/twice", st));
            t.line("stat " + Transcript.stat(st));
            t.ask("set again", () -> zk.setACL(r + "/twice", Ids.OPEN_ACL_UNSAFE, -1));
            t.ask("write", () -> zk.setData(r + "/twice", null, -1));
            t.ask("by address", () -> zk.create(r + "/mine", bytes("m"), acl(Perms.ALL, "ip", "127.0.0.1"), CreateMode.PERSISTENT));
            t.ask("read by address", () -> zk.getData(r + "/mine", false, null));
            t.ask("by network", () -> zk.create(r + "/net", bytes("m"), acl(Perms.ALL, "ip", "127.0.0.0/8"), CreateMode.PERSISTENT));
            t.ask("read by network", () -> zk.getData(r + "/net", false, null));
            t.ask("by other address", () -> zk.create(r + "/other", bytes("m"), acl(Perms.ALL, "ip", "10.1.2.3"), CreateMode.PERSISTENT));
            t.ask("read by other address", () -> zk.getData(r + "/other", false, null));
            t.ask("delete by parent's right", () -> Basics.delete(zk, r + "/other", -1));
        }
    }

    static void auth(String server, Transcript t) throws Exception {
        try (Client a = new Client("a", server); Client b = new Client("b", server); Client n = new Client("n", server)) {
            String r = "/auth";
            a.zk().addAuthInfo("digest", bytes("alice:secret"));
            b.zk().addAuthInfo("digest", bytes("bob:secret"));
            ZooKeeper zk = a.zk();
            t.ask("who am I", () -> sorted(zk.whoAmI()));
            t.ask("create", () -> zk.create(r, bytes("x"), Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT));
            for (Client c : List.of(a, b, n)) {
                ZooKeeper z = c.zk();
                String who = c.name() + " ";
                t.ask(who + "data", () -> z.getData(r, true, null));
                t.ask(who + "exists", () -> z.exists(r, true));
                t.ask(who + "children", () -> z.getChildren(r, true));
                t.ask(who + "acl", () -> z.getACL(r, null));
                t.ask(who + "all below", () -> z.getAllChildrenNumber(r));
                t.ask(who + "set", () -> z.setData(r, bytes("y"), -1));
                t.ask(who + "set acl", () -> z.setACL(r, Ids.OPEN_ACL_UNSAFE, 77));
                t.ask(who + "create", () -> z.create(r + "/" + c.name(), null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
                t.ask(who + "delete", () -> Basics.delete(z, r + "/a", 5));
                t.ask(who + "check", () -> z.multi(List.of(Op.check(r, -1))).size());
                t.ask(who + "multi read", () -> z.multi(List.of(Op.getData(r))).get(0).getType());
                t.ask(who + "creator all without identity",
                    () -> z.create("/auth-" + c.name(), null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT));
                t.ask(who + "its acl", () -> z.getACL("/auth-" + c.name(), null));
            }
            t.events(a, b, n);
            String digest = DigestAuthenticationProvider.generateDigest("bob:secret");
            t.ask("read for bob", () -> zk.setACL(r, Arrays.asList(new ACL(Perms.ALL, new Id("auth", "")),
                new ACL(Perms.READ, new Id("digest", digest))), -1));
            t.ask("acl for alice", () -> zk.getACL(r, null));
            t.ask("acl for bob", () -> b.zk().getACL(r, null));
            t.ask("data for bob", () -> b.zk().getData(r, false, null));
            t.ask("set by bob", () -> b.zk().setData(r, null, -1));
            t.ask("data for nobody", () -> n.zk().getData(r, false, null));
            n.zk().addAuthInfo("digest", bytes("bob:secret"));
            t.ask("data for nobody who became bob", () -> n.zk().getData(r, false, null));
            n.zk().addAuthInfo("digest", bytes("alice:secret"));
            t.ask("who am I now", () -> sorted(n.zk().whoAmI()));
            t.ask("two identities", () -> n.zk().create(r + "/two", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT));
            t.ask("acl", () -> sorted(n.zk().getACL(r + "/two", null)));
            t.ask("create only", () -> zk.setACL(r, acl(Perms.CREATE, "world", "anyone"), -1));
            t.ask("create", () -> b.zk().create(r + "/made", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
            t.ask("delete", () -> Basics.delete(b.zk(), r + "/made", -1));
            t.ask("without colon", () -> {
                try (Client c = new Client("c", server)) {
                    c.zk().addAuthInfo("digest", bytes("carol"));
                    return sorted(c.zk().whoAmI());
                }
            });
            Client bad = new Client("bad", server);
            bad.zk().addAuthInfo("unknown", bytes("x"));
            bad.await(Watcher.Event.KeeperState.AuthFailed);
            t.line("unknown scheme: auth failed");
            t.ask("after it", () -> bad.zk().exists("/", false));
            bad.close();
        }
    }

    /** Events do not tell what a client may not read. */
    static void events(String server, Transcript t) throws Exception {
        try (Client a = new Client("a", server); Client n = new Client("n", server)) {
            String r = "/acl-events";
            a.zk().addAuthInfo("digest", bytes("alice:secret"));
            a.zk().create(r, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            n.zk().addWatch(r, AddWatchMode.PERSISTENT_RECURSIVE);
            n.zk().exists(r + "/secret", true);
            n.zk().getChildren(r, true);
            t.line("create, set, delete what may not be read");
            a.zk().create(r + "/secret", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
            a.zk().setData(r + "/secret", null, -1);
            a.zk().delete(r + "/secret", -1);
            t.events(n);
            t.line("its parent becomes secret");
            n.zk().getChildren(r, true);
            a.zk().setACL(r, Ids.CREATOR_ALL_ACL, -1);
            t.events(n);
            a.zk().create(r + "/open", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            t.events(n);
        }
    }
}
