"""Sums over windows [starts, ends) that never move back, of columns whose parts add without rounding.

A column is a double-double for each row, such as the distance from a value in the middle or its square, and is cut into
three parts as `row_moments` cuts them. Windows go in tiles. The parts of the rows that come in a tile, and of those
that go, are summed up from row to row, and a window's totals are differences of two such sums. Where a row comes and a
row goes with each window, the differences are taken first. Windows of a stretch share their middle and their scales, so
a value far off spoils its own stretch at most.
"""

from __future__ import annotations

import math

from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.sums.fma import fma
from slidewise.kernels.sums.row_moments import cut, double_double, middle
from slidewise.kernels.sums.row_moments import ends as extremes

TILE = 256  # windows, and rows that come or go in a tile
_STRETCH = 8  # windows
_SHORTEST = 2048  # rows
_SMALLEST, _LARGEST = 2.0**-200, 2.0**200  # spans whose powers, and the parts of these, are normal numbers

# All that a tile needs lies in one array: where several might overlap, for all that LLVM knows, it gives up vectors. A
# column has the room of three parts, or of the two words of a distance.
ROOM = TILE + 8
_COLUMNS = 12 * ROOM
COME, GO, OF_WINDOWS, WORDS = 0, _COLUMNS, 2 * _COLUMNS, 3 * _COLUMNS
SIZE = WORDS + 4 * ROOM

UNSURE, SURE, NO_ANSWER = 0, 1, 2  # what is known of a window's answer

Scales = tuple[float, float, float]


@jit
def window(starts: Array, ends: Array, rows: int, i: int) -> tuple[int, int]:
    """The bounds of a window: of the last so many rows of a single key, or else as they are given."""
    if rows:
        return max(0, i + 1 - rows), i + 1
    return int(starts[u(i)]), int(ends[u(i)])


@jit
def stretch(starts: Array, ends: Array, rows: int, i: int, m: int) -> tuple[int, int, int, int]:
    """The windows from i on that share their scales: one past the last, their rows [first, last), the longest's."""
    s, e = window(starts, ends, rows, i)
    while s >= e:
        i += 1
        if i == m:
            return i, 0, 0, 0
        s, e = window(starts, ends, rows, i)
    first, last = s, e
    if i > 0:  # the rows of the window before come before the first tile
        s, e = window(starts, ends, rows, i - 1)
        first = s if s < e else first
    most = last - first
    limit = last + max(_STRETCH * most, _SHORTEST)
    if rows:
        i = min(max(limit, i + 1), m)
        return i, first, i, min(rows, i)
    while i < m:
        s, e = window(starts, ends, rows, i)
        if s < e:
            if e > limit:
                break
            most, last = max(most, e - s), e
        i += 1
    return i, first, last, most


@jit
def plan(
    starts: Array, ends: Array, rows: int, i: int, stop: int, start: int, end: int, at: Array, counts: Array
) -> tuple[int, int, int, bool]:
    """The next tile: how many windows from i on, how many rows come and go, and whether one does each with each window.

    `at` gets how many rows have come, and TILE on how many have gone, for each window; `counts` its rows, the inverse
    of that number, and a place for a factor, TILE apart, and last the number where it is one for all. A window that
    begins or ends far off makes a tile without windows.
    """
    if i > 0:
        s, e = window(starts, ends, rows, i - 1)
        if s < e and end < e:
            return 0, min(TILE, e - end), 0, False
    full, bad = min(TILE, stop - i), 0
    if rows:
        bad = start + rows - end
    else:
        for k in range(full):
            bad |= (int(ends[u(i + k)]) - (end + 1 + k)) | (int(starts[u(i + k)]) - (start + 1 + k))
    if bad == 0:
        n = float(end - start)
        if counts[3 * TILE] != n:
            for k in range(TILE):
                counts[u(k)] = n
                counts[u(k + TILE)] = 1.0 / n
                counts[u(k + 2 * TILE)] = 0.0
            counts[3 * TILE] = n
        return full, full, full, True
    m, comes, goes = 0, 0, 0
    while m < full:
        s, e = window(starts, ends, rows, i + m)
        if s < e:
            if e - end > TILE or s - start > TILE:
                break
            comes, goes = e - end, s - start
        at[u(m)] = comes
        at[u(m + TILE)] = goes
        counts[u(m)] = max(e - s, 0)
        m += 1
    for k in range(m):
        counts[u(k + TILE)] = 1.0 / counts[u(k)]
        counts[u(k + 2 * TILE)] = 0.0
    counts[3 * TILE] = 0.0
    if m == 0:
        s, e = window(starts, ends, rows, i)
        comes, goes = min(TILE, e - end), min(TILE, s - start)
    return m, comes, goes, False


@jit
def mark(n: float, fewest: float, sure: bool) -> int:
    """What is known of a window's answer."""
    return (SURE if sure else UNSURE) if n >= fewest else NO_ANSWER


@jit
def span_of(x: Array, low: Array, both: Array) -> tuple[float, float]:
    """A value in the middle, and how far others lie from it; no number where that is beyond what parts can hold."""
    if len(x) == 0:  # windows without rows
        return math.nan, math.nan
    extremes(x, both)
    c = middle(x)
    span = max(both[1] - c, c - both[0]) * (1.0 + 2.0**-50)
    if len(low):
        span += max(both[1], -both[0]) * 2.0**-51
    fits = (span > _SMALLEST) & (span < _LARGEST) & (abs(c) < _LARGEST)
    return c, span if fits else math.nan


