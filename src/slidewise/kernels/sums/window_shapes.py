"""Skewness, kurtosis, slopes of least squares and weighted means over windows [starts, ends), by exact totals.

From the totals of distances from values in the middle, of their powers or products, come the central sums as
double-doubles, with a bound on what they can be off by. Where that may change an answer's last bit, or where sums
cancel so far that the answer might be 0 by rule, the window is not sure, and the general kernel answers it. Columns are
floats; of integers that need more bits, their floats and what is left of them.
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
    TILE,
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
    write,
)
from slidewise.kernels.sums.fma import fma
from slidewise.kernels.sums.row_moments import scales, subtract
from slidewise.operators.values.double_double import NOISE

_ROUNDING = 2.0**-96  # more than what double-doubles lose on the way from totals to central sums
_THREE = 3 * ROOM  # from one column's parts to the next column's
_SECOND = WORDS + 2 * ROOM

Column = tuple[Array, Array]  # floats, and what is left of integers beyond 53 bits, or nothing


@jit
def _powers(W: Array, size: int, to: int, A: Scales, B: Scales, C: Scales, D: Scales, fourth: bool) -> None:
    """The parts of distances, of their squares and their cubes, and of their fourth powers."""
    for i in range(size):
        d, low = W[u(WORDS + i)], W[u(WORDS + i + ROOM)]
        h = d * d
        e = fma(d, d, -h) + 2.0 * d * low
        g = h * d
        write(W, to + i, d, low, A)
        write(W, to + i + _THREE, h, e, B)
        write(W, to + i + 2 * _THREE, g, fma(h, d, -g) + (e * d + h * low), C)
    if fourth:
        for i in range(size):
            d, low = W[u(WORDS + i)], W[u(WORDS + i + ROOM)]
            h = d * d
            f = h * h
            write(W, to + i + 3 * _THREE, f, fma(h, h, -f) + 2.0 * h * (fma(d, d, -h) + 2.0 * d * low), D)


@jit
def _products(W: Array, size: int, to: int, A: Scales, B: Scales, C: Scales, D: Scales) -> None:
    """The parts of x's distances and y's, of the squares of the first and of their products."""
    for i in range(size):
        d, low = W[u(WORDS + i)], W[u(WORDS + i + ROOM)]
        f, rest = W[u(_SECOND + i)], W[u(_SECOND + i + ROOM)]
        h = d * d
        p = d * f
        write(W, to + i, d, low, A)
        write(W, to + i + _THREE, f, rest, B)
        write(W, to + i + 2 * _THREE, h, fma(d, d, -h) + 2.0 * d * low, C)
        write(W, to + i + 3 * _THREE, p, fma(d, f, -p) + (d * rest + f * low), D)


@jit
def _weighted(W: Array, size: int, to: int, A: Scales, B: Scales) -> None:
    """The parts of weights, and of their products with values."""
    for i in range(size):
        d, low = W[u(WORDS + i)], W[u(WORDS + i + ROOM)]
        w, rest = W[u(_SECOND + i)], W[u(_SECOND + i + ROOM)]
        p = d * w
        write(W, to + i, w, rest, A)
        write(W, to + i + _THREE, p, fma(d, w, -p) + (d * rest + w * low), B)


@jit
def _find_factors(counts: Array, m: int, fourth: bool) -> None:
    """Write what a sample's bias takes."""
    if counts[2 * TILE] != 0.0:
        return
    if fourth:
        for i in range(m):
            n = counts[u(i)]
            counts[u(i + 2 * TILE)] = (n - 1.0) / (n - 2.0) / (n - 3.0)
    else:
        for i in range(m):
            n = counts[u(i)]
            counts[u(i + 2 * TILE)] = n * math.sqrt(n - 1.0) / (n - 2.0)


@jit
def _skews(
    W: Array, counts: Array, lost_squares: float, lost_cubes: float, noise: float, out: Array, marks: Array
) -> None:
    for i in range(len(out)):
        n = counts[u(i)]
        sh, sl = total(W, i + OF_WINDOWS)
        qh, ql = total(W, i + OF_WINDOWS + _THREE)
        ch, cl = total(W, i + OF_WINDOWS + 2 * _THREE)
        mh, ml = quotient(sh, sl, n, counts[u(i + TILE)])
        vh, vl = product(sh, sl, mh, ml)
        square, rest = subtract(qh, ql, vh, vl)
        th, tl = subtract(qh, ql, -2.0 * square, -2.0 * rest)
        wh, wl = product(mh, ml, th, tl)
        cubes, cubes_rest = subtract(ch, cl, wh, wl)
        off_square = lost_squares + qh * _ROUNDING
        off = lost_cubes + (abs(ch) + 3.0 * abs(mh) * qh) * _ROUNDING + 3.0 * abs(mh) * off_square
        out[u(i)] = cubes / square / math.sqrt(square) * counts[u(i + 2 * TILE)]
        sure = (
            rounds_alike(square, rest, off_square)
            & rounds_alike(cubes, cubes_rest, off)
            & (square > 0.0)
            & (abs(cubes) > noise)
        )
        marks[u(i)] = mark(n, 3.0, sure)


