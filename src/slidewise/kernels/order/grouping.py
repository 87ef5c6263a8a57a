"""Rows grouped by key: a code for each different key, and a stable counting sort by codes, without a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.errors import SlidewiseError
from slidewise.kernels.compiler.jit import tiered_jit
from slidewise.kernels.compiler.threads import free_threads, share_parts, share_rows, worth


@tiered_jit
def _count(codes: Array, counts: Array) -> None:
    for code in codes:
        counts[u(code)] += 1


@tiered_jit
def _begin(counts: Array, offsets: Array) -> None:
    """Make the counts of each block the places where its rows of each group begin."""
    place = 0
    for k in range(len(offsets)):
        offsets[k] = place
        for block in range(len(counts)):
            count = counts[block, k]
            counts[block, k] = place
            place += count


@tiered_jit
def _place(codes: Array, next_place: Array, places: Array) -> None:
    for i in range(len(codes)):
        code = u(codes[i])
        places[i] = next_place[code]
        next_place[code] += 1


@tiered_jit
def _scatter(x: Array, places: Array, out: Array) -> None:
    for i in range(len(x)):
        out[u(places[i])] = x[i]


@tiered_jit
def _gather(x: Array, places: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = x[u(places[i])]


_APART = 16  # counts between those of two blocks, lest they share what a processor's cache holds together


class Grouped:
    """Rows grouped by key, each group in the order of the input: the position of each row, and each key's offset.

    Both ways walk through the rows in the input's order, so that memory is read and written in as many streams as there
    are keys, and not at random.
    """

    def __init__(self, codes: Array, groups: int) -> None:
        count = len(codes)
        self.places: Array = np.empty(count, np.int32 if count < 2**31 else np.int64)
        self.offsets = np.empty(groups + 1, np.int64)
        # Each block of rows counts its own, which costs as much as there are groups.
        blocks = min(free_threads(count), max(1, count // max(groups, 1)))
        if blocks == 1:
            counts = np.zeros((1, groups + 1), np.int64)
            _count(codes, counts[0])
            _begin(counts, self.offsets)
            _place(codes, counts[0], self.places)
            return
        counts = np.zeros((blocks, groups + 1 + _APART), np.int64)
        cuts = [count * i // blocks for i in range(blocks + 1)]
        block_of = {a: i for i, a in enumerate(cuts[:-1])}

        def count_block(a: int, b: int) -> None:
            _count(codes[a:b], counts[block_of[a]])

        def place_block(a: int, b: int) -> None:
            _place(codes[a:b], counts[block_of[a]], self.places[a:b])

        share_parts(cuts, count_block)
        _begin(counts, self.offsets)
        share_parts(cuts, place_block)

    def to_sorted(self, x: Array) -> Array:
        """The values grouped by key."""
        out = np.empty_like(x)
        if x.dtype == object:
            out[self.places] = x
        else:
            scatter(x, self.places, out)
        return out

    def to_input(self, x: Array) -> Array:
        """The values in the order of the input."""
        if x.dtype == object:
            return x[self.places]
        out = np.empty_like(x)
        gather(x, self.places, out)
        return out


def scatter(x: Array, places: Array, out: Array) -> None:
    """Put each value at its place."""
    if worth(len(x)) < 2:
        _scatter(x, places, out)
        return
    share_rows(len(x), lambda a, b: _scatter(x[a:b], places[a:b], out))


def gather(x: Array, places: Array, out: Array) -> None:
    """Take each value from its place."""
    if worth(len(out)) < 2:
        _gather(x, places, out)
        return
    share_rows(len(out), lambda a, b: _gather(x, places[a:b], out[a:b]))


def dictionary_codes(x: Array, valid: Array | None) -> tuple[Array, int]:
    """A code for each different value, nulls being one of them, and the number of codes."""
    codes: Array
    dense = dense_codes(x, valid)
    if dense is not None:
        return dense
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


def dense_codes(x: Array, valid: Array | None) -> tuple[Array, int] | None:
    """The same for integers that lie close together, which are codes nearly as they are; None for other values."""
    if x.dtype.kind not in "ib" or not len(x):
        return None
    x = x.astype(np.int64, copy=False)
    low, high = least_and_most(x)
    if high - low > 2 * len(x) + 1_000:
        return None
    codes, groups = _less(x, low) if low else x, high - low + 1
    return (codes, groups) if valid is None else (np.where(valid, codes, groups), groups + 1)


def least_and_most(x: Array) -> tuple[int, int]:
    """The least and the greatest of some integers."""
    if worth(len(x)) < 2:
        return int(x.min()), int(x.max())
    ends: list[tuple[int, int]] = []

    def work(a: int, b: int) -> None:
        ends.append((int(x[a:b].min()), int(x[a:b].max())))

    share_rows(len(x), work)
    return min(least for least, _ in ends), max(most for _, most in ends)


def _less(x: Array, low: int) -> Array:
    if worth(len(x)) < 2:
        return x - low
    out = np.empty_like(x)
    share_rows(len(x), lambda a, b: np.subtract(x[a:b], low, out=out[a:b]))
    return out


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError as error:
        raise SlidewiseError(f"keys and distinct values must be hashable, but {value!r} is not") from error
    return _NAN if value != value else value


_NAN = object()
