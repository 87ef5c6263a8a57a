"""The stable order of integers: each, as far as it lies above the least, in a word with its place, sorted by radix."""

from __future__ import annotations

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import tiered_jit
from slidewise.kernels.order.radix import LONGEST, new_counts, sort_by_bits

_FEWEST = 2_048  # rows below which NumPy is done before counts are cleared
_RUN = 1_024  # rows, in rising runs of which NumPy merges faster


def stable_order(x: Array) -> Array:
    """The places of numbers from the least to the greatest, equal ones as they stand, as `np.argsort` has them.

    >>> stable_order(np.array([30, 10, 20, 10])).tolist()
    [1, 3, 2, 0]
    """
    many = x.dtype == np.int64 and _FEWEST <= len(x) <= LONGEST
    if not many or np.count_nonzero(x[1:] < x[:-1]) * _RUN < len(x):
        return np.argsort(x, kind="stable")
    least = x.min()
    above = x.astype(np.uint64) - least.astype(np.uint64)  # exact at any distance
    bits, room = (int(x.max()) - int(least)).bit_length(), 64 - (len(x) - 1).bit_length()
    words, buffer, counts = np.empty(len(x), np.uint64), np.empty(len(x), np.uint64), new_counts()
    places, order = np.arange(len(x)), np.empty(len(x), np.int64)
    for low in range(0, bits, room):
        _order_by(above, low, min(bits - low, room), room, places, words, buffer, counts, order)
        places, order = order, places
    return places


@tiered_jit
def _order_by(
    above: Array,
    low: int,
    bits: int,
    room: int,
    places: Array,
    words: Array,
    buffer: Array,
    counts: Array,
    order: Array,
) -> None:
    """Order places by so many bits, from `low` on, of the numbers that stand there."""
    shift, down = np.uint64(64 - room), np.uint64(low)
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1) if bits < 64 else ~np.uint64(0)
    for i in range(len(above)):
        words[u(i)] = (above[u(places[u(i)])] >> down & mask) << shift | np.uint64(i)
    sort_by_bits(words, buffer, counts, 64 - room, 64 - room + bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    for i in range(len(above)):
        order[u(i)] = places[u(words[u(i)] & mask)]
