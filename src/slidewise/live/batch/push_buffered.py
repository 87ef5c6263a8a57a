"""`push_many` where events wait in a buffer: those that are due come out as a table, oldest first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array
from slidewise.columns.frames import frame_of
from slidewise.columns.operator_types import answer_type
from slidewise.engine.answers import as_arrays
from slidewise.engine.computed.columns import result_types
from slidewise.engine.computed.values import in_one_type
from slidewise.engine.joining import CannotJoinError
from slidewise.engine.sorting import sort_rows
from slidewise.engine.window_spec import with_members
from slidewise.errors import InputError, SlidewiseError
from slidewise.live.batch.evaluate import evaluate
from slidewise.live.batch.filtering import FilteredBatch
from slidewise.live.batch.incoming import IncomingBatch
from slidewise.live.event_times import length_in
from slidewise.live.live import Live
from slidewise.live.native.plan import Misfit, native_windows
from slidewise.live.types import Time
from slidewise.live.waiting.reorder_buffer import Event, ReorderBuffer
from slidewise.live.waiting.waiting_tables import python_rows
from slidewise.operators.values.equality import same

# So few events go one by one, and so does a batch beside which many more events wait: the kernels would not pay.
FEW, _WAITING_PER_EVENT = 500, 3


class PendingBatch(NamedTuple):
    """A table of answers, and what makes the batch that they come from part of the state."""

    table: Any
    commit: Callable[[], None]


def push_buffered(live: Live, filtered: FilteredBatch) -> Any:
    """Take in a batch, and give the events that are due after it; late ones are dropped and counted."""
    frame = filtered.frame
    names = [str(name) for name in frame.names]
    if len({*names}) < len(names):
        raise InputError(f"events that wait need columns of different names, but the table has {', '.join(names)}")
    answered = push_into_arrays(live, filtered)
    if answered is not None:
        return answered
    incoming = IncomingBatch(live, frame)
    on_time, table = buffer_batch(live, filtered, incoming, FEW, lambda *batch: _evaluate_due(live, *batch))
    if table is not None:
        return frame.from_arrow(table)
    if live.callback is not None:
        return frame.from_arrow(as_table(live, on_time, live.deliver()))
    table = frame.from_arrow(as_table(live, on_time, live.ready))  # an error leaves the answers for the next call
    live.deliver()
    return table


def push_into_arrays(live: Live, filtered: FilteredBatch) -> Any:
    """Take in a batch where windows lie in arrays; None, and nothing has changed, where they do not hold it."""
    native = native_windows(live, filtered)
    if native is None or not len(filtered.frame):
        return None
    if live.callback is None and not live.ready:
        from slidewise.live.native.waiting import push_frame

        try:
            return push_frame(native, filtered)
        except Misfit:
            native.misfit(None)
    assert live.buffer is not None
    live.buffer.spill()
    return None


def buffer_batch(
    live: Live,
    filtered: FilteredBatch,
    incoming: IncomingBatch,
    few: int,
    evaluate: Callable[[IncomingBatch, Any], PendingBatch],
) -> tuple[IncomingBatch, Any]:
    """Put a batch into the buffer, and answer what is due then: its rows on time, and a table of answers.

    `evaluate` gives the table through the kernels, for batches of more than `few` rows. Where it does not, events go
    one by one: there is no table, and the answers are ready for `deliver`.
    """
    buffer, frame = live.buffer, filtered.frame
    assert buffer is not None
    buffer.check(incoming.kind if incoming.count else None)
    late, newest = late_rows(live, buffer, incoming.times)
    on_time = IncomingBatch(live, frame.take(np.flatnonzero(~late))) if late.any() else incoming
    pending = None
    if live.callback is None and on_time.count >= max(few, len(buffer) // _WAITING_PER_EVENT):
        # What an operator refuses is found again one by one, where the events at fault are counted and left out.
        with suppress(CannotJoinError, SlidewiseError):
            pending = evaluate(on_time, newest)
    events = [] if pending is not None else events_of(buffer, on_time)
    live.events += incoming.count
    filtered.commit(late)
    live.newest = newest
    incoming.adopt_time_kind()
    if pending is not None:
        pending.commit()
        return on_time, pending.table
    for event in events:
        buffer.add(event)
    if newest is not None:
        live.release(buffer.pop_due(newest))
    return on_time, None


def late_rows(live: Live, buffer: ReorderBuffer, times: Array) -> tuple[Array, Time | None]:
    """Which rows come too late, each judged by the newest time before it; and the newest time of all."""
    newest, count = live.newest, len(times)
    late = np.zeros(count, np.bool_)
    least = newest if newest is not None else times[:1].tolist()[0] if count else 0
    # Whole times stay exact: what might not fit into 64 bits, or comes after a time of another kind, is judged one by
    # one.
    whole = times.dtype == np.int64
    bound = length_in(buffer.bound, whole)
    at_once = times.dtype == np.float64 and type(least) is float
    if whole and type(least) is int:
        at_once = max(abs(least), bound, *(abs(int(t)) for t in (times.min(initial=0), times.max(initial=0)))) < 2**61
    if count and at_once:
        before = np.maximum.accumulate(np.concatenate([np.array([least], times.dtype), times]))
        late = times < before[:-1] - bound
        if buffer.flushed is not None:
            late |= times <= buffer.flushed
        return late, before[-1:].tolist()[0]
    for i, time in enumerate(times.tolist()):
        late[i] = newest is not None and buffer.is_late(time, newest)
        newest = time if newest is None or time > newest else newest
    return late, newest


def events_of(buffer: ReorderBuffer, incoming: IncomingBatch) -> list[Event]:
    """A batch's rows as events, read and checked; where one is refused, none is numbered."""
    keys, codes, times = incoming.keys, incoming.codes.tolist(), incoming.times.tolist()
    rows = python_rows(incoming.frame.to_arrow())
    number = buffer.number
    try:
        return [buffer.event(row, keys[k], time) for row, k, time in zip(rows, codes, times, strict=True)]
    except BaseException as error:
        buffer.number = number
        error.add_note("no row of the batch was taken in")
        raise


