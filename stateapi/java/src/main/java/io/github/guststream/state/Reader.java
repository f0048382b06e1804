// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Finds keys of one namespace in place, while the server changes the arena. ../DESIGN.md has the layout; one thread at a time.
 *
 * <p>Each piece is copied before it is looked at, and at the end the numbers that led there must still be the same, or the search begins again. What is found
 * on the way is checked only so far that no search leaves its slot: what does not fit together changes the numbers too.
 */
final class Reader {
    /** The server has given up the arena. */
    static final class Retired extends Exception {
        Retired() {
            super("the arena was given up", null, false, false);
        }
    }

    /** The server changed what was read all the time, or the arena is damaged. */
    static final class Busy extends Exception {
        Busy() {
            super("the arena changes too fast to be read", null, false, false);
        }
    }

    private static final VarHandle LONGS = Arena.LONGS;
    private static final long OFFSET = (1L << 56) - 1;
    private static final long PATIENCE = 10_000_000; // ns that a search is tried again
    private static final int HEADER = 64;
    private static final int BLOCK = 256;
    private static final int LONGEST = 64 << 20;
    private static final int FIXED = 1;
    private static final int PACKED = 2;
    private static final int RECORDS = 3;
    private static final int DEFLATED = 1;
    private static final int IN_RUN = 2;

    private final Arena arena;
    private final MappedByteBuffer first;
    private final MappedByteBuffer[] regions; // those that this reader has come to
    private final long namespace;
    private final MappedByteBuffer home; // the descriptor's region
    private final int descriptor;
    private final byte[] block = new byte[BLOCK];

    // The segment that is being searched: where it is, and what its header says.
    private MappedByteBuffer region;
    private int at;
    private int count;
    private int length;
    private int place;

    private byte[] value; // what the last search found

    Reader(Arena arena, long descriptor, long namespace) throws IOException {
        this.arena = arena;
        this.namespace = namespace;
        regions = new MappedByteBuffer[arena.regions()];
        first = region(0);
        home = region(descriptor / Arena.REGION);
        this.descriptor = (int) (descriptor % Arena.REGION);
    }

    /** Every commit up to this number is found by get. */
    long applied() throws Retired {
        long applied = (long) LONGS.getAcquire((ByteBuffer) home, descriptor + 16);
        if (gone()) {
            throw new Retired();
        }
        return applied;
    }

    /** The value of a key, null if there is none. */
    byte[] get(long hash, byte[] key) throws Retired, Busy {
        long start = 0;
        while (true) {
            if (attempt(hash, key)) {
                byte[] found = value;
                value = null;
                return found;
            }
            if (gone()) {
                throw new Retired();
            }
            long now = System.nanoTime();
            if (start == 0) {
                start = now;
            } else if (now - start > PATIENCE) {
                throw new Busy();
            }
            Thread.onSpinWait();
        }
    }

    private boolean gone() {
        return (long) LONGS.getAcquire((ByteBuffer) first, Arena.RETIRED) != 0 || (long) LONGS.getAcquire((ByteBuffer) home, descriptor + 8) != namespace;
    }

    /** Searches once; says whether the answer in value holds. */
    private boolean attempt(long hash, byte[] key) {
        value = null;
        try {
            return search(hash, key);
        } catch (IndexOutOfBoundsException | IllegalArgumentException | IllegalStateException | DataFormatException | IOException e) {
            return false; // led out of the arena by what changed meanwhile
        } catch (InternalError e) {
            return false; // how Java tells of a page that a shortened file no longer has
        }
    }

