// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Requests that no client library sends, byte by byte. */
final class Wire implements AutoCloseable {
    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    private Wire(String server) throws IOException {
        int colon = server.lastIndexOf(':');
        socket = new Socket(server.substring(0, colon), Integer.parseInt(server.substring(colon + 1)));
        socket.setSoTimeout(60000);
        in = new DataInputStream(socket.getInputStream());
        out = new DataOutputStream(socket.getOutputStream());
    }

    /** Appends fields to a frame. */
    interface Body {
        void write(DataOutputStream d) throws IOException;
    }

    private static byte[] frame(Body body) throws IOException {
        ByteArrayOutputStream b = new ByteArrayOutputStream();
        body.write(new DataOutputStream(b));
        return b.toByteArray();
    }

    private void send(byte[] frame) throws IOException {
        out.writeInt(frame.length);
        out.write(frame);
        out.flush();
    }

    private String receive() throws IOException {
        try {
            byte[] b = new byte[in.readInt()];
            in.readFully(b);
            ByteBuffer h = ByteBuffer.wrap(b);
            int xid = h.getInt();
            long zxid = h.getLong();
            int err = h.getInt();
            return "xid " + xid + " zxid " + (zxid > 0 ? "yes" : zxid) + " err " + err + " body " + (b.length - 16);
        } catch (EOFException | SocketException e) {
            return "closed";
        }
    }

    private String connect(boolean readOnly) throws IOException {
        send(frame(d -> {
            d.writeInt(0);
            d.writeLong(0);
            d.writeInt(5000);
            d.writeLong(0);
            d.writeInt(16);
            d.write(new byte[16]);
            if (readOnly) {
                d.writeByte(0);
            }
        }));
        int n = in.readInt();
        in.readFully(new byte[n]);
        return "answer of " + n;
    }

    static void string(DataOutputStream d, String s) throws IOException {
        byte[] b = s.getBytes(StandardCharsets.UTF_8);
        d.writeInt(b.length);
        d.write(b);
    }

    private static void openAcl(DataOutputStream d) throws IOException {
        d.writeInt(1);
        d.writeInt(31);
        string(d, "world");
        string(d, "anyone");
    }

    private String ask(int type, Body body) throws IOException {
        send(frame(d -> {
            d.writeInt(1);
            d.writeInt(type);
            body.write(d);
        }));
        return receive();
    }

    /** Asks on a connection of its own and shows whether that lives on. */
    private static void alone(String server, Transcript t, String what, int type, Body body) {
        t.ask(what, () -> {
            try (Wire w = new Wire(server)) {
                w.connect(true);
                String answer = w.ask(type, body);
                if (answer.equals("closed")) {
                    return answer;
                }
                try {
                    return answer + ", then " + w.ask(11, d -> { });
                } catch (SocketException e) {
                    return answer + ", then closed";
                }
            }
        });
    }

    static void run(String server, Transcript t) throws Exception {
        try (Wire w = new Wire(server)) {
            t.line("old client: " + w.connect(false));
        }
        try (Wire w = new Wire(server)) {
            t.line("new client: " + w.connect(true));
            t.ask("create (1)", () -> w.ask(1, d -> {
                string(d, "/wire");
                d.writeInt(-1);
                openAcl(d);
                d.writeInt(0);
            }));
            t.ask("children (8)", () -> w.ask(8, d -> {
                string(d, "/wire");
                d.writeByte(0);
            }));
            for (String path : List.of("", "/", "x", "//", "/wire/", "/wire//a", "/wire/.", "/wire/..", "/wire/a/../b", "/wire/...",
                "/wire/.a", "/wire/a\u0000b", "/wire/a\u0001", "/wire/\u007f", "/wire/\u00a0", "/wire/\ue000", "/wire/\uf900", "/wire/\ufff0",
                "/wire/\ud83d\ude00", "wire/x", "/zookeeper/x")) {
                StringBuilder name = new StringBuilder();
                path.chars().forEach(ch -> name.append(ch > 32 && ch < 127 ? String.valueOf((char) ch) : "\\" + ch));
                t.ask("create '" + name + "'", () -> w.ask(1, d -> {
                    string(d, path);
                    d.writeInt(0);
                    openAcl(d);
                    d.writeInt(0);
                }));
                t.ask("exists '" + name + "'", () -> w.ask(3, d -> {
                    string(d, path);
                    d.writeByte(0);
                }));
                t.ask("set '" + name + "'", () -> w.ask(5, d -> {
                    string(d, path);
                    d.writeInt(0);
                    d.writeInt(-1);
                }));
                t.ask("set acl '" + name + "'", () -> w.ask(7, d -> {
                    string(d, path);
                    openAcl(d);
                    d.writeInt(-1);
                }));
                if (!path.isEmpty()) {
                    t.ask("delete '" + name + "'", () -> w.ask(2, d -> {
                        string(d, path);
                        d.writeInt(-1);
                    }));
                }
            }
            for (int flags : new int[] {4, 5, 6, 7, 8, -1}) {
                t.ask("create with flags " + flags, () -> w.ask(1, d -> {
                    string(d, "/wire/f" + flags);
                    d.writeInt(0);
                    openAcl(d);
                    d.writeInt(flags);
                }));
            }
            // Not -10: the real server takes it as a second connect request, and what comes back is no answer.
            for (int type : new int[] {0, 10, 16, 23, 50, 108, -1, 1000}) {
                alone(server, t, "request " + type, type, d -> {
                    string(d, "");
                    string(d, "");
                    string(d, "");
                    d.writeLong(0);
                });
            }
            for (int type : new int[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 17, 18, 19, 21, 22, 101, 103, 104, 105, 106}) {
                alone(server, t, "request " + type + " without body", type, d -> { });
            }
            alone(server, t, "add watch of mode 9", 106, d -> {
                string(d, "/wire");
                d.writeInt(9);
            });
            alone(server, t, "multi with set acl", 14, d -> {
                d.writeInt(7);
                d.writeByte(0);
                d.writeInt(-1);
                string(d, "/wire");
                openAcl(d);
                d.writeInt(-1);
                d.writeInt(-1);
                d.writeByte(1);
                d.writeInt(-1);
            });
            t.ask("ping", () -> w.ask(11, d -> { }));
            t.ask("who am I", () -> w.ask(107, d -> { }));
            t.ask("close", () -> w.ask(-11, d -> { }));
            t.ask("after close", w::receive);
        }
        for (int n : new int[] {-1, Integer.MAX_VALUE, 0xfffff + 1}) {
            try (Wire w = new Wire(server)) {
                w.connect(true);
                w.out.writeInt(n);
                w.out.flush();
                t.ask("frame of " + n, w::receive);
            }
        }
        try (Wire w = new Wire(server)) {
            w.send(new byte[3]);
            t.ask("half a connect request", w::receive);
        }
        try (Wire w = new Wire(server)) {
            w.connect(true);
            w.send(new byte[3]);
            t.ask("half a request header", w::receive);
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
