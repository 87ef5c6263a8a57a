"""Windows by category: rows are grouped by category once, and each category's windows are answered together.

Within a window that slides, a category's rows change only where one of them enters or leaves. So there are at most two
windows of one category for each row, whose answers come from the operator's own pass, and maps refer to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from slidewise.arrays import Array, Maps
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.compiler.jit import cached_jit
from slidewise.kernels.order.grouping import Grouped
from slidewise.operators.operator import Operator
from slidewise.operators.per_category import category_of, in_order
from slidewise.operators.traits import PerCategory

# The answers of an operator over arrays and windows [starts, ends).
Windows = Callable[[Operator, list[Array], Array, Array], Answers]
_FEW = 8  # categories that are put into order one by one
_SHORT = ROOM_BEHIND = 16  # bytes of a text that is written as a whole


def by_category(op: Operator, inputs: list[Array], starts: Array, ends: Array, windows: Windows) -> Answers:
    """The map of each window [starts, ends) by the last of the inputs; `windows` answers the operator inside."""
    per = op.traits.per
    assert per is not None
    keys, codes = _codes(op.name, per, inputs[-1])
    categories = max(len(keys), 1)
    lengths, made = np.zeros(len(starts), np.int64), np.zeros(categories, np.int64)
    _measure(codes, starts, ends, lengths, made)
    firsts = np.zeros(categories + 1, np.int64)
    np.cumsum(made, out=firsts[1:])
    index = np.int32 if 2 * len(codes) < 2**31 else np.int64
    inner_starts, inner_ends = (np.empty(firsts[-1], index) for _ in range(2))
    grouped = Grouped(codes, categories)
    _enumerate(codes, starts, ends, grouped.offsets, firsts, inner_starts, inner_ends)
    values = [grouped.to_sorted(_as_input(per.inner, x)) for x in inputs[:-1]] or [grouped.to_sorted(codes)]
    answers = windows(per.inner, values, inner_starts, inner_ends)
    content = MapContent(codes, starts, ends, firsts)
    return Answers([Maps(np.arange(len(starts)), lengths, keys, answers, content)], None)


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
def _measure(codes: Array, starts: Array, ends: Array, lengths: Array, made: Array) -> None:
    """How many categories each window holds, and how many different windows each category has."""
    counts = np.zeros(len(made), np.int64)
    seen = np.full(len(made), -1, np.int64)
    touched = np.empty(len(made), np.int64)
    size = 0
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
            size += counts[code] == 0
            counts[code] += 1
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            end += 1
        while start < s:
            code = codes[start]
            counts[code] -= 1
            size -= counts[code] == 0
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            start += 1
        for j in range(changed):
            made[touched[j]] += counts[touched[j]] > 0
        lengths[i] = size


@cached_jit
def _enumerate(
    codes: Array, starts: Array, ends: Array, offsets: Array, firsts: Array, inner_starts: Array, inner_ends: Array
) -> None:
    """Each category's windows, over rows that are grouped by category."""
    categories = len(firsts) - 1
    oldest = offsets[:-1].copy()  # of each category the first row in the window, and the one past its last
    newest = offsets[:-1].copy()
    window = firsts[:-1].copy()  # the number of its next window
    seen = np.full(categories, -1, np.int64)
    touched = np.empty(categories, np.int64)
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
            newest[code] += 1
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            end += 1
        while start < s:
            code = codes[start]
            oldest[code] += 1
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            start += 1
        for j in range(changed):
            code = touched[j]
            if newest[code] > oldest[code]:
                inner_starts[window[code]] = oldest[code]
                inner_ends[window[code]] = newest[code]
                window[code] += 1


class MapContent(NamedTuple):
    """What maps are laid out from: the category of each row, the windows, and the first window of each category."""

    codes: Array
    starts: Array
    ends: Array
    firsts: Array

    def lay_out(self, places: Array, values: Array, codes: Array, out: Array) -> None:
        """Write the entries of maps as codes and values, the map of each window from its place on, where that is not
        -1; `values` has one for each window of a category."""
        _lay_out(*self, places, values, codes, out)


