// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.net.SocketTimeoutException;

/** One connection to the state server, greeted. One request at a time; an IOException means that the server is away. */
final class Connection implements AutoCloseable {
    static final int HELLO = 1;
    static final int OPEN = 2;
    static final int PREPARE = 3;
    static final int COMMIT = 4;
    static final int WRITE = 5;
    static final int ROLLBACK = 6;
    static final int GET = 7;
    static final int ITERATE = 8;
    static final int DROP = 9;

    private static final int MAGIC = 0x54535547; // "GUST"
    private static final int VERSION = 1;
    private static final int ANSWER = 128;
    private static final int ERROR = 255;
    private static final int HEADER = 9;
    private static final int LONGEST = 256 << 20;

    private final SocketChannel channel;
    private final Selector selector;
    private final SelectionKey key;
    private final ByteBuffer piece = ByteBuffer.allocateDirect(32 << 10).order(ByteOrder.LITTLE_ENDIAN);
    private int request;

    /** Connects and greets; deadline is System.nanoTime's. */
    Connection(String path, long deadline) throws IOException {
        channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            channel.connect(UnixDomainSocketAddress.of(path));
            channel.configureBlocking(false);
            selector = Selector.open();
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
        try {
            key = channel.register(selector, SelectionKey.OP_READ);
            int version = call(HELLO, new Body().int32(MAGIC).int16(VERSION), deadline).int16();
            if (version != VERSION) {
                throw new StateException(StateException.Reason.VERSION,
                        "the state server speaks version " + version + " of its protocol, this client " + VERSION);
            }
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Sends a request and gives back the fields of its answer. */
    Body call(int type, Body body, long deadline) throws IOException {
        return call(type, body, body.array(), 0, deadline);
    }

    /** Sends a request whose body ends with the first tailLength bytes of tail. */
    Body call(int type, Body body, byte[] tail, int tailLength, long deadline) throws IOException {
        long size = 5L + body.length() + tailLength;
        if (size > LONGEST) {
            throw new StateException(StateException.Reason.TOO_LARGE, "a message of " + size + " bytes to the state server; it takes " + LONGEST);
        }
        request++;
        piece.clear().putInt((int) size).put((byte) type).putInt(request);
        send(body.array(), body.length(), deadline);
        send(tail, tailLength, deadline);
        flush(deadline);
        piece.clear().limit(0);
        fill(HEADER, deadline);
        int length = piece.getInt();
        int answer = piece.get() & 0xFF;
        int answered = piece.getInt();
        if (length < 5 || length > LONGEST) {
            throw malformed("announces a message of " + length + " bytes");
        }
        byte[] fields = new byte[length - 5];
        receive(fields, deadline);
        if (answered != request) {
            throw malformed("answers request " + answered + ", not " + request);
        }
        Body out = new Body(fields);
        if (answer == ERROR) {
            int code = out.int16();
            throw new StateException(StateException.Reason.of(code), out.text());
        }
        if (answer != ANSWER + type) {
            throw malformed("answers request of type " + type + " with a message of type " + answer);
        }
        return out;
    }

    static StateException malformed(String what) {
        return new StateException(StateException.Reason.MALFORMED, "the state server " + what);
    }

    private void send(byte[] data, int length, long deadline) throws IOException {
        for (int done = 0; done < length;) {
            if (!piece.hasRemaining()) {
                flush(deadline);
                piece.clear();
            }
            int n = Math.min(piece.remaining(), length - done);
            piece.put(data, done, n);
            done += n;
        }
    }

    private void flush(long deadline) throws IOException {
        piece.flip();
        while (piece.hasRemaining()) {
            if (channel.write(piece) == 0) {
                await(SelectionKey.OP_WRITE, deadline);
            }
        }
    }

    private void receive(byte[] out, long deadline) throws IOException {
        for (int done = 0; done < out.length;) {
            if (!piece.hasRemaining()) {
                fill(1, deadline);
            }
            int n = Math.min(piece.remaining(), out.length - done);
            piece.get(out, done, n);
            done += n;
        }
    }

    /** Reads until at least so many bytes are there. */
    private void fill(int least, long deadline) throws IOException {
        piece.compact();
        while (piece.position() < least) {
            int n = channel.read(piece);
            if (n < 0) {
                throw new EOFException("the state server closed the connection");
            }
            if (n == 0) {
                await(SelectionKey.OP_READ, deadline);
            }
        }
        piece.flip();
    }

    private void await(int operation, long deadline) throws IOException {
        key.interestOps(operation);
        long left = deadline - System.nanoTime();
        if (left <= 0) {
            throw new SocketTimeoutException("the state server does not answer");
        }
        selector.select(ready -> { }, Math.max(1, left / 1_000_000));
        if (Thread.currentThread().isInterrupted()) {
            throw new ClosedByInterruptException();
        }
    }

    @Override
    public void close() throws IOException {
        try (channel) {
            selector.close();
        }
    }
}
