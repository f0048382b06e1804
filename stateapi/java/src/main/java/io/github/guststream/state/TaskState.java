// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;

/**
 * A task's keyed state, in bytes. Reads see changes not yet prepared over prepared ones over committed ones.
 *
 * <p>Windowed bolts read from threads of their own, hence the locks; they cost little while nobody else wants them.
 */
final class TaskState implements AutoCloseable {
    static final int LONGEST_KEY = 32 << 10;
    static final int LONGEST_VALUE = 64 << 20;

    private final Definition definition;
    private final Session session;
    private Changes dirty = new Changes();
    private Changes prepared; // null: nothing is prepared
    private long txid; // of prepared
    private final Deque<Committed> committed = new ArrayDeque<>(); // newest first

    /** Changes that the table may not show yet. */
    private record Committed(long number, Changes changes) {}

    TaskState(String socket, Definition definition, long wait, boolean remote) {
        this.definition = definition;
        session = new Session(socket, definition, wait, remote);
        Session.Prepared handed = session.takePrepared();
        if (handed != null) {
            try {
                prepared = Changes.fromBatch(handed.batch());
            } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
                session.close();
                throw new StateException(StateException.Reason.MALFORMED, definition + ": what was prepared is damaged: " + e.getMessage(), e);
            }
            txid = handed.txid();
        }
    }

    /** The value of a key, null if there is none. */
    synchronized byte[] get(byte[] key) {
        long hash = XxHash64.hash(key);
        int change = dirty.find(hash, key);
        if (change != Changes.ABSENT) {
            return dirty.value(change);
        }
        if (prepared != null && (change = prepared.find(hash, key)) != Changes.ABSENT) {
            return prepared.value(change);
        }
        while (session.reader() != null) {
            try {
                if (!committed.isEmpty()) {
                    forget();
                    for (Committed layer : committed) {
                        if ((change = layer.changes.find(hash, key)) != Changes.ABSENT) {
                            return layer.changes.value(change);
                        }
                    }
                }
                return session.reader().get(hash, key);
            } catch (Reader.Retired e) {
                session.again();
            } catch (Reader.Busy e) {
                break;
            }
        }
        return session.get(key);
    }

    /** Drops the changes that the table has by now. */
    private void forget() throws Reader.Retired {
        long applied = session.reader().applied();
        while (!committed.isEmpty() && committed.peekLast().number <= applied) {
            committed.removeLast();
        }
    }

    synchronized void put(byte[] key, byte[] value) {
        fits("key", key.length, LONGEST_KEY);
        fits("value", value.length, LONGEST_VALUE);
        dirty.put(XxHash64.hash(key), key, value);
    }

    synchronized void delete(byte[] key) {
        if (key.length <= LONGEST_KEY) { // a longer one is not there
            dirty.delete(XxHash64.hash(key), key);
        }
    }

    private void fits(String what, int length, int longest) {
        if (length > longest) {
            throw new StateException(StateException.Reason.TOO_LARGE,
                    definition + ": a " + what + " of " + length + " bytes; " + longest + " are allowed");
        }
    }

    /** Makes the changes durable under a number, with what was prepared and not committed before. */
    synchronized void prepare(long txid) {
        Changes all = dirty;
        if (prepared != null) {
            all = Changes.like(prepared);
            all.merge(prepared);
            all.merge(dirty);
        }
        session.prepare(txid, all);
        prepared = all;
        this.txid = txid;
        dirty = Changes.like(all);
    }

    /** Makes for good what was prepared under a number. */
    synchronized void commit(long txid) {
        long number = session.commit(txid);
        if (prepared != null && this.txid == txid) {
            keep(number, prepared);
            prepared = null;
        }
    }

    /** Makes the changes for good. What is prepared stays so. */
    synchronized void commitNow() {
        long number = session.write(dirty);
        keep(number, dirty);
        dirty = Changes.like(dirty);
    }

    private void keep(long number, Changes changes) {
        if (!changes.isEmpty() && session.reader() != null) {
            committed.addFirst(new Committed(number, changes));
        }
    }

    /** Drops what is prepared and what is not yet prepared. */
    synchronized void rollback() {
        session.rollback();
        dirty = new Changes();
        prepared = null;
    }

    /** Yields every key once, with the value that it has at some time during the iteration. */
    synchronized Iterator<Entry> entries() {
        Changes over = new Changes();
        for (Iterator<Committed> oldestFirst = committed.descendingIterator(); oldestFirst.hasNext();) {
            over.merge(oldestFirst.next().changes);
        }
        if (prepared != null) {
            over.merge(prepared);
        }
        over.merge(dirty);
        return new Entries(this, over);
    }

    /** A key and its value. */
    record Entry(byte[] key, byte[] value) {}

    synchronized Body page(long cursor, int bytes) {
        return session.iterate(cursor, bytes);
    }

    @Override
    public synchronized void close() {
        session.close();
    }
}
