"""A batch of events into the arrays: columns are copied into fields of rows, and each pass goes over them once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.frames import AnswerColumns, Frame
from slidewise.engine.answers import check_inputs, typed
from slidewise.engine.batch import columns_of
from slidewise.engine.column_checks import arrow_type
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.keyed import rows as passes
from slidewise.live.batch.incoming import KeyedRows, values_at
from slidewise.live.event_times import NAIVE, NUMBER, ZONED
from slidewise.live.keys import SIMPLE, canonical
from slidewise.live.missing_values import NANS
from slidewise.live.native.plan import Misfit, store_of
from slidewise.live.native.store import MemberStore, SpecStore
from slidewise.live.types import Key

if TYPE_CHECKING:
    from slidewise.live.batch.filtering import FilteredBatch
    from slidewise.live.live import Live
    from slidewise.live.native.push import NativeWindows

_FAR = np.iinfo(np.int64).max
_MOST_ROWS = 1 << 16  # rows of a batch whose fields are kept for the next one


class NativeBatch(KeyedRows):
    """A batch's columns as the arrays take them; keys are found by a dict."""

    def __init__(self, live: Live, frame: Frame) -> None:
        self.live = live
        self.frame = frame
        self.count = len(frame)
        self._frame = frame
        self._columns = {}
        self.kind = self.live.time_reader.kind

    def kind_of(self, name: str) -> Any:
        """A column's Arrow type."""
        if name in self.live.definition.stages.arguments:
            return self.computed[name].type
        return arrow_type(self.frame.column(name), self._columns.get(name))

    def keys_of_rows(self) -> list[Key]:
        """Each row's key, in canonical form."""
        names = self.live.definition.by
        parts = []
        for name in names:
            values = values_at(self._series(name), f"the key {name!r}")
            kinds = set(map(type, values))
            parts.append(values if kinds <= SIMPLE else [canonical(value, name) for value in values])
        if len(names) == 1:
            return parts[0]
        return list(zip(*parts, strict=True)) if names else [()] * self.count


def push_native(native: NativeWindows, filtered: FilteredBatch) -> Any:
    """Take in a batch; a Misfit, and nothing has changed, where the arrays do not hold something, or a row is late."""
    store = native.store
    batch = NativeBatch(native.live, filtered.frame)
    m = batch.count
    if not m:
        raise Misfit
    read_batch(native, batch)

    def answered(kept: Array | None) -> Any:
        rows = batch
        if kept is not None:
            rows = NativeBatch(native.live, batch.frame.take(kept))
        return rows.frame.with_columns(answer_columns(native, rows, [kept] * len(store.specs)))

    new = find_slots(native, batch.keys_of_rows(), m)
    result, late = take_in(native, m, new, batch.kind, answered)
    native.live.events += m
    filtered.commit(np.zeros(m, np.bool_) if late is None else late)
    return result


def read_batch(native: NativeWindows, batch: NativeBatch) -> None:
    """Copy a batch's times and what aggregates read into the store's fields; Misfit where they do not hold it."""
    m = batch.count
    if m > native.store.row_room.size:
        native.store.set_rows(m)
    read_times(native, batch, m)
    read_inputs(native, batch, m)


def take_in(
    native: NativeWindows, m: int, new: list[Key], kind: str | None, answered: Callable[[Array | None], Any]
) -> tuple[Any, Array | None]:
    """Let m rows that lie in the store's fields into the windows of their slots.

    `answered` makes a table of the answers to those rows that are not late, None for all. Returns it, and which rows
    were dropped as late, None where none was. `new` keys are forgotten where this raises.
    """
    live, store = native.live, native.store
    specs = 0
    late = kept = None
    try:
        if passes.arrive(store.block.address, m) != passes.FINE:
            raise Misfit
        for spec in store.specs:
            if spec.floats:
                cut_floats(spec, store.times.data[:m].view(np.float64))
        store.run(m)
        specs = len(store.specs)
        if store.block.numbers[passes.LATE]:
            late = store.late.data[:m].copy()
            kept = np.flatnonzero(~late)
        result = answered(kept)
    except BaseException as error:
        if specs:
            store.undo(m, specs)
        for key in new:
            store.release(key)
        if isinstance(error, Exception):
            raise Misfit from error  # the panes raise it in their words
        raise
    taken = m if kept is None else len(kept)
    if store.kind and taken:
        times = store.times.data[:m]
        if store.kind == passes.FLOATS:
            times = times.view(np.float64)
            live.time_reader.fractions = True
        newest = (times if kept is None else times[kept]).max().item()
        if live.seen is None or newest > live.seen:
            live.seen = newest
        live.time_reader.kind = kind
    live.answers += taken
    if kept is not None:
        _forget_empty(native, new)
    if m > _MOST_ROWS:
        store.release_rows()
    return result, late


def _forget_empty(native: NativeWindows, new: list[Key]) -> None:
    store = native.store
    for key in new:
        if not store.counts.data[store.slots[key]]:
            store.release(key)


def find_whole_slots(native: NativeWindows, keys: Array) -> list[Key]:
    """The same for keys that are whole numbers."""
    store = native.store
    if store.whole_keys.find(store.slots, keys, store.slots_of_rows):
        return find_slots(native, keys.tolist(), len(keys))
    return []


