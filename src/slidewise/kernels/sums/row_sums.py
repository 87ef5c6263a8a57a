"""Exact sums and means over the last n rows, at the speed of plain additions.

Each value is cut into three parts, multiples of three fixed units so coarse that sums of n parts need no rounding.
Plain floats then add and subtract without any error, so a running total never drifts, and the three totals together are
the exact sum, which is rounded once. Where values span too many bits for three parts, or are not finite, the functions
return None and the double-double kernel runs instead.
"""

from __future__ import annotations

import math

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.sums.fma import fma

_TILE = 1024  # rows whose parts are in the processor's nearest cache at once


def units(most: float, n: int) -> tuple[float, float, float] | None:
    """The three numbers that cut values of at most this magnitude, for sums of n of them; None where there are none."""
    if not most < 2.0**900 or n > 2**30:
        return None
    if most == 0.0:
        most = 1.0
    scales = []
    for _ in range(3):
        exponent = int(np.frexp(most * n)[1]) + 1
        if exponent < -900:
            return None
        scales.append(1.5 * 2.0**exponent)
        most = 2.0 ** (exponent - 53)
    return scales[0], scales[1], scales[2]


def largest(x: Array) -> float:
    """The largest magnitude, infinite where a value is not finite."""
    most = np.array([_largest(x)]).view(np.float64)[0]
    return float(most) if np.isfinite(most) else float("inf")


@tiered_jit
def _largest(x: Array) -> int:
    """The largest magnitude as a float; infinite where any value is not finite. Bits of floats order like integers."""
    bits = x.view(np.int64)
    most = 0
    for b in bits:
        most = max(most, b & 0x7FFFFFFFFFFFFFFF)
    return most


@jit
def cut(x: Array, s0: float, s1: float, s2: float, d0: Array, d1: Array, d2: Array) -> int:
    """Cut values into their three parts; whether the parts are all there is to them."""
    lost = 0
    for i in range(len(x)):
        v = x[i]
        a = (s0 + v) - s0
        r = v - a
        b = (s1 + r) - s1
        r -= b
        c = (s2 + r) - s2
        lost += c != r
        d0[i] = a
        d1[i] = b
        d2[i] = c
    return lost


@jit
def run_up(d0: Array, d1: Array, d2: Array, t0: float, t1: float, t2: float) -> tuple[float, float, float]:
    """Make changes totals."""
    for i in range(len(d0)):
        t0 += d0[i]
        t1 += d1[i]
        t2 += d2[i]
        d0[i] = t0
        d1[i] = t1
        d2[i] = t2
    return t0, t1, t2


@jit
def total(a: float, b: float, c: float) -> float:
    """Three parts, rounded once."""
    s = a + b
    t = s - a
    return s + (((a - (s - t)) + (b - t)) + c) + 0.0


@jit
def average(a: float, b: float, c: float, n: float) -> float:
    """Three parts divided by n, rounded once."""
    s = a + b
    t = s - a
    e = ((a - (s - t)) + (b - t)) + c
    hi = s + e
    lo = e - (hi - s)
    q = hi / n
    left: float = fma(-q, n, hi) + lo
    return q + left / n + 0.0


@jit
def _cut_off(x: Array, s0: float, s1: float, s2: float, d0: Array, d1: Array, d2: Array) -> None:
    """Take the parts of values that leave off the parts of those that come."""
    for i in range(len(x)):
        v = x[i]
        a = (s0 + v) - s0
        r = v - a
        b = (s1 + r) - s1
        d0[i] -= a
        d1[i] -= b
        d2[i] -= r - b


@jit
def _totals(d0: Array, d1: Array, d2: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = total(d0[i], d1[i], d2[i])


@jit
def _averages(d0: Array, d1: Array, d2: Array, first: float, growth: float, out: Array) -> None:
    """Over `first` rows, and over `growth` more for each row after it."""
    for i in range(len(out)):
        out[i] = average(d0[i], d1[i], d2[i], first + growth * i)


@tiered_jit
def _sum_rows(x: Array, offsets: Array, n: int, s0: float, s1: float, s2: float, mean: bool, out: Array) -> bool:
    """Write the sums, or the means, of the last n rows of each key; whether they are exact."""
    parts = np.empty((3, _TILE))
    exact = True
    for k in range(len(offsets) - 1):
        a = offsets[k]
        b = offsets[k + 1]
        exact &= _sum_key(x[a:b], n, s0, s1, s2, mean, parts, out[a:b])
    return exact


@jit
def _sum_key(x: Array, n: int, s0: float, s1: float, s2: float, mean: bool, parts: Array, out: Array) -> bool:
    m = len(x)
    t0 = 0.0
    t1 = 0.0
    t2 = 0.0
    lost = 0
    a = 0
    while a < m:
        size = min(_TILE, m - a, n - a if a < n else m)
        d0 = parts[0, :size]
        d1 = parts[1, :size]
        d2 = parts[2, :size]
        lost += cut(x[a : a + size], s0, s1, s2, d0, d1, d2)
        if a >= n:
            _cut_off(x[a - n : a - n + size], s0, s1, s2, d0, d1, d2)
        t0, t1, t2 = run_up(d0, d1, d2, t0, t1, t2)
        if not mean:
            _totals(d0, d1, d2, out[a : a + size])
        elif a >= n:
            _averages(d0, d1, d2, float(n), 0.0, out[a : a + size])
        else:
            _averages(d0, d1, d2, float(a + 1), 1.0, out[a : a + size])
        a += size
    return lost == 0


def sum_rows(x: Array, offsets: Array, n: int, mean: bool) -> Array | None:
    """The sums or means of the last n rows of each key's float64 values, or None where they cannot be had this way."""
    scales = units(largest(x), min(n, len(x)))
    if scales is None:
        return None
    out = np.empty(len(x))
    return out if _sum_rows(x, offsets, n, *scales, mean, out) else None


@tiered_jit
def _logarithms(x: Array, out: Array) -> None:
    for i in range(len(x)):
        v = float(x[i])
        out[i] = math.log(v) if v > 0 else -math.inf if v == 0 else math.nan


@tiered_jit
def _exponentials(x: Array, out: Array) -> None:
    for i in range(len(x)):
        out[i] = math.exp(x[i])


def logarithms(x: Array) -> Array:
    """The logarithms of all values: -inf of zero, NaN of negative ones."""
    out = np.empty(len(x))
    _logarithms(x, out)
    return out


def exponentials(x: Array) -> Array:
    """The exponentials of all values, in place."""
    _exponentials(x, x)
    return x
