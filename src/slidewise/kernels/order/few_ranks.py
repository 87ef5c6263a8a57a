"""Ranks of rows' own values where there are few different ones: how many rows of the window lie below each value.

A row that comes or goes changes the counts of all values above its own, a few vectors of numbers, and a rank is read.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import tiered_jit

MOST = 127  # different values, of which one count more is kept
_BLOCK = 64  # counts, so that no vector of them is cut short
_SLOTS = 512
_HASH = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - 9)


def few_codes(keys: Array) -> tuple[Array, int] | None:
    """Of integers, how many different ones are below each, and how many there are; None where these are many.

    >>> few_codes(np.array([7, -2, 9, 7]))
    (array([1, 0, 2, 1], dtype=uint8), 3)
    """
    slots, taken, found = np.empty(_SLOTS, np.int64), np.zeros(_SLOTS, np.uint8), np.empty(MOST, np.int64)
    codes = np.empty(len(keys), np.uint8)
    size = int(_find_codes(keys, slots, taken, found, codes))
    if size < 0:
        return None
    place = np.empty(max(size, 1), np.uint8)
    place[np.argsort(found[:size])] = np.arange(size)
    return place[codes], size


@tiered_jit
def _find_codes(keys: Array, slots: Array, taken: Array, found: Array, codes: Array) -> int:
    """Number the different keys as they come; how many they are, or -1 where these are too many."""
    size = 0
    for i in range(len(keys)):
        slot = u((np.uint64(keys[u(i)]) * _HASH) >> _SHIFT)
        while taken[slot] and slots[slot] != keys[u(i)]:
            slot = u((slot + u(1)) & u(_SLOTS - 1))
        if not taken[slot]:
            if size == len(found):
                return -1
            found[size] = keys[u(i)]
            slots[slot] = keys[u(i)]
            size += 1
            taken[slot] = size
        codes[u(i)] = taken[slot] - 1
    return size


def few_ranks(codes: Array, size: int, starts: Array, ends: Array, own: Array, below: Array, upto: Array) -> None:
    """Count the rows of each window below its own row, and where `upto` is asked for, those at it and itself, too."""
    counts = np.zeros((size + 1 + _BLOCK - 1) // _BLOCK * _BLOCK, np.int32 if len(codes) < 2**31 else np.int64)
    _few_ranks(codes, starts, ends, own, counts, below, upto)


@tiered_jit
def _few_ranks(codes: Array, starts: Array, ends: Array, own: Array, counts: Array, below: Array, upto: Array) -> None:
    start = end = int64(starts[0]) if len(starts) else int64(0)
    for i in range(len(starts)):
        s, e, at = int64(starts[u(i)]), int64(ends[u(i)]), int64(own[u(i)])
        if s >= e:
            continue
        if s == start + 1 and e == end + 1:  # one comes and one goes, as mostly in windows of rows
            come, gone = int32(codes[u(end)]), int32(codes[u(start)])
            for k in range(len(counts)):
                counts[u(k)] += int32(int32(k) > come) - int32(int32(k) > gone)
        else:
            while start < min(s, end):
                gone = int32(codes[u(start)])
                for k in range(len(counts)):
                    counts[u(k)] -= int32(int32(k) > gone)
                start += 1
            end = max(s, end)
            while end < e:
                come = int32(codes[u(end)])
                for k in range(len(counts)):
                    counts[u(k)] += int32(int32(k) > come)
                end += 1
        start, end = s, e
        code = codes[u(at)]
        below[u(i)] = counts[u(code)]
        if len(upto):
            upto[u(i)] = counts[u(code + 1)] + (0 if s <= at < e else 1)
