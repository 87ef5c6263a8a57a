"""Quantiles over windows that never move back, of one column and several quantiles at once.

Rows are taken in segments of several windows' length, which overlap by one window. A segment is sorted once, and from
then on a row is its rank: the window is a set of ranks, kept as bits, and each quantile a place in it that moves by a
step or two with every row that comes or goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import uintp as u
from numba.core import types
from numba.extending import overload

from slidewise.kernels.bounds.rows_and_times import longest, some_row_bounds
from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.compiler.threads import share_out
from slidewise.kernels.order.bit_sets import (
    SELECTED,
    add,
    byte_counts,
    clear,
    discard,
    low_zeros,
    next_word,
    previous_word,
    select,
)
from slidewise.kernels.order.ranks import AT, BATCH, FIRST, HIGH, LOW, NANS, STOP, WIDTH, WINDOWS, Segments

LINEAR, LOWER, HIGHER, NEAREST, MIDPOINT = range(5)
_COMPUTED = (LINEAR, MIDPOINT)
METHODS = {"linear": LINEAR, "lower": LOWER, "higher": HIGHER, "nearest": NEAREST, "midpoint": MIDPOINT}

PIECE = 262_144  # windows that a thread takes at once, about
Bounds = Callable[[int, int], tuple[Any, Any]]  # the starts and ends of windows a to b


def quantiles(x: Any, starts: Any, ends: Any, asked: list[tuple[float, str]]) -> list[Any]:
    """For each quantile and its interpolation, the answers over x[starts[i]:ends[i]] for every i; bounds never fall.

    x holds float64 or int64. A window with a NaN answers NaN, one without rows anything.
    """
    most = int(longest(starts, ends)) if len(starts) else 0
    return _shared_out(x, len(starts), most, lambda a, b: (starts[a:b], ends[a:b]), asked)


def quantiles_of_rows(x: Any, offsets: Any, n: int, asked: list[tuple[float, str]]) -> list[Any]:
    """The same over the last n rows of each key at every row; key k has the rows offsets[k:k + 2]."""
    m = len(x)

    def bounds(a: int, b: int) -> tuple[Any, Any]:
        index = np.int32 if m < 2**31 - 1 else np.int64
        starts, ends = np.empty(b - a, index), np.empty(b - a, index)
        some_row_bounds(offsets, n, a, starts, ends)
        return starts, ends

    return _shared_out(x, m, min(n, m), bounds, asked)


def _shared_out(x: Any, m: int, most: int, bounds: Bounds, asked: list[tuple[float, str]]) -> list[Any]:
    """Let threads answer m windows piece by piece; none holds more than `most` rows."""
    x = np.ascontiguousarray(x)
    methods = [METHODS[interpolation] for _, interpolation in asked]
    found = [np.zeros(m, np.float64 if method in _COMPUTED else x.dtype) for method in methods]

    def work(a: int, b: int) -> None:
        _quantiles(x, *bounds(a, b), [q for q, _ in asked], methods, [one[a:b] for one in found])

    # A piece's first window is sorted anew, which must not count beside the piece's own rows.
    share_out(m, len(x) // max(BATCH, WINDOWS * most), work, len(x) // max(PIECE, WINDOWS**2 * most))
    return found


def _quantiles(x: Any, starts: Any, ends: Any, asked: list[float], methods: list[int], found: list[Any]) -> None:
    """The same for a piece, by one thread."""
    segments = Segments()
    i = 0
    while True:
        known, i = segments.take(x, starts, ends, i)
        if not len(known):
            break
        packed, ranks, bits, levels = segments.packed, segments.ranks, segments.bits, segments.levels
        for q, method, answers in zip(asked, methods, found, strict=True):
            _slide(x, known, packed, ranks, starts, ends, bits, levels, q, method, SELECTED, answers)


def gap_of(a: Any, b: Any) -> float:
    """How far b lies above a; what compiled code calls is below."""
    return float(b - a)


@overload(gap_of, jit_options={"error_model": "numpy"})
def gap_as_float(a, b):  # type: ignore[no-untyped-def]
    """How far b lies above a, as a float; the gap of two integers may not fit into a signed one."""
    if isinstance(a, types.Float):
        return lambda a, b: b - a
    return lambda a, b: np.float64(np.uint64(b) - np.uint64(a))


@jit
def place_of(n: Any, q: Any, method: Any) -> Any:
    """Which rank the quantile of n values has, and the weight of the value after it."""
    h = np.float64(n - 1) * q
    if method == HIGHER:
        return np.int64(np.ceil(h)), 0.0
    if method == NEAREST:
        return np.int64(np.rint(h)), 0.0
    k = np.int64(h)
    t = h - k if k < n - 1 else 0.0
    return k, 0.0 if method == LOWER or t == 0 else t if method == LINEAR else 0.5


@jit
def _say(out: Any, i: Any, answer: Any) -> None:
    """Write an answer; integers have no NaN, and none to write."""
    out[u(i)] = answer


@cached_jit
def _slide(
    x: Any,
    known: Any,
    packed: Any,
    ranks: Any,
    starts: Any,
    ends: Any,
    bits: Any,
    levels: Any,
    q: Any,
    method: Any,
    selected: Any,
    out: Any,
) -> None:
    """Answer the windows of these segments."""
    for j in range(len(known)):
        low, high, at = known[j, LOW], known[j, HIGH], known[j, AT]
        size = high - low
        clear(bits, levels, size)
        mask = (np.uint64(1) << np.uint64(known[j, WIDTH])) - np.uint64(1)
        _slide_one(
            x[low:high],
            packed[at : at + size],
            mask,
            size - known[j, NANS],
            ranks[at : at + size],
            starts,
            ends,
            known[j, FIRST],
            known[j, STOP],
            low,
            bits,
            levels,
            q,
            method,
            selected,
            out,
        )


@jit
def _slide_one(
    x: Any,
    packed: Any,
    mask: Any,
    ordered: Any,
    ranks: Any,
    starts: Any,
    ends: Any,
    first: Any,
    stop: Any,
    low: Any,
    bits: Any,
    at: Any,
    q: Any,
    method: Any,
    selected: Any,
    out: Any,
) -> None:
    """Answer the windows of one segment.

    The quantile is a bit of the word `w`, and `below` says how many rows of the window lie in words before it: this
    seldom changes, so that one row need not wait for the one before.
    """
    start = end = low
    nans = w = below = n = k = np.int64(0)
    t = 0.0
    for i in range(first, stop):
        s = np.int64(starts[u(i)])
        e = np.int64(ends[u(i)])
        if s >= e:
            continue
        while start < min(s, end):
            rank = np.int64(ranks[u(start - low)])
            start += 1
            discard(bits, at, rank)
            below -= rank >> 6 < w
            nans -= rank >= ordered
        start = s
        end = max(s, end)
        while end < e:
            rank = np.int64(ranks[u(end - low)])
            end += 1
            add(bits, at, rank)
            below += rank >> 6 < w
            nans += rank >= ordered
        if nans:
            _say(out, i, np.nan)
            continue
        if e - s != n:
            n = e - s
            k, t = place_of(n, q, method)
        while below > k:
            w = previous_word(bits, at, w)
            below -= np.int64(byte_counts(bits[u(w)]) >> np.uint64(56))
        word = bits[u(w)]
        counts = byte_counts(word)
        while k - below >= np.int64(counts >> np.uint64(56)):
            below += np.int64(counts >> np.uint64(56))
            w = next_word(bits, at, w)
            word = bits[u(w)]
            counts = byte_counts(word)
        place = select(word, counts, k - below, selected)
        a = x[u(packed[u((w << 6) + place)] & mask)]
        if t > 0:
            rest = word >> np.uint64(place) >> np.uint64(1)
            if rest != 0:
                beside = (w << 6) + place + 1 + low_zeros(rest)
            else:
                v = next_word(bits, at, w)
                beside = (v << 6) + low_zeros(bits[u(v)])
            b = x[u(packed[u(beside)] & mask)]
            if b != a:
                gap = gap_of(a, b)
                if gap == np.inf:
                    _say(out, i, a * (1 - t) + b * t)
                else:
                    _say(out, i, a + gap * t if t < 0.5 else b - gap * (1 - t))
                continue
        _say(out, i, a + 0)  # -0.0 becomes 0.0
