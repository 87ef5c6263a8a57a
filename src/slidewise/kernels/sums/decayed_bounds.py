"""Decayed sums and means over windows [starts, ends) that never move back, by one running sum instead of stacks.

Rows come, and go, by additions whose roundings are added up apart, with a bound on what these sums are off by; at each
new half-life all of it is halved, so nothing that has gone is felt for long. Where the bound may change an answer's
last bit, the row is not sure, and the general kernel answers it.
"""

from __future__ import annotations

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.sums.fma import fma

_SMALLEST, _LARGEST = 2.0**-800, 2.0**900  # sizes of values, and of answers, that are normal numbers all the way
_ROUNDING = 2.0**-52
_SLACK = 2.0**-96  # of an answer: more than what the general kernel's double-doubles are off by
_LOST = 2.0**-1060  # more than what a number loses that is halved until it is below the normal ones

_Sum = tuple[float, float, float]  # a float, what has been rounded off it, and what that may be off by


@jit
def _add(a: _Sum, p: float, low: float) -> _Sum:
    s = a[0] + p
    t = s - a[0]
    r = ((a[0] - (s - t)) + (p - t)) + low
    c = a[1] + r
    return s, c, a[2] + (abs(c) + abs(r)) * _ROUNDING


@jit
def _power(halvings: int) -> float:
    factor = 1.0
    while halvings > 62:
        factor, halvings = factor * 2.0**-62, halvings - 62
    return factor / float(1 << halvings)


@jit
def _lowered(a: _Sum, halvings: int) -> _Sum:
    factor = _power(halvings)
    s, c, off = a[0] * factor, a[1] * factor, a[2] * factor
    if (halvings > 62 or abs(s) < _SMALLEST) and (a[0] != 0.0 or a[1] != 0.0):
        off += abs(a[0]) * 2.0**-1000 + _LOST
    return s, c, off


@jit
def _apart(older: int, newer: int) -> int:
    return newer - older if (newer >> 1) - (older >> 1) <= 1_074 else 2_148


@tiered_jit
def _decayed_bounds(
    x: Array, halves: Array, weights: Array, starts: Array, ends: Array, mean: bool, out: Array, sure: Array
) -> bool:
    """Write the answers, and which are sure; False where rows are of a kind that none is."""
    total, weight = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    start, end, unit, newest = 0, 0, 0, 0.0
    fits = True
    for i in range(len(out)):
        a, b = starts[u(i)], ends[u(i)]
        if a >= b:
            out[u(i)] = 0.0
            sure[u(i)] = False
            continue
        if a >= end:
            total, weight = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            start, end, unit, newest = a, a, halves[u(a)], 0.0
        while end < b:
            v, w, half_life = x[u(end)], weights[u(end)], halves[u(end)]
            if half_life != unit:
                if half_life < unit:
                    return False
                halvings = _apart(unit, half_life)
                total, weight, unit = _lowered(total, halvings), _lowered(weight, halvings), half_life
            else:
                fits &= mean or w >= newest
            newest = w
            p = v * w
            fits &= (abs(p) < _LARGEST) & ((abs(p) > _SMALLEST) | (v == 0.0))
            total = _add(total, p, fma(v, w, -p))
            weight = _add(weight, w, 0.0)
            end += 1
        while start < a:
            v, w = x[u(start)], weights[u(start)]
            p = v * w
            low = fma(v, w, -p)
            if halves[u(start)] != unit:
                halvings = _apart(halves[u(start)], unit)
                p, low, off = _lowered((p, low, 0.0), halvings)
                w *= _power(halvings)
                total = total[0], total[1], total[2] + off
            total = _add(total, -p, -low)
            weight = _add(weight, -w, 0.0)
            start += 1
        high = total[0] + total[1]
        t = high - total[0]
        low = (total[0] - (high - t)) + (total[1] - t)
        by, by_low, off = weights[u(b - 1)], 0.0, 0.0
        if mean:
            by = weight[0] + weight[1]
            by_low, off = (weight[0] - by) + weight[1], weight[2]
        inverse = 1.0 / by
        q = high * inverse
        r = (fma(-q, by, high) + (low - q * by_low)) * inverse
        answer = q + r
        rest = r - (answer - q)
        slack = (total[2] + abs(answer) * off) * inverse + abs(answer) * _SLACK
        out[u(i)] = answer + 0.0
        sure[u(i)] = (
            (answer + (rest + slack) == answer)
            & (answer + (rest - slack) == answer)
            & ((abs(answer) > _SMALLEST) | (slack == 0.0))
        )
    return fits


def decayed_bounds(
    x: Array, half_lives: Array, weights: Array, starts: Array, ends: Array, mean: bool
) -> tuple[Array, Array] | None:
    """The means, or the sums as of the newest rows, and which are sure; None where rows do not stand in the order of
    time, or values are no numbers, or so large or small that floats around them are few."""
    out, sure = np.empty(len(starts)), np.empty(len(starts), np.bool_)
    fits = _decayed_bounds(x, half_lives, weights, starts, ends, mean, out, sure)
    return (out, sure) if fits else None
