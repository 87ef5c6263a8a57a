"""Slices of many keys as arrays: made of sorted rows, joined with later ones, and asked for beats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.answer_series import BARE, as_arrow_array
from slidewise.columns.series import Column, read
from slidewise.engine.answers import check_inputs, typed
from slidewise.engine.batch import ColumnSource
from slidewise.engine.beats.parts import Arguments, BeatColumn, SlicePlan, Stored, Values, arguments, stored
from slidewise.errors import InputError, SlidewiseError
from slidewise.kernels.bounds.beats import beat_bounds, beats_seen, held_at, slice_numbers
from slidewise.kernels.codegen.kernel import Answers
from slidewise.windows import Beats


class DueBeats(NamedTuple):
    """Beats that are due: the number of the key and of the beat, sorted by both."""

    codes: Array
    numbers: Array

    def __len__(self) -> int:
        return len(self.codes)

    def taken(self, which: Array | slice) -> DueBeats:
        return DueBeats(self.codes[which], self.numbers[which])


class BeatSlices:
    """Slices as arrays, sorted by key and time: the number of its key, its own, and what parts keep."""

    def __init__(self, codes: Array, numbers: Array, parts: list[Stored]) -> None:
        self.codes = codes
        self.numbers = numbers
        self.parts = parts

    def __len__(self) -> int:
        return len(self.codes)

    def taken(self, which: Array | slice) -> BeatSlices:
        """Those at some places, or those for which a mask or a slice says so."""
        return BeatSlices(self.codes[which], self.numbers[which], [part.taken(which) for part in self.parts])

    def joined(self, later: BeatSlices) -> BeatSlices:
        """These and later ones; where both have a slice, the rows of these come first."""
        if not len(self) or not len(later):
            return later if len(later) else self
        codes = np.concatenate([self.codes, later.codes])
        numbers = np.concatenate([self.numbers, later.numbers])
        parts: list[Any] = [a.joined(b) for a, b in zip(self.parts, later.parts, strict=True)]  # type: ignore[arg-type]
        both = BeatSlices(codes, numbers, parts)
        if not _rises(codes, numbers):
            both = both.taken(np.lexsort((numbers, codes)))
        offsets = runs(both.codes, both.numbers)
        if len(offsets) == len(both) + 1:
            return both
        first = offsets[:-1]
        return BeatSlices(both.codes[first], both.numbers[first], [part.folded(offsets) for part in both.parts])

    def due(self, beats: Beats, after: int | Array | None = None, until: int | Array | None = None) -> DueBeats:
        """The beats at which windows hold any of these slices, after one and up to another: of all keys, or of each."""
        first, last = held_at(beats, self.numbers)
        if after is not None:
            first = np.maximum(first, self._of_slices(after) + 1)
        if until is not None:
            last = np.minimum(last, self._of_slices(until))
        return DueBeats(*beats_seen(self.codes, first, last))

    def _of_slices(self, beats: int | Array) -> int | Array:
        """A beat for all keys as it is, or each key's as one of each of its slices."""
        return beats if isinstance(beats, int) or np.ndim(beats) == 0 else beats[self.codes]

    def needed(self, beats: Beats, after: int | Array) -> Array:
        """Which slices windows hold after a beat: of all keys, or of each."""
        last = held_at(beats, self.numbers)[1]
        array: Array = last > self._of_slices(after)
        return array

    def answers(self, plan: SlicePlan, beats: Beats, due: DueBeats, inputs: list[Arguments]) -> dict[str, Any]:
        """Each aggregate's answers at these beats as an Arrow array, by name."""
        by_name: dict[str, Any] = {}
        bounds: dict[int, tuple[Array, Array]] = {}
        for group in _together(plan):
            column = group[0]
            if column.window not in bounds:
                bounds[column.window] = self._bounds(beats, due, column.window)
            part = self.parts[column.part]
            try:
                if isinstance(part, Values):
                    answered = part.several([each.operator for each in group], *bounds[column.window], column.least)
                else:
                    answered = [part.windows(*bounds[column.window], column.least)]
                for each, answers in zip(group, answered, strict=True):
                    by_name[each.name] = _typed(plan, each, inputs[each.part], answers)
            except SlidewiseError as error:
                raise type(error)(f"column {', '.join(repr(each.name) for each in group)}: {error}") from error
        return {name: by_name[name] for name in plan.definition.aggregates}

    def _bounds(self, beats: Beats, due: DueBeats, window: int) -> tuple[Array, Array]:
        low, high = beats.edges[window]
        starts, ends = np.empty(len(due), np.int64), np.empty(len(due), np.int64)
        beat_bounds(due.codes, due.numbers, self.codes, self.numbers, beats.per, low, high, starts, ends)
        return starts, ends


