"""A batch through the kernels: the rows already there and the new ones together, for all keys at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from itertools import groupby
from typing import Any

import numpy as np

from slidewise.errors import InputError, SumOverflowError
from slidewise.kernels.arrow_values import arrow_array, holds
from slidewise.kernels.declared import values_as_declared
from slidewise.kernels.plan import as_numbers
from slidewise.kernels.typed import answer_type, readied
from slidewise.live.batch_running import Before, running_spec
from slidewise.live.celled import Celled, cells_there
from slidewise.live.failing import fail
from slidewise.live.incoming import CannotJoinError, Incoming, as_python, there
from slidewise.live.running_pane import RunningPane
from slidewise.live.slid import Slid, columns_of
from slidewise.live.spec import Spec
from slidewise.operators.equality import same
from slidewise.tables.evaluate import check_inputs, typed

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
            go = _running if spec.running else _sliding if spec.grain is None else _celled
            arrays, change = go(incoming, at, spec, places, peers)
        except CannotJoinError:
            raise
        except Exception as error:
            fail(spec, error, "no row of the batch was taken in")
        changes.append(change)
        like = spec.columns[0] if spec.columns else None
        found |= {one.name: (like, array) for one, array in zip(spec.members, arrays, strict=True)}

    counts = np.bincount(incoming.codes, minlength=len(incoming.tracks)).tolist()
    newest = [None] * len(counts)
    if incoming.times is not None:
        most = incoming.newest()
        np.maximum.at(most, incoming.codes, incoming.times)
        newest = most.tolist()

    def commit() -> None:
        for change in changes:
            change()
        for key, track, count, now in zip(incoming.keys, incoming.tracks, counts, newest, strict=True):
            track.count += count
            track.now = now
            live.tracks[key] = track
        incoming.settle()
        live.answers += incoming.count

    return {name: found[name] for name in live.definition.columns}, commit


def _sliding(
    incoming: Incoming, at: int, spec: Spec, places: Array, peers: bool
) -> tuple[list[Any], Callable[[], None]]:
    """One spec over the rows already there and the batch together."""
    counts, old = there([track.panes[at] for track in incoming.tracks])
    slid = Slid(incoming, spec, places, np.array(counts, np.int64), old, peers)
    arrays = slid.arrays()
    stops, stored = slid.kept()

    def change() -> None:
        for k, track in enumerate(incoming.tracks):
            track.panes[at].freeze([part[stops[k] : stops[k + 1]].copy() for part in stored])

    return arrays, change


def _celled(
    incoming: Incoming, at: int, spec: Spec, places: Array, peers: bool
) -> tuple[list[Any], Callable[[], None]]:
    """One spec with a grain over the cells already there and the batch together."""
    columns, _ = columns_of(incoming, spec)
    if any(column.unit is not None for column in columns):  # states are times, which only single events make
        raise CannotJoinError
    ops = [one.operator for one in spec.members]
    dtypes = [tuple(str(as_numbers(op, column).data.dtype) for column in readied(op, columns)) for op in ops]
    counts, old = cells_there([track.panes[at] for track in incoming.tracks], spec, dtypes)
    celled = Celled(incoming, spec, places, counts, old, peers)
    arrays = celled.arrays()
    stops, kept = celled.kept(waits=spec.is_open)

    def change() -> None:
        for k, track in enumerate(incoming.tracks):
            track.panes[at].freeze(kept.taken(np.arange(stops[k], stops[k + 1])))  # a copy: no key holds others' cells

    return arrays, change


def _running(
    incoming: Incoming, at: int, spec: Spec, places: Array, peers: bool
) -> tuple[list[Any], Callable[[], None]]:
    """One spec over everything so far: its states live on. What cannot be compiled goes in row by row."""
    columns, valid = columns_of(incoming, spec)
    types = [incoming.kind_of(name) for name in spec.columns]
    for one in spec.members:
        check_inputs(one.operator, spec.columns, columns, types)
    compiled = None
    if not spec.is_open:
        with suppress(SumOverflowError) if peers else nullcontext():  # a sum may not fit before its last peer is in
            panes_before = [track.panes[at] for track in incoming.tracks]
            before = Before(
                np.array([pane.count for pane in panes_before], np.int64),
                [[pane.states[j] if pane.count else None for pane in panes_before] for j in range(len(spec.members))],
            )
            compiled = running_spec(incoming, spec, places, peers, columns, valid, before)
    if compiled is not None:
        running, after = compiled

        def go_on() -> None:
            for k, (track, count) in enumerate(zip(incoming.tracks, after.counts.tolist(), strict=True)):
                pane = track.panes[at]
                pane.count = count
                pane.states = [part[k] for part in after.states] if count else []

        arrays = [
            typed(one.operator, columns, types, found, one.name)
            for one, found in zip(spec.members, running, strict=True)
        ]
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
        if one.operator.answers is not None:
            arrays.append(values_as_declared(one.operator, values, one.name))
            continue
        if one.operator.builtin and one.operator.name == "m4":
            values = [None if value is None else value._asdict() for value in values]
        try:
            arrays.append(_as_array(values, answer_type(one.operator, types)))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise InputError(f"{one.name!r} has answers that no column can hold: {error}") from error
    return arrays


def _as_array(values: list[Any], kind: Any) -> Any:
    """Values as an Arrow array of this type, or of their own where they are of another: earlier rows may have been."""
    import pyarrow as pa

    array = arrow_array(values)
    if kind is None or array.type == kind or not _convertible(array.type, kind):
        return array
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        narrow = array.cast(kind)
        if holds(kind, pa.types.is_temporal) or same(narrow.to_pylist(), values):  # floats are cast without a check
            return narrow
    return array


def _convertible(found: Any, kind: Any) -> bool:
    """Whether values of a type that was found may be cast, with a check, to the type that was meant."""
    from pyarrow import types

    if types.is_null(found):
        return True
    if types.is_list(found) and types.is_list(kind):
        return _convertible(found.value_type, kind.value_type)
    if types.is_struct(found) and types.is_struct(kind):
        return all(_convertible(a.type, b.type) for a, b in zip(found, kind, strict=False))
    families = (
        *(types.is_integer, types.is_floating, types.is_boolean),
        *(types.is_timestamp, types.is_duration, types.is_date, types.is_time),
    )
    return [test(found) for test in families] == [test(kind) for test in families]
