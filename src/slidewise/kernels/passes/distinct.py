"""Exact counts of distinct values over sliding windows."""

from __future__ import annotations

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import tiered_jit


@tiered_jit
def distinct_counts(codes: Array, groups: int, starts: Array, ends: Array, out: Array) -> None:
    """The number of distinct codes in each window, by a count per code that is kept up as rows come and go."""
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
