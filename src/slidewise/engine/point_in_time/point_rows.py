"""Events of a table and labels beside them: each aggregate's answers over windows that end at the labels' times."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.frames import Frame
from slidewise.columns.series import Column, read
from slidewise.definition import Definition
from slidewise.engine.bounds import query_bounds_anew
from slidewise.engine.column_checks import time_column
from slidewise.engine.point_in_time.common_types import in_one_unit, label_times, one_series
from slidewise.engine.point_in_time.label_columns import LabelColumns
from slidewise.engine.sorting import RowOrder, by_key_and_time, key_codes, sort_rows
from slidewise.engine.table_rows import TableRows
from slidewise.kernels.bounds.queries import query_bounds
from slidewise.windows import Window


class PointRows(TableRows):
    """The events of a table in the definition's order, and the windows that end at the times of labels.

    `answer` gives an aggregate's answers in the labels' order.
    """

    def __init__(self, definition: Definition, events: Frame, labels: Frame, names: LabelColumns) -> None:
        super().__init__(definition, events)
        self._labels = labels
        self._names = names

    @cached_property
    def _codes(self) -> tuple[Array | None, Array | None, int]:
        """The keys of events and of labels as numbers, equal ones for equal keys, and a bound on them."""
        pairs = zip(self._definition.by, self._names.by, strict=True)
        series = [(key, one_series(key, self._frame.column(key), self._labels.column(name))) for key, name in pairs]
        codes, groups = key_codes(series)
        return (None, None, 1) if codes is None else (codes[: self._count], codes[self._count :], groups)

    @cached_property
    def _both_times(self) -> tuple[Column, Column]:
        """The times of events and of labels, in one unit."""
        on, name = self._definition.on, self._names.on
        assert on is not None
        assert name is not None
        events = time_column(on, self.column(on))
        labels = label_times(name, read(self._labels.column(name), f"the labels' time {name!r}"))
        return in_one_unit(events, labels, on, name)

    @cached_property
    def times(self) -> Column:
        """The times of events."""
        return self._both_times[0]

    @cached_property
    def order(self) -> RowOrder:
        """Events sorted by key and time, and equal times where the order of rows matters."""
        codes, _, groups = self._codes
        return sort_rows(self._definition, codes, groups, self.times.data, self._count, self.column)

    @cached_property
    def _queries(self) -> tuple[RowOrder, Array]:
        """Labels sorted by key and time, and their times in this order."""
        _, codes, groups = self._codes
        times = self._both_times[1].data
        order = by_key_and_time(codes, groups, times, len(times))
        return order, order.to_sorted(times)

    def bounds(self, window: Window) -> tuple[Array, Array]:
        """The first event and the one past the last of every sorted label's window."""
        key = window.bounds_key
        if key not in self._bounds:
            if self._count:
                self._check_length(window)
            order, queries = self._queries
            times, offsets = self.order.to_sorted(self.times.data), self.order.offsets
            if window.reset is not None:
                marks = self._marks(window)
                marks = None if marks is None else self.order.to_sorted(marks)
                reset, asked = window.reset.ticking(self.times.unit), (queries, order.offsets)
                self._bounds[key] = query_bounds_anew(reset, times, offsets, marks, *asked, window.open_right)
                return self._bounds[key]
            extent = window.extent(self.times.unit)
            if window.kind.numbered:
                extent = extent._replace(width=None)  # everything up to a label, and of that the last rows
            starts, ends = query_bounds(extent, times, offsets, queries, order.offsets)
            if window.kind.numbered and window.most_rows is not None:
                starts = np.maximum(starts, ends - min(window.most_rows, self._count))
            self._bounds[key] = starts, ends
        return self._bounds[key]

    def _has_plain_rows(self, window: Window) -> bool:
        return False

    def _own(self) -> Array | None:
        return None

    def _may_be_empty(self, window: Window) -> bool:
        return True

    def _to_input(self, answers: Array) -> Array:
        return self._queries[0].to_input(answers)
