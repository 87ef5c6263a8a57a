"""A batch of events into the arrays, and the table of its answers and of those that it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.frames import Frame
from slidewise.engine.answers import check_inputs, typed
from slidewise.engine.batch import columns_of
from slidewise.engine.sorting import key_codes
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.keyed import history_layout as layout
from slidewise.kernels.keyed import rows as row_passes
from slidewise.live.batch.incoming import IncomingBatch
from slidewise.live.batch.push_buffered import as_table
from slidewise.live.native.plan import Misfit
from slidewise.live.native.push_many import NativeBatch, read_inputs, read_times
from slidewise.live.types import Key
from slidewise.live.waiting.waiting_tables import python_rows
from slidewise.operators.values.equality import same

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.live.batch.filtering import FilteredBatch
    from slidewise.live.history.push import HistoryWindows

_MOST_ROWS = 1 << 16  # rows of a batch whose fields are kept for the next one
_PLAIN = ("int", "uint", "float", "double", "bool", "string", "large_string", "timestamp", "date32")


class Given(NamedTuple):
    """The rows that a batch's answers are of: `kept` ones of the batch, None for all, and then older ones by the
    numbers of their arrival. `entries` say where all their answers lie."""

    kept: Array | None
    entries: Array
    older: Array


def push_history(native: HistoryWindows, filtered: FilteredBatch) -> Any:
    """Take in a batch; a Misfit, and nothing has changed, where the arrays do not hold something."""
    live, history, store = native.live, native.history, native.store
    frame = filtered.frame
    batch = NativeBatch(live, frame)
    m = batch.count
    table = frame.to_arrow()
    if not is_plain(table.schema):
        raise Misfit
    if m > store.row_room.size:
        store.set_rows(m)
        history.bind()
    read_times(native, batch, m)  # type: ignore[arg-type]
    live._check_kind(batch.kind)
    read_inputs(native, batch, m)  # type: ignore[arg-type]
    history.make_room(m)
    rows = history.rows(m)
    ticks, unit = store.ticks.data[:m], int(store.block.numbers[row_passes.UNIT])
    if unit != 1 and not fits_times(ticks, unit):
        raise Misfit
    rows[:, layout.TIME] = ticks * unit if unit != 1 else ticks
    rows[:, layout.COUNTED] = 0
    for reader, counted in enumerate(store.counted):
        rows[:, layout.COUNTED] |= counted.data[:m].astype(np.int64) << reader
    for c, name in enumerate(history.inputs):
        rows[:, layout.INPUTS + c] = store.inputs[name].rows.data[:m].view(np.int64)
    if history.ordering:
        _write_order(native, batch, rows)
    new = native.homes_of(batch.keys_of_rows())

    def answered(given: Given) -> Any:
        result = joined(native, table, given)
        if result is None:
            return frame.from_arrow(_one_by_one(native, frame, table, given))
        for name, array in _answers(native, batch, given.entries).items():
            result = result.append_column(name, array)
        return frame.from_arrow(result)

    series = [(name, batch._series(name)) for name in live.definition.by]
    result, late = take_in(native, table, new, batch.kind, series, answered)
    filtered.commit(np.zeros(m, np.bool_) if late is None else late)
    return result


def is_plain(schema: pa.Schema) -> bool:
    """Whether all columns of a table come back from Python's values as they were."""
    return all(str(kind).startswith(_PLAIN) for kind in schema.types)


def fits_times(ticks: Array, unit: int) -> bool:
    """Whether times in a unit have a number of nanoseconds."""
    farthest = np.iinfo(np.int64).max // unit
    return not len(ticks) or bool(ticks.min() >= -farthest and ticks.max() <= farthest)


def _write_order(native: HistoryWindows, batch: NativeBatch, rows: Array) -> None:
    """Write what rows of equal time are ordered by: the kinds of values, and those that no aggregate reads."""
    history = native.history
    rows[:, layout.KINDS] = 0
    for at, name in enumerate(history.ordering):
        column = batch.column(name)
        data = column.data
        kinds = np.full(len(rows), layout.VALUE, np.int64)
        if name not in history.inputs:
            if column.unit is not None or data.dtype.name != history.columns[name]:
                raise Misfit
            word = layout.INPUTS + list(history.columns).index(name)
            rows[:, word] = data.view(np.int64) if data.dtype.kind == "f" else data
        if data.dtype.kind == "f":
            kinds[np.isnan(data)] = layout.NAN
        if column.valid is not None:
            kinds[~column.valid] = layout.NULL
        rows[:, layout.KINDS] |= kinds << 2 * at


