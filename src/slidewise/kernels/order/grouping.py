"""Rows grouped by key: a code for each different key, and a stable counting sort by codes, without a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.errors import SlidewiseError
from slidewise.kernels.compiler.jit import cached_jit


@cached_jit
def _count(codes: Array, offsets: Array) -> None:
    for code in codes:
        offsets[u(code + 1)] += 1
    for k in range(1, len(offsets)):
        offsets[k] += offsets[k - 1]


@cached_jit
def _place(codes: Array, next_place: Array, places: Array) -> None:
    for i in range(len(codes)):
        code = u(codes[i])
        places[i] = next_place[code]
        next_place[code] += 1


@cached_jit
def _scatter(x: Array, places: Array, out: Array) -> None:
    for i in range(len(x)):
        out[u(places[i])] = x[i]


@cached_jit
def _gather(x: Array, places: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = x[u(places[i])]


class Grouped:
    """Rows grouped by key, each group in the order of the input: the position of each row, and each key's offset.

    Both ways walk through the rows in the input's order, so that memory is read and written in as many streams as there
    are keys, and not at random.
    """

    def __init__(self, codes: Array, groups: int) -> None:
        self.offsets = np.zeros(groups + 1, np.int64)
        _count(codes, self.offsets)
        self.places: Array = np.empty(len(codes), np.int32 if len(codes) < 2**31 else np.int64)
        _place(codes, self.offsets[:-1].copy(), self.places)

    def to_sorted(self, x: Array) -> Array:
        """The values grouped by key."""
        out = np.empty_like(x)
        if x.dtype == object:
            out[self.places] = x
        else:
            _scatter(x, self.places, out)
        return out

    def to_input(self, x: Array) -> Array:
        """The values in the order of the input."""
        if x.dtype == object:
            return x[self.places]
        out = np.empty_like(x)
        _gather(x, self.places, out)
        return out


def dictionary_codes(x: Array, valid: Array | None) -> tuple[Array, int]:
    """A code for each different value, nulls being one of them, and the number of codes."""
    codes: Array
    if x.dtype.kind in "ib" and len(x):
        x = x.astype(np.int64, copy=False)
        low, high = int(x.min()), int(x.max())
        if high - low <= 2 * len(x) + 1_000:
            codes, groups = x - low if low else x, high - low + 1
            return (codes, groups) if valid is None else (np.where(valid, codes, groups), groups + 1)
    if x.dtype.kind == "f":
        x = np.where(x == 0.0, 0.0, x)
    if x.dtype == object:
        seen: dict[Any, int] = {}
        codes = np.array([seen.setdefault(_hashable(value), len(seen)) for value in x.tolist()], np.int64)
        groups = len(seen)
    else:
        values, codes = np.unique(x, return_inverse=True)
        groups = len(values)
    return (codes, groups) if valid is None else (np.where(valid, codes, groups), groups + 1)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError as error:
        raise SlidewiseError(f"keys and distinct values must be hashable, but {value!r} is not") from error
    return _NAN if value != value else value


_NAN = object()
