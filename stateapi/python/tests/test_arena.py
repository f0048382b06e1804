# SPDX-License-Identifier: Apache-2.0
"""The reader, on arenas that the tests write."""

import os
import random
import tempfile
import unittest
from unittest import mock

from gust_state import arena
from gust_state.arena import SLOT
from gust_state.xxh64 import xxh64

from . import build


class ArenaTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.arena = build.Arena(os.path.join(folder.name, "arena"))
        self.addCleanup(self.arena.close)
        self.view = arena.View(self.arena.path, build.ARENA)
        self.addCleanup(self.view.close)
        self.reader = arena.Reader(self.view, build.DESCRIPTOR, build.NAMESPACE)

    def get(self, key):
        return self.reader.get(key, xxh64(key))

    def check(self, pairs):
        for key, value in pairs.items():
            self.assertEqual(value, self.get(key), key)
        for i in range(200):
            self.assertIsNone(self.get(b"absent %d" % i))

    def test_empty(self):
        self.assertIsNone(self.get(b"k"))

    def test_fixed(self):
        pairs = {i.to_bytes(8, "little"): (i * i).to_bytes(8, "little") for i in range(1000)}
        self.arena.single(build.fixed(pairs, 74))  # 15 a block: 90 % full, so that some spill
        self.check(pairs)
        for i in range(1000, 3000):
            self.assertIsNone(self.get(i.to_bytes(8, "little")))

    def test_packed(self):
        pairs = {b"w%d" % i: b"%d" % (i % 50) for i in range(2000)}
        pairs.update({b"": b"", b"k" * 14: b"v" * 14, b"l" * 15: b"v" * 15, b"m" * 100: b"v" * 100, b"w1w2": b"w3"})
        self.arena.single(build.packed(pairs, 130))
        self.check(pairs)

    def test_records(self):
        run = 10 * SLOT
        long = bytes(random.Random(1).randrange(256) for _ in range(40000))
        self.arena.write(run, long)
        pairs = {b"key %d" % i: b"value %d" % i * (i % 40) for i in range(400)}
        stored = {**pairs, b"long": (run, len(long)), b"soft": (b"soft " * 1000, "deflate"), b"nothing": (b"", "deflate")}
        self.arena.single(build.records(stored, 450, dead=[b"key %d" % i for i in range(20)]))
        self.check({**pairs, b"long": long, b"soft": b"soft " * 1000, b"nothing": b""})

    def test_directory(self):
        pairs = {b"key %d" % i: b"%d" % i for i in range(1000)}
        words = 3 * SLOT
        # Four ranges, of which the upper two share one segment.
        for i, (depth, prefix) in enumerate(((2, 0), (2, 1), (1, 1), (1, 1))):
            own = {k: v for k, v in pairs.items() if xxh64(k) >> (64 - depth) == prefix}
            offset = (4 + min(i, 2)) * SLOT
            self.arena.write(offset, build.packed(own, 40, depth, prefix << (64 - depth)))
            self.arena.word(words + 8 * i, depth << 56 | offset)
        self.arena.word(build.DESCRIPTOR, 2 << 56 | words)
        self.check(pairs)
        self.arena.word(words + 8, 0)  # a range without entries
        for key, value in pairs.items():
            self.assertEqual(None if xxh64(key) >> 62 == 1 else value, self.get(key))

    def test_what_is_wrong_is_busy(self):
        segment = bytearray(build.packed({b"k": b"v"}, 1))
        for at, byte in ((0, 3), (8, 1), (16, 1), (24, 1), (25, 4), (32, 2), (39, 255)):  # odd, namespace, prefix, depth, kind, blocks, length
            with self.subTest(at=at):
                bad = bytearray(segment)
                bad[at] = byte
                if at == 16:
                    bad[23], bad[24] = 0x80, 1
                self.arena.single(bytes(bad))
                with self.assertRaises(arena.Busy):
                    self.get(b"k")
        self.arena.single(bytes(segment))
        self.assertEqual(b"v", self.get(b"k"))
        for word in (5, arena.REGION - 64, arena.REGION * 5, arena.REGION - 4096):
            with self.subTest(word=word), self.assertRaises(arena.Busy):
                self.arena.word(build.DESCRIPTOR, word)
                self.get(b"k")

    def test_any_bytes(self):
        """Whatever is in a segment, a search ends, with Busy at worst."""
        chance = random.Random(7)
        good = {1: build.fixed({bytes([i]) * 8: b"v" * 8 for i in range(40)}, 4), 2: build.packed({b"k%d" % i: b"v" for i in range(90)}, 4)}
        good[3] = build.records({b"k%d" % i: (b"v" * 50, "deflate") for i in range(90)}, 100)
        with mock.patch.object(arena, "PATIENCE", 0.0):
            for n in range(1500):
                segment = bytearray(good[1 + n % 3])
                for _ in range(1 + n % 7):
                    segment[chance.randrange(24, len(segment))] = chance.randrange(256)
                self.arena.single(bytes(segment))
                for key in (b"k1", b"\1" * 8, b"k77", b""):
                    try:
                        self.get(key)
                    except arena.Busy:
                        pass

    def test_change_under_the_reader(self):
        """Whichever read the steps of a write come before, the answer is the old or the new one."""
        old, new = build.packed({b"k": b"old"}, 1), build.packed({b"k": b"new!!"}, 1)
        copy, word = self.view.copy, self.view.word
        writes = [(0, (3).to_bytes(8, "little")), (64, new[64:68]), (68, new[68:]), (0, (4).to_bytes(8, "little"))]
        answers = set()
        for first in range(6):
            for apart in range(1, 4):
                self.arena.single(old)
                steps = iter(range(100))

                def before(first=first, apart=apart, steps=steps):
                    n, rest = divmod(next(steps, 99) - first, apart)
                    if rest == 0 and 0 <= n < len(writes):
                        self.arena.write(2 * SLOT + writes[n][0], writes[n][1])

                with mock.patch.object(self.view, "copy", lambda *a, before=before: (before(), copy(*a))[1]):
                    with mock.patch.object(self.view, "word", lambda *a, before=before: (before(), word(*a))[1]):
                        answer = self.get(b"k")
                self.assertIn(answer, (b"old", b"new!!"), (first, apart))
                answers.add(answer)
        self.assertEqual(2, len(answers))

    def test_retired(self):
        self.arena.single(build.packed({b"k": b"v"}, 1))
        self.assertEqual(b"v", self.get(b"k"))
        self.assertEqual(0, self.reader.applied())
        self.arena.word(build.DESCRIPTOR + 16, 12)
        self.assertEqual(12, self.reader.applied())
        self.arena.retire()
        for read in (lambda: self.get(b"k"), self.reader.applied):
            with self.assertRaises(arena.Retired):
                read()

    def test_namespace_gone(self):
        self.arena.word(build.DESCRIPTOR + 8, 77)
        with self.assertRaises(arena.Retired):
            self.get(b"k")

    def test_holes_stay_holes(self):
        self.arena.single(build.packed({b"k%d" % i: b"v" for i in range(100)}, 8))
        before = os.stat(self.arena.path).st_blocks
        for i in range(1000):
            self.get(b"k%d" % i)
        self.assertEqual(before, os.stat(self.arena.path).st_blocks)

    def test_file(self):
        for at, data, text in ((0, b"X", "no arena"), (8, b"\2", "layout version 2"), (16, b"\5", "is arena")):
            other = build.Arena(self.arena.path + "-other")
            self.addCleanup(other.close)
            other.write(at, data)
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                arena.View(other.path, build.ARENA)

    def test_machines(self):
        for machine, wish, suits in (
            ("x86_64", "", True),
            ("x86_64", "0", False),
            ("aarch64", "", False),
            ("aarch64", "1", True),
            ("riscv64", "1", False),
        ):
            with self.subTest(machine + wish), mock.patch("platform.machine", return_value=machine):
                with mock.patch.dict(os.environ, GUST_STATE_IN_PLACE=wish):
                    self.assertEqual(suits, arena.suits())
        with mock.patch("platform.machine", return_value="aarch64"):
            self.arena.single(build.packed({b"k": b"v"}, 1))
            self.assertEqual(b"v", arena.Reader(self.view, build.DESCRIPTOR, build.NAMESPACE).get(b"k", xxh64(b"k")))