@cached_jit
def _lay_out(
    codes: Array,
    starts: Array,
    ends: Array,
    firsts: Array,
    places: Array,
    values: Array,
    out_codes: Array,
    out: Array,
) -> None:
    """The entries of each map, the least category first."""
    categories = len(firsts) - 1
    counts = np.zeros(categories, np.int64)
    window = firsts[:-1] - 1  # the number of each category's last window
    seen = np.full(categories, -1, np.int64)
    touched = np.empty(categories, np.int64)
    place = np.empty(categories, np.int64)  # among those that are in the window
    present = np.empty(categories, np.int32)
    row = np.empty(categories, values.dtype)
    latest = np.empty(categories, values.dtype)
    size = 0
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
            if counts[code] == 0:
                present[size + entered] = code
                entered += 1
            counts[code] += 1
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            end += 1
        while start < s:
            code = codes[start]
            counts[code] -= 1
            left += counts[code] == 0
            if seen[code] != i:
                seen[code] = i
                touched[changed] = code
                changed += 1
            start += 1
        for j in range(changed):
            code = touched[j]
            if counts[code] > 0:
                window[code] += 1
                latest[code] = values[window[code]]
                if entered + left == 0:
                    row[place[code]] = latest[code]
        if entered + left > 0:
            size = _in_order(present, size, entered, left, counts)
            for j in range(size):
                code = present[j]
                place[code] = j
                row[j] = latest[code]
        to = places[i]
        if to >= 0:
            for j in range(size):
                out_codes[to + j] = present[j]
                out[to + j] = row[j]


@cached_jit
def _in_order(present: Array, size: int, entered: int, left: int, counts: Array) -> int:
    """Categories in order without those that have left: those that entered stand behind the others."""
    ordered = size
    size += entered
    if left > 0:
        to = 0
        before = 0
        for j in range(size):
            if counts[present[j]] > 0:
                present[to] = present[j]
                to += 1
                before += j < ordered
        size = to
        ordered = before
    if size - ordered > _FEW:
        present[:size].sort()
        return size
    for j in range(ordered, size):
        code = present[j]
        to = j
        while to > 0 and present[to - 1] > code:
            present[to] = present[to - 1]
            to -= 1
        present[to] = code
    return size


@cached_jit
def _write_short_texts(codes: Array, sizes: Array, table: Array, offsets: Array, out: Array) -> None:
    """The same for texts of at most `_SHORT` bytes: so many are written of each, the next one over what is too much."""
    at = 0
    for i in range(len(codes)):
        code = codes[i]
        offsets[i] = at
        for j in range(_SHORT):
            out[at + j] = table[code, j]
        at += sizes[code]
    offsets[len(codes)] = at


@cached_jit
def _write_texts(codes: Array, begins: Array, text: Array, offsets: Array, out: Array) -> None:
    """Write texts by their codes, one behind the other, and where each begins."""
    at = 0
    for i in range(len(codes)):
        offsets[i] = at
        for j in range(begins[codes[i]], begins[codes[i] + 1]):
            out[at] = text[j]
            at += 1
    offsets[len(codes)] = at


def write_texts(codes: Array, begins: Array, text: Array, offsets: Array, out: Array) -> None:
    """Write texts by their codes, one behind the other, and where each begins; text k has the bytes from begins[k] to
    begins[k + 1], and there is room for `ROOM_BEHIND` bytes behind the last one."""
    sizes = np.diff(begins)
    if sizes.max(initial=0) > _SHORT:
        _write_texts(codes, begins, text, offsets, out)
        return
    table = np.zeros((len(sizes), _SHORT), np.uint8)
    for code, size in enumerate(sizes.tolist()):
        table[code, :size] = text[begins[code] : begins[code] + size]
    _write_short_texts(codes, sizes, table, offsets, out)