def _together(plan: SlicePlan) -> list[list[BeatColumn]]:
    """Aggregates that are answered at once: exact quantiles over the same rows that need as many; others are alone."""
    groups: dict[Any, list[BeatColumn]] = {}
    for column in plan.asked:
        quantile = column.operator.traits.order_statistic is not None
        groups.setdefault((column.part, column.window, column.least) if quantile else column.name, []).append(column)
    return list(groups.values())


def _typed(plan: SlicePlan, column: BeatColumn, inputs: Arguments, answers: Answers) -> Any:
    check_inputs(column.operator, plan.parts[column.part].columns, inputs.columns, inputs.types)
    return typed(column.operator, inputs.columns, inputs.types, answers)


def sliced(
    plan: SlicePlan, beats: Beats, source: ColumnSource, codes: Array, times: Array, to_sorted: Callable[[Array], Array]
) -> tuple[BeatSlices, list[Arguments]]:
    """The slices of rows, and their arguments. `codes` and `times` are sorted by both; `to_sorted` sorts a column."""
    numbers = slice_numbers(beats, times)
    first, last = held_at(beats, numbers)
    seen = first <= last  # windows shorter than a beat leave out the rows between them
    if not seen.all():
        codes, numbers = codes[seen], numbers[seen]
    inputs = [
        _named(plan, i, source, (lambda x: to_sorted(x)[seen]) if not seen.all() else to_sorted)
        for i in range(len(plan.parts))
    ]
    offsets = runs(codes, numbers)
    parts = []
    for i, (part, rows) in enumerate(zip(plan.parts, inputs, strict=True)):
        try:
            parts.append(stored(part, rows, offsets))
        except SlidewiseError as error:
            raise type(error)(f"column {_users(plan, i)}: {error}") from error
    return BeatSlices(codes[offsets[:-1]], numbers[offsets[:-1]], parts), inputs


def _named(plan: SlicePlan, at: int, source: ColumnSource, to_sorted: Callable[[Array], Array]) -> Arguments:
    try:
        return arguments(source, plan.parts[at], to_sorted)
    except SlidewiseError as error:
        raise type(error)(f"column {_users(plan, at)}: {error}") from error


def _users(plan: SlicePlan, part: int) -> str:
    """The names of the aggregates that need a part."""
    return ", ".join(repr(column.name) for column in plan.asked if column.part == part)


def runs(codes: Array, numbers: Array) -> Array:
    """Where each slice begins among sorted rows or slices, and the end."""
    if not len(codes):
        return np.zeros(1, np.int64)
    changes = np.ones(len(codes), np.bool_)
    changes[1:] = (codes[1:] != codes[:-1]) | (numbers[1:] != numbers[:-1])
    return np.append(np.flatnonzero(changes), len(codes))


def _rises(codes: Array, numbers: Array) -> bool:
    same = codes[1:] == codes[:-1]
    return bool(((codes[1:] > codes[:-1]) | (same & (numbers[1:] >= numbers[:-1]))).all())


def as_times(on: str, like: Column, ticks: Array) -> Any:
    """Beats as an Arrow array of the time column's type, which must hold them."""
    array = as_arrow_array({BARE: like.back(ticks)}, None)
    if ticks.dtype == np.int64 and len(ticks):
        read_back = read(array, repr(on)).data
        if not np.array_equal(read_back, ticks):
            wrong = int((read_back != ticks).argmax())
            raise InputError(
                f"a beat at {ticks[wrong]} does not fit into {array.type}, the type of on={on!r}; cast it to a wider "
                "one"
            )
    return array
