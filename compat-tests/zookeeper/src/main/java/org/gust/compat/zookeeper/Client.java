// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/** A ZooKeeper client that notes what it hears. Also usable as the watcher of single requests. */
final class Client implements Watcher, AutoCloseable {
    private static final long LIMIT = 60;

    private final String name;
    private final ZooKeeper zk;
    private final LinkedBlockingQueue<WatchedEvent> heard = new LinkedBlockingQueue<>();
    private final LinkedBlockingQueue<Event.KeeperState> states = new LinkedBlockingQueue<>();

    Client(String name, String server, int timeout) throws Exception {
        this.name = name;
        zk = new ZooKeeper(server, timeout, this);
        await(Event.KeeperState.SyncConnected);
    }

    Client(String name, String server, int timeout, long session, byte[] password) throws Exception {
        this.name = name;
        zk = new ZooKeeper(server, timeout, this, session, password);
    }

    Client(String name, String server) throws Exception {
        this(name, server, 30000);
    }

    String name() {
        return name;
    }

    ZooKeeper zk() {
        return zk;
    }

    @Override
    public void process(WatchedEvent e) {
        if (e.getType() == Event.EventType.None) {
            states.add(e.getState());
        } else {
            heard.add(e);
        }
    }

    /** Waits for a state of the connection, passing over others. */
    void await(Event.KeeperState state) throws Exception {
        while (true) {
            Event.KeeperState s = states.poll(LIMIT, TimeUnit.SECONDS);
            if (s == null) {
                throw new IllegalStateException(name + ": no " + state + " in " + LIMIT + " s");
            }
            if (s == state) {
                return;
            }
        }
    }

    /** The next state that is not the given one. */
    Event.KeeperState next(Event.KeeperState not) throws Exception {
        while (true) {
            Event.KeeperState s = states.poll(LIMIT, TimeUnit.SECONDS);
            if (s != not) {
                return s;
            }
        }
    }

    /**
     * What was heard until now. A request through the same connection and the same thread comes back only after all
     * events that were sent before.
     */
    List<String> events() throws Exception {
        CountDownLatch through = new CountDownLatch(1);
        zk.exists("/", false, (rc, path, ctx, stat) -> through.countDown(), null);
        if (!through.await(LIMIT, TimeUnit.SECONDS)) {
            throw new IllegalStateException(name + ": no answer in " + LIMIT + " s");
        }
        List<String> out = new ArrayList<>();
        for (WatchedEvent e = heard.poll(); e != null; e = heard.poll()) {
            out.add(show(e));
        }
        return out;
    }

    /** Waits for the next event, however long it takes to come. */
    String event() throws Exception {
        WatchedEvent e = heard.poll(LIMIT, TimeUnit.SECONDS);
        return e == null ? "nothing" : show(e);
    }

    private static String show(WatchedEvent e) {
        return e.getType() + " " + e.getPath() + " " + e.getState() + (e.getZxid() > 0 ? " zxid" : " no-zxid");
    }

    @Override
    public void close() throws Exception {
        zk.close();
    }
}
