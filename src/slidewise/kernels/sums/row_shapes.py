"""Skewness, and the slope of least squares, over the last n rows: running sums that never round, as in `row_moments`.

Distances from values in the middle, their squares, cubes or products are cut into three parts each, whose sums are
exact. From the totals come the central sums as double-doubles, with a bound on what they can be off by. Where that may
change an answer's last bit, or where sums cancel so far that the answer might be 0 by rule, the row is not sure, and
the general kernel answers it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.sums.fma import fma
from slidewise.kernels.sums.row_moments import cut, double_double, ends, middle, scales, subtract
from slidewise.operators.values.double_double import NOISE

# Parts lie in one array, _TILE apart, see `row_moments`.
_TILE = 256
_STRETCH = 8  # windows
_SHORTEST = 2048
_ROUNDING = 2.0**-96  # more than what double-doubles lose on the way from totals to central sums
_SMALLEST, _LARGEST = 2.0**-200, 2.0**200  # spans whose cubes, and the parts of these, are normal numbers
_THIRD, _FIT = 9, 12  # totals

_Scales = tuple[float, float, float]


@jit
def _write(W: Array, at: int, high: float, low: float, by: _Scales, sign: float) -> None:
    """Write the parts of a double-double that comes, or take off those of one that goes."""
    p0, p1, p2 = cut(high, low, by[0], by[1], by[2])
    if sign > 0.0:
        W[u(at)] = p0
        W[u(at + _TILE)] = p1
        W[u(at + 2 * _TILE)] = p2
    else:
        W[u(at)] -= p0
        W[u(at + _TILE)] -= p1
        W[u(at + 2 * _TILE)] -= p2


@jit
def _distance(v: float, c: float) -> tuple[float, float]:
    d = v - c
    t = d - v
    return d, (v - (d - t)) - (c + t)


@jit
def _thirds(x: Array, c: float, A: _Scales, B: _Scales, C: _Scales, sign: float, W: Array) -> None:
    """The parts of distances from c, of their squares and of their cubes."""
    for i in range(len(x)):
        d, low = _distance(x[i], c)
        h = d * d
        e = fma(d, d, -h) + 2.0 * d * low
        g = h * d
        _write(W, i, d, low, A, sign)
        _write(W, i + 3 * _TILE, h, e, B, sign)
        _write(W, i + 6 * _TILE, g, fma(h, d, -g) + (e * d + h * low), C, sign)


@jit
def _products(
    x: Array, y: Array, c: float, b: float, A: _Scales, B: _Scales, C: _Scales, D: _Scales, sign: float, W: Array
) -> None:
    """The parts of x's distances from c and y's from b, of the squares of the first and of their products."""
    for i in range(len(x)):
        d, low = _distance(x[i], c)
        f, rest = _distance(y[i], b)
        h = d * d
        p = d * f
        _write(W, i, d, low, A, sign)
        _write(W, i + 3 * _TILE, f, rest, B, sign)
        _write(W, i + 6 * _TILE, h, fma(d, d, -h) + 2.0 * d * low, C, sign)
        _write(W, i + 9 * _TILE, p, fma(d, f, -p) + (d * rest + f * low), D, sign)


@jit
def _run_up(W: Array, size: int, count: int, totals: Array) -> None:
    """Make changes totals."""
    for k in range(0, count, 3):
        a, b, c = totals[k], totals[k + 1], totals[k + 2]
        at = k * _TILE
        for i in range(size):
            a += W[u(at + i)]
            b += W[u(at + i + _TILE)]
            c += W[u(at + i + 2 * _TILE)]
            W[u(at + i)] = a
            W[u(at + i + _TILE)] = b
            W[u(at + i + 2 * _TILE)] = c
        totals[k], totals[k + 1], totals[k + 2] = a, b, c


@jit
def _total(W: Array, at: int) -> tuple[float, float]:
    return double_double(W[u(at)], W[u(at + _TILE)], W[u(at + 2 * _TILE)])


@jit
def _product(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    p = ah * bh
    e = fma(ah, bh, -p) + (ah * bl + al * bh)
    h = p + e
    return h, e - (h - p)


@jit
def _quotient(high: float, low: float, n: float) -> tuple[float, float]:
    q = high / n
    r = (fma(-q, n, high) + low) / n
    h = q + r
    return h, r - (h - q)


@jit
def _rounds_alike(high: float, low: float, slack: float) -> bool:
    """Whether a number that is off by so much is rounded to `high` anyway."""
    return (high + (low + slack) == high) & (high + (low - slack) == high)


@jit
def _skews(
    W: Array, first: float, growth: float, lost_squares: float, lost_cubes: float, noise: float, out: Array, sure: Array
) -> None:
    """Answers from totals, over `first` rows and `growth` more for each row on."""
    for i in range(len(out)):
        n = first + growth * i
        sh, sl = _total(W, i)
        qh, ql = _total(W, i + 3 * _TILE)
        ch, cl = _total(W, i + 6 * _TILE)
        mh, ml = _quotient(sh, sl, n)
        vh, vl = _product(sh, sl, mh, ml)
        square, rest = subtract(qh, ql, vh, vl)
        th, tl = subtract(qh, ql, -2.0 * square, -2.0 * rest)
        wh, wl = _product(mh, ml, th, tl)
        cubes, cubes_rest = subtract(ch, cl, wh, wl)
        off_square = lost_squares + qh * _ROUNDING
        off = lost_cubes + (abs(ch) + 3.0 * abs(mh) * qh) * _ROUNDING + 3.0 * abs(mh) * off_square
        out[i] = cubes / square / math.sqrt(square) * (n * math.sqrt(n - 1.0) / (n - 2.0))
        sure[i] = (
            _rounds_alike(square, rest, off_square)
            & _rounds_alike(cubes, cubes_rest, off)
            & (square > 0.0)
            & (abs(cubes) > noise)
        )


@jit
def _slopes(
    W: Array,
    first: float,
    growth: float,
    lost_squares: float,
    lost_products: float,
    noise: float,
    out: Array,
    sure: Array,
) -> None:
    """The same of slopes."""
    for i in range(len(out)):
        n = first + growth * i
        sh, sl = _total(W, i)
        yh, yl = _total(W, i + 3 * _TILE)
        qh, ql = _total(W, i + 6 * _TILE)
        ph, pl = _total(W, i + 9 * _TILE)
        mh, ml = _quotient(sh, sl, n)
        vh, vl = _product(sh, sl, mh, ml)
        spread, spread_rest = subtract(qh, ql, vh, vl)
        wh, wl = _product(yh, yl, mh, ml)
        common, common_rest = subtract(ph, pl, wh, wl)
        off_spread = lost_squares + qh * _ROUNDING
        off_common = lost_products + (abs(ph) + abs(wh)) * _ROUNDING
        q = common / spread
        r = ((fma(-q, spread, common) + common_rest) - q * spread_rest) / spread
        s = q + r
        slack = (off_common + abs(q) * off_spread) / spread + abs(q) * _ROUNDING
        out[i] = s
        sure[i] = _rounds_alike(s, r - (s - q), slack) & (spread > 0.0) & (abs(common) > noise)


@jit
def _span(x: Array, both: Array) -> tuple[float, float]:
    """A value in the middle, and how far others lie from it; no number where that is beyond what parts can hold."""
    ends(x, both)
    c = middle(x)
    span = max(both[1] - c, c - both[0]) * (1.0 + 2.0**-50)
    fits = (span > _SMALLEST) & (span < _LARGEST) & (abs(c) < _LARGEST)
    return c, span if fits else math.nan


@jit
def _next(b: int, full: int, stop: int) -> int:
    """Where a tile that begins at b ends."""
    return min(b + _TILE, full if b < full else stop, stop)


@jit
def _skew_stretch(x: Array, n: int, a: int, stop: int, out: Array, sure: Array, W: Array, both: Array) -> None:
    """Answer the rows [a, stop) with one middle."""
    first = max(0, a - n)
    c, span = _span(x[first:stop], both)
    if math.isnan(span):
        sure[a:stop] = False
        return
    square, cube = span * span, span * span * span
    a0, a1, a2, lost = scales(span, span * 2.0**-52, n)
    b0, b1, b2, lost_squares = scales(square, square * 2.0**-51, n)
    c0, c1, c2, lost_cubes = scales(cube, cube * 2.0**-50, n)
    A, B, C = (a0, a1, a2), (b0, b1, b2), (c0, c1, c2)
    lost_squares += 2.1 * span * lost + n * square * 2.0**-102
    lost_cubes += 3.1 * (span * lost_squares + square * lost) + n * cube * 2.0**-100
    noise = 2.0 * NOISE * (4.0 * n * square) ** 1.5
    totals = np.zeros(_THIRD)
    b = first
    while b < stop:
        full = first + n  # from here on a row goes for each that comes
        end = _next(b, full, stop)
        _thirds(x[b:end], c, A, B, C, 1.0, W)
        if b >= full:
            _thirds(x[b - n : end - n], c, A, B, C, -1.0, W)
        _run_up(W, end - b, _THIRD, totals)
        if b >= full:
            _skews(W, float(n), 0.0, lost_squares, lost_cubes, noise, out[b:end], sure[b:end])
        elif first == a:
            _skews(W, float(b + 1), 1.0, lost_squares, lost_cubes, noise, out[b:end], sure[b:end])
        b = end


@jit
def _slope_stretch(
    y: Array, x: Array, n: int, a: int, stop: int, out: Array, sure: Array, W: Array, both: Array
) -> None:
    first = max(0, a - n)
    c, span = _span(x[first:stop], both)
    d, high = _span(y[first:stop], both)
    if math.isnan(span + high):
        sure[a:stop] = False
        return
    square, product = span * span, span * high
    a0, a1, a2, lost = scales(span, span * 2.0**-52, n)
    b0, b1, b2, lost_y = scales(high, high * 2.0**-52, n)
    c0, c1, c2, lost_squares = scales(square, square * 2.0**-51, n)
    d0, d1, d2, lost_products = scales(product, product * 2.0**-51, n)
    A, B, C, D = (a0, a1, a2), (b0, b1, b2), (c0, c1, c2), (d0, d1, d2)
    lost_squares += 2.1 * span * lost + n * square * 2.0**-102
    lost_products += 1.1 * (span * lost_y + high * lost) + n * product * 2.0**-102
    noise = 8.0 * NOISE * n * product
    totals = np.zeros(_FIT)
    b = first
    while b < stop:
        full = first + n
        end = _next(b, full, stop)
        _products(x[b:end], y[b:end], c, d, A, B, C, D, 1.0, W)
        if b >= full:
            _products(x[b - n : end - n], y[b - n : end - n], c, d, A, B, C, D, -1.0, W)
        _run_up(W, end - b, _FIT, totals)
        if b >= full:
            _slopes(W, float(n), 0.0, lost_squares, lost_products, noise, out[b:end], sure[b:end])
        elif first == a:
            _slopes(W, float(b + 1), 1.0, lost_squares, lost_products, noise, out[b:end], sure[b:end])
        b = end


@cached_jit
def _skew_rows(x: Array, offsets: Array, n: int, out: Array, sure: Array) -> None:
    W, both = np.zeros(_THIRD * _TILE), np.empty(2)
    for k in range(len(offsets) - 1):
        low, high = offsets[k], offsets[k + 1]
        most = min(n, high - low)
        length = max(_STRETCH * most, _SHORTEST)
        for a in range(0, high - low, length):
            stop = min(high - low, a + length)
            _skew_stretch(x[low:high], most, a, stop, out[low:high], sure[low:high], W, both)
        sure[low : min(low + 2, high)] = False


@cached_jit
def _slope_rows(y: Array, x: Array, offsets: Array, n: int, out: Array, sure: Array) -> None:
    W, both = np.zeros(_FIT * _TILE), np.empty(2)
    for k in range(len(offsets) - 1):
        low, high = offsets[k], offsets[k + 1]
        most = min(n, high - low)
        length = max(_STRETCH * most, _SHORTEST)
        for a in range(0, high - low, length):
            stop = min(high - low, a + length)
            _slope_stretch(y[low:high], x[low:high], most, a, stop, out[low:high], sure[low:high], W, both)
        sure[low : min(low + 1, high)] = False


def skew_rows(x: Array, offsets: Array, n: int) -> tuple[Array, Array]:
    """Skewness over the last n > 2 rows of each key, and which answers are sure; a key's first two rows have none."""
    out, sure = np.empty(len(x)), np.empty(len(x), np.bool_)
    _skew_rows(x, offsets, n, out, sure)
    return out, sure


def slope_rows(y: Array, x: Array, offsets: Array, n: int) -> tuple[Array, Array]:
    """The slope of y on x over the last n > 1 rows of each key, and which are sure; a key's first row has none."""
    out, sure = np.empty(len(x)), np.empty(len(x), np.bool_)
    _slope_rows(y, x, offsets, n, out, sure)
    return out, sure
