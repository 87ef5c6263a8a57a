"""Variance and standard deviation over the last n rows: running sums that never round, at one speed for every n.

Distances from a value in the middle, and their squares, are cut into three parts each, as `row_sums` cuts values: sums
of parts are exact, so what leaves the window is taken off again without a trace. What lies below the third part is
lost, and this bounds the error of every answer. An answer is sure if no such error could change its last bit; the
general kernel answers the other rows. The middle, and the sizes of the parts, are chosen anew for each stretch of rows,
so a value far off spoils its own stretch at most.
"""

from __future__ import annotations

import math

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.sums.fma import fma

# Parts lie in one array, _TILE apart: where several arrays might overlap, for all that LLVM knows, it gives up vectors.
_TILE = 256
_T1, _T2, _T3, _T4, _T5 = _TILE, 2 * _TILE, 3 * _TILE, 4 * _TILE, 5 * _TILE
_STRETCH = 8  # windows
_SHORTEST = 2048
_ROUNDING = 2.0**-98  # more than what double-doubles lose on the way from sums to an answer
_SMALLEST, _LARGEST = 2.0**-400, 2.0**400  # spans whose squares, and the parts of these, are normal numbers

_Six = tuple[float, float, float, float, float, float]


@jit
def ends(x: Array, both: Array) -> None:
    """Write the least and the greatest value, NaN lying beyond infinity. Turned bits of floats order as integers do."""
    least = 0x7FFFFFFFFFFFFFFF
    most = -least
    for bits in x.view(np.int64):
        b = bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)
        least = min(least, b)
        most = max(most, b)
    both.view(np.int64)[0] = least ^ ((least >> 63) & 0x7FFFFFFFFFFFFFFF)
    both.view(np.int64)[1] = most ^ ((most >> 63) & 0x7FFFFFFFFFFFFFFF)


