// SPDX-License-Identifier: Apache-2.0

package io.github.guststream.state;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** XXH64 with seed 0: the hash of a key. */
final class XxHash64 {
    private static final long P1 = 0x9E3779B185EBCA87L;
    private static final long P2 = 0xC2B2AE3D27D4EB4FL;
    private static final long P3 = 0x165667B19E3779F9L;
    private static final long P4 = 0x85EBCA77C2B2AE63L;
    private static final long P5 = 0x27D4EB2F165667C5L;

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private XxHash64() {}

    static long hash(byte[] data) {
        return hash(data, 0, data.length);
    }

    static long hash(byte[] data, int from, int length) {
        int at = from;
        int end = from + length;
        long h = P5;
        if (length >= 32) {
            long a = P1 + P2;
            long b = P2;
            long c = 0;
            long d = -P1;
            for (; at + 32 <= end; at += 32) {
                a = round(a, (long) LONGS.get(data, at));
                b = round(b, (long) LONGS.get(data, at + 8));
                c = round(c, (long) LONGS.get(data, at + 16));
                d = round(d, (long) LONGS.get(data, at + 24));
            }
            h = Long.rotateLeft(a, 1) + Long.rotateLeft(b, 7) + Long.rotateLeft(c, 12) + Long.rotateLeft(d, 18);
            h = merge(merge(merge(merge(h, a), b), c), d);
        }
        h += length;
        for (; at + 8 <= end; at += 8) {
            h = Long.rotateLeft(h ^ round(0, (long) LONGS.get(data, at)), 27) * P1 + P4;
        }
        if (at + 4 <= end) {
            h = Long.rotateLeft(h ^ ((int) INTS.get(data, at) & 0xFFFFFFFFL) * P1, 23) * P2 + P3;
            at += 4;
        }
        for (; at < end; at++) {
            h = Long.rotateLeft(h ^ (data[at] & 0xFF) * P5, 11) * P1;
        }
        h = (h ^ h >>> 33) * P2;
        h = (h ^ h >>> 29) * P3;
        return h ^ h >>> 32;
    }

    private static long round(long acc, long lane) {
        return Long.rotateLeft(acc + lane * P2, 31) * P1;
    }

    private static long merge(long h, long acc) {
        return (h ^ round(0, acc)) * P1 + P4;
    }
}
