"""Sketches over sliding windows, without building a sketch for each window.

HyperLogLog keeps, for each register, the rows that may still become its greatest rank, and how many registers stand at
which rank: a row that comes or goes changes a few of these counts. Membership of one value in a Bloom filter keeps, for
each of the value's bits, the last row that set it. The answers are those of the sketches themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.operators.families import sketches
from slidewise.operators.values.hashing import NAN_WORD, NUMBER, hash64, key


@jit
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@cached_jit
def _hash_words(words: Array, seed_key: np.uint64, out: Array) -> None:
    for i in range(len(words)):
        out[i] = _mix(words[i] ^ seed_key)


def hashes(x: Array, seed: int) -> Array:
    """The hashes of all values, equal to `hash64` of each."""
    if x.dtype == object:
        return np.array([hash64(value, seed) for value in x.tolist()], np.uint64)
    if x.dtype == np.float64:
        words = np.where(x == 0.0, 0.0, x).view(np.uint64)
        words = np.where(np.isnan(x), np.uint64(NAN_WORD), words)
    else:
        words = x.astype(np.int64).view(np.uint64)
    out = np.empty(len(x), np.uint64)
    _hash_words(words, np.uint64(key(seed, NUMBER)), out)
    return out


# The estimator's own functions, compiled from the source that the interpreted sketch uses.
_sigma: Any = jit(sketches._sigma)
_tau: Any = jit(sketches._tau)


# Each register's candidates, from the greatest rank to the youngest row, are a chain through the rows: `chains` has the
# first and the last row of each register's, and the row behind and before each row.
@jit
def enter(row: int, register: int, rank: Array, chains: Array) -> None:
    """Take a row in behind all others of its register: it may stay in place of those of no greater rank."""
    last = chains[1, register]
    while last >= 0 and rank[last] <= rank[row]:
        last = chains[3, last]
    chains[3, row] = last
    if last >= 0:
        chains[2, last] = row
    else:
        chains[0, register] = row
    chains[1, register] = row


@jit
def leave(row: int, register: int, chains: Array) -> bool:
    """Let the oldest row go; says whether it was its register's greatest."""
    if chains[0, register] != row:
        return False
    behind = chains[2, row]
    chains[0, register] = behind
    if behind >= 0:
        chains[3, behind] = -1
    else:
        chains[1, register] = -1
    return True


@jit
def _bit_length(word: np.uint64) -> int:
    length = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(shift) != 0:
            word >>= np.uint64(shift)
            length += shift
    return length + int(word != 0)


@cached_jit
def _distinct(words: Array, p: int, starts: Array, ends: Array, out: Array) -> None:
    size = 1 << p
    most = 65 - p
    register = np.empty(len(words), np.int32)
    rank = np.empty(len(words), np.int8)
    for i in range(len(words)):
        word = words[i]
        register[i] = np.int32(word >> np.uint64(64 - p))
        rank[i] = most - _bit_length(word & np.uint64((1 << (64 - p)) - 1))
    chains = np.full((4, max(size, len(words))), -1, np.int64)
    counts = np.zeros(most + 1, np.int64)
    counts[0] = size
    start = 0
    end = 0
    top = 0  # no register stands at a rank between this one and the last
    for i in range(len(starts)):
        if starts[i] >= ends[i]:
            continue
        while end < ends[i]:
            j = register[end]
            if top < rank[end] < most:
                top = rank[end]
            counts[rank[chains[0, j]] if chains[0, j] >= 0 else 0] -= 1
            enter(end, j, rank, chains)
            counts[rank[chains[0, j]]] += 1
            end += 1
        while start < starts[i]:
            j = register[start]
            if leave(start, j, chains):
                counts[rank[start]] -= 1
                counts[rank[chains[0, j]] if chains[0, j] >= 0 else 0] += 1
            start += 1
        z = size * _tau(1.0 - counts[most] / size)
        if z == 0.0:
            while top > 0 and counts[top] == 0:
                top -= 1
        else:
            top = most - 1
        for k in range(top, 0, -1):
            z = (z + counts[k]) / 2.0
        z += size * _sigma(counts[0] / size)
        out[i] = round(size * size / (2.0 * math.log(2.0) * z))


def distinct(x: Array, p: int, starts: Array, ends: Array) -> Array:
    """HyperLogLog's estimate for every window; 0 for an empty one."""
    out = np.zeros(len(starts), np.int64)
    _distinct(hashes(x, 0), p, starts, ends, out)
    return out


@cached_jit
def _member(
    first: Array, step: Array, bits: int, count: int, wanted: Array, starts: Array, ends: Array, out: Array
) -> None:
    last = np.full(len(wanted), -1, np.int64)
    end = 0
    for i in range(len(starts)):
        while end < ends[i]:
            at = first[end]
            for _ in range(count):
                bit = np.int64(at % np.uint64(bits))
                for b in range(len(wanted)):
                    if wanted[b] == bit:
                        last[b] = end
                at += step[end]
            end += 1
        present = True
        for b in range(len(wanted)):
            present &= last[b] >= starts[i]
        out[i] = present


def member(x: Array, bits: int, count: int, probe: object, starts: Array, ends: Array) -> Array:
    """Membership of the probe in a Bloom filter of each window."""
    at, step = hash64(probe, 0), hash64(probe, 1) | 1
    wanted = np.array(sorted({((at + i * step) & (2**64 - 1)) % bits for i in range(count)}), np.int64)
    out = np.zeros(len(starts), np.bool_)
    _member(hashes(x, 0), hashes(x, 1) | np.uint64(1), bits, count, wanted, starts, ends, out)
    return out
