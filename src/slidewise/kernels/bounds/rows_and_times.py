"""Bounds of windows of rows and of time: [starts, ends) for rows sorted by key and, within a key, by time."""

from __future__ import annotations

import numpy as np
from numba import int64
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit


@tiered_jit
def row_bounds(offsets: Array, n: int, left: bool, starts: Array, ends: Array) -> None:
    """Bounds of the last n rows of a key, without the row itself if `left`; key k has the rows offsets[k:k + 2]."""
    for k in range(len(offsets) - 1):
        first = offsets[k]
        for i in range(first, offsets[k + 1]):
            end = i if left else i + 1
            starts[i] = max(first, end - n)
            ends[i] = end


def newest_rows(starts: Array, ends: Array, limit: int | None) -> Array:
    """The starts of windows that hold so many of their rows at most, the newest; as they are without a limit."""
    if limit is None or not len(starts):
        return starts
    least: Array = np.maximum(starts, ends - min(limit, int(ends.max(initial=0))))
    return least


@tiered_jit
def some_row_bounds(offsets: Array, n: int, a: int, starts: Array, ends: Array) -> None:
    """Bounds of the last n rows for the rows from a on, as many as `starts` holds, each itself included."""
    k = np.searchsorted(offsets, a, "right") - 1
    i = a
    while i < a + len(starts):
        first = offsets[k]
        stop = min(offsets[k + 1], a + len(starts))
        for j in range(i, stop):
            starts[u(j - a)] = max(first, j + 1 - n)
            ends[u(j - a)] = j + 1
        i = max(i, stop)
        k += 1


@tiered_jit
def time_bounds(
    times: Array,
    offsets: Array,
    width: float | np.uint64,
    whole: bool,
    edge: bool,
    left: bool,
    starts: Array,
    ends: Array,
) -> int:
    """Bounds of the rows of the same key in the stretch of time that ends at the row's; rows of equal time are peers.

    Times that are `whole` are compared by their age, which is exact; others with the window's start, as written. `edge`
    takes in rows exactly `width` ago, `left` leaves out the row and its peers. Gives a position whose time lies before
    that of the row ahead of it in the key, or -1.
    """
    for k in range(len(offsets) - 1):
        first = offsets[k]
        stop = offsets[k + 1]
        equal = 0
        backwards = 0
        for i in range(first + 1, stop):
            equal += times[u(i)] == times[u(i - 1)]
            backwards += times[u(i)] < times[u(i - 1)]
        if backwards:
            for i in range(first + 1, stop):
                if times[u(i)] < times[u(i - 1)]:
                    return i
        if whole and (edge or width > 0):
            oldest = np.uint64(width) if edge else np.uint64(width) - np.uint64(1)
            _first_not_older(times, first, stop, oldest, starts)
        else:
            _first_after(times, first, stop, width, whole, edge, starts)
        if left or equal:
            ends_of_peers(times, first, stop, left, starts, ends)
        else:
            for i in range(first, stop):
                ends[u(i)] = i + 1
    return -1


@jit
def _not_older(times: Array, start: int, now: np.uint64, oldest: np.uint64) -> int:
    """The first position from start on whose age is not above the oldest.

    How many rows grow too old at once is hard to foresee, and a wrong guess of the processor costs more than to look at
    four of them. The row itself is never too old, so none after it is counted.
    """
    while True:
        old = now - np.uint64(times[u(start)]) > oldest
        count = int64(old)
        old &= now - np.uint64(times[u(start + 1)]) > oldest
        count += old
        old &= now - np.uint64(times[u(start + 2)]) > oldest
        count += old
        old &= now - np.uint64(times[u(start + 3)]) > oldest
        count += old
        start += count
        if not old:
            return start


@jit
def _first_not_older(times: Array, first: int, stop: int, oldest: np.uint64, starts: Array) -> None:
    """The starts of one key's windows: those of four quarters at once, since each start waits for the one before."""
    quarter = max(0, stop - first - 3) // 4
    a = first
    b = first + quarter
    c = first + 2 * quarter
    d = first + 3 * quarter
    at_a = first
    at_b = _search(times, first, b, oldest)
    at_c = _search(times, first, c, oldest)
    at_d = _search(times, first, d, oldest)
    for j in range(quarter):
        at_a = _not_older(times, at_a, np.uint64(times[u(a + j)]), oldest)
        starts[u(a + j)] = at_a
        at_b = _not_older(times, at_b, np.uint64(times[u(b + j)]), oldest)
        starts[u(b + j)] = at_b
        at_c = _not_older(times, at_c, np.uint64(times[u(c + j)]), oldest)
        starts[u(c + j)] = at_c
        at_d = _not_older(times, at_d, np.uint64(times[u(d + j)]), oldest)
        starts[u(d + j)] = at_d
    for i in range(first + 4 * quarter, stop):
        while np.uint64(times[i]) - np.uint64(times[at_d]) > oldest:
            at_d += 1
        starts[i] = at_d


@jit
def _search(times: Array, low: int, i: int, oldest: np.uint64) -> int:
    """The start of the window of row i, by bisection."""
    high = i
    while low < high:
        middle = (low + high) // 2
        if np.uint64(times[i]) - np.uint64(times[middle]) > oldest:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def _first_after(
    times: Array, first: int, stop: int, width: float | np.uint64, whole: bool, edge: bool, starts: Array
) -> None:
    """The starts of one key's windows where times are floats, or windows hold a single time."""
    start = first
    for i in range(first, stop):
        oldest = times[i] if whole else times[i] - width
        while times[start] < oldest:
            start += 1
        if not edge:
            while times[start] == oldest and oldest < times[i]:  # its own time is in the window, however rounded
                start += 1
        starts[i] = start


@jit
def ends_of_peers(times: Array, first: int, stop: int, left: bool, starts: Array, ends: Array) -> None:
    """The ends of one key's windows: past the last peer, or with `left` before the first."""
    if left:
        end = first
        for i in range(first, stop):
            end = end if i > first and times[i] == times[i - 1] else i
            starts[i] = min(starts[i], end)
            ends[i] = end
    else:
        end = stop
        for i in range(stop - 1, first - 1, -1):
            end = end if i + 1 < stop and times[i] == times[i + 1] else i + 1
            starts[i] = min(starts[i], end)
            ends[i] = end


@tiered_jit
def longest(starts: Array, ends: Array) -> int:
    """The number of rows of the longest window."""
    most = 0
    for i in range(len(starts)):
        most = max(most, ends[i] - starts[i])
    return most
