"""Windows by category: rows are grouped by category once, and each category's windows are answered together.

Within a window that slides, a category's rows change only where one of them enters or leaves. So there are at most two
windows of one category for each row, whose answers come from the operator's own pass, and maps refer to them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slidewise.arrays import Array, Maps, Ragged
from slidewise.errors import InputError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.compiler.jit import cached_jit
from slidewise.kernels.order.grouping import Grouped
from slidewise.kernels.passes.interpreted import interpreted
from slidewise.operators.operator import Operator
from slidewise.operators.per_category import category_of, in_order
from slidewise.operators.traits import PerCategory

# The answers of an operator over arrays and windows [starts, ends).
Windows = Callable[[Operator, list[Array], Array, Array], Answers]
_FEW = 8  # categories that are put into order one by one


def by_category(op: Operator, inputs: list[Array], starts: Array, ends: Array, windows: Windows) -> Answers:
    """The map of each window [starts, ends) by the last of the inputs; `windows` answers the operator inside."""
    per = op.traits.per
    assert per is not None
    if per.top is not None:
        return interpreted(op, inputs, starts, ends)
    keys, codes = _codes(op.name, per, inputs[-1])
    categories = max(len(keys), 1)
    lengths, made = np.zeros(len(starts), np.int64), np.zeros(categories, np.int64)
    filled = _measure(codes, starts, ends, lengths, made)
    first_windows = np.zeros(categories + 1, np.int64)
    np.cumsum(made, out=first_windows[1:])
    index = np.int32 if 2 * len(codes) < 2**31 else np.int64
    firsts = np.zeros(len(starts), np.int64)
    items, places = np.empty(filled, index), np.empty(filled, index)
    inner_starts, inner_ends = (np.empty(first_windows[-1], index) for _ in range(2))
    grouped = Grouped(codes, categories)
    _enumerate(
        *(codes, starts, ends, grouped.offsets, first_windows),
        *(inner_starts, inner_ends, firsts, items, places),
    )
    values = [grouped.to_sorted(_as_input(per.inner, x)) for x in inputs[:-1]] or [grouped.to_sorted(codes)]
    answers = windows(per.inner, values, inner_starts, inner_ends)
    return Answers([Maps(Ragged(firsts, lengths, items, places), keys, answers)], None)


def _as_input(inner: Operator, x: Array) -> Array:
    return x.astype(np.int64) if inner.traits.computes and x.dtype == np.bool_ else x


def _codes(name: str, per: PerCategory, x: Array) -> tuple[Array, Array]:
    """The different categories in their order, and a code for each row, its place among them."""
    if x.dtype == object:
        rows = x.tolist()
        if not {*map(type, rows)} <= {str}:
            rows = [category_of(name, per, category) for category in rows]
        keys = in_order(dict.fromkeys(rows))
        places = {category: code for code, category in enumerate(keys)}
        return np.array([*keys, None], object)[:-1], np.fromiter(map(places.__getitem__, rows), np.int64, len(rows))
    low, high = (int(x.min()), int(x.max())) if len(x) else (0, 0)
    if high - low > 2 * len(x) + 1_000:
        values, codes = np.unique(x, return_inverse=True)
        return values, codes.astype(np.int64)
    shifted = x.astype(np.int64) - low
    present = np.zeros(high - low + 1, np.bool_)
    present[shifted] = True
    return (np.flatnonzero(present) + low).astype(x.dtype), (np.cumsum(present) - 1)[shifted]


@cached_jit
def _measure(codes: Array, starts: Array, ends: Array, lengths: Array, made: Array) -> int:
    """How many categories each window holds, and how many different windows each category has; the entries that are
    needed, windows without a change sharing those of the window before."""
    counts = np.zeros(len(made), np.int64)
    seen = np.full(len(made), -1, np.int64)
    touched = np.empty(len(made), np.int64)
    size = 0
    filled = 0
    start = 0
    end = 0
    for i in range(len(starts)):
        s = starts[i]
        e = ends[i]
        if s >= e:
            continue
        changed = 0
        while end < e:
            code = codes[end]
            if counts[code] == 0:
                size += 1
            counts[code] += 1
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            end += 1
        while start < s:
            code = codes[start]
            counts[code] -= 1
            if counts[code] == 0:
                size -= 1
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            start += 1
        for j in range(changed):
            if counts[touched[j]] > 0:
                made[touched[j]] += 1
        lengths[i] = size
        if changed > 0:
            filled += size
    return filled


@cached_jit
def _enumerate(
    codes: Array,
    starts: Array,
    ends: Array,
    offsets: Array,
    first_windows: Array,
    inner_starts: Array,
    inner_ends: Array,
    firsts: Array,
    items: Array,
    places: Array,
) -> None:
    """Each category's windows over rows that are grouped by category, and the entries of each map, the least category
    first: its code, and the number of its window."""
    categories = len(first_windows) - 1
    oldest = offsets[:-1].copy()  # of each category the first row in the window, and the one past its last
    newest = offsets[:-1].copy()
    window = first_windows[:-1] - 1  # the number of its last window
    seen = np.full(categories, -1, np.int64)
    touched = np.empty(categories, np.int64)
    present = np.empty(categories, np.int64)
    size = 0
    filled = 0
    first = 0
    start = 0
    end = 0
    for i in range(len(starts)):
        s = starts[i]
        e = ends[i]
        if s >= e:
            continue
        changed = 0
        entered = 0
        left = 0
        while end < e:
            code = codes[end]
            if oldest[code] == newest[code]:
                present[size + entered] = code
                entered += 1
            newest[code] += 1
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            end += 1
        while start < s:
            code = codes[start]
            oldest[code] += 1
            if oldest[code] == newest[code]:
                left += 1
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            start += 1
        if changed == 0:
            firsts[i] = first
            continue
        for j in range(changed):
            code = touched[j]
            if newest[code] > oldest[code]:
                window[code] += 1
                inner_starts[window[code]] = oldest[code]
                inner_ends[window[code]] = newest[code]
        size += entered
        if left > 0:
            to = 0
            for j in range(size):
                code = present[j]
                if newest[code] > oldest[code]:
                    present[to] = code
                    to += 1
            size = to
        if entered > _FEW:
            present[:size].sort()
        elif entered > 0:
            for j in range(1, size):
                code = present[j]
                to = j
                while to > 0 and present[to - 1] > code:
                    present[to] = present[to - 1]
                    to -= 1
                present[to] = code
        first = filled
        firsts[i] = first
        for j in range(size):
            items[filled] = present[j]
            places[filled] = window[present[j]]
            filled += 1


@cached_jit
def _lay_out(
    firsts: Array, lengths: Array, items: Array, places: Array, offsets: Array, out_items: Array, out: Array
) -> None:
    for i in range(len(firsts)):
        at = firsts[i]
        for to in range(offsets[i], offsets[i] + lengths[i]):
            out_items[to] = items[at]
            out[to] = places[at]
            at += 1


def laid_out(maps: Maps, valid: Array | None) -> tuple[Array, Array, Array]:
    """The entries of all maps that are valid, one behind the other: the code of the key, and the place of the value;
    and how many each map has."""
    entries = maps.entries
    lengths = entries.lengths if valid is None else np.where(valid, entries.lengths, 0)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise InputError(
            f"maps of {offsets[-1]:,} entries altogether are too many for one column of Arrow; use top= for fewer "
            "categories, or fewer rows at once"
        )
    assert entries.counts is not None
    items, places = np.empty(offsets[-1], entries.items.dtype), np.empty(offsets[-1], entries.counts.dtype)
    _lay_out(entries.firsts, lengths, entries.items, entries.counts, offsets, items, places)
    return items, places, lengths
