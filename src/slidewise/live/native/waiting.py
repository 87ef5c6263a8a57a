"""Events that wait where windows lie in arrays: batches wait as tables, and what is due goes in as one batch.

What is due is put in the order of its times, and rows of equal time as they came. Where rows have equal key and time,
peers, these go in one behind the other, as the definition orders them, answers over stretches of time are those behind
the last of them, and the result has them together, as that of `push` has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.frames import Frame, frame_of
from slidewise.engine.joining import CannotJoinError
from slidewise.engine.sorting import sort_rows
from slidewise.kernels.keyed import rows as passes
from slidewise.live.batch.push_buffered import late_rows, table_of_events
from slidewise.live.native.plan import Misfit
from slidewise.live.native.push_many import NativeBatch, answer_columns, find_slots, read_batch, set_unit, take_in
from slidewise.live.native.table_plan import NotPlainTable, TablePlan, plan_of
from slidewise.live.types import Key, Time
from slidewise.live.waiting.reorder_buffer import Event, ReorderBuffer, sort_peers
from slidewise.live.waiting.waiting_tables import WaitingRun, rows_before

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.live.batch.filtering import FilteredBatch
    from slidewise.live.live import Live
    from slidewise.live.native.push import NativeWindows


class PlainReader:
    """Reads tables by a plan."""

    def __init__(self, native: NativeWindows, plan: TablePlan) -> None:
        self._native = native
        self._plan = plan
        self._table: Any = None
        self.kind = plan.kind

    def read(self, table: pa.Table) -> list[Key]:
        """Copy a table into the store's fields; returns the keys that are new."""
        self._table = table
        return self._plan.read(self._native, table)

    def column(self, name: str) -> Any:
        """A column of the table as arrays."""
        return NativeBatch(self._native.live, frame_of(self._table)).column(name)

    def answered(self, rows: list[Array | None]) -> pa.Table:
        """The table with answers; for each spec those to the rows in these places."""
        return self._plan.with_answers(self._native, self._table, rows)


class FrameReader:
    """Reads tables of any columns."""

    def __init__(self, native: NativeWindows, kind: str | None) -> None:
        self._native = native
        self._batch: Any = None
        self.kind = kind

    def read(self, table: pa.Table) -> list[Key]:
        """See `PlainReader.read`."""
        self._batch = batch = NativeBatch(self._native.live, frame_of(table))
        read_batch(self._native, batch)
        return find_slots(self._native, batch.keys_of_rows(), batch.count)

    def column(self, name: str) -> Any:
        """See `PlainReader.column`."""
        return self._batch.column(name)

    def answered(self, rows: list[Array | None]) -> pa.Table:
        """See `PlainReader.answered`."""
        return self._batch.frame.with_columns(answer_columns(self._native, self._batch, rows))


Reader = PlainReader | FrameReader


class Due(NamedTuple):
    """What a batch makes due: the table of answers, which rows of the batch are late, and the newest time after it."""

    table: Any
    late: Array
    newest: Time | None


def push_waiting(native: NativeWindows, table: pa.Table) -> Any:
    """Take in an Arrow table, and give what is due; NotPlainTable or a Misfit, and nothing has changed, where this
    cannot."""
    live = native.live
    plan = plan_of(native, table)
    if plan.kind != live.time_reader.kind or not table.num_rows:
        raise NotPlainTable
    plan.check(table)
    due = _take_batch(native, table, plan.times(table), PlainReader(native, plan))
    live.dropped += int(due.late.sum())
    live.aside.warn(live)
    return due.table


def push_frame(native: NativeWindows, filtered: FilteredBatch) -> Any:
    """The same for a table of any kind and columns."""
    frame = filtered.frame
    batch = _checked(native, frame)
    due = _take_batch(native, frame.to_arrow(), native.store.moments(batch.count), FrameReader(native, batch.kind))
    filtered.commit(due.late)
    return frame.from_arrow(due.table)


def _checked(native: NativeWindows, frame: Frame) -> NativeBatch:
    """A batch whose columns are read now, so that nothing is refused when its rows are due; its times lie in the
    store."""
    live = native.live
    batch = NativeBatch(live, frame)
    try:
        read_batch(native, batch)
        batch.keys_of_rows()
        for name in live.definition.ordering if live.ordered else ():
            batch.column(name)
    except Misfit:
        raise
    except Exception as error:
        raise Misfit from error  # the panes raise it in their words
    return batch


def _take_batch(native: NativeWindows, table: pa.Table, times: Array, reader: Reader) -> Due:
    """Let a batch wait, and answer what is due then."""
    live, store = native.live, native.store
    buffer = live.buffer
    assert buffer is not None
    if store.kind == passes.FLOATS and times.dtype.kind == "i":
        times = times.view(np.float64)
    buffer.check(reader.kind)
    late, newest = late_rows(live, buffer, times)
    run = _run_of(table, times, late, buffer.number)
    if not buffer.tables.schema_is(table.schema):
        buffer.spill()
    assert newest is not None
    cut = buffer.cut(newest)
    k = rows_before(run.times, cut)
    runs = buffer.tables.take_before(cut)
    events = buffer.pop_events(newest)
    try:
        due = _joined([*runs, run.rows(0, k)], events, table.schema)
        result = _answered(native, due, reader)
    except BaseException as error:
        for part in runs:
            buffer.tables.add(part)
        for event in events:
            buffer.add(event)
        if isinstance(error, Exception):
            raise Misfit from error
        raise
    buffer.tables.add(run.rows(k, len(run.times)))
    buffer.number += len(run.times)
    live.events += len(late)
    live.newest = newest
    if store.kind == passes.FLOATS:
        live.time_reader.fractions = True
    live.time_reader.kind = reader.kind
    return Due(result, late, newest)


