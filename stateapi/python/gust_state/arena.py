# SPDX-License-Identifier: Apache-2.0
"""Reads a state in place: the arena's file, mapped, and the search for a key in it. ../../DESIGN.md has the layout.

The server changes the arena meanwhile. A search copies each piece before it looks at it and asks at the end whether the numbers that led there are
still the same; if not, it begins again. What that needs of the machine is in README.md.
"""

import mmap
import os
import platform
import struct
import sys
import threading
import time
import zlib

REGION = 1 << 30
SLOT = 256 << 10
BLOCK = 256
HEADER = 64
PATIENCE = 0.01  # seconds that a search is tried again
_RETIRED = 32 // 8
_OFFSET = (1 << 56) - 1
_LONGEST = 64 << 20
_MASK = 0xFFFFFFFFFFFFFFFF
_SEGMENT = struct.Struct("<QQQBBBBIIIIIQII")
_RUN = struct.Struct("<QII")


class Retired(Exception):
    """The server has given up this arena; open the state again."""


class Busy(Exception):
    """The server changed what was read all the time; ask it."""


class _Torn(Exception):
    """What was read does not fit together."""


def suits():
    """Says whether reads of this process come in the order in which Python makes them: True, or False if that is not known.

    amd64 keeps the order of reads. On arm64 CPython's locks keep it (_fence), which has not been tried on such a machine, so it takes
    GUST_STATE_IN_PLACE=1. GUST_STATE_IN_PLACE=0 says no everywhere.
    """
    wish = os.environ.get("GUST_STATE_IN_PLACE", "")
    if wish == "0" or sys.byteorder != "little" or sys.maxsize < 1 << 32 or platform.python_implementation() != "CPython":
        return False
    machine = platform.machine().lower()
    return machine in ("x86_64", "amd64") or wish == "1" and machine in ("aarch64", "arm64")


def _lock_fence(lock=threading.Lock()):
    # A release followed by an acquire keeps reads before it from being done after it on arm64, hence two pairs.
    lock.acquire()
    lock.release()
    lock.acquire()
    lock.release()