def take_in(
    native: HistoryWindows,
    table: pa.Table,
    new: list[Key],
    kind: str | None,
    series: list[tuple[str, Any]],
    answered: Callable[[Given], Any],
) -> tuple[Any, Array | None]:
    """Let the rows of a table in, which lie in the store's fields; `answered` makes a table of their answers.

    Returns it, and which rows were dropped as late, None where none was. `new` keys are forgotten where this raises.
    """
    live, history = native.live, native.history
    m = table.num_rows
    first = live.arrivals.number + 1
    rows = history.rows(m)
    rows[:, layout.NUMBER] = np.arange(first, first + m)
    rows[:, layout.VALID] = 0
    taken = False
    late = kept = None
    try:
        changed = history.take(m, first)
        taken = True
        entries = history.entry.data[:m]
        if history.late.data[:m].any():
            late = history.late.data[:m].copy()
            kept = np.flatnonzero(~late)
            entries = entries[kept]
        older = np.empty(0, np.int64)
        if changed:
            older = _in_order_of_keys(native, changed, m, series)
        entries = np.concatenate([entries, older])
        result = answered(Given(kept, entries, history.numbers_of(older)))
    except BaseException as error:
        if taken:
            history.undo()
        for key in new:
            history.release(key)
        if isinstance(error, Exception):
            raise Misfit from error  # the trees raise it in their words
        raise
    history.keep()
    _count(native, rows, kept, kind, changed)
    events = native.states.events
    events.add_table(table if kept is None else table.take(kept), (np.arange(m) if kept is None else kept) + first)
    native.states.forget_events(history.take_pruned())
    events.tidy()
    if m > _MOST_ROWS:
        history.release_rows()
    return result, late


def _count(native: HistoryWindows, rows: Array, kept: Array | None, kind: str | None, changed: int) -> None:
    """Count the rows of a batch, and note their times."""
    live, m = native.live, len(rows)
    live.arrivals.number += m
    taken = m if kept is None else len(kept)
    if taken:
        times = rows[:, layout.TIME] if kept is None else rows[kept, layout.TIME]
        if native.history.floats:
            times = times.copy().view(np.float64)
            live.time_reader.fractions = True
        newest = times.max().item()
        if live.seen is None or newest > live.seen:
            live.seen = newest
    live.time_reader.kind = kind
    live.answers += taken
    live.events += m
    live.revised += changed


def _in_order_of_keys(native: HistoryWindows, changed: int, m: int, series: list[tuple[str, Any]]) -> Array:
    """Where the answers of changed rows lie, by keys, in the order that batches number these in."""
    history = native.history
    pairs = history.changed.data[: 2 * changed].reshape(-1, 2)
    entries, homes = pairs[:, 0], pairs[:, 1]
    if not series or (homes == homes[0]).all():
        return entries.copy()
    codes, _ = key_codes(series)
    of_homes, firsts = np.unique(history.homes_of_rows.data[:m], return_index=True)
    assert codes is not None
    order = codes[firsts[np.searchsorted(of_homes, homes)]]
    sorted_entries: Array = entries[np.argsort(order, kind="stable")]
    return sorted_entries


def joined(native: HistoryWindows, table: pa.Table, given: Given) -> pa.Table | None:
    """The rows that a batch's answers are of, as a table; None where the older ones do not fit its columns."""
    import pyarrow as pa

    kept = table if given.kept is None else table.take(given.kept)
    if not len(given.older):
        return kept
    events = native.states.events
    older = events.as_table(given.older, table.schema)
    if older is None:
        rows = events.many(given.older.tolist())
        names = set(table.column_names)
        if any(row.keys() != names for row in rows):
            return None
        try:
            older = pa.Table.from_pylist(rows, schema=table.schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
            return None
        if not same(
            [list(row.values()) for row in older.to_pylist()], [[row[n] for n in table.column_names] for row in rows]
        ):
            return None
    return pa.concat_tables([kept, older])


def _one_by_one(native: HistoryWindows, frame: Frame, table: pa.Table, given: Given) -> pa.Table:
    """The answers as a table, of columns that hold the values of all rows."""
    live, history = native.live, native.history
    rows = python_rows(table if given.kept is None else table.take(given.kept))
    rows += native.states.events.many(given.older.tolist())
    answers = [live.computed.columns(history.answers_of(entry), {}) for entry in given.entries.tolist()]
    pairs = zip(rows, answers, strict=True)
    return as_table(live, IncomingBatch(live, frame), [{**row, **columns} for row, columns in pairs])


def member_answers(native: HistoryWindows, number: int, entries: Array) -> Answers:
    """The answers of a member, by its number, for rows that ran."""
    history = native.history
    words = history.answers.data.reshape(-1, len(history.members))[entries, number]
    valid = history.answered.data[entries] >> number & 1 != 0
    return Answers([words.view(history.dtypes[number])], None if valid.all() else valid)


def _answers(native: HistoryWindows, batch: NativeBatch, entries: Array) -> dict[str, Any]:
    """The definition's columns in their order."""
    arrays = {}
    number = 0
    for spec in native.live.specs:
        types = [batch.kind_of(name) for name in spec.columns]
        columns, _ = columns_of(batch, spec)
        for member in spec.members:
            check_inputs(member.operator, spec.columns, columns, types)
            answers = member_answers(native, number, entries)
            arrays[member.name] = typed(member.operator, columns, types, answers, member.name)
            number += 1
    return {name: arrays[name] for name in native.live.definition.columns}
