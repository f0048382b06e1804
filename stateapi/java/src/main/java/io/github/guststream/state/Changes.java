// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.util.Arrays;

/**
 * Changes that the arena does not have yet, found by key.
 *
 * <p>They lie in one array as the batch that goes to the server: a number of operations, then operations in the order in which they were made, of which a
 * later one wins. So nothing is encoded at a prepare, and a change costs some 12 bytes beside its key and value.
 */
final class Changes {
    static final int ABSENT = -1;

    private static final byte PUT = 1;
    private static final byte DELETE = 2;
    private static final int HEADER = 4;
    private static final int LONGEST = Integer.MAX_VALUE - 64;
    private static final int WORTH_PACKING = 64 << 10;
    private static final int MANY = 16 << 10; // keys
    private static final int MUCH = 1 << 20; // bytes

    private byte[] log;
    private int end = HEADER;
    private int operations;
    private int dead; // bytes of operations that a later one has made void

    // Open addressing. An index word is the hash's upper half and where the key's last operation begins in the log; 0 is free.
    private long[] index;
    private int keys;

    Changes() {
        this(0, 0);
    }

    /** Makes room for about what another one has, as long as that is not much. */
    static Changes like(Changes other) {
        return new Changes(Math.min(other.keys, MANY), Math.min(other.end, MUCH));
    }

    private Changes(int keys, int bytes) {
        log = new byte[Math.max(256, bytes)];
        index = new long[Integer.highestOneBit(Math.max(8, keys)) * 4];
    }

    /** Reads a batch of the server's. */
    static Changes fromBatch(byte[] batch) {
        Changes changes = new Changes(0, batch.length);
        changes.add(batch, batch.length);
        return changes;
    }

    boolean isEmpty() {
        return keys == 0;
    }

    int keys() {
        return keys;
    }

    /** The array that begins with the batch, valid until the next change. */
    byte[] batch() {
        for (int i = 0; i < HEADER; i++) {
            log[i] = (byte) (operations >>> 8 * i);
        }
        return log;
    }

    int batchLength() {
        return end;
    }

    /** Finds a key's change, or ABSENT. */
    int find(long hash, byte[] key) {
        return keys == 0 ? ABSENT : (int) index[slot(hash, key, 0, key.length)] - 1;
    }

    /** The value of a change that was found, null if it is a delete. */
    byte[] value(int change) {
        if (log[change] == DELETE) {
            return null;
        }
        return Arrays.copyOfRange(log, keyAt(change) + keyLength(change), next(change));
    }

    byte[] key(int change) {
        int start = keyAt(change);
        return Arrays.copyOfRange(log, start, start + keyLength(change));
    }

    /** The first change at or after a place in the log, of those that count; ABSENT behind the last. Begin with after(0). */
    int after(int place) {
        for (int at = Math.max(place, HEADER); at < end; at = next(at)) {
            int start = keyAt(at);
            int length = keyLength(at);
            if ((int) index[slot(XxHash64.hash(log, start, length), log, start, length)] - 1 == at) {
                return at;
            }
        }
        return ABSENT;
    }

    /** Where the change behind this one begins. */
    int next(int change) {
        return keyAt(change) + keyLength(change) + valueLength(change);
    }

    void put(long hash, byte[] key, byte[] value) {
        change(hash, key, 0, key.length, value, 0, value.length);
    }

    void delete(long hash, byte[] key) {
        change(hash, key, 0, key.length, null, 0, 0);
    }

    /** Makes later changes over these. */
    void merge(Changes later) {
        add(later.batch(), later.end);
    }

    private void add(byte[] batch, int length) {
        Changes from = new Changes(batch, length);
        int count = number(batch);
        int at = HEADER;
        for (int i = 0; i < count; i++) {
            if (at >= length || batch[at] != PUT && batch[at] != DELETE || from.next(at) > length || from.next(at) < at) {
                throw new IllegalArgumentException("operation " + i + " of " + count + " of a batch of " + length + " bytes is damaged");
            }
            int start = from.keyAt(at);
            int keyLength = from.keyLength(at);
            long hash = XxHash64.hash(batch, start, keyLength);
            change(hash, batch, start, keyLength, batch[at] == PUT ? batch : null, start + keyLength, from.valueLength(at));
            at = from.next(at);
        }
        if (at != length) {
            throw new IllegalArgumentException("a batch of " + length + " bytes ends at " + at);
        }
    }

