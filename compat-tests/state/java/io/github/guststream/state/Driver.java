// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Does with states and readers what it is told on standard input: one byte says what, its fields follow; answers come on standard output. */
public final class Driver {
    private static final byte[] NOTHING = {};

    private final DataInputStream in;
    private final DataOutputStream out;
    private final Map<Integer, Object> open = new HashMap<>();
    private int last;

    private Driver(DataInputStream in, DataOutputStream out) {
        this.in = in;
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        System.setOut(System.err); // logs go there too
        Driver driver = new Driver(in, out);
        while (true) {
            int what;
            try {
                what = in.readUnsignedByte();
            } catch (EOFException e) {
                return;
            }
            driver.answer(what);
            out.flush();
        }
    }

    private void answer(int what) throws IOException {
        int handle = in.readInt();
        long number = in.readLong();
        byte[] key = bytes();
        byte[] value = bytes();
        try {
            byte[] answer = what < 20 ? state(what, handle, number, key, value) : reader(what, handle, number, key, value);
            if (answer != null) {
                out.writeByte(0);
                write(answer);
            } else {
                out.writeByte(1);
            }
        } catch (StateException e) {
            fault(e.reason().name(), e.getMessage());
        } catch (Reader.Retired | Reader.Busy e) {
            fault(e.getClass().getSimpleName(), e.getMessage());
        } catch (RuntimeException e) {
            fault("UNEXPECTED", e.toString());
        }
    }

    private void fault(String reason, String message) throws IOException {
        out.writeByte(2);
        write(reason.getBytes(StandardCharsets.UTF_8));
        write(String.valueOf(message).getBytes(StandardCharsets.UTF_8));
    }

    private byte[] state(int what, int handle, long number, byte[] key, byte[] value) throws IOException {
        if (what == 1) {
            String[] fields = new String(key, StandardCharsets.UTF_8).split("\n", -1);
            Definition definition = new Definition(fields[1], fields[2], fields[3], Integer.parseInt(fields[4]), Integer.parseInt(fields[5]),
                    Integer.parseInt(fields[6]), fields[7]);
            return handle(new TaskState(fields[0], definition, TimeUnit.SECONDS.toNanos(number), fields[8].equals("remote")));
        }
        TaskState state = (TaskState) open.get(handle);
        switch (what) {
            case 2 -> {
                open.remove(handle);
                state.close();
            }
            case 3 -> {
                return state.get(key);
            }
            case 4 -> state.put(key, value);
            case 5 -> state.delete(key);
            case 6 -> {
                return all(state);
            }
            case 7 -> state.prepare(number);
            case 8 -> state.commit(number);
            case 9 -> state.commitNow();
            case 10 -> state.rollback();
            default -> throw new IllegalArgumentException("what is " + what);
        }
        return NOTHING;
    }

    /** All entries, each announced by a 3, before the answer. */
    private byte[] all(TaskState state) throws IOException {
        for (Iterator<TaskState.Entry> all = state.entries(); all.hasNext();) {
            TaskState.Entry entry = all.next();
            out.writeByte(3);
            write(entry.key());
            write(entry.value());
        }
        return NOTHING;
    }

    private byte[] reader(int what, int handle, long number, byte[] key, byte[] value) throws IOException, Reader.Retired, Reader.Busy {
        switch (what) {
            case 20: {
                String[] fields = new String(key, StandardCharsets.UTF_8).split("\n", -1);
                Arena arena = Arena.open(fields[0], Long.parseUnsignedLong(fields[1]));
                return handle(new Reader(arena, Long.parseLong(fields[2]), Long.parseUnsignedLong(fields[3])));
            }
            case 21:
                return ((Reader) open.get(handle)).get(XxHash64.hash(key), key);
            case 22:
                return Torn.hammer((Reader) open.get(handle), key, number);
            case 23:
                return Long.toUnsignedString(XxHash64.hash(key)).getBytes(StandardCharsets.UTF_8);
            default:
                throw new IllegalArgumentException("what is " + what);
        }
    }

    private byte[] handle(Object opened) {
        open.put(++last, opened);
        return new byte[] {(byte) (last >> 24), (byte) (last >> 16), (byte) (last >> 8), (byte) last};
    }

    private byte[] bytes() throws IOException {
        byte[] data = new byte[in.readInt()];
        in.readFully(data);
        return data;
    }

    private void write(byte[] data) throws IOException {
        out.writeInt(data.length);
        out.write(data);
    }
}