def find_slots(native: NativeWindows, keys: list[Key], m: int) -> list[Key]:
    """Write each row's slot; returns the keys that are new."""
    store = native.store
    slots = store.slots
    try:
        store.slots_of_rows.data[:m] = list(map(slots.__getitem__, keys))
        return []
    except KeyError:
        pass
    panes = native.states.panes
    new = []
    for key in dict.fromkeys(keys):
        if key not in slots:
            if key in panes:
                native.slot_of(key)
            else:
                new.append(key)
    store.new_slots(new)
    store.slots_of_rows.data[:m] = list(map(slots.__getitem__, keys))
    return new


def read_times(native: NativeWindows, batch: NativeBatch, m: int) -> None:
    """Copy times into the store's fields; Misfit where they are not of the stream's kind."""
    live, store = batch.live, native.store
    on = live.definition.on
    if on is None:
        return
    column = batch.time_column(on)
    if column.unit is None:
        kind, unit = NUMBER, 1
    else:
        kind, unit = ZONED if getattr(column.arrow, "tz", None) else NAIVE, column.unit
    floats = store.kind == passes.FLOATS
    if live.time_reader.kind is None:
        for first in column.data[:1].tolist():
            live.time_reader.check(kind, live.time_reader.shown(first * unit, kind), is_date=column.is_date)
    elif kind != live.time_reader.kind:
        raise Misfit
    batch.kind = kind
    if column.data.dtype.kind == "f" and not floats:
        raise Misfit
    if floats:
        store.ticks.data[:m].view(np.float64)[:] = column.data
    elif column.data.dtype != np.int64:
        raise Misfit
    else:
        store.ticks.data[:m] = column.data
    set_unit(native, unit)


def set_unit(native: NativeWindows, unit: int) -> None:
    """Say how many nanoseconds a tick has."""
    numbers = native.store.block.numbers
    numbers[passes.UNIT], numbers[passes.FARTHEST] = unit, _FAR // unit


def read_inputs(native: NativeWindows, batch: NativeBatch, m: int) -> None:
    """Copy the columns that aggregates read, and which rows count."""
    live, store = batch.live, native.store
    for column in store.inputs.values():
        data = batch.column(column.name)
        wanted = np.dtype(column.dtype).kind
        if data.unit is not None or data.data.dtype.kind != wanted:
            raise Misfit
        column.rows.data[:m] = data.data
    for number, reader in enumerate(live.readers):
        counted = store.counted[number].data
        _, valid = columns_of(batch, reader)
        counted[:m] = True if valid is None else valid


def cut_floats(spec: SpecStore, times: Array) -> None:
    """The places below which rows have left, for times that are floats."""
    edge = times - float(spec.spec.width)
    if not spec.spec.edge:
        edge = np.minimum(np.nextafter(edge, np.inf), times)
    spec.cuts.data[: len(times)].view(np.float64)[:] = edge


def answer_columns(native: NativeWindows, batch: NativeBatch, rows: list[Array | None]) -> AnswerColumns:
    """The answers to a batch as columns: for each spec of the rows in these places, None for all as they are."""
    answers: AnswerColumns = {}
    for spec, of_spec in zip(native.store.specs, rows, strict=True):
        like = spec.spec.columns[0] if spec.spec.columns else None
        types = [batch.kind_of(name) for name in spec.spec.columns]
        columns, _ = columns_of(batch, spec.spec)
        for member in spec.members:
            check_inputs(member.member.operator, spec.spec.columns, columns, types)
            found = member_answers(spec, member, batch.count, of_spec)
            answers[member.member.name] = like, typed(member.member.operator, columns, types, found, member.member.name)
    if not batch.live.definition.stages.results:
        return {name: (native.likes[name], answers[name][1]) for name in batch.live.definition.columns}
    return batch.results(answers)


def member_answers(spec: SpecStore, member: MemberStore, m: int, places: Array | None) -> Answers:
    """What the passes have answered for the rows in these places, None for all m as they are."""
    rows: Any = slice(m) if places is None else places
    if member.valid is None:
        held = spec.held.data[rows].copy()
        valid = held >= member.member.least
        return Answers([held], None if valid.all() else valid)
    valid = member.valid.data[rows].copy()
    return Answers([output.data[rows].copy() for output in member.outputs], None if valid.all() else valid)


def open_for(live: Live, frame: Frame) -> None:
    """Let a live definition go over to arrays, if they hold this batch's columns."""
    from slidewise.live.native.push import open_windows

    if live.opening is None or not live.opening.tries():
        return
    found = types_in_frame(live, frame)
    if found is not None:
        live.opening = None
        store = store_of(live, *found)
        if store is not None:
            open_windows(live, store)


def types_in_frame(live: Live, frame: Frame) -> tuple[dict[str, str], bool] | None:
    """The types of the columns that aggregates read, and whether times are floats; None where arrays hold no such
    batch."""
    kinds = live.kinds.in_frame(frame)
    if any(kinds.get(name, NANS) == NANS for name in live.kinds.unknown):
        return None
    batch = NativeBatch(live, frame)
    types = {}
    for spec in live.specs:
        for name in spec.columns:
            column = batch.column(name)
            if column.unit is not None or column.data.dtype.kind not in "if":
                return None
            types[name] = str(column.data.dtype)
    on = live.definition.on
    floats = live.time_reader.fractions or (on is not None and batch.time_column(on).data.dtype.kind == "f")
    return types, floats
