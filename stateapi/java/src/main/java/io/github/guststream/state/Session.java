// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One opening of a state, over as many connections as it takes. One thread at a time. */
final class Session implements AutoCloseable {
    /** Shorter than Storm's time limit of messages, so that a call that fails tells why. */
    static final long WAIT = TimeUnit.SECONDS.toNanos(20);

    private static final Logger LOG = LoggerFactory.getLogger(Session.class);
    private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long QUIET = TimeUnit.MILLISECONDS.toNanos(100); // what a restart may take before the log has a line on it

    private final String socket;
    private final Definition definition;
    private final long wait;
    private long id;
    private Connection connection;
    private Arena arena;
    private Reader reader; // null: reads go through the server
    private boolean remote;
    private long commit;
    private Prepared prepared;

    /** The batch that an earlier session has prepared. */
    record Prepared(long txid, byte[] batch) {}

    /** What is asked of the server; it may be asked twice. */
    private interface Question<T> {
        T ask(Connection connection, long deadline) throws IOException;
    }

    Session(String socket, Definition definition, long wait, boolean remote) {
        this.socket = socket;
        this.definition = definition;
        this.wait = wait;
        this.remote = remote;
        until((connection, deadline) -> null);
        settle();
    }

    /** Waits until the table shows what was committed before. */
    private void settle() {
        long deadline = System.nanoTime() + wait;
        while (reader != null) {
            try {
                if (reader.applied() >= commit) {
                    return;
                }
            } catch (Reader.Retired e) {
                again();
                continue;
            }
            if (deadline - System.nanoTime() <= 0) {
                throw new StateException(StateException.Reason.AWAY, definition + ": commit " + commit + " is not in the table after " + seconds());
            }
            pause(TimeUnit.MILLISECONDS.toNanos(1));
        }
    }

    Reader reader() {
        return reader;
    }

    /** The batch that the session before had prepared when this one began, or null; told once. */
    Prepared takePrepared() {
        Prepared taken = prepared;
        prepared = null;
        return taken;
    }

    /** Opens anew, after the arena was given up. */
    void again() {
        drop();
        until((connection, deadline) -> null);
    }

    void prepare(long txid, Changes changes) {
        byte[] batch = changes.batch();
        int length = changes.batchLength();
        until((connection, deadline) -> connection.call(Connection.PREPARE, begin().int64(txid).number(length), batch, length, deadline));
    }

    long commit(long txid) {
        return until((connection, deadline) -> connection.call(Connection.COMMIT, begin().int64(txid), deadline)).int64();
    }

    long write(Changes changes) {
        byte[] batch = changes.batch();
        int length = changes.batchLength();
        return until((connection, deadline) -> connection.call(Connection.WRITE, begin().number(length), batch, length, deadline)).int64();
    }

    void rollback() {
        until((connection, deadline) -> connection.call(Connection.ROLLBACK, begin(), deadline));
    }

    /** Asks the server for a key's value; null if there is none. */
    byte[] get(byte[] key) {
        Body answer = until((connection, deadline) -> connection.call(Connection.GET, begin().bytes(key), deadline));
        boolean found = answer.int8() != 0;
        byte[] value = answer.bytes();
        return found ? value : null;
    }

    /** Asks for the entries of whole segments: next cursor, count, keys and values. */
    Body iterate(long cursor, int bytes) {
        return until((connection, deadline) -> connection.call(Connection.ITERATE, begin().int64(cursor).int32(bytes), deadline));
    }

    private Body begin() {
        return new Body().int64(id);
    }

    @Override
    public void close() {
        drop();
        reader = null;
        arena = null;
    }

    /** Asks until the server answers, for as long as a call may wait. */
    private <T> T until(Question<T> question) {
        long start = System.nanoTime();
        long deadline = start + wait;
        long pause = FIRST_PAUSE;
        boolean told = false;
        while (true) {
            Exception away;
            try {
                if (connection == null) {
                    connect(deadline);
                }
                T answer = question.ask(connection, deadline);
                if (told) {
                    LOG.warn("{}: the state server is back after {} ms", definition, (System.nanoTime() - start) / 1_000_000);
                }
                return answer;
            } catch (ClosedByInterruptException e) {
                drop();
                throw new StateException(StateException.Reason.INTERRUPTED, definition + ": interrupted while waiting for the state server", e);
            } catch (IOException e) {
                away = e;
            } catch (StateException e) {
                if (e.reason() != StateException.Reason.NOT_READY) {
                    throw e.getMessage().startsWith("state of ") ? e : new StateException(e.reason(), definition + ": " + e.getMessage(), e);
                }
                away = e;
            }
            drop();
            long now = System.nanoTime();
            if (deadline - now <= 0) {
                throw new StateException(StateException.Reason.AWAY,
                        definition + ": no answer of the state server at " + socket + " within " + seconds() + ": " + away.getMessage(), away);
            }
            if (!told && now - start > QUIET) {
                told = true;
                LOG.warn("{}: waiting for the state server at {}: {}", definition, socket, away.toString());
            }
            pause(Math.min(pause, deadline - now));
            pause = Math.min(2 * pause, LONGEST_PAUSE);
        }
    }

    private String seconds() {
        return TimeUnit.NANOSECONDS.toSeconds(wait) + " s";
    }

    private void pause(long ns) {
        LockSupport.parkNanos(ns);
        if (Thread.currentThread().isInterrupted()) {
            throw new StateException(StateException.Reason.INTERRUPTED, definition + ": interrupted while waiting for the state server");
        }
    }

    /** Opens the state, the first time or again. */
    private void connect(long deadline) throws IOException {
        Connection opening = new Connection(socket, deadline);
        try {
            Body answer = opening.call(Connection.OPEN, new Body().text(definition.topology()).text(definition.owner()).text(definition.component())
                    .int32(definition.task()).int32(definition.tasks()).int32(definition.shards()).text(definition.encoder()).int64(id), deadline);
            long session = answer.int64();
            String path = answer.text();
            long arenaId = answer.int64();
            long descriptor = answer.int64();
            long namespace = answer.int64();
            commit = answer.int64();
            if (answer.int8() != 0 && id == 0) {
                prepared = new Prepared(answer.int64(), answer.bytes());
            }
            map(path, arenaId, descriptor, namespace);
            id = session;
        } catch (IOException | RuntimeException e) {
            opening.close();
            throw e;
        }
        connection = opening;
    }

    private void map(String path, long arenaId, long descriptor, long namespace) throws IOException {
        reader = null;
        if (remote) {
            return;
        }
        try {
            arena = Arena.open(path, arenaId);
            reader = new Reader(arena, descriptor, namespace);
        } catch (NoSuchFileException e) {
            throw e; // the server is being started again
        } catch (IOException | RuntimeException e) {
            LOG.warn("{}: reads go through the state server, for its arena cannot be read: {}", definition, e.toString());
            remote = true;
        }
    }

    private void drop() {
        if (connection != null) {
            try {
                connection.close();
            } catch (IOException e) {
                LOG.debug("close a connection that was of no use any more", e);
            }
            connection = null;
        }
    }
}
