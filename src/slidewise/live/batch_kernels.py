"""A batch through the kernels: the rows already there and the new ones together, for all keys at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from itertools import groupby
from typing import Any

import numpy as np

from slidewise.errors import InputError, SlidewiseError, SumOverflowError
from slidewise.kernels.bounds import Grouped, time_bounds
from slidewise.kernels.kernel import Answers
from slidewise.kernels.plan import as_numbers, over_bounds
from slidewise.kernels.series import Column
from slidewise.kernels.typed import answer_type, readied
from slidewise.live.batch_running import running_spec
from slidewise.live.incoming import CannotJoinError, Incoming, as_python, joined, there
from slidewise.live.pane import RunningPane
from slidewise.live.spec import Spec
from slidewise.tables.evaluate import check_inputs, present, typed

Array = Any
Found = dict[str, tuple[str | None, Any]]


def evaluate(incoming: Incoming, peers: bool) -> tuple[Found, Callable[[], None]]:
    """The answers by name, in the batch's order, and what makes the batch part of the state.

    Rows of a key come in the order of their times; with `peers`, those of equal time see one another.
    """
    live = incoming.live
    found: Found = {}
    changes: list[Callable[[], None]] = []
    numbers = incoming.numbers()
    for at, spec in enumerate(live.specs):
        places = numbers if spec.numbered else incoming.times
        try:
            if spec.running:
                arrays, change = _running(incoming, at, spec, places, peers)
            else:
                arrays, change = _sliding(incoming, at, spec, places, peers)
        except SlidewiseError as error:
            error.add_note("no row of the batch was taken in")
            raise
        changes.append(change)
        like = spec.columns[0] if spec.columns else None
        found |= {one.name: (like, array) for one, array in zip(spec.members, arrays, strict=True)}

    def commit() -> None:
        for change in changes:
            change()
        counts = np.bincount(incoming.codes, minlength=len(incoming.tracks)).tolist()
        newest = [None] * len(counts)
        if incoming.times is not None:
            most = incoming.newest()
            np.maximum.at(most, incoming.codes, incoming.times)
            newest = most.tolist()
        for key, track, count, now in zip(incoming.keys, incoming.tracks, counts, newest, strict=True):
            track.count += count
            track.now = now
            live.tracks[key] = track
        live.clock.kind = incoming.kind if incoming.count else live.clock.kind
        live.answers += incoming.count

    return {name: found[name] for name in live.definition.columns}, commit


def _columns(incoming: Incoming, spec: Spec) -> tuple[list[Column], Array | None]:
    columns = [incoming.column(name) for name in spec.columns]
    flag = None if spec.condition is None else incoming.column(spec.condition)
    return columns or [Column(np.zeros(incoming.count, np.int64), None, lambda x: x)], present(
        columns, spec.condition, flag
    )


def _sliding(
    incoming: Incoming, at: int, spec: Spec, places: Array, peers: bool
) -> tuple[list[Any], Callable[[], None]]:
    """One spec over the rows already there and the batch together."""
    columns, valid = _columns(incoming, spec)
    types = [incoming.kind_of(name) for name in spec.columns]
    counts, old = there([track.panes[at] for track in incoming.tracks])
    before = sum(counts)
    grouped = Grouped(np.concatenate([np.repeat(np.arange(len(counts)), counts), incoming.codes]), max(len(counts), 1))
    spots = grouped.bring(_places(old[0] if old else None, places))
    total = len(spots)
    starts, ends = _bounds(spec, spots, grouped.offsets, peers)
    is_new = grouped.bring(np.arange(total) >= before)
    seen = None if valid is None else grouped.bring(np.concatenate([np.ones(before, np.bool_), valid]))

    def brought(given: list[Column]) -> list[Array]:
        return [grouped.bring(joined(old[1 + i] if old else None, column)) for i, column in enumerate(given)]

    arrays = []
    back = Grouped(incoming.codes, max(len(counts), 1))
    for one in spec.members:
        check_inputs(one.operator, spec.columns, columns, types)
        given = readied(one.operator, columns)
        inputs = brought([as_numbers(one.operator, column) for column in given])
        answers = over_bounds(one.operator, inputs, seen, starts[is_new], ends[is_new], one.least, True)
        fields = [back.take_back(field) for field in answers.fields]
        ok = None if answers.valid is None else back.take_back(answers.valid)
        arrays.append(typed(one.operator, given, types, Answers(fields, ok)))

    # What later windows may hold: the rows from the start of each key's last window on.
    keep = np.zeros(total, np.bool_)
    if total:
        last = starts[grouped.offsets[1:] - 1]
        keep = np.arange(total) >= np.repeat(last, np.diff(grouped.offsets))
        keep &= True if seen is None else seen
    stops = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep)])[grouped.offsets].tolist()
    stored = [spots[keep], *(as_python(c, part[keep]) for c, part in zip(columns, brought(columns), strict=True))]

    def change() -> None:
        for k, track in enumerate(incoming.tracks):
            track.panes[at].freeze([part[stops[k] : stops[k + 1]].copy() for part in stored])

    return arrays, change


def _bounds(spec: Spec, spots: Array, offsets: Array, peers: bool) -> tuple[Array, Array]:
    starts, ends = np.empty(len(spots), np.int64), np.empty(len(spots), np.int64)
    whole = spots.dtype == np.int64
    width = np.uint64(min(int(spec.width), 2**64 - 1)) if whole else float(spec.width)
    edge = spec.edge or (whole and int(spec.width) != spec.width)
    time_bounds(spots, offsets, width, whole, edge, spec.is_open, starts, ends)
    if not peers and not spec.is_open:  # what has arrived so far
        ends = np.arange(1, len(spots) + 1)
    return starts, ends


def _places(old: Array | None, new: Array) -> Array:
    if new.dtype == object or (old is not None and old.dtype != new.dtype):
        raise CannotJoinError
    return new if old is None else np.concatenate([old, new])


def _running(
    incoming: Incoming, at: int, spec: Spec, places: Array, peers: bool
) -> tuple[list[Any], Callable[[], None]]:
    """One spec over everything so far: its states live on. What cannot be compiled goes in row by row."""
    columns, valid = _columns(incoming, spec)
    types = [incoming.kind_of(name) for name in spec.columns]
    for one in spec.members:
        check_inputs(one.operator, spec.columns, columns, types)
    compiled = None
    if not spec.is_open:
        with suppress(SumOverflowError) if peers else nullcontext():  # a sum may not fit before its last peer is in
            compiled = running_spec(incoming, at, spec, places, peers, columns, valid)
    if compiled is not None:
        running, states, counts = compiled

        def go_on() -> None:
            for k, track in enumerate(incoming.tracks):
                pane = track.panes[at]
                pane.count = counts[k]
                pane.states = [part[k] for part in states] if counts[k] else []

        arrays = [typed(one.operator, columns, types, found) for one, found in zip(spec.members, running, strict=True)]
        return arrays, go_on
    panes = []
    for track in incoming.tracks:
        pane, old = RunningPane(spec), track.panes[at]
        old.begin()
        pane.before = old.before
        pane.undo()
        panes.append(pane)
    values = [as_python(column, column.data).tolist() for column in columns]
    spots, codes = places.tolist(), incoming.codes.tolist()
    present_rows = [True] * len(codes) if valid is None else valid.tolist()
    rows = [
        (spot, tuple(row) if counts else None)
        for spot, counts, row in zip(spots, present_rows, zip(*values, strict=True), strict=True)
    ]
    answers: list[Any] = []
    if peers:  # which stand together, since rows are sorted by key and time
        for (k, _), group in groupby(range(len(rows)), key=lambda i: (codes[i], rows[i][0])):
            answers += panes[k].push_peers([rows[i] for i in group])
    else:
        answers += [panes[k].take(*row) for k, row in zip(codes, rows, strict=True)]

    def change() -> None:
        for track, pane in zip(incoming.tracks, panes, strict=True):
            track.panes[at] = pane

    return as_arrays(spec, types, answers), change


def as_arrays(spec: Spec, types: list[Any], answers: list[list[Any]]) -> list[Any]:
    """Answers of each row, one for each member, as an Arrow array for each member."""
    import pyarrow as pa

    arrays = []
    for j, one in enumerate(spec.members):
        values = [answer[j] for answer in answers]
        if one.operator.builtin and one.operator.name == "m4":
            values = [None if value is None else value._asdict() for value in values]
        kind = answer_type(one.operator, types)
        try:
            array = pa.array(values)
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # rows before this batch had another type
                array = array if kind is None else array.cast(kind)
            arrays.append(array)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(f"{one.name!r} has answers of several types, which no column can hold: {error}") from error
    return arrays
