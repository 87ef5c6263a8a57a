"""Rows of a call in runs, within which they see one another, and answers that come in parts of the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from slidewise.arrays import Array


class Runs(NamedTuple):
    """Rows sorted by key and time in runs, within which they see one another: a key has one, unless it was forgotten.

    The number of each row's run, of each key's first and last run, whether the first goes on from what is there, and
    the first row of each key.
    """

    each: Array
    first: Array
    last: Array
    connected: Array
    starts: Array


def joined(parts: list[dict[str, Any]], places: Array, kinds: dict[str, Any]) -> dict[str, Any]:
    """Answers that lie in parts, in the order of the rows; each has its declared type."""
    import pyarrow as pa

    back = np.empty(len(places), np.int64)
    back[places] = np.arange(len(places))
    found: dict[str, Any] = {}
    for name in parts[0]:
        kind = kinds[name]
        arrays = [part[name] if part[name].type == kind else part[name].cast(kind) for part in parts]
        found[name] = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays).take(pa.array(back))
    return found


def distinct(numbers: Array) -> tuple[Array, Array]:
    """The different ones of sorted numbers, and which of them each is: `np.unique` would sort once more."""
    new = np.diff(numbers, prepend=numbers[:1] - 1) != 0
    return numbers[new], np.cumsum(new) - 1


def ranges(firsts: Array, counts: Array) -> Array:
    """The numbers firsts[k], firsts[k] + 1, ... of so many each, one after the other."""
    shift: Array = np.repeat(firsts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return np.arange(len(shift)) + shift
