"""Maps of the categories with the most rows, and of all others together: an order of categories by how many rows each
has, kept up from window to window, and a tree of the states of those that are in the rest.

A row that comes or goes moves its category past those that have as many rows. What the rest comes to changes with one
leaf of the tree or two, and takes the combines from these up to the root.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array, Maps
from slidewise.kernels.bounds.rows_and_times import longest
from slidewise.kernels.codegen.kernel import AnswerRoom, Answers, Kernel, number_kernel
from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.passes.map_entries import MapContent
from slidewise.operators.operator import Operator


class TopContent(NamedTuple):
    """The entries of all maps, one map behind the other: codes of their keys, and which values they have.

    `firsts` says where each map begins, `lengths` how many entries it has.
    """

    firsts: Array
    lengths: Array
    codes: Array
    sources: Array

    def lay_out(self, places: Array, values: Array, keys: Array, out_keys: Array, out: Array) -> None:
        """Write the entries of maps, the map of each window from its place on, where that is not -1."""
        _lay_out(*self, places, values, keys, out_keys, out)


@cached_jit
def _lay_out(
    firsts: Array,
    lengths: Array,
    codes: Array,
    sources: Array,
    places: Array,
    values: Array,
    keys: Array,
    out_keys: Array,
    out: Array,
) -> None:
    for i in range(len(places)):
        to = places[u(i)]
        if to < 0:
            continue
        for j in range(lengths[u(i)]):
            at = u(firsts[u(i)] + j)
            out_keys[u(to + j)] = keys[u(codes[at])]
            out[u(to + j)] = values[u(sources[at])]


class _Rests(NamedTuple):
    """The rest of each window that has another than the one before: the rows in it, and how many changes of the tree's
    leaves come before it; and these changes, a category and its window in the rest, or -1."""

    rows: Array
    stops: Array
    codes: Array
    leaves: Array


def can_be_ranked(inner: Operator, dtypes: tuple[str, ...]) -> bool:
    """Whether the rest's answers can be had by compiled passes."""
    return inner.traits.counts_rows or number_kernel(inner, dtypes) is not None


def top_categories(
    inner: Operator,
    top: int,
    rest: int,
    keys: Array,
    values: list[Array],
    changes: MapContent,
    bounds: tuple[Array, Array],
    answers: Answers,
    starts: Array,
    ends: Array,
) -> Maps:
    """The maps of windows [starts, ends) of which some categories have an entry, and the others one together, the last.

    `changes` are those of all categories, whose windows over the grouped `values` have these `bounds` and `answers`.
    `rest` is the code of the category that is always in the rest, or negative; `keys` has the rest's name at its end.
    """
    content, rests = _ranked(top, rest, len(keys) - 1, changes, *bounds, starts, ends)
    of_rests = _answers_of(inner, values, bounds, rests, len(keys) - 1)
    return Maps(None, content.lengths, keys, _joined(answers, of_rests), content)


def _ranked(
    top: int, rest: int, groups: int, changes: MapContent, lows: Array, highs: Array, starts: Array, ends: Array
) -> tuple[TopContent, _Rests]:
    m = len(starts)
    most = min(top, groups, int(longest(starts, ends)) if m else 0) + 1
    firsts, lengths = np.empty(m, np.int64), np.empty(m, np.int32)
    codes, sources = np.empty(m * most, np.int32), np.empty(m * most, np.int32 if len(lows) + m < 2**31 else np.int64)
    moves = 2 * len(changes.changed)
    rests = _Rests(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(moves, np.int32), np.empty(moves, np.int64))
    sizes = _rank(top, rest, *changes, lows, highs, starts, ends, firsts, lengths, codes, sources, *rests)
    entries, versions, events = sizes
    content = TopContent(firsts, lengths, codes[:entries], sources[:entries])
    return content, _Rests(rests.rows[:versions], rests.stops[:versions], rests.codes[:events], rests.leaves[:events])


@jit
def _goes_before(a: int, b: int, counts: Array) -> bool:
    """Whether a category has more rows than another, or as many and is the lesser."""
    ahead: bool = (counts[u(a)] > counts[u(b)]) | ((counts[u(a)] == counts[u(b)]) & (a < b))
    return ahead


@jit
def _moved(code: int, size: int, top: int, order: Array, place: Array, counts: Array) -> int:
    """Move a category to its place in the order; the one that crosses the edge of the top as it does, or -1."""
    crossed = -1
    at = place[u(code)]
    while at > 0 and _goes_before(code, order[u(at - 1)], counts):
        other = order[u(at - 1)]
        crossed = other if at == top else crossed
        order[u(at)], place[u(other)] = other, at
        at -= 1
    while at + 1 < size and _goes_before(order[u(at + 1)], code, counts):
        other = order[u(at + 1)]
        crossed = other if at + 1 == top else crossed
        order[u(at)], place[u(other)] = other, at
        at += 1
    order[u(at)], place[u(code)] = code, at
    return crossed


@jit
def _show(code: int, here: bool, shown: Array, size: int) -> int:
    """Put a category among those that are shown, which stand in their order, or take it out; how many they are then."""
    at = size
    if here:
        while at > 0 and shown[u(at - 1)] > code:
            shown[u(at)] = shown[u(at - 1)]
            at -= 1
        shown[u(at)] = code
        return size + 1
    while shown[u(at - 1)] != code:
        at -= 1
    for j in range(at, size):
        shown[u(j - 1)] = shown[u(j)]
    return size - 1


