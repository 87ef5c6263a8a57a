"""Variance and standard deviation over the last n rows: block scans of double-double moments.

Moments are taken about the first value of a block, so that a block's suffix and the next block's prefix just add up.
That costs digits where this value lies far off the others: such rows are marked, and the general kernel, whose moments
are about each window's own first value, answers them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from slidewise.kernels.cache import load_source

_SOURCE = '''
import math
import numpy as np
from numba import njit
from slidewise.kernels.fma import fma

TILE = 512
TRUST = 2.0 ** -40


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
    d, low, h, rest = moments(x, c)
    sh, sl = add(sh, sl, d, low)
    qh, ql = add(qh, ql, h, rest)
    return sh, sl, qh, ql


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
    return ch, cl, ch > TRUST * qh or qh == 0.0


@njit(nogil=True, error_model="numpy")
def divided(h, l, n):
    v = h / n
    return v + (fma(-v, n, h) + l) / n


@njit(nogil=True, error_model="numpy")
def finish(P, S, n, root, out, sure):
    """Answers for one tile: prefixes P and suffixes S, each of four rows."""
    for i in range(len(out)):
        sh, sl = add(S[0, i], S[1, i], P[0, i], P[1, i])
        qh, ql = add(S[2, i], S[3, i], P[2, i], P[3, i])
        ch, cl, trusted = spread(sh, sl, qh, ql, n)
        value = divided(ch, cl, n - 1.0)
        out[i] = math.sqrt(value) if root else value
        sure[i] = trusted


@njit(cache=True, nogil=True, error_model="numpy")
def moment_rows(x, n, root, out, sure):
    """Write variances or their roots, of the last n > 1 finite rows, and which of them are sure."""
    m = len(x)
    older = np.zeros((4, n + 1))
    newer = np.zeros((4, n + 1))
    P = np.empty((4, TILE))
    c = x[0]
    for a in range(0, m, n):
        block = x[a : a + n]
        size = len(block)
        own = block[0]
        sh, sl, qh, ql = 0.0, 0.0, 0.0, 0.0
        th, tl, rh, rl = 0.0, 0.0, 0.0, 0.0
        for b in range(0, size, TILE):
            stop = min(size, b + TILE)
            for j in range(b, stop):
                sh, sl, qh, ql = step(block[j], c, sh, sl, qh, ql)
                P[0, j - b] = sh
                P[1, j - b] = sl
                P[2, j - b] = qh
                P[3, j - b] = ql
                k = size - 1 - j
                th, tl, rh, rl = step(block[k], own, th, tl, rh, rl)
                newer[0, k] = th
                newer[1, k] = tl
                newer[2, k] = rh
                newer[3, k] = rl
            into = out[a + b : a + stop]
            marks = sure[a + b : a + stop]
            if a:
                finish(P, older[:, b + 1 : stop + 1], float(n), root, into, marks)
            else:
                for i in range(stop - b):
                    rows = float(b + i + 1)
                    finish(P[:, i : i + 1], older[:, n:], rows, root, into[i : i + 1], marks[i : i + 1])
        older, newer = newer, older
        older[:, n] = 0.0
        c = own
    return
'''


@cache
def _compiled() -> Any:
    return load_source("fast_moments", _SOURCE).moment_rows


def moment_rows(x: Any, n: int, root: bool) -> tuple[Any, Any]:
    """Variances, or standard deviations, of the last n rows of finite values, and which of them are sure.

    Rows that stand alone are not sure: they have no answer.
    """
    out, sure = np.empty(len(x)), np.empty(len(x), np.bool_)
    _compiled()(x, max(1, min(n, len(x))), root, out, sure)
    return out, sure
