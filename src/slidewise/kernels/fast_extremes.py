"""Maximum and minimum over the last n rows at the speed of memory.

NaN and the order of equal values are as everywhere; but the loops here compare with one instruction, which a NaN would
fool, so they report whether they met one, and then the careful kernel runs instead. `>` below means "wins over": it is
`<` in the source for the minimum.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from slidewise.kernels.cache import load_source

_SOURCE = '''
import numpy as np
from numba import njit, uintp as u

TILE = 1024
FEW = 128


@njit(cache=True, nogil=True, error_model="numpy")
def extreme_rows(x, n, out):
    """Write the extremes of the last n rows; whether there was a NaN, and so they are void."""
    return few(x, n, out) if n <= FEW else many(x, n, out)


@njit(nogil=True, error_model="numpy")
def pairs(older, younger, out):
    for i in range(len(out)):
        u = older[i]
        v = younger[i]
        out[i] = v if v > u else u


@njit(nogil=True, error_model="numpy")
def few(x, n, out):
    """Windows of a few rows: extremes of 1, 2, 4, 8 ... rows, tile by tile; two that overlap make n."""
    m = len(x)
    best = x[0]
    strange = count_nan(x[: n - 1])
    for i in range(min(n - 1, m)):
        best = x[i] if x[i] > best else best
        out[i] = best
    one = np.empty(TILE + n, x.dtype)
    two = np.empty(TILE + n, x.dtype)
    for a in range(n - 1, m, TILE):
        size = min(TILE, m - a)
        length = size + n - 1
        source = x[a - n + 1 : a + size]
        width = 1
        while 2 * width <= n:
            length -= width
            pairs(source[:length], source[width : width + length], one[:length])
            source = one
            one, two = two, one
            width *= 2
        rest = n - width
        pairs(source[:size], source[rest : rest + size], out[a : a + size])
        strange += count_nan(x[a : a + size])
    return strange > 0


@njit(nogil=True, error_model="numpy")
def count_nan(x):
    strange = 0
    for v in x:
        strange += v != v
    return strange


@njit(nogil=True, error_model="numpy")
def many(x, n, out):
    """Block scans: a block's prefix meets the suffix of the block before it, while its own suffix is built."""
    m = len(x)
    older = np.empty(n, x.dtype)
    newer = np.empty(n, x.dtype)
    strange = 0
    for a in range(0, m, n):
        block = x[a : a + n]
        into = out[a : a + n]
        size = len(block)
        back = block[u(0)]
        if a == 0:
            for j in range(size):
                v = block[u(j)]
                strange += v != v
                back = v if v > back else back
                into[u(j)] = back
            front = block[u(size - 1)]
            for j in range(size):
                w2 = block[u(size - 1 - j)]
                front = front if front > w2 else w2
                newer[u(size - 1 - j)] = front
        elif size == n:
            front = block[u(n - 1)]
            for j in range(n - 1):
                v = block[u(j)]
                w2 = block[u(n - 1 - j)]
                w = older[u(j + 1)]
                strange += v != v
                back = v if v > back else back
                front = front if front > w2 else w2
                newer[u(n - 1 - j)] = front
                into[u(j)] = back if back > w else w
            v = block[u(n - 1)]
            strange += v != v
            into[u(n - 1)] = v if v > back else back
        else:
            for j in range(size):
                v = block[u(j)]
                w = older[u(j + 1)]
                strange += v != v
                back = v if v > back else back
                into[u(j)] = back if back > w else w
        older, newer = newer, older
    return strange > 0
'''


@cache
def extreme_rows(greatest: bool) -> Any:
    """The compiled function (x, n, out) for maxima or minima; it tells whether x has a NaN, which voids them."""
    text = _SOURCE if greatest else _SOURCE.replace(" > ", " < ").replace("strange < 0", "strange > 0")
    return load_source("max_rows" if greatest else "min_rows", text).extreme_rows
