"""Variance and standard deviation over the last n rows of data with values far off: block scans of double-doubles.

Other than with the running sums of `row_moments`, a window here only ever meets values of its own, whatever stands
beside. Moments are taken about the first value of a block, so that a block's suffix and the next block's prefix just
add up. That costs digits where this value lies far off the others: such rows are marked, and the general kernel, whose
moments are about each window's own first value, answers them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.sums.fma import fma

_TILE = 512
_TRUST = 2.0**-24
_SMALLEST, _LARGEST = 2.0**-800, 2.0**900  # sums of squares that no step on the way makes too small or too large

_Four = tuple[float, float, float, float]
_Arrays = tuple[Array, Array, Array, Array]


@jit
def _add(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    s = ah + bh
    t = s - ah
    e = (ah - (s - t)) + (bh - t)
    low = al + bl
    t = low - al
    f = (al - (low - t)) + (bl - t)
    e += low
    h = s + e
    e = f + (e - (h - s))
    s = h + e
    return s, e - (s - h)


@jit
def _moments(x: float, c: float) -> _Four:
    """The distance from c, exactly, and its square."""
    d = x - c
    t = d - x
    low = (x - (d - t)) - (c + t)
    q = d * d
    e = fma(d, d, -q) + 2.0 * d * low
    h = q + e
    return d, low, h, e - (h - q)


@jit
def _step(x: float, c: float, sh: float, sl: float, qh: float, ql: float) -> _Four:
    """Add one value to sums whose errors are kept apart; `_settled` brings them together once in a tile."""
    d, low, h, rest = _moments(x, c)
    s = sh + d
    t = s - sh
    sl += ((sh - (s - t)) + (d - t)) + low
    q = qh + h
    t = q - qh
    ql += ((qh - (q - t)) + (h - t)) + rest
    return s, sl, q, ql


@jit
def _settled(high: float, low: float) -> tuple[float, float]:
    s = high + low
    return s, low - (s - high)


@jit
def _spread(sh: float, sl: float, qh: float, ql: float, n: float) -> tuple[float, float, bool]:
    """The sum of squares about the mean, and whether enough digits are left of it."""
    p = sh * sh
    e = fma(sh, sh, -p) + 2.0 * sh * sl
    h = p + e
    e -= h - p
    v = h / n
    r = fma(-v, n, h) + e
    w = r / n
    vh = v + w
    vl = w - (vh - v)
    ch, cl = _add(qh, ql, -vh, -vl)
    return ch, cl, (ch > _TRUST * qh) & (qh > _SMALLEST) & (qh < _LARGEST)


@jit
def _divided(high: float, low: float, n: float) -> tuple[float, bool]:
    """The quotient, and whether it is clear which float is nearest."""
    v = high / n
    r = (fma(-v, n, high) + low) / n
    s = v + r
    rest = r - (s - v)
    return s, s + rest * 1.000001 == s


@jit
def _finish(
    p0: Array,
    p1: Array,
    p2: Array,
    p3: Array,
    s0: Array,
    s1: Array,
    s2: Array,
    s3: Array,
    first: float,
    growth: float,
    root: bool,
    out: Array,
    sure: Array,
) -> None:
    """Answers for one tile from prefixes p and suffixes s, over `first` rows and `growth` more for each row on."""
    for i in range(len(out)):
        n = first + growth * i
        sh, sl = _add(s0[i], s1[i], p0[i], p1[i])
        qh, ql = _add(s2[i], s3[i], p2[i], p3[i])
        ch, cl, trusted = _spread(sh, sl, qh, ql, n)
        value, clear = _divided(ch, cl, n - 1.0)
        out[i] = math.sqrt(value) if root else value
        sure[i] = trusted & clear


@jit
def _scan(
    block: Array, b: int, stop: int, c: float, own: float, p: _Four, s: _Four, P: _Arrays, S: _Arrays
) -> tuple[_Four, _Four]:
    """Prefixes of a tile of the block about c, and suffixes of as many rows at its other end about `own`."""
    sh, sl, qh, ql = p
    th, tl, rh, rl = s
    p0, p1, p2, p3 = P
    s0, s1, s2, s3 = S
    size = len(block)
    for j in range(b, stop):
        i = u(j - b)
        sh, sl, qh, ql = _step(block[u(j)], c, sh, sl, qh, ql)
        p0[i] = sh
        p1[i] = sl
        p2[i] = qh
        p3[i] = ql
        k = u(size - 1 - j)
        th, tl, rh, rl = _step(block[k], own, th, tl, rh, rl)
        s0[k] = th
        s1[k] = tl
        s2[k] = rh
        s3[k] = rl
    sh, sl = _settled(sh, sl)
    qh, ql = _settled(qh, ql)
    th, tl = _settled(th, tl)
    rh, rl = _settled(rh, rl)
    return (sh, sl, qh, ql), (th, tl, rh, rl)


@jit
def _four(size: int) -> _Arrays:
    return np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)


@tiered_jit
def _block_rows(x: Array, offsets: Array, n: int, root: bool, out: Array, sure: Array) -> None:
    """Write variances or their roots, of the last n > 1 rows of each key, and which of them are sure."""
    for k in range(len(offsets) - 1):
        a = offsets[k]
        b = offsets[k + 1]
        if a < b:
            _blocks(x[a:b], min(n, b - a), root, out[a:b], sure[a:b])
            sure[a] = False


@jit
def _blocks(x: Array, n: int, root: bool, out: Array, sure: Array) -> None:
    """Block scans: a block's prefix meets the suffix of the block before it, while its own suffix is built."""
    m = len(x)
    older = _four(n + 1)
    newer = _four(n + 1)
    p0, p1, p2, p3 = P = _four(_TILE)
    zero = np.zeros(_TILE)
    c = x[0]
    for a in range(0, m, n):
        block = x[a : a + n]
        size = len(block)
        own = block[0]
        p = (0.0, 0.0, 0.0, 0.0)
        s = (0.0, 0.0, 0.0, 0.0)
        o0, o1, o2, o3 = older
        for b in range(0, size, _TILE):
            stop = min(size, b + _TILE)
            p, s = _scan(block, b, stop, c, own, p, s, P, newer)
            into = out[a + b : a + stop]
            marks = sure[a + b : a + stop]
            if a:
                f, t = b + 1, stop + 1
                _finish(p0, p1, p2, p3, o0[f:t], o1[f:t], o2[f:t], o3[f:t], float(n), 0.0, root, into, marks)
            else:
                _finish(p0, p1, p2, p3, zero, zero, zero, zero, float(b + 1), 1.0, root, into, marks)
        older, newer = newer, older
        c = own


def block_moments(x: Array, offsets: Array, n: int, root: bool) -> tuple[Array, Array]:
    """Variances, or standard deviations, of the last n rows of each key, and which of them are sure.

    Rows whose block holds something that is not finite are not sure, nor are rows that stand alone.
    """
    out, sure = np.empty(len(x)), np.empty(len(x), np.bool_)
    _block_rows(x, offsets, n, root, out, sure)
    return out, sure
