// SPDX-License-Identifier: Apache-2.0

package org.gust.compat.zookeeper;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashSet;
import java.util.Set;

/** A way to the server that can be cut, so that a client is away while others change things. */
final class Relay implements AutoCloseable {
    private final ServerSocket listener;
    private final String host;
    private final int port;
    private final Set<Socket> open = new HashSet<>();
    private boolean cut;

    Relay(String server) throws IOException {
        host = server.substring(0, server.lastIndexOf(':'));
        port = Integer.parseInt(server.substring(server.lastIndexOf(':') + 1));
        listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        thread(this::accept);
    }

    String address() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    /** Closes all connections and lets no new one through. */
    synchronized void cut() throws IOException {
        cut = true;
        for (Socket s : open) {
            s.close();
        }
        open.clear();
    }

    synchronized void mend() {
        cut = false;
    }

    private void accept() {
        try {
            while (true) {
                join(listener.accept());
            }
        } catch (IOException e) {
            // closed
        }
    }

    private synchronized void join(Socket near) throws IOException {
        if (cut) {
            near.close();
            return;
        }
        Socket far;
        try {
            far = new Socket(host, port);
        } catch (IOException e) {
            near.close();
            return;
        }
        open.add(near);
        open.add(far);
        thread(() -> copy(near, far));
        thread(() -> copy(far, near));
    }

    private static void copy(Socket from, Socket to) {
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] b = new byte[1 << 16];
            for (int n = in.read(b); n > 0; n = in.read(b)) {
                out.write(b, 0, n);
            }
        } catch (IOException e) {
            // either end is gone, and so is the other in a moment
        } finally {
            try {
                from.close();
                to.close();
            } catch (IOException e) {
                // gone is gone
            }
        }
    }

    private static void thread(Runnable r) {
        Thread t = new Thread(r);
        t.setDaemon(true);
        t.start();
    }

    @Override
    public void close() throws IOException {
        cut();
        listener.close();
    }
}
