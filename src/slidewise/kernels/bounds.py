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
def time_bounds(times: Any, offsets: Any, width: Any, edge: bool, left: bool, starts: Any, ends: Any) -> Any:
    """The rows of the same key in the stretch of time that ends at the row's; rows of equal time are peers.

    `edge` takes in rows exactly `width` ago, `left` leaves out the row and its peers. Gives the first position whose
    time lies before that of the row ahead of it in the key, or -1.
    """
    for k in range(len(offsets) - 1):
        start = offsets[k]
        i = start
        stop = offsets[k + 1]
        while i < stop:
            t = times[i]
            peer = i + 1
            while peer < stop and times[peer] == t:
                peer += 1
            if peer < stop and not times[peer] > t:
                return peer
            oldest = t - width
            while start < i and (times[start] < oldest or (times[start] == oldest and not edge)):
                start += 1
            end = i if left else peer
            for j in range(i, peer):
                starts[j] = start
                ends[j] = end
            i = peer
    return -1


@cached_jit
def _count(codes: Any, offsets: Any) -> None:
    for code in codes:
        offsets[code + 1] += 1
    for k in range(1, len(offsets)):
        offsets[k] += offsets[k - 1]


@cached_jit
def _place(codes: Any, next_place: Any, order: Any) -> None:
    for i in range(len(codes)):
        code = codes[i]
        order[next_place[code]] = i
        next_place[code] += 1


def group(codes: Any, groups: int) -> tuple[Any, Any]:
    """The stable order that brings rows of one code together, and where each code's rows begin and end in it."""
    offsets = np.zeros(groups + 1, np.int64)
    _count(codes, offsets)
    order = np.empty(len(codes), np.int64)
    _place(codes, offsets[:-1].copy(), order)
    return order, offsets


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