@jit
def _kurtoses(
    W: Array, counts: Array, lost_squares: float, lost_cubes: float, lost_fourths: float, out: Array, marks: Array
) -> None:
    for i in range(len(out)):
        n = counts[u(i)]
        sh, sl = total(W, i + OF_WINDOWS)
        qh, ql = total(W, i + OF_WINDOWS + _THREE)
        ch, cl = total(W, i + OF_WINDOWS + 2 * _THREE)
        fh, fl = total(W, i + OF_WINDOWS + 3 * _THREE)
        mh, ml = quotient(sh, sl, n, counts[u(i + TILE)])
        vh, vl = product(sh, sl, mh, ml)
        square, rest = subtract(qh, ql, vh, vl)
        th, tl = subtract(qh, ql, -square, -rest)
        th, tl = product(3.0, 0.0, th, tl)
        th, tl = product(mh, ml, th, tl)
        th, tl = subtract(4.0 * ch, 4.0 * cl, th, tl)
        th, tl = product(mh, ml, th, tl)
        fourths, fourths_rest = subtract(fh, fl, th, tl)
        squared, squared_rest = product(square, rest, square, rest)
        fourths, fourths_rest = product(n, 0.0, fourths, fourths_rest)
        fourths, fourths_rest = product(n + 1.0, 0.0, fourths, fourths_rest)
        normal, normal_rest = product(n - 1.0, 0.0, squared, squared_rest)
        normal, normal_rest = product(3.0, 0.0, normal, normal_rest)
        excess, excess_rest = subtract(fourths, fourths_rest, normal, normal_rest)
        m = abs(mh)
        off_square = lost_squares + qh * _ROUNDING
        off_squared = 2.001 * abs(square) * off_square + squared * _ROUNDING
        off = lost_fourths + (fh + m * (4.0 * abs(ch) + 6.0 * m * qh)) * _ROUNDING
        off += m * (4.0 * lost_cubes + 6.0 * m * off_square)
        off = n * (n + 1.0) * off + 3.0 * n * off_squared + (abs(fourths) + normal) * _ROUNDING
        out[u(i)] = excess / squared * counts[u(i + 2 * TILE)]
        sure = (
            rounds_alike(squared, squared_rest, off_squared)
            & rounds_alike(excess, excess_rest, off)
            & (square > off_square)
            & (abs(excess) > 2.0 * NOISE * normal)
        )
        marks[u(i)] = mark(n, 4.0, sure)


@jit
def _ratio(h: float, low: float, by: float, by_low: float, off: float, off_by: float) -> tuple[float, bool]:
    """The quotient of double-doubles that may be off, and whether it is sure."""
    inverse = 1.0 / by
    q = h * inverse
    r = ((fma(-q, by, h) + low) - q * by_low) * inverse
    s = q + r
    slack = (off + abs(q) * off_by) * abs(inverse) + abs(q) * _ROUNDING
    return s, rounds_alike(s, r - (s - q), slack)


@jit
def _slopes(
    W: Array,
    counts: Array,
    per: float,
    lost_squares: float,
    lost_products: float,
    noise: float,
    out: Array,
    marks: Array,
) -> None:
    for i in range(len(out)):
        n = counts[u(i)]
        sh, sl = total(W, i + OF_WINDOWS)
        yh, yl = total(W, i + OF_WINDOWS + _THREE)
        qh, ql = total(W, i + OF_WINDOWS + 2 * _THREE)
        ph, pl = total(W, i + OF_WINDOWS + 3 * _THREE)
        mh, ml = quotient(sh, sl, n, counts[u(i + TILE)])
        vh, vl = product(sh, sl, mh, ml)
        spread, spread_rest = subtract(qh, ql, vh, vl)
        wh, wl = product(yh, yl, mh, ml)
        common, common_rest = subtract(ph, pl, wh, wl)
        off_spread = lost_squares + qh * _ROUNDING
        off_common = lost_products + (abs(ph) + abs(wh)) * _ROUNDING
        above = abs(common) > noise
        common, common_rest = product(common, common_rest, per, 0.0)
        out[u(i)], clear = _ratio(common, common_rest, spread, spread_rest, off_common * per, off_spread)
        marks[u(i)] = mark(n, 2.0, clear & (spread > off_spread) & above)


