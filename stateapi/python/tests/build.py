# SPDX-License-Identifier: Apache-2.0
"""Writes small arenas as DESIGN.md has them, for tests of the reader."""

import os
import struct
import zlib

from gust_state.arena import HEADER, REGION, SLOT
from gust_state.wire import uvarint
from gust_state.xxh64 import xxh64

ARENA, NAMESPACE, DESCRIPTOR = 0x1234, 0xABCD, SLOT + 64
MASK = (1 << 64) - 1


def place(h, depth, n):
    return ((h << depth & MASK) >> 32) * n >> 32


def header(kind, depth, prefix, entries, count, length, key_size=0, value_size=0, number=2):
    return struct.pack("<QQQBBBBIIIIIQII", number, NAMESPACE, prefix, depth, kind, key_size, value_size, entries, count, length, 0, 0, 0, 0, 0)


def fixed(pairs, blocks, depth=0, prefix=0):
    key_size, value_size = len(next(iter(pairs))), len(next(iter(pairs.values())))
    capacity = 255 // (1 + key_size + value_size)
    out = [bytearray(256) for _ in range(blocks)]
    for key, value in pairs.items():
        h = xxh64(key)
        at = place(h, depth, blocks)
        while 0 not in out[at][:capacity]:
            out[at][capacity] = 1
            at = (at + 1) % blocks
        i = out[at].index(0, 0, capacity)
        out[at][i] = 1 + (h & 255) % 255
        start = capacity + 1 + i * (key_size + value_size)
        out[at][start : start + key_size + value_size] = key + value
    body = b"".join(out)
    return header(1, depth, prefix, len(pairs), blocks, HEADER + len(body), key_size, value_size) + body


def packed(pairs, blocks, depth=0, prefix=0):
    out = [bytearray(2) for _ in range(blocks)]
    for key, value in pairs.items():
        short = [min(len(x), 15) for x in (key, value)]
        entry = bytes([short[0] << 4 | short[1]]) + b"".join(bytes([len(x)]) for x in (key, value) if len(x) >= 15) + key + value
        at = place(xxh64(key), depth, blocks)
        while len(out[at]) + len(entry) > 256:
            out[at][1] = 1
            at = (at + 1) % blocks
        out[at] += entry
        out[at][0] = len(out[at]) - 2
    body = b"".join(bytes(block).ljust(256, b"\xee") for block in out)
    return header(2, depth, prefix, len(pairs), blocks, HEADER + len(body)) + body


def records(pairs, words, depth=0, prefix=0, dead=()):
    """A value is bytes, (bytes, "deflate"), or (offset, length of a run)."""
    index, body = [0] * words, b""
    start = HEADER + 4 * words
    for key in dead:
        index[place(xxh64(key), depth, words)] = 1
    for key, value in pairs.items():
        flags = 0
        if isinstance(value, tuple) and value[1] == "deflate":
            squeeze = zlib.compressobj(wbits=-15)
            flags, value = 1, uvarint(len(value[0])) + squeeze.compress(value[0]) + squeeze.flush()
        elif isinstance(value, tuple):
            flags, value = 2, struct.pack("<QII", *value, 0)
        h = xxh64(key)
        at = place(h, depth, words)
        while index[at]:
            at = (at + 1) % words
        index[at] = (h & 0xFFFF) << 16 | (start + len(body)) // 4
        record = bytes([flags]) + uvarint(len(key)) + uvarint(len(value)) + key + value
        body += record + b"\0" * (-len(record) % 4)
    data = struct.pack("<%dI" % words, *index) + body
    return header(3, depth, prefix, len(pairs), words, HEADER + len(data)) + data


class Arena:
    """An arena's file of one region; what is put into it is seen by its readers at once."""

    def __init__(self, path):
        self.path = str(path)
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.ftruncate(self.file, REGION)
        self.write(0, b"GUSTARNA" + struct.pack("<IIQQQQQ", 1, 4096, ARENA, REGION, 0, 0, SLOT))
        self.word(DESCRIPTOR + 8, NAMESPACE)

    def write(self, offset, data):
        os.pwrite(self.file, data, offset)

    def word(self, offset, value):
        self.write(offset, struct.pack("<Q", value))

    def single(self, segment, offset=2 * SLOT):
        """Makes a segment the only one."""
        self.write(offset, segment)
        self.word(DESCRIPTOR, offset)

    def retire(self):
        self.word(32, 1)

    def close(self):
        os.close(self.file)
