"""Radix sort of 64-bit words by some of their bits, eleven at a time.

On an AMD EPYC of the fourth generation, 2,048 to 400,000 random words took 9 ns each; NumPy's own sort took 17 to 48
there, and 8 to 11 once it was kept from using 512-bit instructions.
"""

from __future__ import annotations

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import tiered_jit

DIGIT = 11
VALUES = 1 << DIGIT
DIGITS = -(-64 // DIGIT)
LONGEST = 2**31 - 1  # words, since counts are 32-bit
_MASK = np.uint64(VALUES - 1)
_DIGIT = np.uint64(DIGIT)


def new_counts() -> Array:
    """An array for the histogram of each digit."""
    return np.empty((DIGITS, VALUES), np.int32)


@tiered_jit
def sort_by_bits(words: Array, buffer: Array, counts: Array, low: int, high: int) -> None:
    """Sort by the bits from `low` to below `high`, above which none is set; equal words stay in their order.

    `buffer` is as long as `words` at least; `counts` are of `new_counts`.
    """
    n = len(words)
    if n == 0:
        return
    digits = (high - low + DIGIT - 1) // DIGIT
    for d in range(digits):
        for value in range(VALUES):
            counts[u(d), u(value)] = np.int32(0)
    for i in range(n):
        word = words[u(i)] >> np.uint64(low)
        for d in range(digits):
            counts[u(d), u(word & _MASK)] += np.int32(1)
            word >>= _DIGIT
    source, target = words, buffer
    moved = False
    for d in range(digits):
        shift = np.uint64(low + d * DIGIT)
        places = counts[u(d)]
        if places[u(source[0] >> shift & _MASK)] == n:
            continue  # all have the same digit
        before = np.int32(0)
        for value in range(VALUES):
            count = places[u(value)]
            places[u(value)] = before
            before += count
        for i in range(n):
            word = source[u(i)]
            value = word >> shift & _MASK
            place = places[u(value)]
            places[u(value)] = place + np.int32(1)
            target[u(place)] = word
        source, target = target, source
        moved = not moved
    if moved:
        for i in range(n):
            words[u(i)] = buffer[u(i)]