def _evaluate_due(live: Live, incoming: IncomingBatch, newest: Time) -> PendingBatch:
    """The events that are due after a batch, with their answers, through the kernels."""
    buffer = live.buffer
    assert buffer is not None
    import pyarrow as pa

    table = joined_rows(buffer, incoming.frame.to_arrow())
    if len(buffer):
        incoming = IncomingBatch(live, frame_of(table))
    if incoming.times.dtype == object:
        raise CannotJoinError
    due = buffer.before_watermark(incoming.times, newest)
    not_due = IncomingBatch(live, frame_of(table.filter(pa.array(~due))))
    events = events_of(buffer, not_due)
    table = table.filter(pa.array(due))
    order = _order(live, IncomingBatch(live, frame_of(table)))
    batch = IncomingBatch(live, frame_of(table.take(order)))
    batch.own_states()
    answers, commit = evaluate(batch, peers=True)
    result = batch.frame.with_columns(answers)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    times = batch.times[place] if batch.count else np.zeros(0)
    result = result.take(place[np.argsort(times, kind="stable")])

    def commit_all() -> None:
        commit()
        buffer.pop_all()
        for event in events:
            buffer.add(event)

    return PendingBatch(result, commit_all)


def joined_rows(buffer: ReorderBuffer, table: Any) -> Any:
    """A table of the events that wait, and of the rows of another behind them."""
    import pyarrow as pa

    if not len(buffer):
        return table
    return pa.concat_tables([table_of_events(list(buffer), table.schema), table])


def table_of_events(events: list[Event], schema: Any) -> Any:
    """Events as a table of this schema."""
    import pyarrow as pa

    rows = [event.row for event in events]
    try:
        table = pa.Table.from_pylist(rows, schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as error:
        raise CannotJoinError from error
    if not same(table.to_pylist(), rows):  # they have other columns, or values that these types do not hold
        raise CannotJoinError
    return table


def _order(live: Live, incoming: IncomingBatch) -> Array:
    """The rows by key and time, those of equal time as the definition orders them."""
    if not incoming.count:
        return np.zeros(0, np.int64)
    order = sort_rows(
        live.definition, incoming.codes, len(incoming.keys), incoming.times, incoming.count, incoming.column
    )
    return order.to_sorted(np.arange(incoming.count))


def as_table(live: Live, incoming: IncomingBatch, rows: list[dict[str, Any]]) -> Any:
    """Answered events as a table of the batch's columns, and the aggregates behind them."""
    import pyarrow as pa

    schema = incoming.frame.to_arrow().schema
    names = dict.fromkeys(
        [*schema.names, *(name for row in rows for name in row if name not in live.definition.columns)]
    )
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        kind = schema.field(name).type if name in schema.names else None
        try:
            columns[name] = fitting(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise InputError(
                f"events that waited and those of this batch have different kinds of {name!r}, which no column can "
                f"hold: {error}; flush() gives them as dicts"
            ) from error
    try:
        table = pa.table(columns)
    except UnicodeEncodeError as error:
        raise InputError(f"an event that waited has a column whose name no table can have: {error}") from error
    answers: dict[str, Any] = {}
    for spec in live.specs:
        types = [incoming.kind_of(name) for name in spec.columns]
        shown = with_members(spec, live.definition.columns)
        arrays = as_arrays(shown, types, [[row[member.name] for member in shown.members] for row in rows])
        answers |= {member.name: array for member, array in zip(shown.members, arrays, strict=True)}
    kinds = kinds_of_results(live, incoming)
    for name in live.definition.columns:
        if name not in answers:
            answers[name] = fitting(in_one_type([row[name] for row in rows], kinds[name]), kinds[name])
        table = table.append_column(name, answers[name])
    return table


def kinds_of_results(live: Live, incoming: IncomingBatch) -> dict[str, Any]:
    """The Arrow types of the definition's columns; None where only the values tell."""
    definition = live.definition
    if not definition.stages.results:
        return {}
    answers = {}
    for name, aggregate in definition.aggregates.items():
        op = aggregate.operator
        kinds = [incoming.kind_of(column) for column in aggregate.columns]
        answers[name] = answer_type(op, kinds) if op.answers is None else op.answers
    if any(kind is None for kind in answers.values()):
        return dict.fromkeys(definition.columns)
    return result_types(definition, answers, lambda name: incoming.array(name).type)


def fitting(values: list[Any], kind: Any) -> Any:
    """Values as an Arrow array: of this type where it holds them all, else of their own. Among text, NaN is null."""
    import pyarrow as pa

    if any(type(value) is str for value in values):
        values = [None if type(value) is float and value != value else value for value in values]
    with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        array = arrow_array(values, kind)
        if same(array.to_pylist(), values):
            return array
    return arrow_array(values)
