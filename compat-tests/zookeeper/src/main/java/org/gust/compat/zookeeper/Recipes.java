// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import static org.gust.compat.zookeeper.Basics.bytes;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.watch.PersistentWatcher;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;

/** What Storm and its users do through Curator. */
final class Recipes {
    private Recipes() {
    }

    private static CuratorFramework curator(String server) {
        CuratorFramework c = CuratorFrameworkFactory.builder().connectString(server).sessionTimeoutMs(30000)
            .connectionTimeoutMs(15000).retryPolicy(new ExponentialBackoffRetry(100, 20)).build();
        c.start();
        return c;
    }

    /** Waits for something that another thread brings about. */
    private static void until(Callable<Boolean> c) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!c.call()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("does not happen in 60 s");
            }
            Thread.sleep(5);
        }
    }

    static void paths(String server, Transcript t) throws Exception {
        try (CuratorFramework c = curator(server)) {
            String r = "/curator";
            t.ask("with parents", () -> c.create().creatingParentsIfNeeded().forPath(r + "/a/b/c", bytes("x")));
            t.ask("with parents again", () -> c.create().creatingParentsIfNeeded().forPath(r + "/a/b/c", bytes("x")));
            t.ask("or set", () -> c.create().orSetData().creatingParentsIfNeeded().forPath(r + "/a/b/c", bytes("y")));
            t.ask("data", () -> c.getData().forPath(r + "/a/b/c"));
            t.ask("with container parents",
                () -> c.create().creatingParentContainersIfNeeded().forPath(r + "/k/l/m", bytes("x")));
            t.ask("parent", () -> c.checkExists().forPath(r + "/k"));
            t.ask("exists with parents", () -> c.checkExists().creatingParentsIfNeeded().forPath(r + "/p/q/r"));
            t.ask("parent", () -> c.checkExists().forPath(r + "/p/q"));
            t.ask("protected", () -> c.create().withProtection().withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                .forPath(r + "/a/lock-").replaceAll("_c_[-0-9a-f]*", "_c_X"));
            t.ask("compressed", () -> c.create().compressed().forPath(r + "/z", bytes("zzzzzzzzzzzzzzzzzzzzzz")));
            t.ask("compressed data", () -> c.getData().decompressed().forPath(r + "/z"));
            t.ask("set with version", () -> c.setData().withVersion(0).forPath(r + "/z", bytes("1")));
            t.ask("idempotent set", () -> c.setData().idempotent().withVersion(1).forPath(r + "/z", bytes("1")));
            t.ask("delete not empty", () -> c.delete().forPath(r + "/a"));
            t.ask("delete with children", () -> c.delete().guaranteed().deletingChildrenIfNeeded().forPath(r + "/a"));
            t.ask("delete none", () -> c.delete().forPath(r + "/a"));
            t.ask("delete none quietly", () -> c.delete().quietly().forPath(r + "/a"));
            t.ask("children", () -> Transcript.sorted(c.getChildren().forPath(r)));
            t.ask("transaction", () -> results(c.transaction().forOperations(
                c.transactionOp().create().forPath(r + "/t", bytes("1")),
                c.transactionOp().setData().forPath(r + "/t", bytes("2")),
                c.transactionOp().check().withVersion(1).forPath(r + "/t"),
                c.transactionOp().delete().forPath(r + "/t"))));
            t.ask("failing transaction", () -> results(c.transaction().forOperations(
                c.transactionOp().create().forPath(r + "/t", bytes("1")),
                c.transactionOp().delete().forPath(r + "/none"))));
            t.ask("config", () -> c.getConfig().forEnsemble());
            t.ask("ensemble", () -> c.getCurrentConfig().getAllMembers().size());
            t.ask("sync", () -> c.sync().forPath(r));
            CuratorFramework chroot = c.usingNamespace("curator/space");
            t.ask("in a namespace", () -> chroot.create().creatingParentsIfNeeded().forPath("/n/o", bytes("n")));
            t.ask("outside", () -> c.getData().forPath(r + "/space/n/o"));
        }
        try (CuratorFramework c = curator(server + "/curator/space")) {
            t.ask("in a chroot", () -> c.getData().forPath("/n/o"));
            t.ask("create", () -> c.create().forPath("/n/p"));
            t.ask("children of the chroot", () -> c.getChildren().forPath("/"));
        }
    }

    private static Object results(Collection<CuratorTransactionResult> results) {
        List<String> out = new ArrayList<>();
        for (CuratorTransactionResult r : results) {
            out.add(r.getType() + " " + r.getForPath() + " " + r.getResultPath() + " "
                + (r.getResultStat() == null ? "" : Transcript.stat(r.getResultStat())) + r.getError());
        }
        return out;
    }

    static void latch(String server, Transcript t) throws Exception {
        String r = "/latch";
        try (CuratorFramework c1 = curator(server); CuratorFramework c2 = curator(server)) {
            LeaderLatch one = new LeaderLatch(c1, r, "host1:6627:-1");
            LeaderLatch two = new LeaderLatch(c2, r, "host2:6627:-1");
            one.start();
            until(one::hasLeadership);
            two.start();
            until(() -> two.getParticipants().size() == 2);
            t.ask("leader", () -> two.getLeader());
            t.ask("participants", () -> new TreeSet<>(two.getParticipants().stream().map(p -> p.toString()).toList()));
            t.ask("second leads", two::hasLeadership);
            t.ask("node", () -> c1.checkExists().forPath(r));
            for (String name : c1.getChildren().forPath(r)) {
                if (name.endsWith("0000000000")) {
                    t.ask("data of " + name.replaceAll("[-0-9a-f]{36}", "X"), () -> c1.getData().forPath(r + "/" + name));
                }
            }
            one.close();
            until(two::hasLeadership);
            t.ask("leader after close", () -> two.getLeader());
            c2.getZookeeperClient().getZooKeeper().getTestable().injectSessionExpiration();
            until(() -> !two.hasLeadership() || two.getParticipants().size() == 1);
            until(two::hasLeadership);
            t.ask("leader after expiry", () -> two.getLeader());
            two.close();
        }
    }

    static void cache(String server, Transcript t) throws Exception {
        String r = "/cache";
        ConcurrentSkipListSet<String> heard = new ConcurrentSkipListSet<>();
        List<String> events = Collections.synchronizedList(new ArrayList<>());
        try (CuratorFramework c = curator(server); CuratorFramework w = curator(server)) {
            w.create().creatingParentsIfNeeded().forPath(r + "/a/b", bytes("0"));
            try (CuratorCache cache = CuratorCache.build(c, r); PersistentWatcher pw = new PersistentWatcher(c, r, true)) {
                pw.getListenable().addListener(e -> {
                    if (e.getPath() != null) {
                        events.add(e.getType() + " " + e.getPath());
                    }
                });
                cache.listenable().addListener(CuratorCacheListener.builder().forAll((type, before, now) -> heard.add(
                    type + " " + (now == null ? before : now).getPath())).build());
                pw.start();
                cache.start();
                until(() -> cache.size() == 3);
                // A watch is set when it has told of something.
                int[] n = {0};
                until(() -> {
                    w.setData().forPath(r, bytes("try " + n[0]++));
                    return events.size() > 0;
                });
                until(() -> new String(cache.get(r).get().getData()).equals("try " + (n[0] - 1)));
                // The cache reads what it hears of; each step waits until it has, or it would skip some.
                w.create().forPath(r + "/a/c", bytes("1"));
                until(() -> heard.contains("NODE_CREATED " + r + "/a/c"));
                w.setData().forPath(r + "/a/b", bytes("2"));
                until(() -> heard.contains("NODE_CHANGED " + r + "/a/b"));
                w.delete().forPath(r + "/a/c");
                until(() -> heard.contains("NODE_DELETED " + r + "/a/c"));
                w.create().forPath(r + "/d", bytes("3"));
                until(() -> heard.contains("NODE_CREATED " + r + "/d"));
                until(() -> events.contains("NodeCreated " + r + "/d"));
                for (String e : heard) {
                    t.line("cache: " + e);
                }
                synchronized (events) {
                    events.stream().filter(e -> !e.equals("NodeDataChanged " + r)).forEach(e -> t.line("watcher: " + e));
                }
                t.ask("in the cache", () -> cache.stream().map(d -> d.getPath() + "="
                    + (d.getPath().equals(r) ? "" : new String(d.getData()))).sorted().toList());
            }
        }
    }

    static void others(String server, Transcript t) throws Exception {
        String r = "/recipes";
        try (CuratorFramework c1 = curator(server); CuratorFramework c2 = curator(server)) {
            InterProcessMutex m1 = new InterProcessMutex(c1, r + "/lock");
            InterProcessMutex m2 = new InterProcessMutex(c2, r + "/lock");
            t.ask("lock", () -> m1.acquire(30, TimeUnit.SECONDS));
            t.ask("lock that is held", () -> m2.acquire(50, TimeUnit.MILLISECONDS));
            m1.release();
            t.ask("lock that was held", () -> m2.acquire(30, TimeUnit.SECONDS));
            m2.release();
            InterProcessReadWriteLock rw1 = new InterProcessReadWriteLock(c1, r + "/rw");
            InterProcessReadWriteLock rw2 = new InterProcessReadWriteLock(c2, r + "/rw");
            t.ask("read lock", () -> rw1.readLock().acquire(30, TimeUnit.SECONDS));
            t.ask("another read lock", () -> rw2.readLock().acquire(30, TimeUnit.SECONDS));
            t.ask("write lock", () -> rw2.writeLock().acquire(50, TimeUnit.MILLISECONDS));
            DistributedAtomicLong n = new DistributedAtomicLong(c1, r + "/n", new ExponentialBackoffRetry(10, 5));
            for (int i = 0; i < 3; i++) {
                AtomicValue<Long> v = n.increment();
                t.line("counter " + v.succeeded() + " " + v.postValue());
            }
            try (SharedCount s1 = new SharedCount(c1, r + "/shared", 7); SharedCount s2 = new SharedCount(c2, r + "/shared", 7)) {
                s1.start();
                s2.start();
                s1.setCount(8);
                until(() -> s2.getCount() == 8);
                t.line("shared count " + s2.getCount());
            }
            SimpleDistributedQueue q = new SimpleDistributedQueue(c1, r + "/queue");
            q.offer(bytes("first"));
            q.offer(bytes("second"));
            t.ask("queue", q::take);
            t.ask("queue", q::poll);
            t.ask("queue", q::poll);
            DistributedBarrier b = new DistributedBarrier(c1, r + "/barrier");
            b.setBarrier();
            t.ask("barrier", () -> b.waitOnBarrier(50, TimeUnit.MILLISECONDS));
            b.removeBarrier();
            t.ask("no barrier", () -> b.waitOnBarrier(30, TimeUnit.SECONDS));
            try (GroupMember g1 = new GroupMember(c1, r + "/group", "one", bytes("1"));
                 GroupMember g2 = new GroupMember(c2, r + "/group", "two", bytes("2"))) {
                g1.start();
                g2.start();
                until(() -> g1.getCurrentMembers().size() == 2 && g2.getCurrentMembers().size() == 2);
                t.ask("members", () -> new TreeSet<>(g1.getCurrentMembers().keySet()));
            }
            try (PersistentNode node = new PersistentNode(c1, CreateMode.EPHEMERAL, false, r + "/node", bytes("n"))) {
                node.start();
                node.waitForInitialCreate(30, TimeUnit.SECONDS);
                c2.delete().forPath(r + "/node");
                until(() -> c2.checkExists().forPath(r + "/node") != null);
                t.line("node is there again");
            }
        }
    }

    /** Recipes go on after the server was restarted. */
    static void restart(String server, Transcript t) throws Exception {
        String r = "/curator-restart";
        try (CuratorFramework c = curator(server); CuratorFramework w = curator(server)) {
            List<ConnectionState> states = Collections.synchronizedList(new ArrayList<>());
            c.getConnectionStateListenable().addListener((f, s) -> states.add(s));
            LeaderLatch latch = new LeaderLatch(c, r + "/latch", "me");
            latch.start();
            until(latch::hasLeadership);
            w.create().creatingParentsIfNeeded().forPath(r + "/x", bytes("0"));
            try (CuratorCache cache = CuratorCache.build(c, r + "/x")) {
                cache.start();
                until(() -> cache.size() == 1);
                long session = c.getZookeeperClient().getZooKeeper().getSessionId();
                Suite.restart();
                until(() -> states.contains(ConnectionState.RECONNECTED));
                t.ask("same session", () -> session == c.getZookeeperClient().getZooKeeper().getSessionId());
                until(latch::hasLeadership);
                t.line("leader again");
                w.setData().forPath(r + "/x", bytes("1"));
                until(() -> cache.get(r + "/x").map(d -> new String(d.getData()).equals("1")).orElse(false));
                t.line("cache has the change");
                t.ask("states", () -> states.contains(ConnectionState.LOST) ? "lost" : "suspended and back");
            }
            latch.close();
        }
    }
}
