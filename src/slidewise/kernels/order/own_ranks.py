"""Ranks of rows' own values in windows that never move back: how many values of the window lie below each.

Short windows are counted through, and few different values are counted one by one (`few_ranks`). For others rows are
ranked in segments, as for quantiles; the window is a bitmap of ranks, with the members before each word counted in
blocks of eight words, eight blocks and so on. A row that comes or goes changes eight neighbouring counts in each level,
which takes one instruction or two, and a rank is the sum of one count of each level and the bits of one word.
"""

from __future__ import annotations

import numpy as np
from numba import int64
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.errors import InputError
from slidewise.kernels.bounds.rows_and_times import longest
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.compiler.threads import share_out
from slidewise.kernels.order.bit_sets import byte_counts
from slidewise.kernels.order.few_ranks import few_codes, few_ranks
from slidewise.kernels.order.quantiles import PIECE
from slidewise.kernels.order.ranks import AT, BATCH, FIRST, HIGH, LOW, STOP, WIDTH, WINDOWS, Segments

FEWEST = 16  # rows that are counted through however few values they have
SHORT = 128  # windows up to this length are counted through
LEVELS = 3  # of blocks within blocks, the last of which holds 64 * 8 ** 3 ranks
_TOP = 6 + 3 * LEVELS

Offsets = tuple[int, int, int, int]  # where the counts of each level begin, and those of the largest blocks


def sort_keys(x: Array, name: str) -> Array:
    """Values as integers of the same order: NaN the greatest, and -0.0 equal to 0.0."""
    if x.dtype == np.int64:
        return x
    if x.dtype == object:
        return _codes(x, name)
    keys = np.empty(len(x), np.int64)
    _float_keys(np.ascontiguousarray(x, np.float64).view(np.int64), keys)
    return keys


@tiered_jit
def _float_keys(bits: Array, keys: Array) -> None:
    most = int64(2**63 - 1)
    for i in range(len(bits)):
        word = bits[u(i)]
        size = word & most
        key = -size if word < 0 else word
        keys[u(i)] = most if size > int64(0x7FF0000000000000) else key


def _codes(x: Array, name: str) -> Array:
    """The number of each object among the different ones, in their order."""
    values = x.tolist()
    try:
        different = sorted({value for value in values if value == value})
    except TypeError as error:
        raise InputError(f"{name} takes values that have an order, and these differ in kind: {error}") from error
    code = {value: i for i, value in enumerate(different)}
    return np.array([code.get(value, len(different)) for value in values], np.int64)