@jit
def distances(x: Array, low: Array, at: int, size: int, c: float, W: Array, to: int) -> None:
    """Write the distances from c of rows from `at` on, as two words; `low` has lower words of x, or is empty."""
    for i in range(size):
        v = x[u(at + i)]
        d = v - c
        t = d - v
        W[u(to + i)] = d
        W[u(to + i + ROOM)] = (v - (d - t)) - (c + t)
    if len(low):
        for i in range(size):
            a, b = W[u(to + i)], W[u(to + i + ROOM)] + low[u(at + i)]
            s = a + b
            t = s - a
            W[u(to + i)] = s
            W[u(to + i + ROOM)] = (a - (s - t)) + (b - t)


@jit
def write(W: Array, at: int, high: float, low: float, by: Scales) -> None:
    """Write the parts of a double-double; the first place of a column is that of what was before the tile."""
    p0, p1, p2 = cut(high, low, by[0], by[1], by[2])
    W[u(at + 1)] = p0
    W[u(at + 1 + ROOM)] = p1
    W[u(at + 1 + 2 * ROOM)] = p2


@jit
def _run_up(W: Array, base: int, size: int) -> None:
    """Make each part the sum of all before it in its column, for six columns."""
    a, b, c = W[u(base)], W[u(base + ROOM)], W[u(base + 2 * ROOM)]
    d, e, f = W[u(base + 3 * ROOM)], W[u(base + 4 * ROOM)], W[u(base + 5 * ROOM)]
    for i in range(base + 1, base + 1 + size):
        a += W[u(i)]
        b += W[u(i + ROOM)]
        c += W[u(i + 2 * ROOM)]
        d += W[u(i + 3 * ROOM)]
        e += W[u(i + 4 * ROOM)]
        f += W[u(i + 5 * ROOM)]
        W[u(i)] = a
        W[u(i + ROOM)] = b
        W[u(i + 2 * ROOM)] = c
        W[u(i + 3 * ROOM)] = d
        W[u(i + 4 * ROOM)] = e
        W[u(i + 5 * ROOM)] = f


@jit
def _run_up_even(W: Array, base: int, size: int) -> None:
    """Write the totals of windows where a row comes and one goes with each, for six columns."""
    a, b, c = W[u(base)], W[u(base + ROOM)], W[u(base + 2 * ROOM)]
    d, e, f = W[u(base + 3 * ROOM)], W[u(base + 4 * ROOM)], W[u(base + 5 * ROOM)]
    for i in range(base, base + size):
        a += W[u(i + 1)] - W[u(i + 1 + GO)]
        b += W[u(i + 1 + ROOM)] - W[u(i + 1 + ROOM + GO)]
        c += W[u(i + 1 + 2 * ROOM)] - W[u(i + 1 + 2 * ROOM + GO)]
        d += W[u(i + 1 + 3 * ROOM)] - W[u(i + 1 + 3 * ROOM + GO)]
        e += W[u(i + 1 + 4 * ROOM)] - W[u(i + 1 + 4 * ROOM + GO)]
        f += W[u(i + 1 + 5 * ROOM)] - W[u(i + 1 + 5 * ROOM + GO)]
        W[u(i + OF_WINDOWS)] = a
        W[u(i + OF_WINDOWS + ROOM)] = b
        W[u(i + OF_WINDOWS + 2 * ROOM)] = c
        W[u(i + OF_WINDOWS + 3 * ROOM)] = d
        W[u(i + OF_WINDOWS + 4 * ROOM)] = e
        W[u(i + OF_WINDOWS + 5 * ROOM)] = f
    W[u(base)], W[u(base + ROOM)], W[u(base + 2 * ROOM)] = a, b, c
    W[u(base + 3 * ROOM)], W[u(base + 4 * ROOM)], W[u(base + 5 * ROOM)] = d, e, f


@jit
def sum_up(W: Array, columns: int, m: int, comes: int, goes: int, even: bool, at: Array) -> None:
    """Make the parts of the rows that come and go the totals of the tile's windows; and of all so far."""
    if even:
        for k in range(0, columns * ROOM, 6 * ROOM):
            _run_up_even(W, k, m)
        return
    for k in range(0, columns * ROOM, 6 * ROOM):
        _run_up(W, COME + k, comes)
        _run_up(W, GO + k, goes)
    for k in range(0, columns * ROOM, ROOM):
        for i in range(m):
            W[u(OF_WINDOWS + k + i)] = W[u(COME + k + at[u(i)])] - W[u(GO + k + at[u(i + TILE)])]
        W[u(COME + k)] = W[u(COME + k + comes)] - W[u(GO + k + goes)]


@jit
def begin(W: Array) -> None:
    """Forget all rows."""
    for k in range(0, _COLUMNS, ROOM):
        W[u(COME + k)] = 0.0


@jit
def total(W: Array, at: int) -> tuple[float, float]:
    """A window's total, whose parts begin at `at`, as a double-double."""
    return double_double(W[u(at)], W[u(at + ROOM)], W[u(at + 2 * ROOM)])


@jit
def product(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    p = ah * bh
    e = fma(ah, bh, -p) + (ah * bl + al * bh)
    h = p + e
    return h, e - (h - p)


@jit
def quotient(high: float, low: float, n: float, inverse: float) -> tuple[float, float]:
    q = high * inverse
    r = (fma(-q, n, high) + low) * inverse
    h = q + r
    return h, r - (h - q)


@jit
def rounds_alike(high: float, low: float, slack: float) -> bool:
    """Whether a number that is off by so much is rounded to `high` anyway."""
    return (high + (low + slack) == high) & (high + (low - slack) == high)