    private boolean search(long hash, byte[] key) throws IOException, DataFormatException {
        long directory = (long) LONGS.getAcquire((ByteBuffer) home, descriptor);
        if ((long) LONGS.getAcquire((ByteBuffer) home, descriptor + 8) != namespace) {
            return false;
        }
        int depth = (int) (directory >>> 56);
        long entry = directory;
        MappedByteBuffer entryRegion = home;
        int entryAt = descriptor;
        if (depth != 0) {
            long where = (directory & OFFSET) + 8 * (hash >>> 64 - depth);
            entryRegion = region(where / Arena.REGION);
            entryAt = (int) (where % Arena.REGION);
            entry = (long) LONGS.getAcquire((ByteBuffer) entryRegion, entryAt);
        }
        long offset = entry & OFFSET;
        if (offset != 0) {
            region = region(offset / Arena.REGION);
            at = (int) (offset % Arena.REGION);
            long number = (long) LONGS.getAcquire((ByteBuffer) region, at);
            if ((number & 1) != 0 || !segment(hash, key, (int) (entry >>> 56), number)) {
                return false;
            }
            VarHandle.acquireFence();
            if ((long) LONGS.getAcquire((ByteBuffer) region, at) != number) {
                return false;
            }
        }
        VarHandle.acquireFence();
        return (long) LONGS.getAcquire((ByteBuffer) entryRegion, entryAt) == entry
                && (long) LONGS.getAcquire((ByteBuffer) home, descriptor) == directory
                && (long) LONGS.getAcquire((ByteBuffer) first, Arena.RETIRED) == 0;
    }

    /** Searches a segment; false if it is not what the directory promised. */
    private boolean segment(long hash, byte[] key, int depth, long number) throws DataFormatException, IOException {
        long prefix = region.getLong(at + 16);
        int form = region.getInt(at + 24);
        count = region.getInt(at + 32);
        length = region.getInt(at + 36);
        if (region.getLong(at + 8) != namespace || (form & 0xFF) != depth || depth != 0 && (hash ^ prefix) >>> 64 - depth != 0) {
            return false;
        }
        if (length < HEADER || length > Arena.SLOT - (at & Arena.SLOT - 1) || count < 0) {
            return false;
        }
        if (count == 0) {
            return true;
        }
        place = (int) (((hash << depth) >>> 32) * count >>> 32);
        int kind = form >>> 8 & 0xFF;
        if (kind == RECORDS) {
            return count <= (length - HEADER) / 4 && records(hash, key, number);
        }
        if (count > (length - HEADER) / BLOCK) {
            return false;
        }
        return switch (kind) {
            case FIXED -> fixed(hash, key, form >>> 16 & 0xFF, form >>> 24);
            case PACKED -> packed(key);
            default -> false;
        };
    }

    /** Copies the block at place and goes on to the next place. */
    private void block() {
        region.get(at + HEADER + BLOCK * place, block, 0, BLOCK);
        if (++place == count) {
            place = 0;
        }
    }

    private boolean fixed(long hash, byte[] key, int keySize, int valueSize) {
        if (key.length != keySize) {
            return true;
        }
        int size = keySize + valueSize;
        int slots = (BLOCK - 1) / (1 + size);
        byte tag = (byte) (1 + (hash & 255) % 255);
        for (int blocks = count; blocks > 0; blocks--) {
            block();
            for (int i = 0; i < slots; i++) {
                if (block[i] != tag) {
                    continue;
                }
                int start = slots + 1 + i * size;
                int middle = start + keySize;
                if (Arrays.equals(block, start, middle, key, 0, keySize)) {
                    value = Arrays.copyOfRange(block, middle, middle + valueSize);
                    return true;
                }
            }
            if (block[slots] == 0) {
                return true;
            }
        }
        return true;
    }

    private boolean packed(byte[] key) {
        for (int blocks = count; blocks > 0; blocks--) {
            block();
            int end = 2 + (block[0] & 0xFF);
            for (int i = 2; i < end;) {
                int both = block[i++] & 0xFF;
                int keyLength = both >>> 4;
                int valueLength = both & 15;
                if (keyLength == 15) {
                    keyLength = block[i++] & 0xFF;
                }
                if (valueLength == 15) {
                    valueLength = block[i++] & 0xFF;
                }
                int middle = i + keyLength;
                int next = middle + valueLength;
                if (next > end) {
                    return false;
                }
                if (keyLength == key.length && Arrays.equals(block, i, middle, key, 0, keyLength)) {
                    value = Arrays.copyOfRange(block, middle, next);
                    return true;
                }
                i = next;
            }
            if (block[1] == 0) {
                return true;
            }
        }
        return true;
    }

