"""The row's time as operators take it: a value that a user inserts, and columns of it that lanes compute."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from slidewise.errors import InputError
from slidewise.expressions.expression import Expression, RowColumn, call
from slidewise.expressions.functions.function import MistypedValue, ValueOverflow
from slidewise.expressions.functions.row_times import PER_SECOND, TICKS, per_second_of_value, ticks_of_value
from slidewise.operators.aggregate import Aggregate, argument_of
from slidewise.operators.types import Value
from slidewise.operators.values.hashing import is_finer, plain

if TYPE_CHECKING:
    from slidewise.operators.operator import Operator


def with_ticks(aggregate: Aggregate, time: Expression) -> Aggregate:
    """The aggregate over the time's ticks, too."""
    return replace(aggregate, columns=(*aggregate.columns, call(TICKS, time)))


def with_ticks_per_second(aggregate: Aggregate, time: Expression) -> Aggregate:
    """The aggregate over the time's ticks and how many a second has, too."""
    return replace(aggregate, columns=(*aggregate.columns, call(TICKS, time), call(PER_SECOND, time)))


def oldest_time(aggregate: Aggregate, time: Expression) -> Aggregate:
    """The time of the oldest row that an aggregate counts."""
    from slidewise.operators.families.extremes import min_

    return _of_rows(min_, aggregate, time)


def newest_time(aggregate: Aggregate, time: Expression) -> Aggregate:
    """The time of the newest row that an aggregate counts."""
    from slidewise.operators.families.extremes import max_

    return _of_rows(max_, aggregate, time)


def _of_rows(op: Operator, aggregate: Aggregate, time: Expression) -> Aggregate:
    """An operator over the times of the rows that an aggregate counts: those without a null, and with its condition."""
    kept: list[Expression] = [~call("is null", _expression(column)) for column in aggregate.columns]
    if aggregate.condition is not None:
        kept.insert(0, _expression(aggregate.condition))
    condition = reduce(lambda a, b: call("and", a, b), kept) if kept else None
    return replace(aggregate, operator=op, columns=(argument_of(time, op.name),), condition=_plain(condition))


def _expression(argument: str | Expression) -> Expression:
    return RowColumn(argument) if isinstance(argument, str) else argument


def _plain(condition: Expression | None) -> str | Expression | None:
    return condition.name if isinstance(condition, RowColumn) else condition


def plain_time(time: Value) -> Value:
    """A time as Python has it, of what users insert; one of NumPy's that is finer than that is not rounded."""
    if type(time) in (int, float):
        return time
    return _Finer(time) if is_finer(time) else plain(time)


class _Finer(datetime):
    """A moment with nanoseconds, as pandas' Timestamp has them."""

    nanosecond: int

    def __new__(cls, time: Any) -> _Finer:
        micros = plain(time)
        date = micros.year, micros.month, micros.day
        finer = super().__new__(cls, *date, micros.hour, micros.minute, micros.second, micros.microsecond)
        finer.nanosecond = int(time.astype("M8[ns]").astype("int64")) % 1_000
        return finer


def time_of(time: Value, operator: str) -> tuple[int | float, int]:
    """A row's time in ticks, and how many of them are a second; a number is itself, and its unit one second.

    >>> from datetime import datetime
    >>> time_of(datetime(1970, 1, 2), "rate"), time_of(2.5, "rate")
    ((86400000000000, 1000000000), (2.5, 1))
    """
    value = plain_time(time)
    try:
        return ticks_of_value(value), per_second_of_value(value)
    except (MistypedValue, ValueOverflow):
        raise InputError(
            f"{operator} takes the row's time last, a moment or a number, but got {time!r} ({type(time).__name__})"
        ) from None
