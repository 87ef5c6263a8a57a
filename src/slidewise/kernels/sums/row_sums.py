"""Sums and means over the last n rows: exact, at the speed of plain additions.

Each value is cut into three parts, multiples of three fixed units so coarse that sums of n parts need no rounding.
Plain floats then add and subtract without any error, so a running total never drifts, and the three totals together are
the exact sum, which is rounded once. Where values span too many bits for three parts, or are not finite, the functions
say so and the double-double kernel runs instead.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from slidewise.kernels.compiler.cache import load_source
from slidewise.kernels.compiler.jit import cached_jit

PARTS = '''
import numpy as np
from numba import uintp as u
from slidewise.kernels.compiler.jit import njit
from slidewise.kernels.sums.fma import fma

TILE = 1024


@njit(cache=True, nogil=True)
def largest(x):
    """The largest magnitude as a float; infinite where any value is not finite. Bits of floats order like integers."""
    bits = x.view(np.int64)
    most = 0
    for b in bits:
        most = max(most, b & 0x7FFFFFFFFFFFFFFF)
    return most


@njit(nogil=True, error_model="numpy")
def cut(x, s0, s1, s2, d0, d1, d2):
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


@njit(nogil=True, error_model="numpy")
def run_up(d0, d1, d2, t0, t1, t2):
    """Make changes totals."""
    for i in range(len(d0)):
        t0 += d0[i]
        t1 += d1[i]
        t2 += d2[i]
        d0[i] = t0
        d1[i] = t1
        d2[i] = t2
    return t0, t1, t2


@njit(nogil=True, error_model="numpy")
def total(a, b, c):
    """Three parts, rounded once."""
    s = a + b
    t = s - a
    return s + (((a - (s - t)) + (b - t)) + c) + 0.0


@njit(nogil=True, error_model="numpy")
def average(a, b, c, n):
    """Three parts divided by n, rounded once."""
    s = a + b
    t = s - a
    e = ((a - (s - t)) + (b - t)) + c
    hi = s + e
    lo = e - (hi - s)
    q = hi / n
    left = fma(-q, n, hi) + lo
    return q + left / n + 0.0
'''

_ROWS = '''
@njit(nogil=True, error_model="numpy")
def cut_off(x, s0, s1, s2, d0, d1, d2):
    """Take the parts of values that leave off the parts of those that come."""
    for i in range(len(x)):
        v = x[i]
        a = (s0 + v) - s0
        r = v - a
        b = (s1 + r) - s1
        d0[i] -= a
        d1[i] -= b
        d2[i] -= r - b


@njit(nogil=True, error_model="numpy")
def totals(d0, d1, d2, out):
    for i in range(len(out)):
        out[i] = total(d0[i], d1[i], d2[i])


@njit(nogil=True, error_model="numpy")
def averages(d0, d1, d2, first, growth, out):
    """Over `first` rows, and over `growth` more for each row after it."""
    for i in range(len(out)):
        out[i] = average(d0[i], d1[i], d2[i], first + growth * i)


@njit(cache=True, nogil=True, error_model="numpy")
def sum_rows(x, offsets, n, s0, s1, s2, mean, out):
    """Write the sums, or the means, of the last n rows of each key; whether they are exact."""
    parts = np.empty((3, TILE))
    exact = True
    for k in range(len(offsets) - 1):
        a = offsets[k]
        b = offsets[k + 1]
        exact &= sum_key(x[a:b], n, s0, s1, s2, mean, parts, out[a:b])
    return exact


@njit(nogil=True, error_model="numpy")
def sum_key(x, n, s0, s1, s2, mean, parts, out):
    m = len(x)
    t0 = 0.0
    t1 = 0.0
    t2 = 0.0
    lost = 0
    a = 0
    while a < m:
        size = min(TILE, m - a, n - a if a < n else m)
        d0 = parts[0, :size]
        d1 = parts[1, :size]
        d2 = parts[2, :size]
        lost += cut(x[a : a + size], s0, s1, s2, d0, d1, d2)
        if a >= n:
            cut_off(x[a - n : a - n + size], s0, s1, s2, d0, d1, d2)
        t0, t1, t2 = run_up(d0, d1, d2, t0, t1, t2)
        if not mean:
            totals(d0, d1, d2, out[a : a + size])
        elif a >= n:
            averages(d0, d1, d2, float(n), 0.0, out[a : a + size])
        else:
            averages(d0, d1, d2, float(a + 1), 1.0, out[a : a + size])
        a += size
    return lost == 0
'''


@cache
def _compiled() -> Any:
    return load_source("fast_sums", PARTS + _ROWS)


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


def sum_rows(x: Any, offsets: Any, n: int, mean: bool) -> Any | None:
    """The sums or means of the last n rows of each key's float64 values, or None where they cannot be had this way."""
    scales = units(largest(x), min(n, len(x)))
    if scales is None:
        return None
    out = np.empty(len(x))
    return out if _compiled().sum_rows(x, offsets, n, *scales, mean, out) else None


@cached_jit
def _logarithms(x: Any, out: Any) -> None:
    for i in range(len(x)):
        v = float(x[i])
        out[i] = math.log(v) if v > 0 else -math.inf if v == 0 else math.nan


@cached_jit
def _exponentials(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = math.exp(x[i])


def logarithms(x: Any) -> Any:
    """The logarithms of all values: -inf of zero, NaN of negative ones."""
    out = np.empty(len(x))
    _logarithms(x, out)
    return out


def exponentials(x: Any) -> Any:
    """The exponentials of all values, in place."""
    _exponentials(x, x)
    return x


def largest(x: Any) -> float:
    """The largest magnitude, infinite where a value is not finite."""
    most = np.array([_compiled().largest(x)]).view(np.float64)[0]
    return float(most) if np.isfinite(most) else float("inf")
