"""Windows by category: rows are grouped by category once, and each category's windows are answered together.

Within a window that slides, a category's rows change only where one of them enters or leaves. So there are at most two
windows of one category for each row, whose answers come from the operator's own pass. What changes from one window to
the next is written down once, and maps are laid out from that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array, Maps
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.order.grouping import Grouped
from slidewise.kernels.passes.interpreted import interpreted
from slidewise.kernels.passes.map_entries import MapContent
from slidewise.kernels.passes.top_categories import can_be_ranked, top_categories
from slidewise.operators.operator import Operator
from slidewise.operators.per_category import category_of, in_order
from slidewise.operators.traits import PerCategory

# The answers of an operator over arrays and windows [starts, ends).
Windows = Callable[[Operator, list[Array], Array, Array], Answers]
_FEW = 64  # numbers so near to one another are codes as they are, though some of them may be no category


def by_category(op: Operator, inputs: list[Array], starts: Array, ends: Array, windows: Windows) -> Answers:
    """The map of each window [starts, ends) by the last of the inputs; `windows` answers the operator inside."""
    per = op.traits.per
    assert per is not None
    rest_key = None if per.top is None else _rest_key(per, inputs[-1])
    given = tuple(str(x.dtype) for x in inputs[:-1]) or ("int64",)
    if per.top is not None and (rest_key is None or not can_be_ranked(per.inner, given)):
        return interpreted(op, inputs, starts, ends)
    keys, codes = _codes(op.name, per, inputs[-1])
    grouped = Grouped(codes, max(len(keys), 1))
    changes, inner_starts, inner_ends = _changes(codes, starts, ends, grouped.offsets)
    values = [grouped.to_sorted(_as_input(per.inner, x)) for x in inputs[:-1]] or [grouped.to_sorted(codes)]
    answers = windows(per.inner, values, inner_starts, inner_ends)
    if rest_key is not None:
        assert per.top is not None
        rest = np.flatnonzero(keys == rest_key[0])
        named = np.concatenate([keys, rest_key])
        bounds = inner_starts, inner_ends
        code = int(rest[0]) if len(rest) else -1
        maps = top_categories(per.inner, per.top, code, named, values, changes, bounds, answers, starts, ends)
        return Answers([maps], None)
    return Answers([Maps(None, changes.lengths, keys, answers, changes)], None)


def _rest_key(per: PerCategory, categories: Array) -> Array | None:
    """The name of the rest as the categories are held; None where these hold no such name."""
    if categories.dtype == object:
        return np.array([per.rest, None], object)[:1]
    limits = np.iinfo(categories.dtype) if categories.dtype.kind == "i" else None
    if limits is None or isinstance(per.rest, str) or not limits.min <= per.rest <= limits.max:
        return None
    return np.array([per.rest], categories.dtype)


def _changes(codes: Array, starts: Array, ends: Array, offsets: Array) -> tuple[MapContent, Array, Array]:
    """What changes from one window to the next, and each category's windows over rows that are grouped by category."""
    index = np.int32 if 2 * len(codes) < 2**31 else np.int64
    most = 2 * len(codes)  # each row comes once, and goes once
    spread_starts, spread_ends, changed = (np.empty(most, index) for _ in range(3))
    last_changes, lengths = np.empty(len(starts), index), np.empty(len(starts), np.int32)
    made = np.zeros(len(offsets) - 1, np.int64)
    _follow(codes, starts, ends, offsets, spread_starts, spread_ends, made, changed, last_changes, lengths)
    firsts = np.zeros(len(offsets), np.int64)
    np.cumsum(made, out=firsts[1:])
    inner_starts, inner_ends = (np.empty(firsts[-1], index) for _ in range(2))
    _bring_together(spread_starts, spread_ends, offsets, firsts, inner_starts, inner_ends)
    return MapContent(changed, last_changes, lengths, firsts), inner_starts, inner_ends


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
    shifted = x.astype(np.int64, copy=False)
    shifted = shifted - low if low else shifted
    if len(x) and high - low < _FEW:
        return np.arange(low, high + 1).astype(x.dtype), shifted
    present = np.zeros(high - low + 1, np.bool_)
    present[shifted] = True
    return (np.flatnonzero(present) + low).astype(x.dtype), (np.cumsum(present) - 1)[shifted]


@jit
def _write_down(
    code: int,
    oldest: Array,
    newest: Array,
    window: Array,
    present: Array,
    inner_starts: Array,
    inner_ends: Array,
    changed: Array,
    change: int,
) -> Any:
    """Write down that a category changes, and its window where it has one; by how much the categories become more."""
    here = np.int64(newest[code] > oldest[code])
    k = u(window[code])  # one of its own, for it has no more windows than changes
    inner_starts[k] = oldest[code]
    inner_ends[k] = newest[code]
    window[code] += here
    more = here - present[code]
    present[code] = here
    changed[u(change)] = 2 * np.int64(code) + here
    return more


@cached_jit
def _follow(
    codes: Array,
    starts: Array,
    ends: Array,
    offsets: Array,
    inner_starts: Array,
    inner_ends: Array,
    made: Array,
    changed: Array,
    last_changes: Array,
    lengths: Array,
) -> None:
    """Write down which categories change with each window, twice their code and whether they have rows in it.

    With them the windows that each category has, from twice the place of its first row on, over rows that are grouped
    by category; how many these are; and how many categories each window holds.
    """
    categories = len(made)
    oldest = offsets[:-1].copy()  # of each category the first row in the window, and the one past its last
    newest = offsets[:-1].copy()
    window = 2 * offsets[:-1]
    present = np.zeros(categories, np.int64)
    state = oldest, newest, window, present, inner_starts, inner_ends, changed
    seen = np.full(categories, -1, np.int64)
    touched = np.empty(categories, np.int64)
    size = 0
    start = 0
    end = 0
    change = 0
    for i in range(len(starts)):
        s: Any = np.int64(starts[i])
        e: Any = np.int64(ends[i])
        if s >= e:
            lengths[i] = 0
            last_changes[i] = change
            continue
        if e == end + 1 and s == start + 1:  # one comes and one goes, as mostly in windows of rows
            come = u(codes[u(end)])
            gone = u(codes[u(start)])
            newest[come] += 1
            oldest[gone] += 1
            size += _write_down(come, *state, change)
            change += 1
            if come != gone:
                size += _write_down(gone, *state, change)
                change += 1
            end = e
            start = s
        else:
            count = 0
            while end < e:
                code = u(codes[u(end)])
                newest[code] += 1
                if seen[code] != i:
                    seen[code] = i
                    touched[u(count)] = code
                    count += 1
                end += 1
            while start < s:
                code = u(codes[u(start)])
                oldest[code] += 1
                if seen[code] != i:
                    seen[code] = i
                    touched[u(count)] = code
                    count += 1
                start += 1
            for j in range(count):
                size += _write_down(u(touched[u(j)]), *state, change)
                change += 1
        lengths[i] = size
        last_changes[i] = change
    for code in range(categories):
        made[code] = window[code] - 2 * offsets[code]


@cached_jit
def _bring_together(
    spread_starts: Array, spread_ends: Array, offsets: Array, firsts: Array, inner_starts: Array, inner_ends: Array
) -> None:
    """The windows of all categories, those of each from its first one on."""
    for code in range(len(offsets) - 1):
        first = u(firsts[code])
        at = u(2 * offsets[code])
        for k in range(firsts[code + 1] - firsts[code]):
            inner_starts[first + u(k)] = spread_starts[at + u(k)]
            inner_ends[first + u(k)] = spread_ends[at + u(k)]
