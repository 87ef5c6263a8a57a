"""Variance and standard deviation over windows [starts, ends), by the exact totals of `exact_totals`.

Distances from a value in the middle, and their squares, have totals that never round; from these comes the variance as
a double-double, with a bound on what it can be off by. A window is sure where that cannot change the answer's last bit;
the general kernel answers the others. Where all values of a window are equal, no digits are needed to be sure.
"""

from __future__ import annotations

import math

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.sums.exact_totals import (
    COME,
    GO,
    OF_WINDOWS,
    ROOM,
    SIZE,
    SURE,
    TILE,
    UNSURE,
    WORDS,
    Scales,
    begin,
    distances,
    mark,
    plan,
    product,
    quotient,
    rounds_alike,
    span_of,
    stretch,
    sum_up,
    total,
    window,
    write,
)
from slidewise.kernels.sums.fma import fma
from slidewise.kernels.sums.row_moments import scales, subtract

_ROUNDING = 2.0**-96  # more than what double-doubles lose on the way from totals to an answer
_SQUARES = 3 * ROOM  # from the distances' parts to those of their squares


@jit
def _write_squares(W: Array, size: int, to: int, A: Scales, B: Scales) -> None:
    """The parts of distances and of their squares."""
    for i in range(size):
        d, low = W[u(WORDS + i)], W[u(WORDS + i + ROOM)]
        h = d * d
        write(W, to + i, d, low, A)
        write(W, to + i + _SQUARES, h, fma(d, d, -h) + 2.0 * d * low, B)


@jit
def _variances(W: Array, counts: Array, lost_squares: float, root: bool, out: Array, marks: Array) -> None:
    for i in range(len(out)):
        n = counts[u(i)]
        sh, sl = total(W, i + OF_WINDOWS)
        qh, ql = total(W, i + OF_WINDOWS + _SQUARES)
        mh, ml = quotient(sh, sl, n, counts[u(i + TILE)])
        vh, vl = product(sh, sl, mh, ml)
        square, rest = subtract(qh, ql, vh, vl)
        k = n - 1.0
        v = square / k
        r = (fma(-v, k, square) + rest) / k
        s = v + r
        out[u(i)] = math.sqrt(s) if root else s
        slack = (lost_squares + qh * _ROUNDING) / k
        marks[u(i)] = mark(n, 2.0, rounds_alike(s, r - (s - v), slack) & (s > 0.0))


@tiered_jit
def _window_moments(
    x: Array, low: Array, starts: Array, ends: Array, rows: int, root: bool, out: Array, marks: Array
) -> None:
    W, at, counts, both = np.zeros(SIZE), np.empty(2 * TILE, np.int64), np.ones(3 * TILE + 1), np.empty(2)
    i = 0
    while i < len(out):
        stop, first, last, most = stretch(starts, ends, rows, i, len(out))
        c, span = span_of(x[first:last], low[first:last], both)
        if math.isnan(span):
            i = stop
            continue
        n = float(most + 2 * TILE)
        square = span * span
        a0, a1, a2, lost = scales(span, span * 2.0**-52, n)
        b0, b1, b2, lost_squares = scales(square, square * 2.0**-51, n)
        A, B = (a0, a1, a2), (b0, b1, b2)
        lost_squares += 2.1 * span * lost + n * square * 2.0**-102
        start, end = first, first
        begin(W)
        while i < stop:
            m, comes, goes, even = plan(starts, ends, rows, i, stop, start, end, at, counts)
            distances(x, low, end, comes, c, W, WORDS)
            _write_squares(W, comes, COME, A, B)
            distances(x, low, start, goes, c, W, WORDS)
            _write_squares(W, goes, GO, A, B)
            sum_up(W, 6, m, comes, goes, even, at)
            _variances(W, counts, lost_squares, root, out[i : i + m], marks[i : i + m])
            start, end, i = start + goes, end + comes, i + m


@tiered_jit
def _still_windows(x: Array, low: Array, starts: Array, ends: Array, rows: int, out: Array, marks: Array) -> None:
    """Where all values of a window are equal its variance is 0."""
    first, stop = 0, 0  # the equal values behind which the rows up to `stop` end
    for i in range(len(out)):
        s, e = window(starts, ends, rows, i)
        for j in range(stop, e):
            if j == 0 or x[j] != x[j - 1] or (len(low) and low[j] != low[j - 1]):
                first = j
        stop = max(stop, e)
        if first <= s < e - 1 and x[s] - x[s] == 0.0:
            out[i] = 0.0
            marks[i] = SURE


def window_moments(x: tuple[Array, Array], starts: Array, ends: Array, rows: int, root: bool) -> tuple[Array, Array]:
    """Variances of windows, or their roots, and what is known of each: `SURE`, `UNSURE` or `NO_ANSWER`.

    Windows are those of `starts` and `ends`, or with `rows` those of the last so many rows up to each; a column is of
    `window_shapes.as_floats`.
    """
    count = len(x[0]) if rows else len(starts)
    out, marks = np.empty(count), np.full(count, UNSURE, np.int8)
    _window_moments(*x, starts, ends, rows, root, out, marks)
    if (marks == UNSURE).any():
        _still_windows(*x, starts, ends, rows, out, marks)
    return out, marks
