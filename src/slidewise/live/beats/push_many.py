"""`push_many` on a beat: kernels fold a batch into slices and join them with those that keys hold, or one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array
from slidewise.columns.frames import frame_of
from slidewise.definition import Definition, check_names
from slidewise.engine.answers import as_arrays
from slidewise.engine.beats.slices import DueBeats, as_times, sliced
from slidewise.engine.computed.columns import like_column, result_arrays
from slidewise.engine.computed.values import in_one_type
from slidewise.engine.joining import CannotJoinError
from slidewise.engine.sorting import by_key_and_time
from slidewise.errors import InputError, TimeOrderError
from slidewise.kernels.bounds.beats import beat_bounds, slice_numbers, times_of
from slidewise.live.batch.filtering import FilteredBatch, push_filtered
from slidewise.live.batch.incoming import IncomingBatch
from slidewise.live.batch.push_buffered import PendingBatch, buffer_batch, fitting, kinds_of_results
from slidewise.live.beats.beat_live import BeatLive
from slidewise.live.beats.key_state import BeatKeyState
from slidewise.live.beats.slice_arrays import freeze, held_slices
from slidewise.live.operator_errors import operator_errors
from slidewise.live.waiting.waiting_tables import python_rows
from slidewise.windows import Beats

FEW = 64  # so few events go one by one


def push_beats(live: BeatLive, table: Any) -> Any:
    """See `BeatLive.push_many`."""
    frame = frame_of(table)
    check_names(live.definition, frame.names, "table", frame.index)
    with live.all_or_nothing():
        return push_filtered(live, frame, lambda filtered: _push_beats(live, filtered))


def _push_beats(live: BeatLive, filtered: FilteredBatch) -> Any:
    """Take in the rows that are on time; late ones are dropped, or refused with the whole batch."""
    frame = filtered.frame
    incoming = IncomingBatch(live, frame)
    if incoming.count:
        column = incoming.column(str(live.definition.on))
        floats = incoming.times.dtype == np.float64
        live.plan.beats(column.unit, floats, column.arrow)  # refuses beats that no such column holds
        live.set_beats(incoming.kind, floats, str(column.arrow).startswith("date"))
    if live.buffer is not None:
        return _push_buffered(live, filtered, incoming)
    late = incoming.late()
    if live.advanced is not None:
        late |= incoming.times <= live.advanced
    dropped = int(late.sum())
    if dropped and live.late == "error":
        raise _late_error(live, incoming, int(late.argmax()))
    if dropped:
        incoming = IncomingBatch(live, frame.take(np.flatnonzero(~late)))
    with operator_errors(None, "no row of the batch was taken in"):
        result = _through_kernels(live, incoming) if incoming.count >= FEW else None
    result = _one_by_one(live, incoming) if result is None else result
    live.events += dropped
    filtered.commit(late)
    return result


def _late_error(live: BeatLive, incoming: IncomingBatch, row: int) -> TimeOrderError:
    """The error that names the time in a row, and what it comes after."""
    code = incoming.codes[row]
    key_state = BeatKeyState()
    key_state.now = incoming.newest_before(row)
    error = live.late_error(incoming.keys[code], key_state, incoming.times.tolist()[row])
    error.add_note(f"in row {row}; no row of the batch was taken in")
    return error


def _one_by_one(live: BeatLive, incoming: IncomingBatch) -> Any:
    """Take in the batch's events one by one, all or none of them."""
    before = {key: key_state.copied() for key, key_state in zip(incoming.keys, incoming.key_states, strict=True)}
    known = [key for key in incoming.keys if key in live.key_states]
    counts, reader = (live.events, live.answers), live.time_reader
    kinds = reader.kind, reader.fractions
    try:
        rows = [row for event in python_rows(incoming.frame.to_arrow()) for row in live._push(event)]
        return _as_table(live, incoming, rows)
    except BaseException as error:
        error.add_note("no row of the batch was taken in")
        live.events, live.answers = counts
        reader.kind, reader.fractions = kinds
        for key in incoming.keys:
            if key in known:
                live.key_states[key] = before[key]
            else:
                live.key_states.pop(key, None)
        raise


def _push_buffered(live: BeatLive, filtered: FilteredBatch, incoming: IncomingBatch) -> Any:
    """Let the batch's events wait with the others; returns the beats of all keys that are complete by then."""
    from slidewise.live.beats.push_buffered import evaluate_due

    def evaluate(batch: IncomingBatch, newest: Any) -> PendingBatch:
        with operator_errors(None):
            return evaluate_due(live, batch, newest)

    _, table = buffer_batch(live, filtered, incoming, FEW, evaluate)
    if table is not None:
        return table
    table = _as_table(live, incoming, live.ready)  # an error leaves the answers for the next call
    delivered = live.deliver()
    return table if live.callback is None else _as_table(live, incoming, delivered)


