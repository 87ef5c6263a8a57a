"""Ranges of rows that are sorted by key, and the bounds of their windows found range by range, in threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.compiler.threads import free_threads, share_parts, worth

# Fills in the bounds of the windows of some rows, given their first and the one past the last, the keys' offsets among
# them, and room; a position where they do not stand in order, or -1.
FillBounds = Callable[[int, int, Array, Array, Array], int]
# What a cut before a row costs: the first row of its window or one before, and one past the last that the windows
# before the cut need, given the row and its key's first and last rows. None where its key cannot be cut.
Reach = Callable[[int, int, int], tuple[int, int]]


def keys_within(offsets: Array, a: int, b: int) -> tuple[int, int]:
    """The keys that have rows from a to b, and perhaps some without any: from the first, to one past the last."""
    return int(np.searchsorted(offsets, a, "right")) - 1, int(np.searchsorted(offsets, b, "left"))


def clipped(offsets: Array, a: int, b: int) -> Array:
    """The offsets of keys among the rows from a to b only."""
    first, last = keys_within(offsets, a, b)
    inside: Array = np.clip(offsets[first : last + 1], a, b) - a
    return inside


def fill_in_ranges(offsets: Array, fill: FillBounds, reach: Reach | None, starts: Array, ends: Array) -> int:
    """Fill in the bounds of all rows as `fill` does at once; a position where they do not stand in order, or -1.

    Ranges are cut between keys, and within a key where `reach` allows it and few rows are needed twice.
    """
    count = len(starts)
    threads = free_threads(count)
    if threads < 2:
        return fill(0, count, offsets, starts, ends)
    cuts = _cuts(offsets, count, min(worth(count), 4 * threads), reach)
    ranges = dict(zip([a for a, _, _ in cuts], cuts[1:], strict=False))
    lows = {a: low for a, low, _ in cuts}
    positions: list[int] = []

    def work(a: int, b: int) -> None:
        low, last = lows[a], ranges[a][2]
        firsts, lasts = starts[a:b], ends[a:b]
        if low < a or last > b:
            firsts, lasts = np.empty(last - low, starts.dtype), np.empty(last - low, ends.dtype)
        position = fill(low, last, clipped(offsets, low, last), firsts, lasts)
        if position >= 0:
            positions.append(low + position)
        np.add(firsts[a - low : b - low], low, out=starts[a:b])
        np.add(lasts[a - low : b - low], low, out=ends[a:b])

    share_parts([a for a, _, _ in cuts], work)
    return min(positions, default=-1)


def _cuts(offsets: Array, count: int, parts: int, reach: Reach | None) -> list[tuple[int, int, int]]:
    """Rows to cut before, with the first row that is needed from there on, and one past the last one before that is."""
    cuts = [(0, 0, 0)]
    for i in range(1, parts):
        at = count * i // parts
        key = int(np.searchsorted(offsets, at, "right")) - 1
        first, stop = int(offsets[key]), int(offsets[key + 1])
        if at > first and (reach is None or stop - at < count // (2 * parts)):
            at = first = stop
        if at <= cuts[-1][0] or at >= count:
            continue
        low, last = (at, at) if at == first or reach is None else reach(at, first, stop)
        cuts.append((at, low, last))
    cuts.append((count, count, count))
    if reach is not None and 2 * sum(at - low for at, low, _ in cuts) > count:
        return _cuts(offsets, count, parts, None)
    return cuts
