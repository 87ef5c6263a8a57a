"""Variance and standard deviation over the last n rows of data with values far off: block scans of double-doubles.

Other than the running sums of `fast_moments`, a window here only ever meets values of its own, whatever stands beside.
Moments are taken about the first value of a block, so that a block's suffix and the next block's prefix just add up.
That costs digits where this value lies far off the others: such rows are marked, and the general kernel, whose moments
are about each window's own first value, answers them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from slidewise.kernels.compiler.cache import load_source

_SOURCE = '''
import math
import numpy as np
from numba import uintp as u
from slidewise.kernels.compiler.jit import njit
from slidewise.kernels.sums.fma import fma

TILE = 512
TRUST = 2.0**-24
SMALLEST, LARGEST = 2.0**-800, 2.0**900  # sums of squares that no step on the way makes too small or too large


@njit(nogil=True, error_model="numpy")
def add(ah, al, bh, bl):
    s = ah + bh
    t = s - ah
    e = (ah - (s - t)) + (bh - t)
    u = al + bl
    t = u - al
    f = (al - (u - t)) + (bl - t)
    e += u
    h = s + e
    e = f + (e - (h - s))
    s = h + e
    return s, e - (s - h)


@njit(nogil=True, error_model="numpy")
def moments(x, c):
    """The distance from c, exactly, and its square."""
    d = x - c
    t = d - x
    low = (x - (d - t)) - (c + t)
    q = d * d
    e = fma(d, d, -q) + 2.0 * d * low
    h = q + e
    return d, low, h, e - (h - q)


@njit(nogil=True, error_model="numpy")
def step(x, c, sh, sl, qh, ql):
    """Add one value to sums whose errors are kept apart; `settled` brings them together once in a tile."""
    d, low, h, rest = moments(x, c)
    s = sh + d
    t = s - sh
    sl += ((sh - (s - t)) + (d - t)) + low
    q = qh + h
    t = q - qh
    ql += ((qh - (q - t)) + (h - t)) + rest
    return s, sl, q, ql


@njit(nogil=True, error_model="numpy")
def settled(h, l):
    s = h + l
    return s, l - (s - h)


@njit(nogil=True, error_model="numpy")
def spread(sh, sl, qh, ql, n):
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
    ch, cl = add(qh, ql, -vh, -vl)
    return ch, cl, (ch > TRUST * qh) & (SMALLEST < qh) & (qh < LARGEST)


@njit(nogil=True, error_model="numpy")
def divided(h, l, n):
    """The quotient, and whether it is clear which float is nearest."""
    v = h / n
    r = (fma(-v, n, h) + l) / n
    s = v + r
    rest = r - (s - v)
    return s, s + rest * 1.000001 == s


@njit(nogil=True, error_model="numpy")
def finish(p0, p1, p2, p3, s0, s1, s2, s3, first, growth, root, out, sure):
    """Answers for one tile from prefixes p and suffixes s, over `first` rows and `growth` more for each row on."""
    for i in range(len(out)):
        n = first + growth * i
        sh, sl = add(s0[i], s1[i], p0[i], p1[i])
        qh, ql = add(s2[i], s3[i], p2[i], p3[i])
        ch, cl, trusted = spread(sh, sl, qh, ql, n)
        value, clear = divided(ch, cl, n - 1.0)
        out[i] = math.sqrt(value) if root else value
        sure[i] = trusted & clear


@njit(nogil=True, error_model="numpy")
def scan(block, b, stop, c, own, p, s, P, S):
    """Prefixes of a tile of the block about c, and suffixes of as many rows at its other end about `own`."""
    sh, sl, qh, ql = p
    th, tl, rh, rl = s
    p0, p1, p2, p3 = P
    s0, s1, s2, s3 = S
    size = len(block)
    for j in range(b, stop):
        i = u(j - b)
        sh, sl, qh, ql = step(block[u(j)], c, sh, sl, qh, ql)
        p0[i] = sh
        p1[i] = sl
        p2[i] = qh
        p3[i] = ql
        k = u(size - 1 - j)
        th, tl, rh, rl = step(block[k], own, th, tl, rh, rl)
        s0[k] = th
        s1[k] = tl
        s2[k] = rh
        s3[k] = rl
    sh, sl = settled(sh, sl)
    qh, ql = settled(qh, ql)
    th, tl = settled(th, tl)
    rh, rl = settled(rh, rl)
    return (sh, sl, qh, ql), (th, tl, rh, rl)


@njit(nogil=True, error_model="numpy")
def four(size):
    return np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)


@njit(cache=True, nogil=True, error_model="numpy")
def block_rows(x, offsets, n, root, out, sure):
    """Write variances or their roots, of the last n > 1 rows of each key, and which of them are sure."""
    for k in range(len(offsets) - 1):
        a = offsets[k]
        b = offsets[k + 1]
        if a < b:
            blocks(x[a:b], min(n, b - a), root, out[a:b], sure[a:b])
            sure[a] = False


@njit(nogil=True, error_model="numpy")
def blocks(x, n, root, out, sure):
    """Block scans: a block's prefix meets the suffix of the block before it, while its own suffix is built."""
    m = len(x)
    older = four(n + 1)
    newer = four(n + 1)
    p0, p1, p2, p3 = P = four(TILE)
    zero = np.zeros(TILE)
    c = x[0]
    for a in range(0, m, n):
        block = x[a : a + n]
        size = len(block)
        own = block[0]
        p = (0.0, 0.0, 0.0, 0.0)
        s = (0.0, 0.0, 0.0, 0.0)
        o0, o1, o2, o3 = older
        for b in range(0, size, TILE):
            stop = min(size, b + TILE)
            p, s = scan(block, b, stop, c, own, p, s, P, newer)
            into = out[a + b : a + stop]
            marks = sure[a + b : a + stop]
            if a:
                f, t = b + 1, stop + 1
                finish(p0, p1, p2, p3, o0[f:t], o1[f:t], o2[f:t], o3[f:t], float(n), 0.0, root, into, marks)
            else:
                finish(p0, p1, p2, p3, zero, zero, zero, zero, float(b + 1), 1.0, root, into, marks)
        older, newer = newer, older
        c = own
'''


@cache
def _compiled() -> Any:
    return load_source("block_moments", _SOURCE).block_rows


def block_moments(x: Any, offsets: Any, n: int, root: bool) -> tuple[Any, Any]:
    """Variances, or standard deviations, of the last n rows of each key, and which of them are sure.

    Rows whose block holds something that is not finite are not sure, nor are rows that stand alone.
    """
    out, sure = np.empty(len(x)), np.empty(len(x), np.bool_)
    _compiled()(x, offsets, n, root, out, sure)
    return out, sure
