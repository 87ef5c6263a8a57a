"""Exact quantiles over windows that never move back, of one column and several quantiles at once.

Rows are cut into segments of several windows' length, which overlap by one window. A segment is sorted once, and from
then on a row is its rank: the window is a bitmap of ranks, and each quantile a position in it that moves by a step or
two with every row that comes or goes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import int64
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.bounds.rows_and_times import longest, some_row_bounds
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.compiler.threads import share_out
from slidewise.kernels.order.bit_sets import (
    SELECT_TABLE,
    add,
    byte_counts,
    clear,
    discard,
    next_word,
    previous_word,
    select,
    trailing_zeros,
)
from slidewise.kernels.order.deviations import slide_deviations
from slidewise.kernels.order.gaps import gap_of
from slidewise.kernels.order.ranks import AT, BATCH, FIRST, HIGH, LOW, NANS, STOP, WIDTH, WINDOWS, Segments

LINEAR, LOWER, HIGHER, NEAREST, MIDPOINT, DEVIATION = range(6)
_COMPUTED = (LINEAR, MIDPOINT, DEVIATION)
METHODS = {"linear": LINEAR, "lower": LOWER, "higher": HIGHER, "nearest": NEAREST, "midpoint": MIDPOINT}
MEDIAN_DEVIATION = (0.5, "deviation")  # asks for the median distance to the median instead

Spec = tuple[float, str]  # a quantile and its interpolation
PIECE = 262_144  # windows that a thread takes at once, about
Bounds = Callable[[int, int], tuple[Array, Array]]  # the starts and ends of windows a to b


def quantiles(x: Array, starts: Array, ends: Array, specs: list[Spec]) -> list[Array]:
    """The answers of each quantile over x[starts[i]:ends[i]] for every i; bounds never fall.

    x holds float64 or int64. A window with a NaN answers NaN, one without rows anything.
    """
    most = int(longest(starts, ends)) if len(starts) else 0
    return _in_pieces(x, len(starts), most, lambda a, b: (starts[a:b], ends[a:b]), specs)


def quantiles_of_rows(x: Array, offsets: Array, n: int, specs: list[Spec]) -> list[Array]:
    """The answers of each quantile over the last n rows of each key; key k has the rows offsets[k:k + 2]."""
    m = len(x)

    def bounds(a: int, b: int) -> tuple[Array, Array]:
        index = np.int32 if m < 2**31 - 1 else np.int64
        starts, ends = np.empty(b - a, index), np.empty(b - a, index)
        some_row_bounds(offsets, n, a, starts, ends)
        return starts, ends

    return _in_pieces(x, m, min(n, m), bounds, specs)


def _in_pieces(x: Array, m: int, most: int, bounds: Bounds, specs: list[Spec]) -> list[Array]:
    """Answer m windows piece by piece, in threads; none holds more than `most` rows."""
    x = np.ascontiguousarray(x)
    methods = [DEVIATION if spec == MEDIAN_DEVIATION else METHODS[spec[1]] for spec in specs]
    answers = [np.zeros(m, np.float64 if method in _COMPUTED else x.dtype) for method in methods]

    def work(a: int, b: int) -> None:
        _quantiles(x, *bounds(a, b), [q for q, _ in specs], methods, [out[a:b] for out in answers])

    # A piece's first window is sorted anew, which must not count beside the piece's own rows.
    share_out(m, len(x) // max(BATCH, WINDOWS * most), work, len(x) // max(PIECE, WINDOWS**2 * most))
    return answers


def _quantiles(x: Array, starts: Array, ends: Array, qs: list[float], methods: list[int], answers: list[Array]) -> None:
    """Answer the windows of one piece, in one thread."""
    segments = Segments(len(x))
    i = 0
    while True:
        table, i = segments.rank_next(x, starts, ends, i)
        if not len(table):
            break
        packed, ranks, bits, levels = segments.packed, segments.ranks, segments.bits, segments.levels
        for q, method, out in zip(qs, methods, answers, strict=True):
            if method == DEVIATION:
                slide_deviations(x, table, packed, ranks, starts, ends, SELECT_TABLE, out)
                continue
            _slide(x, table, packed, ranks, starts, ends, bits, levels, q, method, SELECT_TABLE, out)


@jit
def place_of(n: int, q: float, method: int) -> tuple[int, float]:
    """The rank of the quantile of n values, and the weight of the value after it."""
    h = np.float64(n - 1) * q
    if method == HIGHER:
        return int64(np.ceil(h)), 0.0
    if method == NEAREST:
        return int64(np.rint(h)), 0.0
    k = int64(h)
    t = h - k if k < n - 1 else 0.0
    return k, 0.0 if method == LOWER or t == 0 else t if method == LINEAR else 0.5


@jit
def _write(out: Array, i: int, answer: float) -> None:
    """Write an answer; integers have no NaN, and none to write."""
    out[u(i)] = answer


@tiered_jit
def _slide(
    x: Array,
    table: Array,
    packed: Array,
    ranks: Array,
    starts: Array,
    ends: Array,
    bits: Array,
    levels: Array,
    q: float,
    method: int,
    select_table: Array,
    out: Array,
) -> None:
    """Answer the windows of several segments."""
    for j in range(len(table)):
        low, high, at = table[j, LOW], table[j, HIGH], table[j, AT]
        size = high - low
        clear(bits, levels, size)
        mask = (np.uint64(1) << np.uint64(table[j, WIDTH])) - np.uint64(1)
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
            bits,
            levels,
            q,
            method,
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
    bits: Array,
    levels: Array,
    q: float,
    method: int,
    select_table: Array,
    out: Array,
) -> None:
    """Answer the windows of one segment.

    The quantile is a bit of the word `w`, and `below` says how many rows of the window lie in words before it: this
    seldom changes, so that one row need not wait for the one before.
    """
    start = end = low
    nans = w = below = n = k = int64(0)
    t = 0.0
    for i in range(first, stop):
        s = int64(starts[u(i)])
        e = int64(ends[u(i)])
        if s >= e:
            continue
        while start < min(s, end):
            rank = int64(ranks[u(start - low)])
            start += 1
            discard(bits, levels, rank)
            below -= rank >> 6 < w
            nans -= rank >= ordered
        start = s
        end = max(s, end)
        while end < e:
            rank = int64(ranks[u(end - low)])
            end += 1
            add(bits, levels, rank)
            below += rank >> 6 < w
            nans += rank >= ordered
        if nans:
            _write(out, i, np.nan)
            continue
        if e - s != n:
            n = e - s
            k, t = place_of(n, q, method)
        while below > k:
            w = previous_word(bits, levels, w)
            below -= int64(byte_counts(bits[u(w)]) >> np.uint64(56))
        word = bits[u(w)]
        counts = byte_counts(word)
        while k - below >= int64(counts >> np.uint64(56)):
            below += int64(counts >> np.uint64(56))
            w = next_word(bits, levels, w)
            word = bits[u(w)]
            counts = byte_counts(word)
        place = select(word, counts, k - below, select_table)
        a = x[u(packed[u((w << 6) + place)] & mask)]
        if t > 0:
            rest = word >> np.uint64(place) >> np.uint64(1)
            if rest != 0:
                beside = (w << 6) + place + 1 + trailing_zeros(rest)
            else:
                v = next_word(bits, levels, w)
                beside = (v << 6) + trailing_zeros(bits[u(v)])
            b = x[u(packed[u(beside)] & mask)]
            if b != a:
                gap = gap_of(a, b)
                if gap == np.inf:
                    _write(out, i, a * (1 - t) + b * t)
                else:
                    _write(out, i, a + gap * t if t < 0.5 else b - gap * (1 - t))
                continue
        _write(out, i, a + 0)  # -0.0 becomes 0.0
