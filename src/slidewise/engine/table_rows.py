"""Evaluates a definition over a whole table: sorts rows once, finds each window's bounds once, runs the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.categories import coded
from slidewise.columns.frames import Frame
from slidewise.columns.operator_types import answer_type, as_numbers, readied
from slidewise.columns.series import Column, read
from slidewise.definition import Definition
from slidewise.engine.answers import check_inputs, typed
from slidewise.engine.bounds import find_bounds
from slidewise.engine.column_checks import arrow_type, present, time_column, true_rows
from slidewise.engine.computed.columns import argument_arrays, argument_types, as_array, check_results, frame_label
from slidewise.engine.evaluate import over_bounds, plain_rows, several_over_bounds
from slidewise.engine.sorting import RowOrder, key_codes, sort_rows
from slidewise.errors import WindowError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.operators.aggregate import PlainAggregate, at_least
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind
from slidewise.windows import Duration, Months, Window
from slidewise.windows.calendar import MOMENTS_NEEDED
from slidewise.windows.zones import NO_DATES


class TableRows:
    """A table's rows in the definition's order, with what several aggregates share: columns and bounds, each once."""

    def __init__(self, definition: Definition, frame: Frame) -> None:
        self._definition = definition
        self._frame = frame
        self._count = len(frame)
        self._columns: dict[str, Column] = {}
        self._categories: dict[str, Column | None] = {}
        self._sorted: dict[str, Array] = {}
        self._bounds: dict[Any, tuple[Array, Array]] = {}
        self._quantile_answers: dict[PlainAggregate, Answers] = {}

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._count

    def column(self, name: str) -> Column:
        """A column of the table, or a computed one, in the table's order."""
        if name not in self._columns:
            computed = name in self._definition.stages.arguments
            series = self._computed[name] if computed else self._frame.column(name)
            self._columns[name] = read(series, repr(name))
        return self._columns[name]

    @cached_property
    def _computed(self) -> dict[str, Any]:
        """The columns that expressions compute for aggregates, as Arrow arrays."""
        return argument_arrays(self._definition, lambda name: as_array(self._frame, name), self._count, self.label)

    def check_expressions(self, own: Callable[[str], Any] | None = None) -> None:
        """Check the types of all expressions before anything runs; `own` gives those of the rows that ask."""
        definition = self._definition
        if not definition.stages.arguments and not definition.stages.results:
            return
        computed = argument_types(definition, self._frame_type)
        types = {}
        for name, aggregate in definition.aggregates.items():
            op = aggregate.operator
            of = [computed[column] if column in computed else self._frame_type(column) for column in aggregate.columns]
            types[name] = answer_type(op, of) if op.answers is None else op.answers
        check_results(definition, types, own or self._frame_type)

    def _frame_type(self, name: str) -> Any:
        return arrow_type(self._frame.column(name))

    def label(self, row: int) -> str:
        """The key and the time of a row, for errors."""
        return frame_label(self._definition, self._frame, row)

    def kind_of(self, name: str) -> Any:
        """A column's Arrow type."""
        if name in self._definition.stages.arguments:
            return self._computed[name].type
        return arrow_type(self._frame.column(name), self._columns.get(name))

    @cached_property
    def times(self) -> Column | None:
        """The time column, checked."""
        on = self._definition.on
        if on is None:
            return None
        return time_column(on, self.column(on))

    @cached_property
    def order(self) -> RowOrder:
        """The rows sorted by key and time, and equal times where the order of rows matters."""
        definition = self._definition
        codes, groups = key_codes([(name, self._frame.column(name)) for name in definition.by])
        times = self.times
        return sort_rows(definition, codes, groups, None if times is None else times.data, self._count, self._ordering)

    def _ordering(self, name: str) -> Column:
        """A column that orders rows of equal time: text as codes, which are in its order."""
        return self._coded(name) or self.column(name)

    def bounds(self, window: Window) -> tuple[Array, Array]:
        """The first row and the one past the last of every sorted row's window."""
        key = window.bounds_key
        if key not in self._bounds:
            if self._count:
                self._check_length(window)
            order = self.order if self._count else None
            self._bounds[key] = find_bounds(window, self.times, order, self._count, self._marks(window))[:2]
        return self._bounds[key]

    def _marks(self, window: Window) -> Array | None:
        """The rows at which a window begins anew, in the table's order; None where no column marks them."""
        name = window.since
        return None if name is None else true_rows(self.column(name), f"since={name!r}", name)

    def _check_length(self, window: Window) -> None:
        on = self._definition.on
        if self.times is None:
            return
        length = window.measure
        if window.zone is not None and self.times.is_date:
            raise WindowError(f"on={on!r} holds dates, but zone={window.zone!r} is given: {NO_DATES}")
        if self.times.unit is None and window.needs_moments:
            raise WindowError(
                f"on={on!r} holds numbers, and {window.words} is a part of the calendar; {MOMENTS_NEEDED}"
            )
        if self.times.unit is None and isinstance(length, Duration | Months):
            raise WindowError(f"on={on!r} holds numbers, but the window lasts {length}; give it as a number")
        if self.times.unit is not None and not isinstance(length, Duration | Months | None):
            raise WindowError(
                f"on={on!r} holds timestamps, but the window is the number {length!r}; write it as "
                f"{window.as_duration}, say"
            )

    def answer(self, aggregate: PlainAggregate) -> Any:
        """An aggregate's answers as an Arrow array, in the table's order."""
        op, window = aggregate.operator, aggregate.window
        assert window is not None
        names = aggregate.columns
        columns = self._arguments(op, names) or [Column(np.zeros(self._count, np.int64), None, lambda x: x)]
        check_inputs(op, names, columns, self._types(names))
        valid = self._present(aggregate, columns)
        arguments = readied(op, columns)
        inputs = [
            self._sorted_input(f"{op.traits.answer is AnswerKind.LIST} {name}", column)
            for name, column in zip(names or ("",), [as_numbers(op, column) for column in arguments], strict=True)
        ]
        least = at_least(op, window)
        plain = valid is None and self._has_plain_rows(window)
        alike = self._quantiles(aggregate)
        if len(alike) > 1:
            if aggregate not in self._quantile_answers:
                ops = [other.operator for other in alike]
                by_operator = several_over_bounds(ops, inputs, valid, *self.bounds(window), least, True, self._own())
                self._quantile_answers |= dict(zip(alike, by_operator, strict=True))
            answers = self._quantile_answers[aggregate]
        elif plain and self._count and (least <= 1 or op.traits.never_raises):
            n = min(window.rows or self._count, self._count)
            answers = plain_rows(op, inputs, n, self.order.offsets)
            if least > 1:
                enough = self._number_in_key() >= least
                answers = replace(answers, valid=enough if answers.valid is None else answers.valid & enough)
        else:
            starts, ends = self.bounds(window)
            own = None if op.traits.own_value is None else self._own()
            answers = over_bounds(op, inputs, valid, starts, ends, least, self._may_be_empty(window), own)
        return typed(op, arguments, self._types(names), answers.moved(self._to_input))

    def _arguments(self, op: Operator, names: tuple[str, ...]) -> list[Column]:
        """The columns that an operator reads; categories of text as codes, where their names do not matter."""
        per = op.traits.per
        if per is None or per.top is not None:
            return [self.column(name) for name in names]
        return [*(self.column(name) for name in names[:-1]), self._coded(names[-1]) or self.column(names[-1])]

    def _coded(self, name: str) -> Column | None:
        """A column of text as codes; None where it is none."""
        if name not in self._categories:
            computed = name in self._definition.stages.arguments
            self._categories[name] = coded(self._computed[name] if computed else self._frame.column(name))
        return self._categories[name]

    def _has_plain_rows(self, window: Window) -> bool:
        """Whether each row's window is itself and a number of rows before it."""
        return window.usual_ends and (window.kind.numbered or self.times is None) and window.reset is None

    def _own(self) -> Array | None:
        """The sorted rows that ask, for answers about their own values; None where others ask."""
        return np.arange(self._count)

    def _may_be_empty(self, window: Window) -> bool:
        """Whether a window may hold no rows, whatever their values."""
        return window.may_be_empty

    def _to_input(self, answers: Array) -> Array:
        """Answers over windows in the order of the rows that asked."""
        return self.order.to_input(answers)

    def _quantiles(self, aggregate: PlainAggregate) -> list[PlainAggregate]:
        """The exact quantiles over the same rows as this one, which are answered together with it."""
        if aggregate.operator.traits.order_statistic is None:
            return []
        others = [
            other for other in self._definition.aggregates.values() if other.operator.traits.order_statistic is not None
        ]
        return list(
            dict.fromkeys(other for other in others if replace(other, operator=aggregate.operator) == aggregate)
        )

    def _number_in_key(self) -> Array:
        """The number of each sorted row in its key, from 1 on."""
        offsets = self.order.offsets
        array: Array = np.arange(1, self._count + 1) - np.repeat(offsets[:-1], np.diff(offsets))
        return array

    def _present(self, aggregate: PlainAggregate, columns: list[Column]) -> Array | None:
        flag = None if aggregate.condition is None else self.column(aggregate.condition)
        valid = present(columns, aggregate.condition, flag)
        return None if valid is None else self.order.to_sorted(valid)

    def _sorted_input(self, what: str, column: Column) -> Array:
        key = f"{what} {column.data.dtype}"
        if key not in self._sorted:
            self._sorted[key] = self.order.to_sorted(column.data)
        return self._sorted[key]

    def _types(self, names: tuple[str, ...]) -> list[Any]:
        return [self.kind_of(name) for name in names]
