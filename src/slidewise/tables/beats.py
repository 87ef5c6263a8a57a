"""A definition's beats over a whole table: rows sorted once and folded into slices, one row for each key and beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.frames import frame_of
from slidewise.definition import Definition, check_names
from slidewise.engine.beats.parts import SlicePlan
from slidewise.engine.beats.slices import as_times, sliced
from slidewise.engine.computed.columns import as_array, frame_label, like_column, result_arrays
from slidewise.engine.sorting import key_codes
from slidewise.engine.table_rows import TableRows
from slidewise.kernels.bounds.beats import times_of


def beats_of_table(definition: Definition, table: Any) -> Any:
    """The keys, the beats and the aggregates as a table of the same kind; keys in order of their first rows."""
    frame = frame_of(table)
    check_names(definition, frame.names, "table", frame.index)
    rows = TableRows(definition, frame)
    rows.check_expressions()
    row_order, times = rows.order, rows.times
    assert times is not None
    assert definition.on is not None
    plan = SlicePlan(definition, in_batch=True)
    beats = plan.beats(times.unit, times.data.dtype == np.float64, times.arrow)
    codes = np.repeat(np.arange(len(row_order.offsets) - 1), np.diff(row_order.offsets))
    slices, inputs = sliced(plan, beats, rows, codes, row_order.to_sorted(times.data), row_order.to_sorted)
    due = slices.due(beats)
    answers = slices.answers(plan, beats, due, inputs)
    first = _first_rows(definition, frame)
    order = np.argsort(first[due.codes], kind="stable") if len(due) else np.zeros(0, np.int64)
    moments = as_times(definition.on, times, times_of(beats, due.numbers))
    keys = frame.take(first[due.codes])

    def own(name: str) -> Any:
        return moments if name == definition.on else as_array(keys, name)

    def label(row: int) -> str:
        return frame_label(definition, keys, row)

    columns = result_arrays(definition, answers, own, len(due), label)
    with_moments = {definition.on: (definition.on, moments)} | {
        name: (like_column(definition, name), array) for name, array in columns.items()
    }
    in_order = {name: (like, array.take(_places(order))) for name, (like, array) in with_moments.items()}
    return frame.gather(definition.by, first[due.codes[order]], in_order)


def _places(order: Array) -> Any:
    import pyarrow as pa

    return pa.array(order)


def _first_rows(definition: Definition, frame: Any) -> Array:
    """The first row of each key, by the key's code."""
    codes, groups = key_codes([(name, frame.column(name)) for name in definition.by])
    found = np.full(groups, len(frame), np.int64)
    if codes is None:
        found[:] = 0
    else:
        np.minimum.at(found, codes, np.arange(len(codes)))
    return found
