"""Bounds of windows of time whose old edge is rounded down to a grain: `windows.grain` for all rows at once."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.bounds.rows_and_times import ends_of_peers
from slidewise.kernels.compiler.jit import tiered_jit
from slidewise.windows import grain as exactly

Number = int | float | Fraction
_LEAST = np.iinfo(np.int64).min


def grain_bounds(
    times: Array, offsets: Array, width: Number, grain: Number, edge: bool, left: bool, starts: Array, ends: Array
) -> int:
    """Bounds [starts, ends) of each row's window within its key; `width` and `grain` count in the times' unit.

    `edge` takes in the old edge itself, `left` leaves out the row and its peers. Gives a position whose time lies
    before that of the row ahead of it in the key, or -1.
    """
    width, grain = Fraction(width), Fraction(grain)
    whole = times.dtype == np.int64 and width.denominator == grain.denominator == 1
    if whole and _farthest(times) + width + grain < 2**62:
        return int(_whole_bounds(times, offsets, int(width), int(grain), edge, left, starts, ends))
    return int(_low_bounds(times, offsets, lows(times, width, grain, edge), left, starts, ends))


def lows(times: Array, width: Number, grain: Number, edge: bool) -> Array:
    """The lowest time in each row's window; `width` and `grain` count in the times' unit."""
    if times.dtype == np.float64:
        with np.errstate(all="ignore"):  # the farthest floats have infinity beside them
            start = _multiples(times - float(width), float(grain))
            return start if edge else np.nextafter(np.minimum(start, cells(times, grain, edge)), np.inf)
    width, grain = Fraction(width), Fraction(grain)
    scale = lcm(width.denominator, grain.denominator)
    w, g = int(width * scale), int(grain * scale)
    if _farthest(times) * scale + w + g >= 2**63:
        exact = [max(exactly.lowest(time, width, grain, edge), _LEAST) for time in times.tolist()]
        return np.array(exact, np.int64)
    start = (times * scale - w) // g * g
    return -(-start // scale) if edge else start // scale + 1


def cells(times: Array, grain: Number, edge: bool) -> Array:
    """The cell of each time, as a number that grows from cell to cell."""
    if times.dtype == np.float64:
        with np.errstate(all="ignore"):
            return _multiples(times if edge else np.nextafter(times, -np.inf), float(grain))
    grain = Fraction(grain)
    scale = grain.denominator
    if _farthest(times) * scale + 1 >= 2**63:
        return np.array([*(exactly.cell(time, grain, edge) for time in times.tolist()), None], object)[:-1]
    array: Array = (times * scale - (0 if edge else 1)) // int(grain * scale)
    return array


def _multiples(times: Array, grain: float) -> Array:
    """The greatest multiple of the grain at or below each float time."""
    quotient = times / grain
    k = np.floor(quotient)
    k = np.where((k + 1) * grain <= times, k + 1, np.where(k * grain > times, k - 1, k))
    return np.where(np.abs(quotient) < exactly.FINE, k * grain, times)


def _farthest(times: Array) -> int:
    return max(abs(int(times.max(initial=0))), abs(int(times.min(initial=0))))


@tiered_jit
def _whole_bounds(
    times: Array, offsets: Array, width: int, grain: int, edge: bool, left: bool, starts: Array, ends: Array
) -> int:
    """The bounds for whole times; an edge is rounded when it moves on, which is once for many rows."""
    for k in range(len(offsets) - 1):
        start = offsets[k]
        low = 0
        moves = 0
        for i in range(offsets[k], offsets[k + 1]):
            time = times[i]
            if i > offsets[k] and time < times[i - 1]:
                return i
            if i == offsets[k] or time >= moves:
                rounded = (time - width) // grain * grain
                low = rounded if edge else rounded + 1
                moves = rounded + grain + width
            while times[start] < low:
                start += 1
            starts[i] = start
        ends_of_peers(times, offsets[k], offsets[k + 1], left, starts, ends)
    return -1


@tiered_jit
def _low_bounds(times: Array, offsets: Array, lows: Array, left: bool, starts: Array, ends: Array) -> int:
    """The bounds from the first row at or above a row's low up to the last of its peers."""
    for k in range(len(offsets) - 1):
        start = offsets[k]
        for i in range(offsets[k], offsets[k + 1]):
            if i > offsets[k] and times[i] < times[i - 1]:
                return i
            while times[start] < lows[i]:
                start += 1
            starts[i] = start
        ends_of_peers(times, offsets[k], offsets[k + 1], left, starts, ends)
    return -1
