"""Rows taken in segments of several windows' length, which overlap by one window, and each row's rank in its segment.

Several short segments go through at once, so that little time is spent between compiled passes, and all of them lie in
the processor's cache. A segment is short where windows are, since few words then hold the whole of a window's ranks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uintp as u

from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.order.bit_sets import high_zeros, places
from slidewise.kernels.order.radix import LONGEST, new_counts, sort_by_bits

FEWEST = 2_048  # rows of a segment, at least
BATCH = 32_768  # rows of several segments that go through at once, at most
FEW_RUNS = 64  # runs of this length are merged, shorter ones sorted
WINDOWS = 4  # how many windows long a segment is
SHORT_WINDOWS = 8  # and how many where that is not more than a batch
FIRST, STOP, LOW, HIGH, AT, WIDTH, SHIFT, NANS, FALLS, BITS = range(10)  # what is known of a segment
_SIGN = np.uint64(1 << 63)
_ALL = np.uint64(2**64 - 1)


class Segments:
    """Room for several segments, or a long one, and their rows' ranks.

    Each segment answers the windows FIRST to STOP from the rows LOW to HIGH, which lie at AT in `packed` and `ranks`.
    """

    def __init__(self) -> None:
        self._known = np.zeros((BATCH // FEWEST, BITS + 1), np.int64)
        self._counts = new_counts()
        self._make_room(BATCH)

    def _make_room(self, size: int) -> None:
        self.packed = np.empty(size, np.uint64)
        self._room = np.empty(size, np.uint64)
        self.ranks = np.empty(size, np.int32 if size < 2**31 else np.int64)
        self.levels = places(size)
        self.bits = np.zeros(self.levels[-1], np.uint64)

    def take(self, x: Any, starts: Any, ends: Any, i: int) -> tuple[Any, int]:
        """Rank the next segments, from window i on: what is known of each, and the first window after them."""
        count, size, i = cut(starts, ends, i, len(x), self._known)
        if size > len(self.packed):
            self._make_room(min(2 * size, max(len(x), BATCH)))
        known = self._known[:count]
        _pack(x.view(np.uint64), x.dtype == np.float64, known, self.packed)
        for _, _, low, high, at, width, _, _, falls, bits in known.tolist():
            words = self.packed[at : at + high - low]
            if falls > 0 and (falls < len(words) // FEW_RUNS or len(words) > LONGEST):
                words.sort(kind="stable")
            elif falls > 0:
                sort_by_bits(words, self._room, self._counts, width, bits)
        _settle(x, known, self.packed, self.ranks)
        return known, i


@cached_jit
def cut(starts: Any, ends: Any, i: Any, rows: Any, known: Any) -> Any:
    """Segments for the windows from i on: how many, how long together, and the first window after them.

    They fit into a batch, unless there is only one.
    """
    m = len(starts)
    count = size = 0
    while count < len(known):
        while i < m and starts[u(i)] >= ends[u(i)]:
            i += 1
        if i == m:
            break
        low: Any = np.int64(starts[u(i)])
        window = np.int64(ends[u(i)]) - low
        high = min(rows, low + max(FEWEST, min(SHORT_WINDOWS * window, BATCH), WINDOWS * window))
        if count > 0 and size + high - low > BATCH:
            break
        known[count, FIRST] = i
        while i < m and (ends[u(i)] <= high or starts[u(i)] >= ends[u(i)]):
            i += 1
        known[count, STOP] = i
        known[count, LOW] = low
        known[count, HIGH] = high
        known[count, AT] = size
        size += high - low
        count += 1
    return count, size, i


@jit
def _ordered(word: Any, floats: bool) -> Any:
    """A word of a number as one whose order among unsigned numbers is the number's; NaN stands at the end."""
    if not floats:
        return word ^ _SIGN
    if word & ~_SIGN > np.uint64(0x7FF0000000000000):
        return _ALL
    if word & _SIGN:
        return ~word if word != _SIGN else _SIGN
    return word | _SIGN


@cached_jit
def _pack(words: Any, floats: bool, known: Any, packed: Any) -> None:
    """Each row's order and its position in its segment in one word: the bits of the position, those that the order
    lost, how many values are NaN, how many are less than the one before, and how many bits a word has."""
    for j in range(len(known)):
        low, high, at = known[j, LOW], known[j, HIGH], known[j, AT]
        least = _ALL
        most = np.uint64(0)
        nans = falls = np.int64(0)
        last = np.uint64(0)
        for i in range(high - low):
            key = _ordered(words[u(low + i)], floats)
            packed[u(at + i)] = key
            nans += key == _ALL
            falls += key < last
            last = key
            least = min(least, key)
            most = max(most, key)
        width = np.int64(1)
        while np.int64(1) << width < high - low:
            width += 1
        span = most - least
        shift = max(np.int64(0), (64 - high_zeros(span) if span else np.int64(0)) + width - 64)
        for i in range(high - low):
            order = (packed[u(at + i)] - least) >> np.uint64(shift)
            packed[u(at + i)] = order << np.uint64(width) | np.uint64(i)
        known[j, WIDTH] = width
        known[j, SHIFT] = shift
        known[j, NANS] = nans if floats else np.int64(0)
        known[j, FALLS] = falls
        known[j, BITS] = 64 - high_zeros((span >> np.uint64(shift)) << np.uint64(width)) if span else width


@cached_jit
def _settle(x: Any, known: Any, packed: Any, ranks: Any) -> None:
    """Sort what differs only in lost bits, and write each row's rank."""
    for j in range(len(known)):
        low, at = known[j, LOW], known[j, AT]
        size = known[j, HIGH] - low
        width = np.uint64(known[j, WIDTH])
        mask = (np.uint64(1) << width) - np.uint64(1)
        if known[j, SHIFT] > 0:
            _sort_runs(x[low : low + size], packed[at : at + size], width, mask)
        for i in range(size):
            ranks[u(at + np.int64(packed[u(at + i)] & mask))] = i


@jit
def _sort_runs(x: Any, packed: Any, width: Any, mask: Any) -> None:
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
def _sort_run(x: Any, run: Any, mask: Any) -> None:
    """Sort rows by their values, with NaN last."""
    found = np.empty(len(run), x.dtype)
    for i in range(len(run)):
        found[i] = x[u(run[i] & mask)]
    order = np.argsort(found, kind="mergesort")
    old = run.copy()
    for i in range(len(run)):
        run[i] = old[order[i]]
