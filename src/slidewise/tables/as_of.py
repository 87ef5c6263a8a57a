"""A definition over a table of events, answered at the times of labels instead of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slidewise.columns.frames import frame_of
from slidewise.columns.series import is_arrow_backed
from slidewise.definition import Definition, check_names
from slidewise.engine.column_checks import arrow_type
from slidewise.engine.computed.columns import as_array, frame_label, result_arrays
from slidewise.engine.point_in_time.label_columns import LabelColumns
from slidewise.engine.point_in_time.point_rows import PointRows
from slidewise.tables.evaluate import answers_of


def as_of_tables(definition: Definition, labels: Any, events: Any, on: str | None, by: Mapping[str, str] | None) -> Any:
    """The labels with one more column per aggregate: its answer over the events of the label's key up to its time."""
    names = LabelColumns.of(definition, on, by, "as_of")
    asked, rows = frame_of(labels), frame_of(events)
    names.check(definition, asked.names, "labels", asked.index)
    check_names(definition, rows.names, "table of events", rows.index, added=False)
    points = PointRows(definition, rows, asked, names)
    own = names.own(definition)
    points.check_expressions(lambda name: arrow_type(asked.column(own[name])))
    _ = points.order  # what is wrong with keys or times is not an aggregate's fault
    like = names.on if is_arrow_backed(asked.column(str(names.on))) else None
    columns = result_arrays(
        definition,
        answers_of(definition, points),
        lambda name: as_array(asked, own[name]),
        len(asked),
        lambda row: frame_label(definition, asked, row, own),
    )
    return asked.with_columns({name: (like, array) for name, array in columns.items()})