    private boolean records(long hash, byte[] key, long number) throws DataFormatException, IOException {
        int tag = (int) hash & 0xFFFF;
        for (int left = count; left > 0; left--) {
            int word = region.getInt(at + HEADER + 4 * place);
            if (word == 0) {
                return true;
            }
            if (word != 1 && word >>> 16 == tag) {
                int found = record(key, (word & 0xFFFF) * 4, number);
                if (found != 0) {
                    return found > 0;
                }
            }
            if (++place == count) {
                place = 0;
            }
        }
        return true;
    }

    /** Looks at a record: 1 it is the key's, 0 it is another's, -1 it is none. */
    private int record(byte[] key, int start, long number) throws DataFormatException, IOException {
        if (start < HEADER || start + 3 > length) {
            return -1;
        }
        int i = at + start;
        int end = at + length;
        int flags = region.get(i++);
        long numbers = uvarint(region, i, end);
        int keyLength = (int) numbers;
        i = (int) (numbers >>> 32);
        numbers = uvarint(region, i, end);
        int valueLength = (int) numbers;
        i = (int) (numbers >>> 32);
        if (keyLength != key.length) {
            return 0;
        }
        if (keyLength > end - i || valueLength < 0 || valueLength > end - i - keyLength) {
            return -1;
        }
        if (!same(key, i)) {
            return 0;
        }
        byte[] found = new byte[valueLength];
        region.get(i + keyLength, found);
        if ((flags & IN_RUN) != 0) {
            found = run(found, number);
            if (found == null) {
                return -1;
            }
        }
        value = (flags & DEFLATED) != 0 ? inflate(found) : found;
        return 1;
    }

    private boolean same(byte[] key, int start) {
        for (int done = 0; done < key.length; done += BLOCK) {
            int n = Math.min(BLOCK, key.length - done);
            region.get(start + done, block, 0, n);
            if (!Arrays.equals(block, 0, n, key, done, done + n)) {
                return false;
            }
        }
        return true;
    }

    /** Copies a long value; null if the segment has changed. */
    private byte[] run(byte[] where, long number) throws IOException {
        ByteBuffer fields = ByteBuffer.wrap(where).order(region.order());
        long offset = fields.getLong(0);
        int size = fields.getInt(8);
        VarHandle.acquireFence();
        // A run that was freed is a hole, and reading that would take memory: look before.
        if ((long) LONGS.getAcquire((ByteBuffer) region, at) != number || size < 0 || size > LONGEST + (1 << 20)
                || offset % Arena.REGION + size > Arena.REGION) {
            return null;
        }
        byte[] found = new byte[size];
        region(offset / Arena.REGION).get((int) (offset % Arena.REGION), found);
        return found;
    }

    private static byte[] inflate(byte[] deflated) throws DataFormatException {
        ByteBuffer in = ByteBuffer.wrap(deflated);
        long numbers = uvarint(in, 0, deflated.length);
        int full = (int) numbers;
        int start = (int) (numbers >>> 32);
        if (full < 0 || full > LONGEST) {
            throw new DataFormatException();
        }
        byte[] out = new byte[full];
        Inflater inflater = new Inflater(true);
        try {
            inflater.setInput(deflated, start, deflated.length - start);
            int done = 0;
            while (done < full) {
                int n = inflater.inflate(out, done, full - done);
                if (n == 0) {
                    throw new DataFormatException();
                }
                done += n;
            }
        } finally {
            inflater.end();
        }
        return out;
    }

    /** A number in LEB128 below 2^31: itself in the lower half, where it ends in the upper one. */
    private static long uvarint(ByteBuffer in, int at, int end) {
        int n = 0;
        for (int shift = 0; shift < 35 && at < end; shift += 7) {
            byte b = in.get(at++);
            n |= (b & 0x7F) << shift;
            if (b >= 0) {
                if (n < 0) {
                    break;
                }
                return (long) at << 32 | n;
            }
        }
        throw new IllegalStateException();
    }

    private MappedByteBuffer region(long number) throws IOException {
        if (number >= regions.length) {
            throw new IndexOutOfBoundsException();
        }
        MappedByteBuffer found = regions[(int) number];
        if (found == null) {
            found = regions[(int) number] = arena.region((int) number);
        }
        return found;
    }
}