def _as_table(live: BeatLive, incoming: IncomingBatch, rows: list[dict[str, Any]]) -> Any:
    """Beats as a table of the batch's kind."""
    import pyarrow as pa

    definition = live.definition
    columns: dict[str, tuple[str | None, Any]] = {}
    for name in (*definition.by, str(definition.on)):
        values = [row[name] for row in rows]
        try:
            columns[name] = name, arrow_array(values, incoming.kind_of(name))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise InputError(f"beats have values of {name!r} that the batch's type cannot hold: {error}") from error
    for asked in live.plan.asked:
        if asked.name in definition.columns:
            spec = live.reader(asked)
            types = [incoming.kind_of(name) for name in spec.columns]
            array = as_arrays(spec, types, [[row[asked.name]] for row in rows])[0]
            columns[asked.name] = like_column(definition, asked.name), array
    kinds = kinds_of_results(live, incoming)
    for name in definition.stages.results:
        values = in_one_type([row[name] for row in rows], kinds[name])
        columns[name] = like_column(definition, name), fitting(values, kinds[name])
    names = (*definition.by, str(definition.on), *definition.columns)
    return incoming.frame.gather((), np.zeros(len(rows), np.int64), {name: columns[name] for name in names})


def _through_kernels(live: BeatLive, incoming: IncomingBatch) -> Any:
    """Take in the batch and give the beats as a table; None where its events have to go one by one."""
    beats = live.beats
    assert beats is not None
    names = {name for part in live.parts for name in part.columns}
    if incoming.times.dtype == object or any(incoming.column(name).unit is not None for name in names):
        return None  # states of times are Python's own times
    groups = len(incoming.keys)
    arranged = by_key_and_time(incoming.codes, groups, incoming.times, incoming.count)
    codes, times = arranged.to_sorted(incoming.codes), arranged.to_sorted(incoming.times)
    new, arguments = sliced(live.plan, beats, incoming, codes, times, arranged.to_sorted)
    try:
        slices = held_slices(incoming.key_states, new.parts, live.parts).joined(new)
    except CannotJoinError:
        return None
    numbers = slice_numbers(beats, times)
    stops = np.searchsorted(codes, np.arange(groups), side="right")
    until = (numbers[stops - 1] - beats.high) // beats.per
    nows = [live.last_beat if t.now is None else beats.complete(beats.number(t.now)) for t in incoming.key_states]
    after = np.maximum(np.array(nows, np.int64), live.last_beat)
    due = slices.due(beats, after, until)
    answers = slices.answers(live.plan, beats, due, arguments)
    order = _order(beats, due, codes, numbers, arranged.to_sorted(np.arange(incoming.count)))
    result = _result(live, incoming, due, answers, order)
    held = slices.taken(slices.needed(beats, np.maximum(until, live.last_beat)))
    cuts = np.searchsorted(held.codes, np.arange(groups + 1)).tolist()
    counts = np.bincount(incoming.codes, minlength=groups).tolist()
    newest = times[stops - 1].tolist()
    for k in np.argsort(_first_rows(incoming)).tolist():  # in the order in which they came
        key, key_state = incoming.keys[k], incoming.key_states[k]
        freeze(key_state, held.taken(np.arange(cuts[k], cuts[k + 1])))
        key_state.now = newest[k]
        key_state.count += counts[k]
        live.key_states[key] = key_state
    incoming.adopt_time_kind()
    live.events += incoming.count
    live.answers += len(due)
    return result


def _order(beats: Beats, due: DueBeats, codes: Array, numbers: Array, rows: Array) -> Array:
    """The beats in the order in which rows show them to be complete, as `push` would give them."""
    shown, ends = np.empty(len(due), np.int64), np.empty(len(due), np.int64)
    beat_bounds(due.codes, due.numbers, codes, numbers, beats.per, beats.high, beats.high, shown, ends)
    return np.argsort(rows[shown], kind="stable") if len(due) else shown


def _result(live: BeatLive, incoming: IncomingBatch, due: DueBeats, answers: dict[str, Any], order: Array) -> Any:
    """The beats in their order as a table of the batch's kind."""
    import pyarrow as pa

    on = str(live.definition.on)
    columns = beat_times(live, incoming, due)
    first = pa.array(_first_rows(incoming)[due.codes])
    keys = {name: incoming.array(name).take(first) for name in live.definition.own if name != on}
    columns |= beat_results(live.definition, answers, keys | {on: columns[on][1]}, len(due))
    names = (on, *live.definition.columns)
    in_order = {name: (columns[name][0], columns[name][1].take(pa.array(order))) for name in names}
    return incoming.frame.gather(live.definition.by, _first_rows(incoming)[due.codes[order]], in_order)


def beat_results(
    definition: Definition, answers: dict[str, Any], own: dict[str, Any], count: int
) -> dict[str, tuple[str | None, Any]]:
    """The definition's columns at beats, of the answers of all aggregates, and of the keys and times in `own`."""

    def label(row: int) -> str:
        return ", ".join(f"{name}={array[row].as_py()}" for name, array in own.items())

    columns = result_arrays(definition, answers, own.__getitem__, count, label)
    return {name: (like_column(definition, name), array) for name, array in columns.items()}


def beat_times(live: BeatLive, incoming: IncomingBatch, due: DueBeats) -> dict[str, tuple[str | None, Any]]:
    """The time column of beats, in the type of the batch."""
    assert live.beats is not None
    times = times_of(live.beats, due.numbers)
    on = str(live.definition.on)
    column = incoming.column(on)
    return {on: (on, as_times(on, column, times if column.unit is None else times // column.unit))}


def _first_rows(incoming: IncomingBatch) -> Array:
    """The first row of each key."""
    return np.unique(incoming.codes, return_index=True)[1]
