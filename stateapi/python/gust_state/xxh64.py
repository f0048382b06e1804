# SPDX-License-Identifier: Apache-2.0
"""XXH64 with seed 0: the hash of a key. The module xxhash does it if it is installed, else Python, some fifty times slower."""

import struct

_MASK = 0xFFFFFFFFFFFFFFFF
_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5


def _rotate(x, n):
    return ((x << n) | (x >> (64 - n))) & _MASK


def _round(acc, lane):
    return _rotate((acc + lane * _P2) & _MASK, 31) * _P1 & _MASK


def pure(data):
    """Hashes bytes without a library."""
    length = len(data)
    at = 0
    if length >= 32:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        for four in struct.iter_unpack("<4Q", data[: length // 32 * 32]):
            lanes = [_round(acc, lane) for acc, lane in zip(lanes, four)]
        h = sum(_rotate(acc, n) for acc, n in zip(lanes, (1, 7, 12, 18))) & _MASK
        for acc in lanes:
            h = ((h ^ _round(0, acc)) * _P1 + _P4) & _MASK
        at = length // 32 * 32
    else:
        h = _P5
    h = (h + length) & _MASK
    while at + 8 <= length:
        h = (_rotate(h ^ _round(0, int.from_bytes(data[at : at + 8], "little")), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= length:
        h = (_rotate(h ^ (int.from_bytes(data[at : at + 4], "little") * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        h = _rotate(h ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    h = (h ^ (h >> 33)) * _P2 & _MASK
    h = (h ^ (h >> 29)) * _P3 & _MASK
    return h ^ (h >> 32)


try:
    from xxhash import xxh64_intdigest as xxh64
except ImportError:
    xxh64 = pure
