"""A definition over a whole table: one more column per aggregate, rows and columns as they were."""

from __future__ import annotations

from typing import Any

from slidewise.columns.frames import frame_of
from slidewise.definition import Definition, check_names
from slidewise.engine.computed.columns import as_array, like_column, result_arrays
from slidewise.engine.table_rows import TableRows
from slidewise.errors import SlidewiseError
from slidewise.kernels.bounds.rows_and_times import longest


def over_table(definition: Definition, table: Any) -> Any:
    """The table with one more column per aggregate, its rows and columns as they were."""
    frame = frame_of(table)
    check_names(definition, frame.names, "table", frame.index)
    rows = TableRows(definition, frame)
    rows.check_expressions()
    _ = rows.order  # what is wrong with keys or times is not an aggregate's fault
    answers = answers_of(definition, rows)
    columns = result_arrays(definition, answers, lambda name: as_array(frame, name), len(frame), rows.label)
    return frame.with_columns({name: (like_column(definition, name), array) for name, array in columns.items()})


def answers_of(definition: Definition, rows: TableRows) -> dict[str, Any]:
    """The answers of all aggregates, by name."""
    answers = {}
    for name, aggregate in definition.aggregates.items():
        try:
            answers[name] = rows.answer(aggregate)
        except SlidewiseError as error:
            raise type(error)(f"column {name!r}: {error}") from error
    return answers


def longest_windows(definition: Definition, table: Any) -> dict[str, int]:
    """How many rows the longest window of each aggregate over time holds."""
    frame = frame_of(table)
    check_names(definition, frame.names, "table", frame.index)
    rows = TableRows(definition, frame)
    rows.check_expressions()
    windows = {name: aggregate.window for name, aggregate in definition.aggregates.items()}
    return {
        name: int(longest(*rows.bounds(window)))
        for name, window in windows.items()
        if window is not None and window.kind.timed
    }
