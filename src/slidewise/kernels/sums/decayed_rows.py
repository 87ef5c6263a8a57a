"""Decayed means of everything up to each row, from times and values in one pass: no columns of half-lives and weights.

Each tile of rows gets its weights, then running sums with what is rounded off them, then its answers. The sums are off
by less than 2^-70 of the sum of |x| * weight over a million rows.
"""

from __future__ import annotations

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.sums.fma import fma

_TILE = 512
_SMALLEST, _LARGEST = 2.0**-800, 2.0**900  # sizes of values that are normal numbers all the way
_FARTHEST = 2**62  # ticks, so that differences fit into 64 bits


@jit
def _weigh(rests: Array, length: float, highs: Array, lows: Array, steps: Array, weights: Array) -> None:
    """The weights of rows so many ticks into their half-lives, by the steps of `weight_of_share`."""
    for k in range(len(rests)):
        share = rests[u(k)] / length
        i = np.int32(share * 128.0 + 0.5)
        z = (share - i * 0.0078125) * 0.6931471805599453
        q = z * (1.0 + z * (0.5 + z * (0.16666666666666666 + z * (0.041666666666666664 + z * 0.008333333333333333))))
        weights[u(k)] = q
        steps[u(k)] = i
    for k in range(len(rests)):
        high = highs[u(steps[u(k)])]
        weights[u(k)] = high + (lows[u(steps[u(k)])] + high * weights[u(k)])


@jit
def _power(halvings: int) -> float:
    factor = 1.0
    while halvings > 62 and factor != 0.0:
        factor, halvings = factor * 2.0**-62, halvings - 62
    return factor / float(1 << halvings) if factor != 0.0 else 0.0


@cached_jit
def _decayed_rows(x: Array, times: Array, unit: int, length: int, highs: Array, lows: Array, out: Array) -> bool:
    halves, since, weights = np.empty(_TILE, np.int64), np.empty(_TILE), np.empty(_TILE)
    steps = np.empty(_TILE, np.int32)
    sums, sums_lows, of_weights, weights_lows = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    half_life = times[0] * unit // length
    base = half_life * length
    newest = half_life
    last = times[0]
    wide = float(length)
    s, c, w, d = 0.0, 0.0, 0.0, 0.0
    backwards, peers, odd = 0, 0, 0
    for a in range(0, len(x), _TILE):
        m = min(_TILE, len(x) - a)
        values = x[a : a + m]
        clock = times[a : a + m]
        for i in range(m):
            time = clock[u(i)]
            backwards += time < last
            peers += time == last
            last = time
            rest = time * unit - base
            if rest >= length:
                half_life += rest // length
                base = half_life * length
                rest = time * unit - base
            backwards += (rest < 0) | (rest >= length)  # of times so far off that 64 bits do not hold them
            halves[u(i)] = half_life
            since[u(i)] = float(rest)
        if backwards:
            return False
        _weigh(since[:m], wide, highs, lows, steps, weights)
        for i in range(m):
            p = abs(values[u(i)] * weights[u(i)])
            odd += not ((p < _LARGEST) & ((p > _SMALLEST) | (values[u(i)] == 0.0)))
        for i in range(m):
            if halves[u(i)] != newest:
                factor = _power(halves[u(i)] - newest)
                s, c, w, d = s * factor, c * factor, w * factor, d * factor
                newest = halves[u(i)]
            v, by = values[u(i)], weights[u(i)]
            p = v * by
            e = s + p
            t = e - s
            c += ((s - (e - t)) + (p - t)) + fma(v, by, -p)
            s = e
            e = w + by
            t = e - w
            d += (w - (e - t)) + (by - t)
            w = e
            sums[u(i)], sums_lows[u(i)], of_weights[u(i)], weights_lows[u(i)] = s, c, w, d
        for i in range(m):
            high = sums[u(i)] + sums_lows[u(i)]
            t = high - sums[u(i)]
            low = (sums[u(i)] - (high - t)) + (sums_lows[u(i)] - t)
            by = of_weights[u(i)] + weights_lows[u(i)]
            by_low = (of_weights[u(i)] - by) + weights_lows[u(i)]
            inverse = 1.0 / by
            q = high * inverse
            r = (fma(-q, by, high) + (low - q * by_low)) * inverse
            out[u(a + i)] = (q + r) + 0.0
        e = s + c
        t = e - s
        s, c = e, (s - (e - t)) + (c - t)
        e = w + d
        w, d = e, (w - e) + d
    if peers > 1:  # the first row is its own
        for i in range(len(x) - 2, -1, -1):  # peers have the answer of the last of them
            if times[u(i)] == times[u(i + 1)]:
                out[u(i)] = out[u(i + 1)]
    return odd == 0


def decayed_rows(x: Array, times: Array, unit: int, length: int, highs: Array, lows: Array) -> Array | None:
    """The means over rows in the order of time, whose ticks are so many units and the half-life so long in these.

    None where they cannot be had this way: times run backwards or lie far off, values are no numbers, or so large or
    small that floats around them are few.
    """
    if not len(x) or length >= _FARTHEST or max(-int(times[0]), int(times[-1])) * unit >= _FARTHEST:
        return None
    if int(times[0]) > int(times[-1]) or -int(times[0]) * unit + length >= _FARTHEST:
        return None
    out = np.empty(len(x))
    return out if _decayed_rows(x, times, unit, length, highs, lows, out) else None