@jit
def _means(W: Array, counts: Array, off_weights: float, off_products: float, out: Array, marks: Array) -> None:
    for i in range(len(out)):
        wh, wl = total(W, i + OF_WINDOWS)
        ph, pl = total(W, i + OF_WINDOWS + _THREE)
        mean, clear = _ratio(ph, pl, wh, wl, off_products, off_weights)
        out[u(i)] = mean + 0.0
        marks[u(i)] = mark(counts[u(i)], 1.0, clear & (abs(wh) > off_weights))


@tiered_jit
def _moment_shapes(
    x: Array, low: Array, starts: Array, ends: Array, rows: int, fourth: bool, out: Array, marks: Array
) -> None:
    W, at, counts, both = np.zeros(SIZE), np.empty(2 * TILE, np.int64), np.ones(3 * TILE + 1), np.empty(2)
    columns = 12 if fourth else 9
    i = 0
    while i < len(out):
        stop, first, last, most = stretch(starts, ends, rows, i, len(out))
        c, span = span_of(x[first:last], low[first:last], both)
        if math.isnan(span):
            i = stop
            continue
        n = float(most + 2 * TILE)
        square, cube, fourths = span * span, span * span * span, span * span * span * span
        a0, a1, a2, lost = scales(span, span * 2.0**-52, n)
        b0, b1, b2, lost_squares = scales(square, square * 2.0**-51, n)
        c0, c1, c2, lost_cubes = scales(cube, cube * 2.0**-50, n)
        d0, d1, d2, lost_fourths = scales(fourths, fourths * 2.0**-49, n)
        A, B, C, D = (a0, a1, a2), (b0, b1, b2), (c0, c1, c2), (d0, d1, d2)
        lost_squares += 2.1 * span * lost + n * square * 2.0**-102
        lost_fourths += 4.1 * span * lost_cubes + 16.5 * cube * lost + n * fourths * 2.0**-98
        lost_cubes += 3.1 * (span * lost_squares + square * lost) + n * cube * 2.0**-100
        noise = 2.0 * NOISE * (4.0 * n * square) ** 1.5
        start, end = first, first
        begin(W)
        while i < stop:
            m, comes, goes, even = plan(starts, ends, rows, i, stop, start, end, at, counts)
            distances(x, low, end, comes, c, W, WORDS)
            _powers(W, comes, COME, A, B, C, D, fourth)
            distances(x, low, start, goes, c, W, WORDS)
            _powers(W, goes, GO, A, B, C, D, fourth)
            sum_up(W, columns, m, comes, goes, even, at)
            _find_factors(counts, TILE if even else m, fourth)
            into, of_tile = out[i : i + m], marks[i : i + m]
            if fourth:
                _kurtoses(W, counts, lost_squares, lost_cubes, lost_fourths, into, of_tile)
            else:
                _skews(W, counts, lost_squares, lost_cubes, noise, into, of_tile)
            start, end, i = start + goes, end + comes, i + m


@tiered_jit
def _slope_shapes(
    y: Array,
    y_low: Array,
    x: Array,
    x_low: Array,
    per: float,
    starts: Array,
    ends: Array,
    rows: int,
    out: Array,
    marks: Array,
) -> None:
    W, at, counts, both = np.zeros(SIZE), np.empty(2 * TILE, np.int64), np.ones(3 * TILE + 1), np.empty(2)
    i = 0
    while i < len(out):
        stop, first, last, most = stretch(starts, ends, rows, i, len(out))
        c, span = span_of(x[first:last], x_low[first:last], both)
        d, high = span_of(y[first:last], y_low[first:last], both)
        if math.isnan(span + high):
            i = stop
            continue
        n = float(most + 2 * TILE)
        square, products = span * span, span * high
        a0, a1, a2, lost = scales(span, span * 2.0**-52, n)
        b0, b1, b2, lost_y = scales(high, high * 2.0**-52, n)
        c0, c1, c2, lost_squares = scales(square, square * 2.0**-51, n)
        d0, d1, d2, lost_products = scales(products, products * 2.0**-51, n)
        A, B, C, D = (a0, a1, a2), (b0, b1, b2), (c0, c1, c2), (d0, d1, d2)
        lost_squares += 2.1 * span * lost + n * square * 2.0**-102
        lost_products += 1.1 * (span * lost_y + high * lost) + n * products * 2.0**-102
        noise = 8.0 * NOISE * n * products
        start, end = first, first
        begin(W)
        while i < stop:
            m, comes, goes, even = plan(starts, ends, rows, i, stop, start, end, at, counts)
            distances(x, x_low, end, comes, c, W, WORDS)
            distances(y, y_low, end, comes, d, W, _SECOND)
            _products(W, comes, COME, A, B, C, D)
            distances(x, x_low, start, goes, c, W, WORDS)
            distances(y, y_low, start, goes, d, W, _SECOND)
            _products(W, goes, GO, A, B, C, D)
            sum_up(W, 12, m, comes, goes, even, at)
            _slopes(W, counts, per, lost_squares, lost_products, noise, out[i : i + m], marks[i : i + m])
            start, end, i = start + goes, end + comes, i + m


