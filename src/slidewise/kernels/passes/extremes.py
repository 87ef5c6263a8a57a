"""Maximum and minimum over the last n rows at the speed of memory.

NaN and the order of equal values are as everywhere; but the loops here compare with one instruction, which a NaN would
fool, so they report whether they met one, and then the careful kernel runs instead. `>` below means "wins over": it is
`<` in the source for the minimum.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from slidewise.kernels.compiler.cache import load_source

_SOURCE = '''
import numpy as np
from numba import uintp as u
from slidewise.kernels.compiler.jit import njit

TILE = 1024
FEW = 128


@njit(cache=True, nogil=True, error_model="numpy")
def extreme_rows(x, offsets, n, out):
    """Write the extremes of the last n rows of each key; whether there was a NaN, and so they are void."""
    strange = False
    for k in range(len(offsets) - 1):
        a = offsets[k]
        b = offsets[k + 1]
        if a < b:
            strange |= few(x[a:b], n, out[a:b]) if n <= FEW else many(x[a:b], n, out[a:b])
    return strange


@njit(nogil=True, error_model="numpy")
def pairs(x, second, out):
    """Extremes of the value in place and the one so many places on; how many NaN these ones are."""
    strange = 0
    for i in range(len(out)):
        a = x[u(i)]
        b = x[u(i + second)]
        strange += b != b
        out[u(i)] = b if b > a else a
    return strange


@njit(nogil=True, error_model="numpy")
def fours(x, second, third, fourth, out):
    """The same for four values."""
    strange = 0
    for i in range(len(out)):
        a = x[u(i)]
        b = x[u(i + second)]
        c = x[u(i + third)]
        d = x[u(i + fourth)]
        a = b if b > a else a
        c = d if d > c else c
        strange += d != d
        out[u(i)] = c if c > a else a
    return strange


@njit(nogil=True, error_model="numpy")
def few(x, n, out):
    """Windows of a few rows: extremes of 1, 4, 16, 64 rows, tile by tile; two or four that overlap make n."""
    m = len(x)
    best = x[0]
    strange = 0
    for i in range(min(n - 1, m)):
        strange += x[i] != x[i]
        best = x[i] if x[i] > best else best
        out[i] = best
    one = np.empty(TILE + n, x.dtype)
    two = np.empty(TILE + n, x.dtype)
    for a in range(n - 1, m, TILE):
        size = min(TILE, m - a)
        length = size + n - 1
        source = x[a - n + 1 : a + size]
        width = 1
        while 4 * width <= n:
            length -= 3 * width
            strange += fours(source, width, 2 * width, 3 * width, one[:length])
            source = one
            one, two = two, one
            width *= 4
        rest = n - width
        if rest <= width:
            strange += pairs(source, rest, out[a : a + size])
        else:
            strange += fours(source, width, rest - width, rest, out[a : a + size])
    return strange > 0


@njit(nogil=True, error_model="numpy")
def whole_block(block, fronts, place, step, into):
    """Answer a block's rows: its prefix meets the suffix of the block before it, while its own suffix is built.

    Each suffix takes the place that an older one has just left, so the next block walks the places the other way.
    """
    n = len(block)
    strange = 0
    back = block[u(0)]
    front = block[u(n - 1)]
    for j in range(n - 1):
        v = block[u(j)]
        w = block[u(n - 1 - j)]
        older = fronts[u(place)]
        strange += v != v
        back = v if v > back else back
        front = front if front > w else w
        fronts[u(place)] = front
        into[u(j)] = back if back > older else older
        place += step
    v = block[u(n - 1)]
    strange += v != v
    into[u(n - 1)] = v if v > back else back
    return strange


@njit(nogil=True, error_model="numpy")
def many(x, n, out):
    """Block scans; the first block has no suffix to meet, the last may not be whole."""
    m = len(x)
    strange = 0
    back = x[u(0)]
    for j in range(min(n, m)):
        v = x[u(j)]
        strange += v != v
        back = v if v > back else back
        out[u(j)] = back
    if m <= n:
        return strange > 0
    fronts = np.empty(n, x.dtype)
    front = x[u(n - 1)]
    for j in range(n - 1):
        v = x[u(n - 1 - j)]
        front = front if front > v else v
        fronts[u(j)] = front
    place = n - 2
    for a in range(n, m - n + 1, n):
        step = 1 if place == 0 else -1
        strange += whole_block(x[a : a + n], fronts, place, step, out[a : a + n])
        place = n - 2 - place
    step = 1 if place == 0 else -1
    a = m - m % n
    for j in range(a, m):
        v = x[u(j)]
        older = fronts[u(place)]
        strange += v != v
        back = v if j == a or v > back else back
        out[u(j)] = back if back > older else older
        place += step
    return strange > 0
'''


@cache
def extreme_rows(greatest: bool) -> Any:
    """The compiled function (x, offsets, n, out) for maxima or minima; it tells of a NaN in x, which voids them."""
    text = _SOURCE if greatest else _SOURCE.replace(" > ", " < ").replace("strange < 0", "strange > 0")
    return load_source("max_rows" if greatest else "min_rows", text).extreme_rows
