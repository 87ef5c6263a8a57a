"""Values that expressions compute over single events: the arguments of aggregates, and results of their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NoReturn

from slidewise.definition import Definition
from slidewise.engine.event_values import PLAIN, not_in_event, plain_value
from slidewise.errors import SlidewiseError
from slidewise.expressions.expression import Expression, RowColumn
from slidewise.expressions.functions.function import HIGH, LOW, MistypedValue, ValueOverflow
from slidewise.expressions.kinds import BOOL, FLOAT, INT, NUMBER, TIME, UNKNOWN, ValueKind
from slidewise.expressions.over_rows import Answers, OfRow, Row, explained, row_function
from slidewise.expressions.type_inference import constrained, kind_of
from slidewise.operators.aggregate import PlainAggregate
from slidewise.operators.traits import AnswerKind
from slidewise.stages import Answer, reader_of
from slidewise.windows import Duration, Months

if TYPE_CHECKING:
    import pyarrow as pa

_ANSWERS = {AnswerKind.FLOAT: FLOAT, AnswerKind.INT: INT, AnswerKind.BOOL: BOOL}


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
        self.is_empty = not functions and not self._arguments  # whether there are no expressions
        self._plain = not functions and self._names == list(definition.columns)

    def _function(self, expression: Expression) -> OfRow:
        return row_function(expression, self._reader(expression), self._kind)

    def _kind(self, leaf: Expression) -> ValueKind:
        """The kind of a column or an aggregate, as far as it is known before any event."""
        if isinstance(leaf, Answer):
            return self._answer_kind(self._definition.aggregates[leaf.name])
        return TIME if isinstance(leaf, RowColumn) and self._is_moment(leaf.name) else UNKNOWN

    def _is_moment(self, column: str) -> bool:
        """Whether a column is the definition's time, and windows are durations."""
        windows = [aggregate.window for aggregate in self._definition.aggregates.values()]
        return column == self._definition.on and any(
            window is not None and (isinstance(window.measure, Duration | Months) or window.needs_moments)
            for window in windows
        )

    def _answer_kind(self, aggregate: PlainAggregate) -> ValueKind:
        """The kind of an aggregate's answers: always the same, or that of what it reads."""
        answer = aggregate.operator.traits.answer
        if answer in _ANSWERS:
            return _ANSWERS[answer]
        if answer not in (AnswerKind.INPUT, AnswerKind.NUMBER) or aggregate.operator.traits.fields:
            return UNKNOWN
        read = aggregate.columns[0]
        argument = self._definition.stages.arguments.get(read)
        kind = self._kind(RowColumn(read)) if argument is None else kind_of(argument, self._kind)
        return kind if answer is AnswerKind.INPUT or kind in (INT, FLOAT) else UNKNOWN

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
            argument = self._definition.stages.arguments[name]
            self._refuse(argument, row, (), error, reader_of(self._definition.stages.columns, argument))
        return values

    def columns(self, answers: Answers, row: Row) -> dict[str, Any]:
        """The definition's columns in their order, of the answers of all aggregates and the event's own columns."""
        if self._plain:
            return dict(zip(self._names, answers))  # noqa: B905, strict= takes twice as long
        columns: dict[str, Any] = {}
        name = ""
        try:
            for name, function, at in self._outputs:
                columns[name] = answers[at] if function is None else function(row, answers)
        except (MistypedValue, ValueOverflow, KeyError) as error:
            self._refuse(self._definition.stages.results[name], row, answers, error, name)
        return columns

    def _refuse(self, expression: Expression, row: Row, answers: Answers, error: Exception, name: str) -> NoReturn:
        if isinstance(error, KeyError):
            raise not_in_event(error.args[0], name, row) from None
        problem: SlidewiseError = explained(expression, self._reader(expression), row, answers, error)
        definition = self._definition
        at = ", ".join(f"{key}={row[key]}" for key in (*definition.by, definition.on) if key is not None and key in row)
        raise type(problem)(f"column {name!r}: {problem}{f'; at {at}' if at else ''}") from None


def in_one_type(values: Sequence[Any], kind: pa.DataType | None) -> list[Any]:
    """What an expression gave for events, with whole numbers as floats where a column of this type has floats."""
    floats = str(kind) == "double" if kind is not None else any(type(value) is float for value in values)
    return [float(value) if floats and type(value) is int else value for value in values]


def _column_reader(name: str, others: Set[str], kind: ValueKind | None) -> OfRow:
    """A column's value in an event, as windows store it; NaN is null in a column that holds no numbers."""
    never = kind is not None and kind not in (INT, FLOAT, NUMBER)

    def read(row: Mapping[str, Any], _answers: Answers) -> Any:
        value = row[name]
        if type(value) not in PLAIN:
            value = plain_value(value)
        if type(value) is int and not LOW <= value <= HIGH:
            raise ValueOverflow
        if type(value) is float and value != value and (never or name in others):
            return None
        return value

    return read