@tiered_jit
def _weighted_shapes(
    x: Array, x_low: Array, w: Array, w_low: Array, starts: Array, ends: Array, rows: int, out: Array, marks: Array
) -> None:
    W, at, counts, both = np.zeros(SIZE), np.empty(2 * TILE, np.int64), np.ones(3 * TILE + 1), np.empty(2)
    i = 0
    while i < len(out):
        stop, first, last, most = stretch(starts, ends, rows, i, len(out))
        c, span = span_of(x[first:last], x_low[first:last], both)
        d, high = span_of(w[first:last], w_low[first:last], both)
        span, high = span + abs(c), high + abs(d)
        if math.isnan(span + high):
            i = stop
            continue
        n = float(most + 2 * TILE)
        products = span * high
        a0, a1, a2, lost_weights = scales(high, high * 2.0**-52, n)
        b0, b1, b2, lost_products = scales(products, products * 2.0**-51, n)
        A, B = (a0, a1, a2), (b0, b1, b2)
        lost_weights += n * high * _ROUNDING
        lost_products += n * products * _ROUNDING
        start, end = first, first
        begin(W)
        while i < stop:
            m, comes, goes, even = plan(starts, ends, rows, i, stop, start, end, at, counts)
            distances(x, x_low, end, comes, 0.0, W, WORDS)
            distances(w, w_low, end, comes, 0.0, W, _SECOND)
            _weighted(W, comes, COME, A, B)
            distances(x, x_low, start, goes, 0.0, W, WORDS)
            distances(w, w_low, start, goes, 0.0, W, _SECOND)
            _weighted(W, goes, GO, A, B)
            sum_up(W, 6, m, comes, goes, even, at)
            _means(W, counts, lost_weights, lost_products, out[i : i + m], marks[i : i + m])
            start, end, i = start + goes, end + comes, i + m


_EXACT, _HELD = 2**53, 2**62  # integers up to these are floats, and sums of two floats
_NOTHING = np.empty(0)


def as_floats(x: Array, moved: bool = True) -> Column | None:
    """A column as floats, and what is left of integers that have more bits; None where it is not of such numbers.

    Integers may be `moved` to begin at 0, where answers do not go by how large they are.
    """
    if x.dtype.kind == "f":
        return np.ascontiguousarray(x, np.float64), _NOTHING
    if x.dtype.kind not in "iu":
        return None
    least, most = int(x.min()), int(x.max())
    if max(most, -least) > _EXACT and moved and most - least < _HELD:
        if most - least <= _EXACT:
            return np.subtract(x, x.dtype.type(least), out=np.empty(len(x)), casting="unsafe", dtype=x.dtype), _NOTHING
        x, least, most = x - x.dtype.type(least), 0, most - least
    high = x.astype(np.float64)
    if max(most, -least) <= _EXACT:
        return high, _NOTHING
    if max(most, -least) >= _HELD:
        return None
    return high, (x.astype(np.int64) - high.astype(np.int64)).astype(np.float64)


def _room(starts: Array, rows: int, column: Array) -> tuple[Array, Array]:
    count = len(column) if rows else len(starts)
    return np.empty(count), np.zeros(count, np.int8)


def moment_shapes(x: Column, starts: Array, ends: Array, rows: int, fourth: bool) -> tuple[Array, Array]:
    """Skewness, or kurtosis, of windows and what is known of each: `SURE`, `UNSURE` or `NO_ANSWER`.

    Windows are those of `starts` and `ends`, or with `rows` those of the last so many rows up to each.
    """
    out, marks = _room(starts, rows, x[0])
    _moment_shapes(*x, starts, ends, rows, fourth, out, marks)
    return out, marks


def slope_shapes(y: Column, x: Column, per: float, starts: Array, ends: Array, rows: int) -> tuple[Array, Array]:
    """The same of slopes of `per` y on x."""
    out, marks = _room(starts, rows, x[0])
    _slope_shapes(*y, *x, per, starts, ends, rows, out, marks)
    return out, marks


def weighted_shapes(x: Column, w: Column, starts: Array, ends: Array, rows: int) -> tuple[Array, Array]:
    """The same of means of x weighted by w."""
    out, marks = _room(starts, rows, x[0])
    _weighted_shapes(*x, *w, starts, ends, rows, out, marks)
    return out, marks
