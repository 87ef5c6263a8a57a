"""Logarithmic buckets of whole arrays: an approximate quantile of values is an exact one of their buckets' middles."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.operators.values import log_buckets

# The sketch's own functions, compiled from the source that the interpreted one uses.
_bucket: Any = jit(log_buckets.bucket)
_middle: Any = jit(log_buckets.middle)


@cached_jit
def _middles(x: Array, parts: int, out: Array) -> None:
    for i in range(len(x)):
        out[i] = _middle(_bucket(np.float64(x[i]), parts), parts)


@cached_jit
def _numbers(x: Array, parts: int, out: Array) -> None:
    for i in range(len(x)):
        out[i] = _bucket(np.float64(x[i]), parts)


def bucket_numbers(x: Array, parts: int) -> Array:
    """The number of each value's bucket."""
    out = np.empty(len(x), np.int64)
    _numbers(x, parts, out)
    return out


def middles(x: Array, parts: int) -> Array:
    """The middle of each value's bucket; NaN and infinities stay."""
    out = np.empty(len(x), np.float64)
    _middles(x, parts, out)
    return out
