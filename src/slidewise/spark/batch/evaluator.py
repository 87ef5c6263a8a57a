"""Evaluation of rows sorted by key and time that come batch by batch, in the memory of one window.

Nothing is stored of keys that have passed. Of the key that a batch ends in, the rows that later windows may hold are
stored, or a state where a window holds everything so far; and its newest rows wait until a later time, another key or
the end shows that no more of their time come. Where a window looks ahead, rows wait until all rows of it are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.columns.series import read
from slidewise.definition import Definition
from slidewise.engine.cells import Cells
from slidewise.engine.column_checks import time_column
from slidewise.engine.computed.columns import result_arrays, with_arguments
from slidewise.engine.point_in_time.queries import Queries
from slidewise.engine.sliding import StoredRows
from slidewise.engine.window_batch import WindowBatch, stored_of_first, window_batch
from slidewise.engine.window_spec import WindowSpec, window_specs_of
from slidewise.errors import InputError, OperatorFailedError
from slidewise.kernels.bounds.queries import highest_places
from slidewise.spark.batch.time_slices import TimeSlices
from slidewise.spark.column_names import COPY, HIDDEN, numbered_names
from slidewise.spark.error_location import locate_error
from slidewise.spark.sort.external_sort import sort_tables
from slidewise.spark.sort.sorted_rows import (
    SortedRows,
    check_key_order,
    check_time_order,
    check_times,
    group_codes,
    row_label,
)

# Tables are gathered until they have so many rows, and as many as are stored: each is evaluated twice at most.
MIN_ROWS = 65_536


class BatchEvaluator:
    """Evaluates a definition over sorted rows: `push` returns the answered rows, and `finish` those still waiting.

    `sliced` rows come in slices of time: the slice is their first key, and copies of rows, there for others to see, are
    left out of the answers, as are the two columns that say so. `verify` makes sure that no key comes twice.
    """

    def __init__(self, definition: Definition, sliced: bool = False, verify: bool = False) -> None:
        self._definition = definition
        self._hidden = HIDDEN if sliced else ()
        self._verify = verify
        self._specs = window_specs_of(definition, spikes=False)
        self._unit = 1
        self._timed = any(not spec.numbered for spec in self._specs)
        self._looks_ahead = any(spec.ahead for spec in self._specs)
        self._waiting: pa.Table | None = None
        self._key: pa.Table | None = None  # one row: the key that the last batch ended in
        self._row_count = 0  # rows that this key has had
        self._states: list[Any] = [None] * len(self._specs)  # this key's, one for each spec

    @property
    def size(self) -> int:
        """How many rows, or cells of them, are stored or wait."""
        stored = [len(state[0]) for state in self._states if isinstance(state, list)]
        stored += [len(state) for state in self._states if isinstance(state, Cells)]
        return max(stored, default=0) + (0 if self._waiting is None else len(self._waiting))

    def push(self, table: pa.Table) -> pa.Table | None:
        """Take in more rows; those whose answers are final, with these, or None where there are none."""
        check_times(self._definition, table, self._hidden)
        table = with_arguments(self._definition, table, self._label)
        return self._evaluate(
            table if self._waiting is None else pa.concat_tables([self._waiting, table]), at_end=False
        )

    def pieces(self, table: pa.Table) -> Iterator[pa.Table]:
        """A table in pieces whose answers are not too many at once."""
        yield table

    def finish(self) -> pa.Table | None:
        """The rows that still wait, with their answers, or None."""
        waiting, self._waiting = self._waiting, None
        return None if waiting is None else self._evaluate(waiting, at_end=True)

    def _evaluate(self, table: pa.Table, at_end: bool) -> pa.Table | None:
        if not len(table):
            self._waiting = None
            return None
        codes, continues = group_codes(self._definition, table, self._key)
        self._check_order(table, codes, continues)
        final = len(table) if at_end or not self._timed else self._final_count(table, codes)
        rest = table.slice(final)
        if final:
            table = self._with_answers(table, codes, final, continues)
        self._waiting = rest if len(rest) else None
        return table if final and len(table) else None

    def _check_order(self, table: pa.Table, codes: Array, continues: bool) -> None:
        """Times never run backwards in a key, from the row before the table on; nor keys, where that is verified."""
        definition = self._definition
        if self._key is not None:
            table = pa.concat_tables([self._key, table.select(self._key.column_names)])
            codes = np.concatenate([[0], codes + (0 if continues else 1)])
        check_time_order(definition, table, codes, self._hidden)
        if self._verify:
            check_key_order(definition, table, codes)

    def _final_count(self, table: pa.Table, codes: Array) -> int:
        """How many rows come before those of the newest key and time."""
        on = self._definition.on
        assert on is not None
        times = time_column(on, read(table.column(on), repr(on))).data
        newest = (codes == codes[-1]) & (times == times[-1])
        final = int(len(codes) - np.argmin(newest[::-1])) if not newest.all() else 0
        first = int(np.searchsorted(codes, codes[-1]))
        for spec in self._specs_in(table) if self._looks_ahead else ():
            if spec.ahead and first < final:
                final = first + int((highest_places(spec.extent, times[first:final]) < times[-1]).sum())
        return final

    def _specs_in(self, table: pa.Table) -> list[WindowSpec]:
        """The specs, scaled to the unit of a table's times."""
        self._time_places(SortedRows(table, self._definition, np.zeros(len(table), np.int64)))
        return self._specs

    def _with_answers(self, table: pa.Table, codes: Array, final: int, continues: bool) -> pa.Table:
        """The first `final` rows with their answers; states move on. `continues` says that the first key is the stored
        one. Rows behind are there for windows that look ahead."""
        ahead = SortedRows(table, self._definition, codes) if self._looks_ahead else None
        table, codes = table.slice(0, final), codes[:final]
        silent = table.column(COPY).to_numpy() > 0 if self._hidden else None
        rows = SortedRows(table, self._definition, codes, silent)
        states = self._states if continues else [None] * len(self._specs)
        numbers = self._row_numbers(codes, self._row_count if continues else 0)
        times = self._time_places(rows) if self._timed else None
        answers: dict[str, pa.Array] = {}
        after: list[Any] = []
        for spec, state in zip(self._specs, states, strict=True):
            places = numbers if spec.numbered or times is None else times
            if spec.ahead:
                assert ahead is not None
                answers |= self._answers_ahead(spec, ahead, final)
                after.append(None)
                continue
            try:
                batch = _window_batch(rows, spec, places, state)
                arrays, state_after = batch.arrays(), batch.kept_of_last()
            except Exception as error:
                raise self._located(error, rows, spec, places, state) from error
            answers |= {member.name: array for member, array in zip(spec.members, arrays, strict=True)}
            after.append(state_after)
        self._states = after
        self._row_count = int(numbers[-1]) + 1
        on = [] if self._definition.on is None else [self._definition.on]
        self._key = table.select([*self._definition.by, *on]).slice(rows.count - 1, 1)
        if silent is not None and silent.any():
            table = table.filter(~silent)
            answers = {name: array.filter(pa.array(~silent)) for name, array in answers.items()}
        table = self._with_columns(table, answers)
        return table.drop_columns([*self._hidden, *self._definition.stages.arguments])

    def _answers_ahead(
        self, spec: WindowSpec, rows: SortedRows, final: int, queries: Queries | None = None
    ) -> dict[str, pa.Array]:
        """The answers by name of a window that looks ahead, for the first `final` rows, or for the queries."""
        assert rows.times is not None
        stored, places = StoredRows.none(rows.keys), rows.times.data
        try:
            arrays = window_batch(rows, spec, places, stored, True, None, queries).arrays()
        except Exception as error:
            raise self._located(error, rows, spec, places, None) from error
        members = zip(spec.members, arrays, strict=True)
        return {member.name: array.slice(0, final) for member, array in members}

    def _with_columns(self, table: pa.Table, answers: dict[str, pa.Array]) -> pa.Table:
        """The rows with the definition's columns behind their own."""
        definition = self._definition
        columns = result_arrays(definition, answers, table.column, len(table), lambda row: self._label(table, row))
        for name, array in columns.items():
            table = table.append_column(name, array)
        return table

    def _label(self, table: pa.Table, row: int) -> str:
        return row_label(self._definition, table, row, self._hidden)

    def _row_numbers(self, codes: Array, before: int) -> Array:
        """The number of each row in its key, from 0 on; the first key has had so many rows before."""
        first = np.flatnonzero(np.diff(codes, prepend=-1))
        numbers = np.arange(len(codes)) - first[codes]
        numbers[: np.searchsorted(codes, 1)] += before
        return numbers

    def _time_places(self, rows: SortedRows) -> Array:
        """Times as they are; windows are scaled to their unit."""
        assert rows.times is not None
        unit = rows.times.unit or 1
        if unit != self._unit:
            self._specs = [spec.scaled(unit // self._unit) for spec in self._specs]
            self._unit = unit
        return rows.times.data

    def _located(self, error: Exception, rows: SortedRows, spec: WindowSpec, places: Array, state: Any) -> Exception:
        def evaluate(part: WindowSpec, count: int) -> object:
            batch = _window_batch(rows.first(count), part, places[:count], state)
            return batch.arrays(), batch.kept_of_last()

        return locate_error(error, spec, evaluate, rows.count, lambda row: self._label(rows.table, row))


def _window_batch(rows: SortedRows, spec: WindowSpec, places: Array, state: Any) -> WindowBatch:
    """A spec over sorted rows, of which the first key goes on from its state."""
    return window_batch(rows, spec, places, stored_of_first(spec, state, rows.keys), True, rows.silent)


def evaluate_tables(evaluator: BatchEvaluator, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The answers over sorted rows that come as tables of any size, as tables."""
    gathered: list[pa.Table] = []
    size = 0
    for table in tables:
        gathered.append(table)
        size += len(table)
        if size >= max(MIN_ROWS, evaluator.size):
            yield from _push_all(evaluator, gathered)
            gathered, size = [], 0
    if gathered:
        yield from _push_all(evaluator, gathered)
    answered = evaluator.finish()
    if answered is not None:
        yield answered


def _push_all(evaluator: BatchEvaluator, tables: list[pa.Table]) -> Iterator[pa.Table]:
    for piece in evaluator.pieces(pa.concat_tables(tables)):
        answered = evaluator.push(piece)
        if answered is not None:
            yield answered


def cast_answers(table: pa.Table, types: dict[str, pa.DataType]) -> pa.Table:
    """The table with its answers in the types that were announced: those of one batch may all be null, say."""
    for name, kind in types.items():
        answers = table.column(name)
        if answers.type == kind:
            continue
        try:
            table = table.set_column(table.column_names.index(name), name, answers.cast(kind))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise OperatorFailedError(
                f"column {name!r}: the operator answers with {answers.type} here, and with {kind} for a made-up row; "
                f"let `lower` always answer with one type, and declare it: sw.operator(..., answers=...) ({error})"
            ) from error
    return table


def _evaluator(definition: Definition, slices: TimeSlices | None, verify: bool) -> BatchEvaluator:
    if definition.every is None:
        return BatchEvaluator(definition, slices is not None, verify)
    from slidewise.spark.batch.beat_evaluator import BeatEvaluator

    return BeatEvaluator(definition, slices, verify)


def evaluate_partition(
    definition: Definition,
    types: dict[str, pa.DataType],
    names: list[str] | None,
    slices: TimeSlices | None,
    verify: bool,
    sort: bool,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The answers, of these types, over the record batches of a Spark partition.

    With `names`, columns come and go under numbers; with `slices`, in slices of time; with `sort`, in any order.
    """
    from pyspark import TaskContext

    tables: Iterator[pa.Table] = (pa.Table.from_batches([batch]) for batch in batches if len(batch))
    if verify and not definition.by and TaskContext.get().partitionId():
        if next(tables, None) is None:
            return
        raise InputError("rows without keys belong together, but they are in several partitions; coalesce(1) them")
    if names is not None:
        tables = (table.rename_columns(names) for table in tables)
    if sort:
        tables = sort_tables(definition, tables, HIDDEN if slices is not None else ())
    for table in evaluate_tables(_evaluator(definition, slices, verify), tables):
        answered = cast_answers(table, types)
        answered = answered if names is None else answered.rename_columns(numbered_names(answered.column_names))
        yield from answered.combine_chunks().to_batches()