def _run_of(table: pa.Table, times: Array, late: Array, number: int) -> WaitingRun:
    """A copy of a table's rows that are not late, in the order of their times."""
    kept = np.flatnonzero(~late) if late.any() else np.arange(len(times))
    times = times[kept]
    order = np.argsort(times, kind="stable") if (times[1:] < times[:-1]).any() else np.arange(len(times))
    return WaitingRun(table.take(kept[order]), times[order], order + (number + 1))


def _joined(runs: list[WaitingRun], events: list[Event], schema: pa.Schema) -> WaitingRun:
    """Rows of several runs, and events, as one run."""
    import pyarrow as pa

    if events:
        try:
            times = np.array([event.time for event in events], runs[-1].times.dtype)
            table = table_of_events(events, schema)
        except (CannotJoinError, OverflowError) as error:
            raise Misfit from error
        runs = [WaitingRun(table, times, np.array([event.number for event in events])), *runs]
    runs = [run for run in runs if len(run.times)] or runs[-1:]
    if len(runs) == 1:
        return runs[0]
    times = np.concatenate([run.times for run in runs])
    numbers = np.concatenate([run.numbers for run in runs])
    joined = WaitingRun(pa.concat_tables([run.table for run in runs]), times, numbers)
    later = times[1:] > times[:-1]
    if (later | ((times[1:] == times[:-1]) & (numbers[1:] > numbers[:-1]))).all():
        return joined
    order = np.lexsort((numbers, times))
    return WaitingRun(joined.table.take(order), times[order], numbers[order])


def _answered(native: NativeWindows, due: WaitingRun, reader: Reader) -> pa.Table:
    """Let rows that are due into the windows; returns them with their answers."""
    m, times = len(due.times), due.times
    new = reader.read(due.table)
    arranged = Arranged([None] * len(native.store.specs), None)
    if m > 1 and (times[1:] == times[:-1]).any():
        try:
            arranged = _arrange_peers(native, times, reader.column)
        except BaseException:
            for key in new:
                native.store.release(key)
            raise

    def answered(late: Array | None) -> pa.Table:
        if late is not None:
            raise Misfit
        table = reader.answered(arranged.places)
        return table if arranged.order is None else table.take(arranged.order)

    return take_in(native, m, new, reader.kind, answered)[0]


class Arranged(NamedTuple):
    """Where the answers to rows are found: for each spec the place of each row's, None for the rows' own; and the order
    in which they are given, None where it is that of the rows."""

    places: list[Array | None]
    order: Array | None


def _arrange_peers(native: NativeWindows, times: Array, column: Callable[[str], Any]) -> Arranged:
    """Where rows have equal key and time, arrange the store's rows by key, time and the definition's order."""
    live, store = native.live, native.store
    m = len(times)
    slots = store.slots_of_rows.data[:m].copy()
    order = np.lexsort((slots, times))
    peers = _are_peers(slots[order], times[order])
    if not peers.any():
        return Arranged([None] * len(store.specs), None)
    first = np.empty(m, np.int64)  # of each row the first of its peers
    first[order] = order[np.maximum.accumulate(np.where(np.append(False, peers), 0, np.arange(m)))]
    if live.ordered:
        different, codes = np.unique(slots, return_inverse=True)
        order = sort_rows(live.definition, codes, len(different), times, m, column).to_sorted(np.arange(m))
        peers = _are_peers(slots[order], times[order])
    store.arrange_rows(order)
    stops = np.flatnonzero(np.append(~peers, True))  # the last row of each group
    last = stops[np.searchsorted(stops, np.arange(m))]
    place = np.empty(m, np.int64)
    place[order] = np.arange(m)
    places: list[Array | None] = [place if spec.numbered else last[place] for spec in store.specs]
    return Arranged(places, np.argsort(first, kind="stable"))


def _are_peers(slots: Array, times: Array) -> Array:
    """Whether each row but the last has the key and the time of the next."""
    array: Array = (slots[1:] == slots[:-1]) & (times[1:] == times[:-1])
    return array


def answer_peers(native: NativeWindows, peers: list[Event]) -> list[dict[str, Any]]:
    """Answer events of equal key and time, in the order of their arrival. A Misfit changes nothing."""
    live, store = native.live, native.store
    if live.ordered:
        for event in peers:
            _buffer(live).complete(event)
        peers = sort_peers(peers)
    key, time, m = peers[0].key, peers[0].time, len(peers)
    if type(time) is not (float if store.kind == passes.FLOATS else int):
        raise Misfit
    if m > store.row_room.size:
        store.set_rows(m)
    for at, event in enumerate(peers):
        native.read_at(live.computed.extended(event.row), at)
    try:
        store.one_tick[0] = time
    except (OverflowError, ValueError) as error:
        raise Misfit from error
    store.ticks.data[:m] = store.ticks.data[0]
    set_unit(native, 1)
    new = find_slots(native, [key] * m, m)
    by_arrival: dict[int, dict[str, Any]] = {}

    def answered(late: Array | None) -> None:
        if late is not None:
            raise Misfit
        for at, event in enumerate(peers):
            values = store.answers_at(at, m - 1)
            by_arrival[event.number] = {**event.row, **live.computed.columns(values, event.row)}

    take_in(native, m, new, live.time_reader.kind, answered)
    return [by_arrival[number] for number in sorted(by_arrival)]


def _buffer(live: Live) -> ReorderBuffer:
    assert live.buffer is not None
    return live.buffer
