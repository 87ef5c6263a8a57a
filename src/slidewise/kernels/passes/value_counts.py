"""Counts by value over sliding windows: the mode, the entropy, and lists of values with their counts.

Values are codes in their order, with a count for each that is kept up as rows come and go, and a set of those that are
in the window.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slidewise.arrays import Array, Ragged
from slidewise.errors import InputError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.compiler.jit import tiered_jit
from slidewise.operators.values.value_counts import in_order, lift


def ordered_codes(x: Array, operator: str) -> tuple[Array, Array]:
    """A code for each row, and the different values, in their order: NaN is the last, and there is one zero."""
    if x.dtype != object:
        values, codes = np.unique(x + 0.0 if x.dtype.kind == "f" else x, return_inverse=True)
        return values, codes.astype(np.int64)
    rows = [next(iter(lift(operator, value))) for value in x.tolist()]
    ordered = [value for value, _ in in_order(dict.fromkeys(rows, 1))]
    places = {value: code for code, value in enumerate(ordered)}
    return np.array([*ordered, None], object)[:-1], np.array([places[value] for value in rows], np.int64)


@tiered_jit
def _enter(code: int, counts: Array, place: Array, present: Array, size: int) -> int:
    """Count a value once more; the number of values in the window."""
    if counts[code] == 0:
        place[code] = size
        present[size] = code
        size += 1
    counts[code] += 1
    return size


@tiered_jit
def _leave(code: int, counts: Array, place: Array, present: Array, size: int) -> int:
    """Count a value once less; the number of values in the window."""
    counts[code] -= 1
    if counts[code] == 0:
        size -= 1
        moved = present[size]
        present[place[code]] = moved
        place[moved] = place[code]
    return size


@tiered_jit
def _modes(codes: Array, groups: int, starts: Array, ends: Array, out: Array) -> None:
    """The code that is most frequent in each window, the least of those; looked for only when the last one falls."""
    counts = np.zeros(groups, np.int64)
    place = np.zeros(groups, np.int64)
    present = np.zeros(groups, np.int64)
    size = 0
    best = -1
    start = 0
    end = 0
    for i in range(len(starts)):
        s = starts[i]
        e = ends[i]
        if s >= e:
            continue
        while end < e:
            code = codes[end]
            size = _enter(code, counts, place, present, size)
            if best >= 0 and (counts[code] > counts[best] or (counts[code] == counts[best] and code < best)):
                best = code
            end += 1
        while start < s:
            code = codes[start]
            size = _leave(code, counts, place, present, size)
            if code == best:
                best = -1
            start += 1
        if best < 0:
            best = present[0]
            for j in range(1, size):
                code = present[j]
                if counts[code] > counts[best] or (counts[code] == counts[best] and code < best):
                    best = code
        out[i] = best


@tiered_jit
def _entropies(codes: Array, groups: int, starts: Array, ends: Array, out: Array) -> None:
    """The entropy of each window, its terms added from the least count on, as the interpreted operator adds them."""
    counts = np.zeros(groups, np.int64)
    place = np.zeros(groups, np.int64)
    present = np.zeros(groups, np.int64)
    size = 0
    start = 0
    end = 0
    for i in range(len(starts)):
        s = starts[i]
        e = ends[i]
        if s >= e:
            continue
        while end < e:
            size = _enter(codes[end], counts, place, present, size)
            end += 1
        while start < s:
            size = _leave(codes[start], counts, place, present, size)
            start += 1
        rows = e - s
        ordered = np.empty(size, np.int64)
        for j in range(size):
            ordered[j] = counts[present[j]]
        ordered.sort()
        bits = 0.0
        j = 0
        while j < size:
            count = ordered[j]
            alike = 0
            while j < size and ordered[j] == count:
                alike += 1
                j += 1
            bits += alike * (count / rows * math.log2(rows / count))
        out[i] = bits


@tiered_jit
def _counted(
    codes: Array,
    groups: int,
    starts: Array,
    ends: Array,
    k: int,
    firsts: Array,
    lengths: Array,
    items: Array,
    out: Array,
) -> None:
    """Up to k codes of each window with their counts, behind those of the window before; the most frequent first."""
    counts = np.zeros(groups, np.int64)
    place = np.zeros(groups, np.int64)
    present = np.zeros(groups, np.int64)
    size = 0
    start = 0
    end = 0
    filled = 0
    for i in range(len(starts)):
        firsts[i] = filled
        lengths[i] = 0
        s = starts[i]
        e = ends[i]
        if s >= e:
            continue
        while end < e:
            size = _enter(codes[end], counts, place, present, size)
            end += 1
        while start < s:
            size = _leave(codes[start], counts, place, present, size)
            start += 1
        keys = np.empty(size, np.int64)
        for j in range(size):
            keys[j] = (e - s - counts[present[j]]) * groups + present[j]
        keys.sort()
        lengths[i] = min(k, size)
        for j in range(lengths[i]):
            items[filled] = keys[j] % groups
            out[filled] = counts[items[filled]]
            filled += 1


def no_answers(rows: int, dtype: np.dtype[Any]) -> Answers:
    """No answer for any of so many rows."""
    fill = np.empty(rows, object) if dtype.kind == "O" else np.zeros(rows, dtype)
    return Answers([fill], np.zeros(rows, np.bool_))


def modes(x: Array, operator: str, starts: Array, ends: Array) -> Answers:
    """The most frequent value of each window."""
    values, codes = ordered_codes(x, operator)
    out = np.zeros(len(starts), np.int64)
    if not len(x):
        return no_answers(len(starts), x.dtype)
    _modes(codes, len(values), starts, ends, out)
    return Answers([values[out]], ends > starts)


def entropies(x: Array, operator: str, starts: Array, ends: Array) -> Answers:
    """The entropy of each window."""
    values, codes = ordered_codes(x, operator)
    out = np.zeros(len(starts))
    _entropies(codes, max(len(values), 1), starts, ends, out)
    return Answers([out], ends > starts)


def most_frequent(x: Array, operator: str, k: int, starts: Array, ends: Array) -> Answers:
    """The k most frequent values of each window with their counts."""
    values, codes = ordered_codes(x, operator)
    groups = max(len(values), 1)
    room = int(np.minimum(np.maximum(ends - starts, 0), min(k, groups)).sum())
    if room > np.iinfo(np.int32).max:
        raise InputError(f"{operator}: up to {room:,} values altogether are too many for one column; use a smaller k")
    firsts, lengths = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    items, counts = np.zeros(room, np.int64), np.zeros(room, np.int64)
    _counted(codes, groups, starts, ends, k, firsts, lengths, items, counts)
    return Answers([Ragged(firsts, lengths, values[items] if len(values) else values, counts)], None)


def _float_from(edge: float) -> float:
    """The least float that is not below an edge."""
    nearest = float(edge)
    return nearest if nearest >= edge else math.nextafter(nearest, math.inf)


def histograms(x: Array, edges: tuple[float, ...], starts: Array, ends: Array) -> Answers:
    """How many values of each window lie between each two edges, below the first and from the last on."""
    bins = len(edges) + 1
    if x.dtype.kind == "f":
        codes = np.searchsorted(np.array([_float_from(edge) for edge in edges]), x, side="right")  # NaN behind all
    else:  # an integer is not below an edge where it is not below the next integer
        whole = [max(math.ceil(edge), -(2**63)) for edge in edges if edge <= 2**63 - 1]
        codes = np.searchsorted(np.array([edge for edge in whole if edge < 2**63], np.int64), x, side="right")
    items = np.empty((len(starts), bins), np.int64)
    before = np.zeros(len(x) + 1, np.int64)
    for each in range(bins):
        np.cumsum(codes == each, out=before[1:])
        items[:, each] = before[ends] - before[starts]
    lengths = np.full(len(starts), bins, np.int64)
    return Answers([Ragged(np.arange(len(starts)) * bins, lengths, items.reshape(-1))], None)
