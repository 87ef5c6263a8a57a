"""Median absolute deviations over windows of ranks: a bitmap with counts by which the value of any rank is found.

The k + 1 values nearest to the median have neighbouring ranks. The search for that stretch begins where the window
before had it, and doubles its steps, so that it takes a few where windows differ by a row.
"""

from __future__ import annotations

import numpy as np
from numba import int64
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.order.bit_sets import byte_counts, select
from slidewise.kernels.order.gaps import gap_of
from slidewise.kernels.order.ranks import AT, FIRST, HIGH, LOW, NANS, STOP, WIDTH

_ONE = np.uint64(1)


@jit
def _count(counts: Array, word: int, step: int) -> None:
    """Count a rank of this word, or one less, in a Fenwick tree over words."""
    w = word + 1
    while w < len(counts):
        counts[u(w)] += step
        w += w & -w


@jit
def _value(x: Array, packed: Array, mask: np.uint64, bits: Array, counts: Array, k: int, table: Array) -> float:
    """The value of rank k in the window."""
    w = int64(0)
    step = int64(1)
    while 2 * step < len(counts):
        step *= 2
    while step > 0:
        beyond = w + step
        if beyond < len(counts) and counts[u(beyond)] <= k:
            w = beyond
            k -= counts[u(beyond)]
        step >>= 1
    word = bits[u(w)]
    place = select(word, byte_counts(word), k, table)
    value: float = x[u(packed[u((w << 6) + place)] & mask)]
    return value


@jit
def _distance(low: float, high: float) -> float:
    """high - low, which is 0 for equal infinities."""
    return 0.0 if low == high else high - low


@jit
def _middle(a: float, b: float) -> float:
    """Half way between two values, as the quantile 0.5 has it."""
    if a == b:
        return np.float64(a)
    gap = gap_of(a, b)
    if gap == np.inf:
        return a * 0.5 + b * 0.5
    return b - gap * 0.5


@tiered_jit
def slide_deviations(
    x: Array, table: Array, packed: Array, ranks: Array, starts: Array, ends: Array, select_table: Array, out: Array
) -> None:
    """Answer the windows of several segments."""
    for j in range(len(table)):
        low, high, at = table[j, LOW], table[j, HIGH], table[j, AT]
        size = high - low
        mask = (_ONE << np.uint64(table[j, WIDTH])) - _ONE
        _slide_segment(
            x[low:high],
            packed[at : at + size],
            mask,
            size - table[j, NANS],
            ranks[at : at + size],
            starts,
            ends,
            table[j, FIRST],
            table[j, STOP],
            low,
            select_table,
            out,
        )


@jit
def _slide_segment(
    x: Array,
    packed: Array,
    mask: np.uint64,
    ordered: int,
    ranks: Array,
    starts: Array,
    ends: Array,
    first: int,
    stop: int,
    low: int,
    select_table: Array,
    out: Array,
) -> None:
    """Answer the windows of one segment."""
    words = (len(x) + 63) >> 6
    bits = np.zeros(words + 1, np.uint64)
    counts = np.zeros(words + 1, np.int64)
    start = end = low
    nans = int64(0)
    near = int64(0)
    for i in range(first, stop):
        s = int64(starts[u(i)])
        e = int64(ends[u(i)])
        if s >= e:
            continue
        while start < min(s, end):
            rank = int64(ranks[u(start - low)])
            start += 1
            bits[u(rank >> 6)] &= ~(_ONE << np.uint64(rank & 63))
            _count(counts, rank >> 6, -1)
            nans -= rank >= ordered
        start = s
        end = max(s, end)
        while end < e:
            rank = int64(ranks[u(end - low)])
            end += 1
            bits[u(rank >> 6)] |= _ONE << np.uint64(rank & 63)
            _count(counts, rank >> 6, 1)
            nans += rank >= ordered
        n = e - s
        k = (n - 1) >> 1
        middle = np.nan
        if not nans:
            a = _value(x, packed, mask, bits, counts, k, select_table)
            b = a if n & 1 else _value(x, packed, mask, bits, counts, k + 1, select_table)
            middle = _middle(a, b)
        if middle != middle:
            out[u(i)] = np.nan
            continue
        near = _nearest(x, packed, mask, bits, counts, middle, k, n, near, select_table)
        upper = np.float64(_value(x, packed, mask, bits, counts, near + k, select_table)) + 0.0
        lower = np.float64(_value(x, packed, mask, bits, counts, near, select_table)) + 0.0
        farther = max(_distance(middle, upper), _distance(lower, middle))
        if near > 0:
            left = _distance(np.float64(_value(x, packed, mask, bits, counts, near - 1, select_table)) + 0.0, middle)
            if left < farther:
                farther = left
                near -= 1
        if n & 1:
            out[u(i)] = farther
            continue
        following = np.inf
        if near > 0:
            left = np.float64(_value(x, packed, mask, bits, counts, near - 1, select_table)) + 0.0
            following = _distance(left, middle)
        if near + k + 1 < n:
            right = np.float64(_value(x, packed, mask, bits, counts, near + k + 1, select_table)) + 0.0
            following = min(following, _distance(middle, right))
        out[u(i)] = _middle(farther, following)


@jit
def _nearest(
    x: Array,
    packed: Array,
    mask: np.uint64,
    bits: Array,
    counts: Array,
    middle: float,
    k: int,
    n: int,
    near: int,
    select_table: Array,
) -> int:
    """The first stretch of k + 1 ranks whose upper end is at least as far from the middle as its lower one."""
    low: int = int64(0)
    high: int = int64(n - 1 - k)
    at = min(max(near, low), high)
    step = int64(1)
    doubling = True
    while low < high:
        if not doubling or at < low or at >= high:
            at = (low + high) >> 1
        upper = np.float64(_value(x, packed, mask, bits, counts, at + k, select_table)) + 0.0
        lower = np.float64(_value(x, packed, mask, bits, counts, at, select_table)) + 0.0
        if _distance(middle, upper) < _distance(lower, middle):
            low = at + 1
            at = at + step
            doubling = at < high
        else:
            high = at
            at = at - step
            doubling = at >= low
        step *= 2
    return low
