"""Exact sums and means over windows [starts, ends) that never move back, by the parts of `row_sums`.

How many rows come and go from one window to the next is hard to foresee, and each wrong guess of the processor costs
more than all additions. So for a tile of windows the totals of all rows that come are laid out, and those of all rows
that go; a window's sum is a difference of two of them.
"""

from __future__ import annotations

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.bounds.rows_and_times import longest
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.compiler.threads import parts_of, share_parts
from slidewise.kernels.sums.row_sums import average, cut, largest, run_up, total, units

_ROOM = 512  # rows that may come, and go, within a tile
_WINDOWS = _ROOM // 2  # of a tile
_OVERLAP = 4  # parts are so many times as long as a window, whose rows are added up anew

_Three = tuple[float, float, float]
_Arrays = tuple[Array, Array, Array]


@jit
def _lay_out(x: Array, s0: float, s1: float, s2: float, t: _Three, d0: Array, d1: Array, d2: Array) -> int:
    """Write t, and the totals after each value; whether parts were lost."""
    n = len(x)
    d0[0], d1[0], d2[0] = t
    lost = cut(x, s0, s1, s2, d0[1 : n + 1], d1[1 : n + 1], d2[1 : n + 1])
    run_up(d0[1 : n + 1], d1[1 : n + 1], d2[1 : n + 1], t[0], t[1], t[2])
    return lost


@jit
def _tile(
    starts: Array, start: int, ends: Array, end: int, come: _Arrays, gone: _Arrays, mean: bool, out: Array
) -> None:
    """Answers of a tile of windows."""
    c0, c1, c2 = come
    g0, g1, g2 = gone
    for i in range(len(out)):
        k = u(ends[i] - end)
        j = u(starts[i] - start)
        if mean:
            out[i] = average(c0[k] - g0[j], c1[k] - g1[j], c2[k] - g2[j], float(ends[i] - starts[i]))
        else:
            out[i] = total(c0[k] - g0[j], c1[k] - g1[j], c2[k] - g2[j])


@jit
def _one_by_one(
    x: Array,
    starts: Array,
    ends: Array,
    start: int,
    end: int,
    t: _Three,
    s0: float,
    s1: float,
    s2: float,
    mean: bool,
    out: Array,
) -> tuple[int, int, _Three, int]:
    """Answers of windows any number of rows apart, or empty, which get none; the totals of the last, where it lies."""
    t0, t1, t2 = t
    lost = 0
    for i in range(len(out)):
        s = starts[i]
        e = ends[i]
        if s >= e:
            continue
        if s >= end:
            t0 = 0.0
            t1 = 0.0
            t2 = 0.0
            start = s
            end = s
        while end < e:
            v = x[end]
            a = (s0 + v) - s0
            r = v - a
            b = (s1 + r) - s1
            r -= b
            lost += (s2 + r) - s2 != r
            t0 += a
            t1 += b
            t2 += r
            end += 1
        while start < s:
            v = x[start]
            a = (s0 + v) - s0
            r = v - a
            b = (s1 + r) - s1
            t0 -= a
            t1 -= b
            t2 -= r - b
            start += 1
        out[i] = average(t0, t1, t2, float(e - s)) if mean else total(t0, t1, t2)
    return start, end, (t0, t1, t2), lost


@jit
def _three() -> _Arrays:
    return np.empty(_ROOM + 1), np.empty(_ROOM + 1), np.empty(_ROOM + 1)


@tiered_jit
def _sum_bounds(x: Array, starts: Array, ends: Array, s0: float, s1: float, s2: float, mean: bool, out: Array) -> bool:
    """Write the sums, or the means, of all windows; whether they are exact."""
    lost = 0
    start = 0
    end = 0
    t = (0.0, 0.0, 0.0)
    come = _three()
    gone = _three()
    for a in range(0, len(starts), _WINDOWS):
        S = starts[a : a + _WINDOWS]
        E = ends[a : a + _WINDOWS]
        into = out[a : a + _WINDOWS]
        empty = 0
        for i in range(len(S)):
            empty += S[i] >= E[i]
        comes = E[-1] - end
        goes = S[-1] - start
        if empty == 0 and comes <= _ROOM and 0 <= goes <= _ROOM and S[0] >= start:
            lost += _lay_out(x[end : end + comes], s0, s1, s2, t, *come)
            _lay_out(x[start : start + goes], s0, s1, s2, (0.0, 0.0, 0.0), *gone)
            _tile(S, start, E, end, come, gone, mean, into)
            t = come[0][comes] - gone[0][goes], come[1][comes] - gone[1][goes], come[2][comes] - gone[2][goes]
            start += goes
            end += comes
        else:
            start, end, t, lost_here = _one_by_one(x, S, E, start, end, t, s0, s1, s2, mean, into)
            lost += lost_here
    return lost == 0


def sum_bounds(x: Array, starts: Array, ends: Array, mean: bool) -> Array | None:
    """The sums or means of float64 values, or None where they cannot be had this way."""
    most = int(longest(starts, ends))
    scales = units(largest(x), max(1, most) + _ROOM)
    if scales is None:
        return None
    count = len(starts)
    out = np.empty(count)
    parts = min(parts_of(count), max(1, count // (_OVERLAP * max(most, 1))))
    lost: list[int] = []

    def work(a: int, b: int) -> None:
        if not lost and not _sum_bounds(x, starts[a:b], ends[a:b], *scales, mean, out[a:b]):
            lost.append(a)

    share_parts([count * i // parts for i in range(parts + 1)], work)
    return None if lost else out