@jit
def middle(x: Array) -> float:
    """The median of five values: near most of them, even if some are far off."""
    five = np.empty(5)
    for i in range(5):
        five[i] = x[(2 * i + 1) * len(x) // 10]
    median: float = np.sort(five)[2]
    return median


@jit
def _scale(most: float) -> float:
    """What rounds to the first part when added and subtracted again: sums of parts up to `most` stay exact."""
    return math.ldexp(1.5, math.frexp(most)[1] + 1)


@jit
def scales(most: float, low: float, n: float) -> tuple[float, float, float, float]:
    """The three scales for n values up to `most` whose low words are up to `low`; the most that a sum of them loses."""
    a = _scale(most * n)
    b = _scale((a * 2.0**-53 + low) * n)
    c = _scale(b * 2.0**-52 * n)
    return a, b, c, c * 2.0**-52 * n


@jit
def cut(high: float, low: float, a: float, b: float, c: float) -> tuple[float, float, float]:
    """Cut a double-double into three parts."""
    p0 = (a + high) - a
    r = high - p0
    s = r + low
    t = s - r
    low = (r - (s - t)) + (low - t)
    p1 = (b + s) - b
    r = (s - p1) + low
    return p0, p1, (c + r) - c


@jit
def _parts(v: float, c: float, a0: float, a1: float, a2: float, b0: float, b1: float, b2: float) -> _Six:
    """The parts of the distance from c, and those of its square."""
    d = v - c
    t = d - v
    low = (v - (d - t)) - (c + t)
    p0, p1, p2 = cut(d, low, a0, a1, a2)
    h = d * d
    q0, q1, q2 = cut(h, fma(d, d, -h) + 2.0 * d * low, b0, b1, b2)
    return p0, p1, p2, q0, q1, q2


@jit
def _come(x: Array, c: float, a0: float, a1: float, a2: float, b0: float, b1: float, b2: float, W: Array) -> None:
    """Write the parts of values that come."""
    for i in range(len(x)):
        p0, p1, p2, q0, q1, q2 = _parts(x[i], c, a0, a1, a2, b0, b1, b2)
        W[u(i)] = p0
        W[u(i + _T1)] = p1
        W[u(i + _T2)] = p2
        W[u(i + _T3)] = q0
        W[u(i + _T4)] = q1
        W[u(i + _T5)] = q2


@jit
def _change(
    x: Array, y: Array, c: float, a0: float, a1: float, a2: float, b0: float, b1: float, b2: float, W: Array
) -> None:
    """Write the parts of values that come less those of values that go."""
    for i in range(len(x)):
        p0, p1, p2, q0, q1, q2 = _parts(x[i], c, a0, a1, a2, b0, b1, b2)
        o0, o1, o2, r0, r1, r2 = _parts(y[i], c, a0, a1, a2, b0, b1, b2)
        W[u(i)] = p0 - o0
        W[u(i + _T1)] = p1 - o1
        W[u(i + _T2)] = p2 - o2
        W[u(i + _T3)] = q0 - r0
        W[u(i + _T4)] = q1 - r1
        W[u(i + _T5)] = q2 - r2


@jit
def _run_up(W: Array, size: int, t: _Six) -> _Six:
    """Make changes totals."""
    t0, t1, t2, t3, t4, t5 = t
    for i in range(size):
        t0 += W[u(i)]
        t1 += W[u(i + _T1)]
        t2 += W[u(i + _T2)]
        t3 += W[u(i + _T3)]
        t4 += W[u(i + _T4)]
        t5 += W[u(i + _T5)]
        W[u(i)] = t0
        W[u(i + _T1)] = t1
        W[u(i + _T2)] = t2
        W[u(i + _T3)] = t3
        W[u(i + _T4)] = t4
        W[u(i + _T5)] = t5
    return t0, t1, t2, t3, t4, t5


@jit
def double_double(a: float, b: float, c: float) -> tuple[float, float]:
    """Three totals as one double-double."""
    s = a + b
    t = s - a
    e = ((a - (s - t)) + (b - t)) + c
    h = s + e
    return h, e - (h - s)


@jit
def subtract(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    s = ah - bh
    t = s - ah
    e = (ah - (s - t)) - (bh + t)
    e += al - bl
    h = s + e
    return h, e - (h - s)


@jit
def _finish(W: Array, first: float, growth: float, error: float, root: bool, out: Array, sure: Array) -> None:
    """Answers from totals, over `first` rows and `growth` more for each row on; sums of squares are off by `error`."""
    for i in range(len(out)):
        n = first + growth * i
        sh, sl = double_double(W[u(i)], W[u(i + _T1)], W[u(i + _T2)])
        qh, ql = double_double(W[u(i + _T3)], W[u(i + _T4)], W[u(i + _T5)])
        p = sh * sh
        e = fma(sh, sh, -p) + 2.0 * sh * sl
        v = p / n
        ch, cl = subtract(qh, ql, v, (fma(-v, n, p) + e) / n)
        k = n - 1.0
        v = ch / k
        r = (fma(-v, k, ch) + cl) / k
        s = v + r
        rest = r - (s - v)
        slack = (error + qh * _ROUNDING) / k
        out[i] = math.sqrt(s) if root else s
        sure[i] = (s + (rest + slack) == s) & (s + (rest - slack) == s)


@jit
def _stretch(x: Array, n: int, a: int, stop: int, root: bool, out: Array, sure: Array, W: Array) -> None:
    """Answer the rows [a, stop) with one middle."""
    first = max(0, a - n)
    both = np.empty(2)
    ends(x[first:stop], both)
    c = middle(x[first:stop])
    span = max(both[1] - c, c - both[0]) * (1.0 + 2.0**-50)
    if span == 0.0:
        out[a:stop] = 0.0
        sure[a:stop] = True
        return
    if not _SMALLEST < span < _LARGEST or not abs(c) < _LARGEST:
        sure[a:stop] = False
        return
    square = span * span
    a0, a1, a2, lost = scales(span, span * 2.0**-52, n)
    b0, b1, b2, error = scales(square, square * 2.0**-51, n)
    error += 2.1 * span * lost
    t = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    b = first
    while b < stop:
        full = first + n  # from here on a row goes for each that comes
        size = min(_TILE, (full if b < full else stop) - b, stop - b)
        into, marks = out[b : b + size], sure[b : b + size]
        if b < full:
            _come(x[b : b + size], c, a0, a1, a2, b0, b1, b2, W)
        else:
            _change(x[b : b + size], x[b - n : b - n + size], c, a0, a1, a2, b0, b1, b2, W)
        t = _run_up(W, size, t)
        if b >= full:
            _finish(W, float(n), 0.0, error, root, into, marks)
        elif first == a:
            _finish(W, float(b + 1), 1.0, error, root, into, marks)
        b += size


@tiered_jit
def _moment_rows(x: Array, offsets: Array, n: int, root: bool, out: Array, sure: Array) -> None:
    """Write variances or their roots, of the last n > 1 rows of each key, and which of them are sure."""
    W = np.zeros(6 * _TILE)
    for k in range(len(offsets) - 1):
        low = offsets[k]
        high = offsets[k + 1]
        most = min(n, high - low)
        length = max(_STRETCH * most, _SHORTEST)
        for a in range(0, high - low, length):
            stop = min(high - low, a + length)
            _stretch(x[low:high], most, a, stop, root, out[low:high], sure[low:high], W)
        if low < high:
            sure[low] = False


@tiered_jit
def _still_rows(x: Array, offsets: Array, n: int, out: Array, sure: Array) -> None:
    """Where values stand still there is no variance, and it takes no digits to be sure."""
    for k in range(len(offsets) - 1):
        run = 0
        for i in range(offsets[k], offsets[k + 1]):
            run = run + 1 if run > 0 and x[i] == x[i - 1] else 1
            if run > 1 and (run >= n or run == i - offsets[k] + 1) and x[i] - x[i] == 0.0:
                out[i] = 0.0
                sure[i] = True


def moment_rows(x: Array, offsets: Array, n: int, root: bool) -> tuple[Array, Array]:
    """Variances, or standard deviations, of the last n rows of each key, and which of them are sure.

    A key's first row is not sure: it stands alone, and has no answer.
    """
    out, sure = np.empty(len(x)), np.empty(len(x), np.bool_)
    _moment_rows(x, offsets, n, root, out, sure)
    if np.count_nonzero(sure) < len(x) - len(offsets) + 1:
        _still_rows(x, offsets, n, out, sure)
    return out, sure
