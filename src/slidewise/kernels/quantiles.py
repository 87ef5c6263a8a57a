"""Quantiles over windows that never move back, of one column and several quantiles at once.

Rows are taken in segments of several windows' length, which overlap by one window. A segment is sorted once, and from
then on a row is its rank: the window is a set of ranks, kept as bits, and each quantile a place in it that moves by a
step or two with every row that comes or goes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uintp as u
from numba.core import types
from numba.extending import overload

from slidewise.kernels.bits import (
    SELECTED,
    add,
    byte_counts,
    discard,
    high_zeros,
    low_zeros,
    next_word,
    places,
    previous_word,
    select,
)
from slidewise.kernels.bounds import longest
from slidewise.kernels.jit import cached_jit, jit
from slidewise.kernels.threads import share_out

LINEAR, LOWER, HIGHER, NEAREST, MIDPOINT = range(5)
_COMPUTED = (LINEAR, MIDPOINT)
METHODS = {"linear": LINEAR, "lower": LOWER, "higher": HIGHER, "nearest": NEAREST, "midpoint": MIDPOINT}

FEWEST = 32_768  # rows of a segment, at least
FEW_RUNS = 64  # runs of this length are merged, shorter ones sorted
WINDOWS = 4  # how many windows long a segment is
_SIGN = np.uint64(1 << 63)
_ALL = np.uint64(2**64 - 1)


def quantiles(x: Any, starts: Any, ends: Any, asked: list[tuple[float, str]]) -> list[Any]:
    """For each quantile and its interpolation, the answers over x[starts[i]:ends[i]] for every i; bounds never fall.

    x holds float64 or int64. A window with a NaN answers NaN, one without rows anything.
    """
    x = np.ascontiguousarray(x)
    m = len(starts)
    methods = [METHODS[interpolation] for _, interpolation in asked]
    found = [np.zeros(m, np.float64 if method in _COMPUTED else x.dtype) for method in methods]

    def work(a: int, b: int) -> None:
        _quantiles(x, starts[a:b], ends[a:b], [q for q, _ in asked], methods, [one[a:b] for one in found])

    # A part's first window is sorted anew, which must not count beside the part's own rows.
    longest_one = int(longest(starts, ends)) if m else 0
    share_out(m, len(x) // max(FEWEST, WINDOWS * longest_one), work)
    return found


def _quantiles(x: Any, starts: Any, ends: Any, asked: list[float], methods: list[int], found: list[Any]) -> None:
    """The same for a part of the windows, by one thread."""
    m = len(starts)
    room = _Room(0)
    i = 0
    while True:
        i, low, high = _segment(starts, ends, i, len(x))
        if i == m:
            break
        size = high - low
        if size > room.size:
            room = _Room(min(2 * size, len(x)))
        part, packed, ranks = x[low:high], room.packed[:size], room.ranks[:size]
        width, shift, nans, falls = _pack(part.view(np.uint64), x.dtype == np.float64, packed)
        if falls > 0:
            packed.sort(kind="stable" if falls < size // FEW_RUNS else None)
        _settle(part, packed, width, shift, ranks)
        at = places(size)
        for q, method, answers in zip(asked, methods, found, strict=True):
            room.bits[: at[-1]] = 0
            ordered = size - nans
            after = _slide(
                part, packed, width, ordered, ranks, starts, ends, i, low, room.bits, at, q, method, SELECTED, answers
            )
        i = after


class _Room:
    """Arrays for segments of up to so many rows."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.packed = np.empty(size, np.uint64)
        self.ranks = np.empty(size, np.int32 if size < 2**31 else np.int64)
        self.bits = np.zeros(places(max(size, 1))[-1], np.uint64)


@cached_jit
def _segment(starts: Any, ends: Any, i: Any, rows: Any) -> Any:
    """From window i on, the first that is not empty, and the rows of the segment that begins with it."""
    m = len(starts)
    while i < m and starts[i] >= ends[i]:
        i += 1
    if i == m:
        return i, np.int64(0), np.int64(0)
    low: Any = np.int64(starts[i])
    return i, low, min(np.int64(rows), low + max(WINDOWS * (np.int64(ends[i]) - low), FEWEST))


@jit
def _ordered(word: Any, floats: bool) -> Any:
    """A word of a number as one whose order among unsigned numbers is the number's; NaN stands at the end."""
    if not floats:
        return word ^ _SIGN
    if word & ~_SIGN > np.uint64(0x7FF0000000000000):
        return _ALL
    if word & _SIGN:
        return ~word if word != _SIGN else _SIGN
    return word | _SIGN


@cached_jit
def _pack(words: Any, floats: bool, packed: Any) -> Any:
    """Each row's order and its position in one word: the bits of the position, those that the order lost, how many
    values are NaN, and how many are less than the one before."""
    low = _ALL
    high = np.uint64(0)
    nans = falls = np.int64(0)
    last = np.uint64(0)
    for i in range(len(words)):
        key = _ordered(words[u(i)], floats)
        packed[u(i)] = key
        nans += key == _ALL
        falls += key < last
        last = key
        low = min(low, key)
        high = max(high, key)
    width = np.int64(1)
    while np.int64(1) << width < len(words):
        width += 1
    span = high - low
    shift = max(np.int64(0), (64 - high_zeros(span) if span else np.int64(0)) + width - 64)
    for i in range(len(words)):
        packed[u(i)] = ((packed[u(i)] - low) >> np.uint64(shift)) << np.uint64(width) | np.uint64(i)
    return width, shift, nans if floats else np.int64(0), falls


@cached_jit
def _settle(x: Any, packed: Any, width: Any, shift: Any, ranks: Any) -> None:
    """Sort what differs only in lost bits, and write each row's rank."""
    width = np.uint64(width)
    mask = (np.uint64(1) << width) - np.uint64(1)
    if shift > 0:
        a = 0
        for i in range(1, len(packed) + 1):
            if i == len(packed) or packed[u(i)] >> width != packed[u(i - 1)] >> width:
                if i - a > 1:
                    _sort_run(x, packed[a:i], mask)
                a = i
    for i in range(len(packed)):
        ranks[u(packed[u(i)] & mask)] = i


@jit
def _sort_run(x: Any, run: Any, mask: Any) -> None:
    """Sort rows by their values, with NaN last; most runs are of equal values, and so in order."""
    for i in range(1, len(run)):
        if not x[u(run[i - 1] & mask)] <= x[u(run[i] & mask)]:
            break
    else:
        return
    found = np.empty(len(run), x.dtype)
    for i in range(len(run)):
        found[i] = x[u(run[i] & mask)]
    order = np.argsort(found, kind="mergesort")
    old = run.copy()
    for i in range(len(run)):
        run[i] = old[order[i]]


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
    packed: Any,
    width: Any,
    ordered: Any,
    ranks: Any,
    starts: Any,
    ends: Any,
    first: Any,
    low: Any,
    bits: Any,
    at: Any,
    q: Any,
    method: Any,
    selected: Any,
    out: Any,
) -> Any:
    """Answer windows from the first on as long as they end in the segment; the number of the one that does not.

    The quantile is a bit of the word `w`, and `below` says how many rows of the window lie in words before it: this
    seldom changes, so that one row need not wait for the one before.
    """
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    high = low + len(x)
    start = end = low
    nans = w = below = n = k = np.int64(0)
    t = 0.0
    for i in range(first, len(starts)):
        s = np.int64(starts[u(i)])
        e = np.int64(ends[u(i)])
        if s >= e:
            continue
        if e > high:
            return i
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
    return len(starts)
