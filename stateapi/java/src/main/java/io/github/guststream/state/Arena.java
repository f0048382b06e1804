// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;

/**
 * An arena's file, mapped read-only in regions at their first touch. ../DESIGN.md has the layout.
 *
 * <p>A mapping of Java's ends at 2 GiB and cannot be taken back by hand, so all states of a process share one Arena a file, and it goes when no state has it.
 */
final class Arena {
    static final long REGION = 1L << 30;
    static final int SLOT = 256 << 10;
    static final int RETIRED = 32;

    /** Numbers of eight bytes in a mapping; with getAcquire where the order of reads counts, for which the index must be a multiple of 8. */
    static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private static final long MAGIC = 0x414E524154535547L; // "GUSTARNA"
    private static final int VERSION = 1;
    private static final Map<Path, WeakReference<Arena>> OPEN = new HashMap<>();

    final long id;
    private final Path path;
    private final long size;
    private final FileChannel file;
    private final MappedByteBuffer[] regions;

    /** Finds the arena among the open ones, or opens it. */
    static Arena open(String name, long id) throws IOException {
        Path path = Path.of(name);
        synchronized (OPEN) {
            OPEN.values().removeIf(open -> open.get() == null);
            WeakReference<Arena> open = OPEN.get(path);
            Arena arena = open == null ? null : open.get();
            if (arena == null || arena.id != id || arena.retired()) {
                arena = new Arena(path, id);
                OPEN.put(path, new WeakReference<>(arena));
            }
            return arena;
        }
    }

    private Arena(Path path, long id) throws IOException {
        this.path = path;
        this.id = id;
        // Never closed: a mapping needs no file, but regions not yet mapped do. The channel goes with the Arena.
        file = FileChannel.open(path, StandardOpenOption.READ);
        try {
            size = file.size();
            check();
            regions = new MappedByteBuffer[(int) ((size + REGION - 1) / REGION)];
            region(0);
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    private void check() throws IOException {
        ByteBuffer header = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
        while (header.hasRemaining() && file.read(header, header.position()) > 0) {
            // the next piece
        }
        if (header.hasRemaining() || header.getLong(0) != MAGIC) {
            throw new IOException(path + " is no arena");
        }
        if (header.getInt(8) != VERSION) {
            throw new IOException(path + " has layout version " + header.getInt(8) + ", this client reads " + VERSION);
        }
        if (header.getLong(16) != id) {
            throw new IOException(String.format("%s is arena %016x, not %016x", path, header.getLong(16), id));
        }
    }

    int regions() {
        return regions.length;
    }

    /** The bytes of a region. */
    synchronized MappedByteBuffer region(int number) throws IOException {
        MappedByteBuffer region = regions[number];
        if (region == null) {
            long start = number * REGION;
            region = file.map(FileChannel.MapMode.READ_ONLY, start, Math.min(REGION, size - start));
            region.order(ByteOrder.LITTLE_ENDIAN);
            regions[number] = region;
        }
        return region;
    }

    boolean retired() {
        return (long) LONGS.getAcquire((ByteBuffer) first(), RETIRED) != 0;
    }

    private synchronized MappedByteBuffer first() {
        return regions[0];
    }
}
