"""Ranks of rows within segments of several windows' length, which overlap by one window.

Several short segments go through at once, so that little time is spent between compiled passes, and all of them lie in
the processor's cache. A segment is short where windows are, since few words then hold the whole of a window's ranks.
"""

from __future__ import annotations

import numpy as np
from numba import int64
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.order.bit_sets import leading_zeros, level_offsets
from slidewise.kernels.order.radix import LONGEST, new_counts, sort_by_bits

FEWEST = 2_048  # rows of a segment, at least
BATCH = 32_768  # rows of several segments that go through at once, at most
FEW_RUNS = 64  # runs of this length are merged, shorter ones sorted
WINDOWS = 4  # how many windows long a segment is
SHORT_WINDOWS = 8  # and how many where that is not more than a batch
FIRST, STOP, LOW, HIGH, AT, WIDTH, SHIFT, NANS, FALLS, BITS = range(10)  # the columns of a table of segments
_SIGN = np.uint64(1 << 63)
_ALL = np.uint64(2**64 - 1)


class Segments:
    """Buffers for several segments, or a long one, and their rows' ranks.

    Each segment answers the windows FIRST to STOP from the rows LOW to HIGH, which lie at AT in `packed` and `ranks`.
    """

    def __init__(self, rows: int) -> None:
        self._table = np.zeros((BATCH // FEWEST, BITS + 1), np.int64)
        self._counts = new_counts()
        self._allocate(min(rows, BATCH))

    def _allocate(self, size: int) -> None:
        self.packed = np.empty(size, np.uint64)
        self._buffer = np.empty(size, np.uint64)
        self.ranks = np.empty(size, np.int32 if size < 2**31 else np.int64)
        self.levels = level_offsets(size)
        self.bits = np.zeros(self.levels[-1], np.uint64)

    def rank_next(self, x: Array, starts: Array, ends: Array, i: int) -> tuple[Array, int]:
        """Rank the next segments, from window i on: a table of them, and the first window after them."""
        count, size, i = cut_segments(starts, ends, i, len(x), self._table)
        if size > len(self.packed):
            self._allocate(min(2 * size, max(len(x), BATCH)))
        table = self._table[:count]
        _pack(x.view(np.uint64), x.dtype == np.float64, table, self.packed)
        for _, _, low, high, at, width, _, _, falls, bits in table.tolist():
            words = self.packed[at : at + high - low]
            if falls > 0 and (falls < len(words) // FEW_RUNS or len(words) > LONGEST):
                words.sort(kind="stable")
            elif falls > 0:
                sort_by_bits(words, self._buffer, self._counts, width, bits)
        _write_ranks(x, table, self.packed, self.ranks)
        return table, i


@tiered_jit
def cut_segments(starts: Array, ends: Array, i: int, rows: int, table: Array) -> tuple[int, int, int]:
    """Cut segments for the windows from i on: how many, how long together, and the first window after them.

    They fit into a batch, unless there is only one.
    """
    m = len(starts)
    count = size = 0
    while count < len(table):
        while i < m and starts[u(i)] >= ends[u(i)]:
            i += 1
        if i == m:
            break
        low = int64(starts[u(i)])
        window = int64(ends[u(i)]) - low
        high = min(rows, low + max(FEWEST, min(SHORT_WINDOWS * window, BATCH), WINDOWS * window))
        if count > 0 and size + high - low > BATCH:
            break
        table[count, FIRST] = i
        while i < m and (ends[u(i)] <= high or starts[u(i)] >= ends[u(i)]):
            i += 1
        table[count, STOP] = i
        table[count, LOW] = low
        table[count, HIGH] = high
        table[count, AT] = size
        size += high - low
        count += 1
    return count, size, i


@jit
def _sort_key(word: np.uint64, floats: bool) -> np.uint64:
    """The bits of a number as an unsigned word that sorts as the number does; NaN sorts last."""
    if not floats:
        return word ^ _SIGN
    if word & ~_SIGN > np.uint64(0x7FF0000000000000):
        return _ALL
    if word & _SIGN:
        return ~word if word != _SIGN else _SIGN
    return word | _SIGN


@tiered_jit
def _pack(words: Array, floats: bool, table: Array, packed: Array) -> None:
    """Pack each row's sort key and its position in its segment into one word.

    The table gets the bits of the position, those that the key lost, how many values are NaN, how many are less than
    the one before, and how many bits a word has.
    """
    for j in range(len(table)):
        low, high, at = table[j, LOW], table[j, HIGH], table[j, AT]
        least = _ALL
        most = np.uint64(0)
        nans = falls = int64(0)
        last = np.uint64(0)
        for i in range(high - low):
            key = _sort_key(words[u(low + i)], floats)
            packed[u(at + i)] = key
            nans += key == _ALL
            falls += key < last
            last = key
            least = min(least, key)
            most = max(most, key)
        width = int64(1)
        while int64(1) << width < high - low:
            width += 1
        span = most - least
        shift = max(int64(0), (64 - leading_zeros(span) if span else int64(0)) + width - 64)
        for i in range(high - low):
            order = (packed[u(at + i)] - least) >> np.uint64(shift)
            packed[u(at + i)] = order << np.uint64(width) | np.uint64(i)
        table[j, WIDTH] = width
        table[j, SHIFT] = shift
        table[j, NANS] = nans if floats else int64(0)
        table[j, FALLS] = falls
        table[j, BITS] = 64 - leading_zeros((span >> np.uint64(shift)) << np.uint64(width)) if span else width


@tiered_jit
def _write_ranks(x: Array, table: Array, packed: Array, ranks: Array) -> None:
    """Sort rows that differ only in lost bits, and write each row's rank."""
    for j in range(len(table)):
        low, at = table[j, LOW], table[j, AT]
        size = table[j, HIGH] - low
        width = np.uint64(table[j, WIDTH])
        mask = (np.uint64(1) << width) - np.uint64(1)
        if table[j, SHIFT] > 0:
            _sort_runs(x[low : low + size], packed[at : at + size], width, mask)
        for i in range(size):
            ranks[u(at + int64(packed[u(at + i)] & mask))] = i


@jit
def _sort_runs(x: Array, packed: Array, width: np.uint64, mask: np.uint64) -> None:
    """Sort rows whose order is the same but for lost bits; most of them are of equal values, and so in order."""
    a = 0
    wrong = False
    last = packed[0]
    for i in range(1, len(packed)):
        now = packed[u(i)]
        if now >> width != last >> width:
            if wrong:
                _sort_run(x, packed[a:i], mask)
                wrong = False
            a = i
        elif not x[u(last & mask)] <= x[u(now & mask)]:
            wrong = True
        last = now
    if wrong:
        _sort_run(x, packed[a:], mask)


@jit
def _sort_run(x: Array, run: Array, mask: np.uint64) -> None:
    """Sort rows by their values, with NaN last: merges of ever longer parts, which keep the order of equal values.

    Numba's own sorts do the same, but take seconds to compile.
    """
    n = len(run)
    merged = np.empty(n, np.uint64)
    half = 1
    while half < n:
        for low in range(0, n, 2 * half):
            middle, high = min(low + half, n), min(low + 2 * half, n)
            left, right = low, middle
            for i in range(low, high):
                if left < middle and (right == high or _in_order(x[u(run[left] & mask)], x[u(run[right] & mask)])):
                    merged[i] = run[left]
                    left += 1
                else:
                    merged[i] = run[right]
                    right += 1
        for i in range(n):
            run[i] = merged[i]
        half *= 2


@jit
def _in_order(a: float, b: float) -> bool:
    """Whether an older value stays before a newer one; NaN is the greatest, and equals itself."""
    return bool(a <= b or b != b)