@cached_jit
def _rank(
    top: int,
    rest: int,
    changed: Array,
    last_changes: Array,
    _lengths: Array,
    of_category: Array,
    lows: Array,
    highs: Array,
    starts: Array,
    ends: Array,
    firsts: Array,
    lengths: Array,
    codes: Array,
    sources: Array,
    rest_rows: Array,
    rest_stops: Array,
    leaf_codes: Array,
    leaves: Array,
) -> tuple[int, int, int]:
    """Write the entries of all maps and what changes in the rest; how many entries, rests and changes these are."""
    groups = len(of_category) - 1
    window = of_category[:-1].copy()  # the number of each category's next window
    current = np.zeros(groups, np.int64)  # and of that in the window of now
    counts = np.zeros(groups, np.int64)
    order = np.zeros(groups, np.int64)  # categories, those with the most rows first, and the least of equal ones
    place = np.zeros(groups, np.int64)
    shown = np.zeros(groups + 1, np.int64)
    is_shown = np.zeros(groups, np.bool_)
    leaf = np.full(groups, -1, np.int64)
    touched = np.zeros(2 * groups, np.int64)
    size, shown_size, leaf_count = 0, 0, 0
    change, entry, version, event = 0, 0, 0, 0
    for i in range(len(starts)):
        count = 0
        while change < last_changes[u(i)]:
            code = changed[u(change)] >> 1
            here = changed[u(change)] & 1
            w = window[u(code)]
            current[u(code)] = w
            window[u(code)] = w + here
            now = highs[u(w)] - lows[u(w)] if here else 0
            before = counts[u(code)]
            counts[u(code)] = now
            crossed = -1
            if code != rest and before + now > 0:  # one whose rows come and go between two windows has no place
                if before == 0:
                    order[u(size)], place[u(code)] = code, size
                    size += 1
                crossed = _moved(code, size, top, order, place, counts)
                if now == 0:
                    size -= 1
            touched[u(count)] = code
            touched[u(count + 1)] = crossed
            count += 2 if crossed >= 0 else 1
            change += 1
        for j in range(count):
            code = touched[u(j)]
            full = counts[u(code)] > 0
            first = full and code != rest and place[u(code)] < top
            if first != is_shown[u(code)]:
                is_shown[u(code)] = first
                shown_size = _show(code, first, shown, shown_size)
            wanted = current[u(code)] if full and not first else -1
            if wanted != leaf[u(code)]:
                leaf_count += (wanted >= 0) - (leaf[u(code)] >= 0)
                leaf[u(code)] = wanted
                leaf_codes[u(event)] = code
                leaves[u(event)] = wanted
                event += 1
        firsts[u(i)] = entry
        lengths[u(i)] = 0
        if starts[u(i)] >= ends[u(i)]:
            continue
        others = np.int64(ends[u(i)]) - np.int64(starts[u(i)])
        for j in range(shown_size):
            code = shown[u(j)]
            codes[u(entry + j)] = code
            sources[u(entry + j)] = current[u(code)]
            others -= counts[u(code)]
        entry += shown_size
        lengths[u(i)] = shown_size
        if leaf_count > 0:
            if version == 0 or rest_stops[u(version - 1)] != event:
                rest_rows[u(version)] = others
                rest_stops[u(version)] = event
                version += 1
            codes[u(entry)] = groups
            sources[u(entry)] = len(lows) + version - 1
            entry += 1
            lengths[u(i)] = shown_size + 1
    return entry, version, event


def _answers_of(
    inner: Operator, values: list[Array], bounds: tuple[Array, Array], rests: _Rests, groups: int
) -> Answers:
    """The answers of the rests."""
    if inner.traits.counts_rows:
        return Answers([rests.rows], None)
    kernel = number_kernel(inner, tuple(str(x.dtype) for x in values))
    assert kernel is not None
    room = AnswerRoom(kernel.layout, len(rests.stops))
    if len(rests.stops):
        width = 1 << (groups - 1).bit_length()
        tree = _states(kernel, 2 * width)
        of_windows = _states(kernel, len(bounds[0]))
        kernel.run("states_pass", *values, *bounds, *_states(kernel, int(longest(*bounds))), *of_windows)
        filled = np.zeros(2 * width, np.bool_)
        kernel.run("rests_pass", *of_windows, rests.codes, rests.leaves, rests.stops, filled, *tree, *room.arrays)
    return room.answers()


def _states(kernel: Kernel, count: int) -> list[Array]:
    return [np.empty(count, dtype) for dtype in kernel.layout.fields]


def _joined(answers: Answers, more: Answers) -> Answers:
    """Answers, and others behind them."""

    def valid(each: Answers) -> Array:
        return np.ones(len(each.fields[0]), np.bool_) if each.valid is None else each.valid

    def there(each: Answers, number: int) -> Array:
        return each.present.get(number, np.ones(len(each.fields[0]), np.bool_))

    fields = [np.concatenate(both) for both in zip(answers.fields, more.fields, strict=True)]
    all_valid = answers.valid is None and more.valid is None
    present = {c: np.concatenate([there(answers, c), there(more, c)]) for c in {**answers.present, **more.present}}
    return replace(
        answers,
        fields=fields,
        valid=None if all_valid else np.concatenate([valid(answers), valid(more)]),
        present=present,
    )
