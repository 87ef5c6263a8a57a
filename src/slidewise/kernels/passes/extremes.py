"""Maximum and minimum over the last n rows at the speed of memory.

NaN and the order of equal values are as everywhere; but the loops here compare with one instruction, which a NaN would
fool, so they report whether they met one, and then the careful kernel runs instead. The loops take the comparison as an
argument, `wins`: it is `>` or `<`, and Numba compiles them for each as if that stood there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit

_TILE = 1024
_FEW = 128
Wins = Callable[[Any, Any], bool]


def _rows_pass(wins: Wins) -> Callable[[Array, Array, int, Array], bool]:
    """The pass (x, offsets, n, out) for maxima or minima."""

    @tiered_jit
    def extreme_rows(x: Array, offsets: Array, n: int, out: Array) -> bool:
        """Write the extremes of the last n rows of each key; whether there was a NaN, and so they are void."""
        strange = False
        for k in range(len(offsets) - 1):
            a = offsets[k]
            b = offsets[k + 1]
            if a < b:
                strange |= _few(x[a:b], n, out[a:b], wins) if n <= _FEW else _many(x[a:b], n, out[a:b], wins)
        return strange

    return extreme_rows


max_rows = _rows_pass(operator.gt)
min_rows = _rows_pass(operator.lt)


@jit
def _pairs(x: Array, second: int, out: Array, wins: Wins) -> int:
    """Extremes of the value in place and the one so many places on; how many NaN these ones are."""
    strange = 0
    for i in range(len(out)):
        a = x[u(i)]
        b = x[u(i + second)]
        strange += b != b
        out[u(i)] = b if wins(b, a) else a
    return strange


@jit
def _fours(x: Array, second: int, third: int, fourth: int, out: Array, wins: Wins) -> int:
    """The same for four values."""
    strange = 0
    for i in range(len(out)):
        a = x[u(i)]
        b = x[u(i + second)]
        c = x[u(i + third)]
        d = x[u(i + fourth)]
        a = b if wins(b, a) else a
        c = d if wins(d, c) else c
        strange += d != d
        out[u(i)] = c if wins(c, a) else a
    return strange


@jit
def _few(x: Array, n: int, out: Array, wins: Wins) -> bool:
    """Windows of a few rows: extremes of 1, 4, 16, 64 rows, tile by tile; two or four that overlap make n."""
    m = len(x)
    best = x[0]
    strange = 0
    for i in range(min(n - 1, m)):
        strange += x[i] != x[i]
        best = x[i] if wins(x[i], best) else best
        out[i] = best
    one = np.empty(_TILE + n, x.dtype)
    two = np.empty(_TILE + n, x.dtype)
    for a in range(n - 1, m, _TILE):
        size = min(_TILE, m - a)
        length = size + n - 1
        source = x[a - n + 1 : a + size]
        width = 1
        while 4 * width <= n:
            length -= 3 * width
            strange += _fours(source, width, 2 * width, 3 * width, one[:length], wins)
            source = one
            one, two = two, one
            width *= 4
        rest = n - width
        if rest <= width:
            strange += _pairs(source, rest, out[a : a + size], wins)
        else:
            strange += _fours(source, width, rest - width, rest, out[a : a + size], wins)
    return strange > 0


@jit
def _whole_block(block: Array, fronts: Array, place: int, step: int, into: Array, wins: Wins) -> int:
    """Answer a block's rows: its prefix meets the suffix of the block before it, while its own suffix is built.

    Each suffix takes the place that an older one has just left, so the next block walks the places the other way.
    """
    n = len(block)
    strange: int = 0
    back = block[u(0)]
    front = block[u(n - 1)]
    for j in range(n - 1):
        v = block[u(j)]
        w = block[u(n - 1 - j)]
        older = fronts[u(place)]
        strange += v != v
        back = v if wins(v, back) else back
        front = front if wins(front, w) else w
        fronts[u(place)] = front
        into[u(j)] = back if wins(back, older) else older
        place += step
    v = block[u(n - 1)]
    strange += v != v
    into[u(n - 1)] = v if wins(v, back) else back
    return strange


@jit
def _many(x: Array, n: int, out: Array, wins: Wins) -> bool:
    """Block scans; the first block has no suffix to meet, the last may not be whole."""
    m = len(x)
    strange = 0
    back = x[u(0)]
    for j in range(min(n, m)):
        v = x[u(j)]
        strange += v != v
        back = v if wins(v, back) else back
        out[u(j)] = back
    if m <= n:
        return strange > 0
    fronts = np.empty(n, x.dtype)
    front = x[u(n - 1)]
    for j in range(n - 1):
        v = x[u(n - 1 - j)]
        front = front if wins(front, v) else v
        fronts[u(j)] = front
    place = n - 2
    for a in range(n, m - n + 1, n):
        step = 1 if place == 0 else -1
        strange += _whole_block(x[a : a + n], fronts, place, step, out[a : a + n], wins)
        place = n - 2 - place
    step = 1 if place == 0 else -1
    a = m - m % n
    for j in range(a, m):
        v = x[u(j)]
        older = fronts[u(place)]
        strange += v != v
        back = v if j == a or wins(v, back) else back
        out[u(j)] = back if wins(back, older) else older
        place += step
    return strange > 0
