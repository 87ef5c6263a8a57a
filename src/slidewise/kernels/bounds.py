"""Which rows each row's window holds: [starts, ends) for rows sorted by key and, within a key, by time."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.kernels.jit import cached_jit


@cached_jit
def row_bounds(offsets: Any, n: int, left: bool, starts: Any, ends: Any) -> None:
    """The last n rows of the same key, the row itself included unless `left`; key k has the rows offsets[k:k + 2]."""
    for k in range(len(offsets) - 1):
        first = offsets[k]
        for i in range(first, offsets[k + 1]):
            end = i if left else i + 1
            starts[i] = max(first, end - n)
            ends[i] = end


@cached_jit
def time_bounds(
    times: Any, offsets: Any, width: Any, whole: bool, edge: bool, left: bool, starts: Any, ends: Any
) -> Any:
    """The rows of the same key in the stretch of time that ends at the row's; rows of equal time are peers.

    Times that are `whole` are compared by their age, which is exact; others with the window's start, as written. `edge`
    takes in rows exactly `width` ago, `left` leaves out the row and its peers. Gives a position whose time lies before
    that of the row ahead of it in the key, or -1.
    """
    for k in range(len(offsets) - 1):
        start = offsets[k]
        stop = offsets[k + 1]
        i = start
        while i < stop:
            t = times[i]
            if whole:
                now = np.uint64(t)
                while now - np.uint64(times[start]) > width:
                    start += 1
                if not edge:
                    while now - np.uint64(times[start]) == width:
                        start += 1
            else:
                oldest = t - width
                while times[start] < oldest:
                    start += 1
                if not edge:
                    while times[start] == oldest:
                        start += 1
            peer = i + 1
            if peer < stop and not times[peer] > t:
                while peer < stop and times[peer] == t:
                    peer += 1
                if peer < stop and not times[peer] > t:
                    return peer
            end = i if left else peer
            for j in range(i, peer):
                starts[j] = min(start, end)
                ends[j] = end
            i = peer
    return -1


@cached_jit
def longest(starts: Any, ends: Any) -> Any:
    """The number of rows of the longest window."""
    most = 0
    for i in range(len(starts)):
        most = max(most, ends[i] - starts[i])
    return most


@cached_jit
def _count(codes: Any, offsets: Any) -> None:
    for code in codes:
        offsets[code + 1] += 1
    for k in range(1, len(offsets)):
        offsets[k] += offsets[k - 1]


@cached_jit
def _place(codes: Any, next_place: Any, places: Any) -> None:
    for i in range(len(codes)):
        code = codes[i]
        places[i] = next_place[code]
        next_place[code] += 1


@cached_jit
def _scatter(x: Any, places: Any, out: Any) -> None:
    for i in range(len(x)):
        out[places[i]] = x[i]


@cached_jit
def _gather(x: Any, places: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = x[places[i]]


class Grouped:
    """Rows of each key brought together, in their order: where each row goes, and where each key's rows begin and end.

    Both ways walk through the rows in the input's order, so that memory is read and written in as many streams as there
    are keys, and not at random.
    """

    def __init__(self, codes: Any, groups: int) -> None:
        self.offsets = np.zeros(groups + 1, np.int64)
        _count(codes, self.offsets)
        self.places: Any = np.empty(len(codes), np.int32 if len(codes) < 2**31 else np.int64)
        _place(codes, self.offsets[:-1].copy(), self.places)

    def bring(self, x: Any) -> Any:
        """The values in the order of keys."""
        out = np.empty_like(x)
        if x.dtype == object:
            out[self.places] = x
        else:
            _scatter(x, self.places, out)
        return out

    def take_back(self, x: Any) -> Any:
        """The values in the order of the input."""
        if x.dtype == object:
            return x[self.places]
        out = np.empty_like(x)
        _gather(x, self.places, out)
        return out


@cached_jit
def distinct_counts(codes: Any, groups: int, starts: Any, ends: Any, out: Any) -> None:
    """How many different codes each window holds: a count per code, kept as rows come and go."""
    counts = np.zeros(groups, np.int64)
    distinct = 0
    start = 0
    end = 0
    for i in range(len(starts)):
        s = starts[i]
        e = ends[i]
        if s >= e:
            continue
        while end < e:
            distinct += counts[codes[end]] == 0
            counts[codes[end]] += 1
            end += 1
        while start < s:
            counts[codes[start]] -= 1
            distinct -= counts[codes[start]] == 0
            start += 1
        out[i] = distinct