    // Only to read operations.
    private Changes(byte[] log, int end) {
        this.log = log;
        this.end = end;
    }

    private static int number(byte[] log) {
        return log[0] & 0xFF | (log[1] & 0xFF) << 8 | (log[2] & 0xFF) << 16 | (log[3] & 0xFF) << 24;
    }

    private void change(long hash, byte[] from, int keyStart, int keyLength, byte[] value, int valueStart, int valueLength) {
        int slot = slot(hash, from, keyStart, keyLength);
        int old = (int) index[slot] - 1;
        if (old != ABSENT && value != null && log[old] == PUT && valueLength(old) == valueLength) {
            System.arraycopy(value, valueStart, log, next(old) - valueLength, valueLength);
            return;
        }
        int at = append(from, keyStart, keyLength, value, valueStart, valueLength);
        index[slot] = hash & 0xFFFFFFFF00000000L | at + 1;
        if (old != ABSENT) {
            dead += next(old) - old;
            if (dead > WORTH_PACKING && dead > end / 2) {
                pack();
            }
            return;
        }
        if (++keys > index.length - index.length / 4) {
            grow();
        }
    }

    private int append(byte[] from, int keyStart, int keyLength, byte[] value, int valueStart, int valueLength) {
        int at = end;
        long most = (long) at + 11 + keyLength + valueLength;
        if (most > log.length) {
            if (most > LONGEST) {
                throw new StateException(StateException.Reason.TOO_LARGE, "changes of 2 GiB were made since the last checkpoint");
            }
            log = Arrays.copyOf(log, (int) Math.min(LONGEST, Math.max(most, log.length + (long) (log.length >> 1))));
        }
        log[end++] = value == null ? DELETE : PUT;
        end = putNumber(log, end, keyLength);
        if (value != null) {
            end = putNumber(log, end, valueLength);
        }
        System.arraycopy(from, keyStart, log, end, keyLength);
        end += keyLength;
        if (value != null) {
            System.arraycopy(value, valueStart, log, end, valueLength);
            end += valueLength;
        }
        operations++;
        return at;
    }

    static int putNumber(byte[] out, int at, int n) {
        while (n >= 0x80) {
            out[at++] = (byte) (n | 0x80);
            n >>>= 7;
        }
        out[at++] = (byte) n;
        return at;
    }

    /** Drops operations that later ones have made void. */
    private void pack() {
        Changes live = new Changes(keys, end - dead);
        for (int at = after(0); at != ABSENT; at = after(next(at))) {
            int start = keyAt(at);
            int length = keyLength(at);
            long hash = XxHash64.hash(log, start, length);
            live.change(hash, log, start, length, log[at] == PUT ? log : null, start + length, valueLength(at));
        }
        log = live.log;
        end = live.end;
        operations = live.operations;
        index = live.index;
        dead = 0;
    }

    private void grow() {
        long[] old = index;
        index = new long[old.length * 2];
        for (long word : old) {
            if (word == 0) {
                continue;
            }
            int at = (int) word - 1;
            int slot = home(XxHash64.hash(log, keyAt(at), keyLength(at)));
            while (index[slot] != 0) {
                slot = slot + 1 & index.length - 1;
            }
            index[slot] = word;
        }
    }

    private int home(long hash) {
        return (int) hash & index.length - 1;
    }

    /** The index word of a key, or the free one where it would come. */
    private int slot(long hash, byte[] from, int start, int length) {
        int slot = home(hash);
        for (long word; (word = index[slot]) != 0; slot = slot + 1 & index.length - 1) {
            if ((word ^ hash) >>> 32 == 0) {
                int at = (int) word - 1;
                int key = keyAt(at);
                if (keyLength(at) == length && Arrays.equals(log, key, key + length, from, start, start + length)) {
                    break;
                }
            }
        }
        return slot;
    }

    private int keyLength(int change) {
        return number(change + 1);
    }

    private int valueLength(int change) {
        return log[change] == DELETE ? 0 : number(behind(change + 1));
    }

    private int keyAt(int change) {
        int at = behind(change + 1);
        return log[change] == DELETE ? at : behind(at);
    }

    private int number(int at) {
        int n = log[at] & 0x7F;
        for (int shift = 7; log[at++] < 0; shift += 7) {
            n |= (log[at] & 0x7F) << shift;
        }
        return n;
    }

    private int behind(int at) {
        while (log[at++] < 0) {
            // a byte of the number
        }
        return at;
    }
}