class View:
    """An arena's file, mapped in regions when they are first touched."""

    def __init__(self, path, arena_id):
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._maps = {}
        self._words = {}
        try:
            header = os.pread(self._file, HEADER, 0)
            if len(header) < HEADER or header[:8] != b"GUSTARNA":
                raise ValueError("%s is no arena" % path)
            version, _, found, self.capacity = struct.unpack_from("<IIQQ", header, 8)
            if version != 1:
                raise ValueError("%s has layout version %d, this client reads 1" % (path, version))
            if found != arena_id:
                raise ValueError("%s is arena %016x, not %016x" % (path, found, arena_id))
            self._size = os.fstat(self._file).st_size
            self.words(0)
        except BaseException:
            self.close()
            raise

    def region(self, number):
        """The bytes of a region."""
        found = self._maps.get(number)
        if found is None:
            start = number * REGION
            if start >= self._size:
                raise _Torn
            found = mmap.mmap(self._file, min(REGION, self._size - start), mmap.MAP_SHARED, mmap.PROT_READ, offset=start)
            self._maps[number] = found
        return found

    def words(self, number):
        """A region as numbers of eight bytes; each is read at once."""
        found = self._words.get(number)
        if found is None:
            with memoryview(self.region(number)) as whole:
                found = self._words[number] = whole.cast("Q")
        return found

    def word(self, offset):
        if offset % 8:
            raise _Torn
        return self.words(offset // REGION)[offset % REGION // 8]

    def copy(self, offset, length):
        at = offset % REGION
        out = self.region(offset // REGION)[at : at + length]
        if len(out) != length:
            raise _Torn
        return out

    def retired(self):
        return self._words[0][_RETIRED] != 0

    def close(self):
        for words in self._words.values():
            words.release()
        for found in self._maps.values():
            found.close()
        self._words, self._maps = {}, {}
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Reader:
    """Reads the state of one namespace."""

    def __init__(self, view, descriptor, namespace):
        self._view = view
        self._namespace = namespace
        self._words = view.words(descriptor // REGION)
        self._at = descriptor % REGION // 8
        self._fence = None if platform.machine().lower() in ("x86_64", "amd64") else _lock_fence

    def applied(self):
        """Every commit up to this number is found by get."""
        words, at = self._words, self._at
        applied = words[at + 2]
        if self._fence:
            self._fence()
        if self._view.retired() or words[at + 1] != self._namespace:
            raise Retired
        return applied

    def get(self, key, h):
        """The value of a key with the hash h, None if there is none."""
        deadline = None
        while True:
            try:
                return self._try(key, h)
            except (_Torn, IndexError, struct.error, zlib.error):
                pass
            if self._view.retired() or self._words[self._at + 1] != self._namespace:
                raise Retired
            now = time.monotonic()
            if deadline is None:
                deadline = now + PATIENCE
            elif now > deadline:
                raise Busy

    def _try(self, key, h):
        view, words, at, fence = self._view, self._words, self._at, self._fence
        directory = words[at]
        if fence:
            fence()
        if words[at + 1] != self._namespace:
            raise _Torn
        depth = directory >> 56
        entry = directory
        entry_at = 0
        if depth:
            entry_at = (directory & _OFFSET) + 8 * (h >> (64 - depth))
            entry = view.word(entry_at)
            if fence:
                fence()
        offset = entry & _OFFSET
        number = value = None
        if offset:
            number = view.word(offset)
            if number & 1:
                raise _Torn
            if fence:
                fence()
            value = self._segment(key, h, offset, entry >> 56, number)
        if fence:
            fence()
        if (
            (offset and view.word(offset) != number)
            or (depth and view.word(entry_at) != entry)
            or words[at] != directory
            or view.retired()
        ):
            raise _Torn
        return value

    def _segment(self, key, h, offset, depth, number):
        (_, namespace, prefix, own, kind, key_size, value_size, _, count, length, _, _, _, _, _) = _SEGMENT.unpack(
            self._view.copy(offset, HEADER)
        )
        if namespace != self._namespace or own != depth or own and (h ^ prefix) >> (64 - own):
            raise _Torn
        if length > SLOT - offset % SLOT:
            raise _Torn
        if count == 0:
            return None
        place = ((h << depth & _MASK) >> 32) * count >> 32
        if kind == 3:
            if HEADER + 4 * count > length:
                raise _Torn
            return self._records(key, h, offset, count, length, place, number)
        if HEADER + BLOCK * count > length:
            raise _Torn
        if kind == 1:
            return self._fixed(key, h, offset, count, place, key_size, value_size)
        if kind == 2:
            return self._packed(key, offset, count, place)
        raise _Torn

    def _fixed(self, key, h, offset, count, place, key_size, value_size):
        if len(key) != key_size:
            return None
        entry = key_size + value_size
        capacity = 255 // (1 + entry)
        tag = 1 + (h & 255) % 255
        for _ in range(count):
            block = self._view.copy(offset + HEADER + BLOCK * place, BLOCK)
            i = block.find(tag, 0, capacity)
            while i >= 0:
                start = capacity + 1 + i * entry
                if block[start : start + key_size] == key:
                    return block[start + key_size : start + entry]
                i = block.find(tag, i + 1, capacity)
            if block[capacity] == 0:
                return None
            place = place + 1 if place + 1 < count else 0
        return None

    def _packed(self, key, offset, count, place):
        length = len(key)
        for _ in range(count):
            block = self._view.copy(offset + HEADER + BLOCK * place, BLOCK)
            end = 2 + block[0]
            i = 2
            if block.find(key, 2, end) < 0:
                i = end
            while i < end:
                both = block[i]
                key_length, value_length = both >> 4, both & 15
                i += 1
                if key_length == 15:
                    key_length = block[i]
                    i += 1
                if value_length == 15:
                    value_length = block[i]
                    i += 1
                start = i + key_length
                i = start + value_length
                if i > end:
                    raise _Torn
                if key_length == length and block[start - length : start] == key:
                    return block[start:i]
            if block[1] == 0:
                return None
            place = place + 1 if place + 1 < count else 0
        return None

    def _records(self, key, h, offset, count, length, place, number):
        view = self._view
        tag = h & 0xFFFF
        index = offset + HEADER
        window = b""
        base = 0
        for _ in range(count):
            if 4 * place >= base + len(window) or 4 * place < base:
                base = 4 * place
                window = view.copy(index + base, min(64, 4 * count - base))
            word = int.from_bytes(window[4 * place - base : 4 * place - base + 4], "little")
            if word == 0:
                return None
            if word != 1 and word >> 16 == tag:
                found, value = self._record(key, offset, (word & 0xFFFF) * 4, length, number)
                if found:
                    return value
            place = place + 1 if place + 1 < count else 0
        return None

    def _record(self, key, offset, at, length, number):
        if at < HEADER or at >= length:
            raise _Torn
        head = self._view.copy(offset + at, min(24 + len(key), length - at))
        flags = head[0]
        key_length, i = _uvarint(head, 1)
        value_length, i = _uvarint(head, i)
        if at + i + key_length + value_length > length:
            raise _Torn
        if key_length != len(key) or head[i : i + key_length] != key:
            return False, None
        value = self._view.copy(offset + at + i + key_length, value_length)
        if flags & 2:
            run, run_length, _ = _RUN.unpack(value)
            if self._fence:
                self._fence()
            # A run that was freed is a hole, and reading that would take memory: look before.
            if self._view.word(offset) != number or run % REGION + run_length > REGION:
                raise _Torn
            value = self._view.copy(run, run_length)
        if flags & 1:
            full, i = _uvarint(value, 0)
            deflated, value = value[i:], zlib.decompressobj(-15)
            if full > _LONGEST:
                raise _Torn
            value = value.decompress(deflated, full + 1)
            if len(value) != full:
                raise _Torn
        return True, value


def _uvarint(data, at):
    n = shift = 0
    while True:
        byte = data[at]
        at += 1
        n |= (byte & 0x7F) << shift
        if byte < 0x80:
            return n, at
        shift += 7
        if shift > 63:
            raise _Torn
