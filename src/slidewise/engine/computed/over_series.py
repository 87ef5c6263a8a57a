"""`rolling` of operators that go by the rows' times: columns of the time before them, and results behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.answer_series import BARE, series_like
from slidewise.columns.operator_types import check_type, readied, restored
from slidewise.columns.series import Column, Series, read
from slidewise.engine.bounds import backwards_error, check_times, find_bounds
from slidewise.engine.computed.columns import series_array
from slidewise.engine.evaluate import answer
from slidewise.errors import InputError
from slidewise.expressions.expression import Call, Expression, RowColumn
from slidewise.expressions.functions.half_life_weights import HIGHS, LOWS
from slidewise.expressions.functions.row_times import PER_SECOND, SECOND, TICKS
from slidewise.expressions.functions.vectors import bounds_of, fits
from slidewise.expressions.over_arrays import evaluate_all
from slidewise.kernels.compiler.threads import share_out
from slidewise.kernels.order.grouping import Grouped, dictionary_codes
from slidewise.kernels.sums.decayed_rows import decayed_rows
from slidewise.operators.aggregate import Aggregate, PlainAggregate
from slidewise.operators.operator import Operator
from slidewise.stages import Answer, Stages, stages_of
from slidewise.windows import Duration, Window

if TYPE_CHECKING:
    import pyarrow as pa

TIMES = "times"
_ALL = Window.of("all")


def staged(op: Operator, names: list[str], window: Window) -> Stages:
    """The stages of one answer by an operator over series of these names."""
    columns = {BARE: Aggregate(op, tuple(names), None, window)}
    return stages_of(columns, TIMES, [*names, TIMES])


class TimedSeries:
    """Series by their names, of which one is the rows' time, under keys."""

    def __init__(self, series: Mapping[str, Series], columns: Mapping[str, Column], keys: Column | None) -> None:
        self._series = series
        self._columns = dict(columns)
        self._keys = keys
        self._count = len(columns[TIMES])

    def answer(self, stages: Stages, window: Window) -> Series:
        """The answers of the stages' only column, as a series like the first one."""
        when = self._columns[TIMES]
        if not window.kind.timed:
            self._check_order(when)
        direct = {name: self._of_time(argument) for name, argument in stages.arguments.items()}
        others = {name: argument for name, argument in stages.arguments.items() if direct[name] is None}
        computed = evaluate_all(others, self._array, self._count, share_out)
        for name, column in direct.items():
            self._columns[name] = read(computed[name], name) if column is None else column
        along = None if window.kind.numbered else when
        parts = {name: self._aggregate(one, window, along) for name, one in stages.aggregates.items()}
        like = next(iter(self._series.values()))
        if not stages.results:
            columns, fields, valid = parts[BARE]
            return series_like(like, restored(stages.aggregates[BARE].operator, columns, fields), valid)
        arrays = {name: self._as_array(stages.aggregates[name], *part) for name, part in parts.items()}

        def leaf_array(leaf: Expression) -> pa.Array:
            return arrays[leaf.name] if isinstance(leaf, Answer) else self._array(leaf)

        result = read(evaluate_all(stages.results, leaf_array, self._count, share_out)[BARE], "the answer")
        return series_like(like, {BARE: result.data}, result.valid)

    def _of_time(self, argument: Expression) -> Column | None:
        """Ticks of the rows' time and how many a second has, as its own numbers have them; None for anything else."""
        when = self._columns[TIMES]
        if not isinstance(argument, Call) or when.unit is None or when.valid is not None or not self._count:
            return None
        if argument.function == PER_SECOND:
            return Column(np.broadcast_to(np.int64(SECOND), self._count), None, _as_they_are)
        unit = when.unit
        if argument.function != TICKS or not fits(*(bound * unit for bound in bounds_of(when.data))):
            return None
        return Column(when.data * unit if unit > 1 else when.data, None, _as_they_are)

    def _array(self, leaf: Expression) -> pa.Array:
        assert isinstance(leaf, RowColumn)
        return series_array(self._series[leaf.name], leaf.name)

    def _check_order(self, when: Column) -> None:
        """Refuse times that run backwards, as windows of time do."""
        check_times(_ALL, when)
        grouped = None if self._keys is None else Grouped(*dictionary_codes(self._keys.data, self._keys.valid))
        if find_bounds(_ALL, when, grouped, self._count)[2] >= 0:
            raise backwards_error(when, grouped)

    def _aggregate(
        self, aggregate: PlainAggregate, window: Window, when: Column | None
    ) -> tuple[list[Column], dict[str, Any], Any]:
        op = aggregate.operator
        columns = [self._columns[name] for name in aggregate.columns]
        for column, name in zip(columns, aggregate.columns, strict=True):
            check_type(op, column, name)
        if aggregate.condition is not None:
            condition = self._columns[aggregate.condition]
            kept = condition.data if condition.valid is None else condition.data & condition.valid
            columns = [
                replace(column, valid=kept if column.valid is None else column.valid & kept) for column in columns
            ]
        columns = readied(op, columns)
        return columns, *answer(op, columns, window, when, self._keys)

    def _as_array(
        self, aggregate: PlainAggregate, columns: list[Column], fields: dict[str, Any], valid: Any
    ) -> pa.Array:
        """The answers of an aggregate as an Arrow array."""
        import pyarrow as pa

        values = restored(aggregate.operator, columns, fields)[BARE]
        if isinstance(values, np.ndarray):
            return pa.array(values, mask=None if valid is None else ~valid)
        if valid is None:
            return values
        import pyarrow.compute as pc

        return pc.if_else(pa.array(valid), values, pa.scalar(None, values.type))


def _as_they_are(answers: Array) -> Array:
    return answers


def _so_far(op: Operator, columns: list[Column], when: Column) -> Array | None:
    """Decayed means of all rows so far in one pass of their own, where it serves these rows."""
    x, halflife = columns[0], op.parameters.get("halflife")
    if op.traits.form != "ewm_mean" or not isinstance(halflife, str) or when.unit is None:
        return None
    if x.valid is not None or when.valid is not None or x.data.dtype != np.float64:
        return None
    return decayed_rows(x.data, when.data, when.unit, Duration.of(halflife).ns, np.array(HIGHS), np.array(LOWS))


def rolling_on_time(
    op: Operator,
    series: tuple[Series, ...],
    columns: list[Column],
    times: Series,
    when: Column,
    keys: Column | None,
    window: Window,
) -> Series:
    """An operator that goes by the rows' times over each row's window of series."""
    if keys is None and window == _ALL:
        answers = _so_far(op, columns, when)
        if answers is not None:
            return series_like(series[0], {BARE: answers}, None)
    names = [f"input {i + 1}" if len(series) > 1 else "the input" for i in range(len(series))]
    by_name = {**dict(zip(names, series, strict=True)), TIMES: times}
    read_columns = {**dict(zip(names, columns, strict=True)), TIMES: when}
    try:
        return TimedSeries(by_name, read_columns, keys).answer(staged(op, names, window), window)
    except InputError as error:
        raise InputError(f"{op.name}: {error}") from error
