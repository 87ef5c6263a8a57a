"""The stable order of many numbers: a radix sort whose passes are shared out among threads.

A word holds some of a number's bits and, below them, its row. A pass over the words counts the values of a digit in
each block of rows, and then each block puts its words at places of its own, so the order is that of one thread.
"""

from __future__ import annotations

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import tiered_jit
from slidewise.kernels.compiler.threads import free_threads, share_parts, share_rows, worth
from slidewise.kernels.order.grouping import least_and_most
from slidewise.kernels.order.number_order import stable_order

_DIGIT = 11  # bits, at most
_FEW_RUNS = 16  # so many rising runs are merged faster than sorted anew
_MOST_ROWS = 2**31


def order_in_threads(x: Array) -> Array:
    """The rows in the order of their int64 or finite float64 values; equal ones stay in their order."""
    count = len(x)
    if worth(count) < 2 or count >= _MOST_ROWS or _falls(x) < _FEW_RUNS:
        return stable_order(x)
    if x.dtype == np.float64:
        x = _as_integers(x)
    low, high = least_and_most(x)
    bits, row_bits = (high - low).bit_length(), (count - 1).bit_length()
    words, buffer = np.empty(count, np.uint64), np.empty(count, np.uint64)
    order = np.empty(0, np.int32)
    base = np.uint64(low & (2**64 - 1))
    for first in range(0, max(bits, 1), 64 - row_bits):
        width = min(bits - first, 64 - row_bits)
        _write_words(x, order, base, first, width, row_bits, words)
        words, buffer = _sorted(words, buffer, row_bits, width)
        order = order if len(order) else np.empty(count, np.int32)
        _read_rows(words, row_bits, order)
    return order


def _falls(x: Array) -> int:
    """How many values lie below the one before."""
    counts: list[int] = []
    share_rows(len(x) - 1, lambda a, b: counts.append(int(np.count_nonzero(x[a + 1 : b + 1] < x[a:b]))))
    return sum(counts)


def _as_integers(x: Array) -> Array:
    """Floats as integers of the same order; both zeros are one."""
    out = np.empty(len(x), np.int64)

    def work(a: int, b: int) -> None:
        bits = (x[a:b] + 0.0).view(np.int64)
        np.bitwise_xor(bits, (bits >> 63) & np.int64(2**63 - 1), out=out[a:b])

    share_rows(len(x), work)
    return out


def _write_words(x: Array, order: Array, base: np.uint64, first: int, width: int, row_bits: int, words: Array) -> None:
    """Words of so many bits of each number above `base`, from bit `first` on, in this order or as they stand."""
    mask = np.uint64((1 << width) - 1)
    share_rows(len(x), lambda a, b: _pack(x, order, base, np.uint64(first), mask, np.uint64(row_bits), a, words[a:b]))


def _read_rows(words: Array, row_bits: int, order: Array) -> None:
    mask = np.uint64((1 << row_bits) - 1)
    share_rows(len(words), lambda a, b: _rows_of(words[a:b], mask, order[a:b]))


def _sorted(words: Array, buffer: Array, low: int, width: int) -> tuple[Array, Array]:
    """The words sorted by so many bits from bit `low` on, and the other array."""
    digits = -(-width // _DIGIT)
    size = -(-width // max(digits, 1))
    blocks = free_threads(len(words))
    cuts = [len(words) * i // blocks for i in range(blocks + 1)]
    block_of = {a: i for i, a in enumerate(cuts[:-1])}
    counts = np.empty((blocks, 1 << size), np.int64)
    for digit in range(digits):
        shift, source, target = np.uint64(low + digit * size), words, buffer

        def count(a: int, b: int, source: Array = source, shift: np.uint64 = shift) -> None:
            _count_digit(source[a:b], shift, counts[block_of[a]])

        def move(a: int, b: int, source: Array = source, target: Array = target, shift: np.uint64 = shift) -> None:
            _move(source[a:b], shift, counts[block_of[a]], target)

        share_parts(cuts, count)
        of_value = counts.sum(axis=0)
        if of_value.max() == len(words):
            continue  # all have the same digit
        before = np.cumsum(counts, axis=0) - counts
        counts[:] = before + (np.cumsum(of_value) - of_value)
        share_parts(cuts, move)
        words, buffer = target, source
    return words, buffer


@tiered_jit
def _pack(
    x: Array,
    order: Array,
    base: np.uint64,
    first: np.uint64,
    mask: np.uint64,
    row_bits: np.uint64,
    a: int,
    words: Array,
) -> None:
    for i in range(len(words)):
        row = np.uint64(order[u(a + i)]) if len(order) else np.uint64(a + i)
        words[u(i)] = (((np.uint64(x[u(row)]) - base) >> first) & mask) << row_bits | row


@tiered_jit
def _rows_of(words: Array, mask: np.uint64, order: Array) -> None:
    for i in range(len(words)):
        order[u(i)] = words[u(i)] & mask


@tiered_jit
def _count_digit(words: Array, shift: np.uint64, counts: Array) -> None:
    mask = np.uint64(len(counts) - 1)
    for value in range(len(counts)):
        counts[u(value)] = 0
    for i in range(len(words)):
        counts[u((words[u(i)] >> shift) & mask)] += 1


@tiered_jit
def _move(words: Array, shift: np.uint64, places: Array, out: Array) -> None:
    mask = np.uint64(len(places) - 1)
    for i in range(len(words)):
        word = words[u(i)]
        value = u((word >> shift) & mask)
        place = places[value]
        places[value] = place + 1
        out[u(place)] = word
