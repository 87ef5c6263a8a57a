"""Evaluation of labels among the events of their keys, sorted by key and time, in the memory of one window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.computed.columns import result_arrays
from slidewise.engine.point_in_time.queries import Queries
from slidewise.engine.window_batch import stored_of_first, window_batch
from slidewise.spark.batch.evaluator import BatchEvaluator
from slidewise.spark.column_names import QUERY
from slidewise.spark.sort.sorted_rows import SortedRows, row_label


class QueryEvaluator(BatchEvaluator):
    """Answers the rows that ask, and gives them alone: `outputs` are the columns of a row that are the label's own.

    `own` are those among them that results read, by the definition's names.
    """

    def __init__(
        self,
        definition: Definition,
        outputs: tuple[str, ...],
        sliced: bool = False,
        own: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(definition, sliced)
        self._own = own
        self._timed = True  # rows of one time come together, whatever the windows: a label sees all events of its time
        self._outputs = outputs

    def _with_answers(self, table: pa.Table, codes: Array, final: int, continues: bool) -> pa.Table:
        every = PointBatch(table, self._definition, codes).events if self._looks_ahead else None
        table, codes = table.slice(0, final), codes[:final]
        rows = PointBatch(table, self._definition, codes)
        states = self._states if continues else [None] * len(self._specs)
        before = np.zeros(rows.events.keys, np.int64)
        before[0] = self._row_count if continues else 0
        queries, numbers = rows.queries, None
        if any(spec.numbered for spec in self._specs):
            queries, numbers = rows.numbered(before)
        times = self._time_places(rows.events)
        answers: dict[str, pa.Array] = {}
        after: list[Any] = []
        for spec, state in zip(self._specs, states, strict=True):
            places = times if numbers is None or not spec.numbered else numbers
            if spec.ahead:
                assert every is not None
                asking = rows.queries.of_keys(every.keys)
                answers |= self._answers_ahead(spec, every, len(rows.asked), asking)
                after.append(None)
                continue
            stored = stored_of_first(spec, state, rows.events.keys)
            try:
                batch = window_batch(rows.events, spec, places, stored, True, None, queries)
                arrays, state_after = batch.arrays(), batch.kept_of_last()
            except Exception as error:
                raise self._located(error, rows.events, spec, places, state) from error
            answers |= {member.name: array for member, array in zip(spec.members, arrays, strict=True)}
            after.append(state_after)
        self._states = after
        self._row_count = int(before[-1]) + rows.events_of_last_key
        self._key = table.select([*self._definition.by, str(self._definition.on)]).slice(len(table) - 1, 1)
        return with_results(self._definition, rows.asked, answers, self._outputs, self._own, self._hidden)


def with_results(
    definition: Definition,
    asked: pa.Table,
    answers: dict[str, pa.Array],
    outputs: Sequence[str],
    own: Mapping[str, str],
    hidden: Sequence[str] = (),
) -> pa.Table:
    """Labels under their own columns, with the definition's behind them."""
    columns = result_arrays(
        definition,
        answers,
        lambda name: asked.column(own[name]),
        len(asked),
        lambda row: row_label(definition, asked, row, hidden),
    )
    table = asked.select(outputs)
    for name, array in columns.items():
        table = table.append_column(name, array)
    return table


class PointBatch:
    """A table's rows, sorted by key and time, taken apart: the events, and the labels that ask among them."""

    def __init__(self, table: pa.Table, definition: Definition, codes: Array) -> None:
        asks = table.column(QUERY).to_numpy()
        keys = int(codes[-1]) + 1
        self.asked = table.filter(asks)
        self.events = SortedRows(table.filter(~asks), definition, codes[~asks], keys=keys)
        times = SortedRows(self.asked.select([str(definition.on)]), definition, codes[asks]).times
        assert times is not None
        self.queries = Queries.of(codes[asks], keys, times.data)

    @property
    def events_of_last_key(self) -> int:
        """How many events the last key has."""
        return int((self.events.codes == self.events.keys - 1).sum())

    def numbered(self, before: Array) -> tuple[Queries, Array]:
        """The queries with their places in windows of rows, and the numbers of events within their keys, each of which
        has had so many `before`."""
        assert self.events.times is not None
        codes = self.events.codes
        offsets = np.searchsorted(codes, np.arange(self.events.keys + 1))
        numbers = np.arange(len(codes)) - offsets[codes] + before[codes]
        return self.queries.numbered(self.events.times.data, offsets, before), numbers
