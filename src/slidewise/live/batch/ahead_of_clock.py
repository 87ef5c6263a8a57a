"""Which rows of a batch lie too far ahead of the clock, or of the times before them, to be believed."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import cached_jit


def ahead_of_clock(times: Array, length: int, now: int) -> Array:
    """Whether each time, in nanoseconds, lies more than `length` past the clock."""
    limit = now + length
    return np.zeros(len(times), np.bool_) if limit > np.iinfo(np.int64).max else times > limit


def ahead_of_stream(times: Array, length: float, newest: Any) -> Array:
    """Whether each time lies more than `length` past the newest that was believed before it, from `newest` on.

    >>> ahead_of_stream(np.array([3, 99, 5, 98, 14, 25]), 10, np.int64(0)).tolist()
    [False, True, False, True, False, True]
    """
    if times.dtype.kind == "f":
        return _ahead_of_floats(times, float(length), newest)
    return _ahead_of_whole(times, np.uint64(min(length, np.iinfo(np.uint64).max)), newest)


@cached_jit
def _ahead_of_whole(times: Array, length: Any, newest: Any) -> Array:
    ahead = np.zeros(len(times), np.bool_)
    for i in range(len(times)):
        if times[i] > newest:
            if np.uint64(times[i]) - np.uint64(newest) > length:  # which no int64 might hold
                ahead[i] = True
            else:
                newest = times[i]
    return ahead


@cached_jit
def _ahead_of_floats(times: Array, length: float, newest: Any) -> Array:
    ahead = np.zeros(len(times), np.bool_)
    for i in range(len(times)):
        if times[i] > newest:
            if times[i] - length > newest:
                ahead[i] = True
            else:
                newest = times[i]
    return ahead