def window_ranks(keys: Array, starts: Array, ends: Array, own: Array, method: str) -> Array:
    """The rank of keys[own[i]] among keys[starts[i]:ends[i]] and itself for every i, where that has rows.

    Neither bounds nor own rows ever move back.
    """
    m = len(starts)
    own = own.astype(starts.dtype, copy=False)
    behind = method in ("average", "max")
    below, upto = np.ones(m, np.int64), np.ones(m if behind else 0, np.int64)
    most = int(longest(starts, ends)) if m else 0
    keys = np.ascontiguousarray(keys)

    codes, size = (most > FEWEST and few_codes(keys)) or (None, 0)

    def work(a: int, b: int) -> None:
        part = below[a:b], upto[a:b] if behind else upto
        if codes is not None:
            few_ranks(codes, size, starts[a:b], ends[a:b], own[a:b], *part)
        elif most <= SHORT:
            _count_through(keys, starts[a:b], ends[a:b], own[a:b], *part)
        else:
            _ranks(keys, starts[a:b], ends[a:b], own[a:b], *part)

    if len(keys):
        pieces = 0 if codes is not None else len(keys) // max(PIECE, WINDOWS**2 * most)
        share_out(m, len(keys) // max(BATCH, WINDOWS * most), work, pieces)
    if method == "percent":
        others = ends - starts - ((starts <= own) & (own < ends))
        return np.where(others > 0, below / np.maximum(others, 1), 0.0)
    if method == "max":
        return upto
    below += 1
    return below if method == "min" else (below + upto) / 2


@tiered_jit
def _count_through(keys: Array, starts: Array, ends: Array, own: Array, below: Array, upto: Array) -> None:
    """Count the values below each own one in short windows, and where `upto` is asked for, those at it too."""
    for i in range(len(starts)):
        s, e, at = int64(starts[u(i)]), int64(ends[u(i)]), int64(own[u(i)])
        key = keys[u(at)]
        less = int64(0)
        for j in range(s, e):
            less += keys[u(j)] < key
        below[u(i)] = less
        if len(upto):
            same = int64(0) if s <= at < e else int64(1)
            for j in range(s, e):
                same += keys[u(j)] == key
            upto[u(i)] = less + same


def _ranks(keys: Array, starts: Array, ends: Array, own: Array, below: Array, upto: Array) -> None:
    """Answer the windows of one piece, in one thread."""
    segments = Segments(len(keys))
    lows, highs = np.minimum(starts, own), np.maximum(ends, own + 1)
    runs = [np.empty(0, np.int32) for _ in range(2 if len(upto) else 1)]
    bits, counts = np.zeros(0, np.uint64), np.zeros(0, np.int32)
    i = 0
    while True:
        table, i = segments.rank_next(keys, lows, highs, i)
        if not len(table):
            return
        packed, ranks = segments.packed, segments.ranks
        if len(runs[0]) < len(ranks):
            runs = [np.empty(len(ranks), ranks.dtype) for _ in runs]
            bits = np.zeros((len(ranks) >> _TOP) + 1 << _TOP - 6, np.uint64)
            counts = np.zeros(2 * len(bits), np.int32)
        _find_runs(keys, table, packed, runs[0], runs[-1], len(upto) > 0)
        _slide(table, ranks, runs[0], runs[-1], starts, ends, own, bits, counts, below, upto)


@tiered_jit
def _find_runs(keys: Array, table: Array, packed: Array, firsts: Array, lasts: Array, both: bool) -> None:
    """For each row the least rank of the rows of its value, and one past the greatest of them."""
    for j in range(len(table)):
        low, at = table[j, LOW], table[j, AT]
        size = table[j, HIGH] - low
        mask = (np.uint64(1) << np.uint64(table[j, WIDTH])) - np.uint64(1)
        first = int64(0)
        last_key = keys[u(low + int64(packed[u(at)] & mask))]
        for rank in range(size):
            row = int64(packed[u(at + rank)] & mask)
            key = keys[u(low + row)]
            if key != last_key:
                first = rank
                last_key = key
            firsts[u(at + row)] = first
        if both:
            stop = int64(size)
            last_key = keys[u(low + int64(packed[u(at + size - 1)] & mask))]
            for rank in range(size - 1, -1, -1):
                row = int64(packed[u(at + rank)] & mask)
                key = keys[u(low + row)]
                if key != last_key:
                    stop = rank + 1
                    last_key = key
                lasts[u(at + row)] = stop


@jit
def _change(bits: Array, counts: Array, offsets: Offsets, tops: int, rank: int, by: int) -> None:
    """Put a rank into the set, or take it out of it."""
    bits[u(rank >> 6)] ^= np.uint64(1) << np.uint64(rank & 63)
    for level in range(LEVELS):
        number = rank >> (6 + 3 * level)
        base = offsets[level] + (number & ~7)
        at = number & 7
        for k in range(8):
            counts[u(base + k)] += by if k > at else 0
    top = offsets[LEVELS]
    for k in range((rank >> _TOP) + 1, tops):
        counts[u(top + k)] += by


@jit
def _members_below(bits: Array, counts: Array, offsets: Offsets, rank: int) -> int:
    """How many members of the set lie below a rank."""
    word = bits[u(rank >> 6)] & ((np.uint64(1) << np.uint64(rank & 63)) - np.uint64(1))
    n: int = int64(byte_counts(word) >> np.uint64(56)) + counts[u(offsets[LEVELS] + (rank >> _TOP))]
    for level in range(LEVELS):
        n += counts[u(offsets[level] + (rank >> (6 + 3 * level)))]
    return n


@tiered_jit
def _slide(
    table: Array,
    ranks: Array,
    firsts: Array,
    lasts: Array,
    starts: Array,
    ends: Array,
    own: Array,
    bits: Array,
    counts: Array,
    below: Array,
    upto: Array,
) -> None:
    """Answer the windows of several segments."""
    for j in range(len(table)):
        low, shift = table[j, LOW], table[j, AT] - table[j, LOW]
        tops = ((table[j, HIGH] - low) >> _TOP) + 1
        words = tops << (_TOP - 6)
        offsets = (0, words, words + (words >> 3), words + (words >> 3) + (words >> 6))
        bits[:words] = 0
        counts[: offsets[LEVELS] + tops] = 0
        start = end = low
        for i in range(table[j, FIRST], table[j, STOP]):
            s, e, at = int64(starts[u(i)]), int64(ends[u(i)]), int64(own[u(i)])
            if s >= e:
                continue
            while start < min(s, end):
                _change(bits, counts, offsets, tops, int64(ranks[u(start + shift)]), -1)
                start += 1
            start = s
            end = max(s, end)
            while end < e:
                _change(bits, counts, offsets, tops, int64(ranks[u(end + shift)]), 1)
                end += 1
            less = _members_below(bits, counts, offsets, int64(firsts[u(at + shift)]))
            below[u(i)] = less
            if len(upto):
                past = int64(lasts[u(at + shift)])
                inside = s <= at < e
                upto[u(i)] = _members_below(bits, counts, offsets, past) + (0 if inside else 1)
