"""Values that expressions compute over single events: the arguments of aggregates, and results of their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NoReturn

from slidewise.definition import Definition
from slidewise.engine.event_values import PLAIN, plain_value
from slidewise.errors import InputError, SlidewiseError
from slidewise.expressions.expression import Expression, RowColumn
from slidewise.expressions.functions.function import MistypedValue, ValueOverflow
from slidewise.expressions.kinds import FLOAT, INT, NUMBER, ValueKind
from slidewise.expressions.over_rows import Answers, OfRow, Row, explained, row_function
from slidewise.expressions.type_inference import constrained
from slidewise.stages import Answer


class ComputedValues:
    """A definition's expressions over single events.

    `others` are columns that hold no numbers, so that NaN is null in them; `names` are the aggregates in the order in
    which their answers come.
    """

    def __init__(self, definition: Definition, others: Set[str], names: Sequence[str]) -> None:
        self._definition = definition
        self._others = others
        self._names = list(names)
        stages = definition.stages
        self._arguments = [(name, self._function(argument)) for name, argument in stages.arguments.items()]
        functions = {name: self._function(result) for name, result in stages.results.items()}
        self._outputs = [
            (name, functions[name], 0) if name in functions else (name, None, self._names.index(name))
            for name in definition.columns
        ]
        self._plain = not functions and self._names == list(definition.columns)

    def _function(self, expression: Expression) -> OfRow:
        return row_function(expression, self._reader(expression))

    def _reader(self, expression: Expression) -> Callable[[Expression], OfRow]:
        """How leaves of an expression are read from an event and the answers to it."""
        kinds = constrained(expression)

        def read(leaf: Expression) -> OfRow:
            if isinstance(leaf, Answer):
                at = self._names.index(leaf.name)
                return lambda _row, answers: answers[at]
            assert isinstance(leaf, RowColumn)
            return _column_reader(leaf.name, self._others, kinds.get(leaf.name))

        return read

    def extended(self, row: Row) -> Row:
        """The event with the computed columns that aggregates read; the event itself where there are none."""
        if not self._arguments:
            return row
        values = dict(row)
        name = ""
        try:
            for name, function in self._arguments:
                values[name] = function(row, ())
        except (MistypedValue, ValueOverflow, KeyError) as error:
            self._refuse(self._definition.stages.arguments[name], row, (), error, "")
        return values

    def columns(self, answers: Answers, row: Row) -> dict[str, Any]:
        """The definition's columns in their order, of the answers of all aggregates and the event's own columns."""
        if self._plain:
            return dict(zip(self._names, answers, strict=True))
        columns: dict[str, Any] = {}
        name = ""
        try:
            for name, function, at in self._outputs:
                columns[name] = answers[at] if function is None else function(row, answers)
        except (MistypedValue, ValueOverflow, KeyError) as error:
            self._refuse(self._definition.stages.results[name], row, answers, error, name)
        return columns

    def _refuse(self, expression: Expression, row: Row, answers: Answers, error: Exception, name: str) -> NoReturn:
        column = f"column {name!r}: " if name else ""
        if isinstance(error, KeyError):
            reader = f"{name!r}" if name else f"`{expression}`"
            raise InputError(
                f"the event has no {error.args[0]!r}, which {reader} reads; give None where there is no value. It has "
                f"{', '.join(map(str, row))}"
            ) from None
        problem: SlidewiseError = explained(expression, self._reader(expression), row, answers, error)
        definition = self._definition
        at = ", ".join(f"{key}={row[key]}" for key in (*definition.by, definition.on) if key is not None and key in row)
        raise type(problem)(f"{column}{problem}{f'; at {at}' if at else ''}") from None


def _column_reader(name: str, others: Set[str], kind: ValueKind | None) -> OfRow:
    """A column's value in an event, as windows store it; NaN is null in a column that holds no numbers."""
    never = kind is not None and kind not in (INT, FLOAT, NUMBER)

    def read(row: Mapping[str, Any], _answers: Answers) -> Any:
        value = row[name]
        if type(value) not in PLAIN:
            value = plain_value(value)
        if type(value) is float and value != value and (never or name in others):
            return None
        return value

    return read
