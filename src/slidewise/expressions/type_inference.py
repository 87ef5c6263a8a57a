"""Types of expressions, known before anything runs: kinds as far as columns are known, and Arrow types over a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from slidewise.errors import ExpressionError
from slidewise.expressions.expression import Call, Constant, Expression, RowColumn, parts_of
from slidewise.expressions.functions.catalogue import BY_NAME
from slidewise.expressions.functions.function import Function
from slidewise.expressions.kinds import (
    BOOL,
    FLOAT,
    INT,
    NULL,
    OTHER,
    TEXT,
    TIME,
    UNKNOWN,
    KindError,
    ValueKind,
)
from slidewise.expressions.writing import shortened

if TYPE_CHECKING:
    import pyarrow as pa

# The kind, or the Arrow type, of a column or an aggregate.
KindOfLeaf = Callable[[Expression], ValueKind]
TypeOfLeaf = Callable[[Expression], "pa.DataType"]


def kind_of(expression: Expression, of_leaf: KindOfLeaf) -> ValueKind:
    """The kind of an expression's values, or an error that names the part which cannot be."""
    if isinstance(expression, Constant):
        return kind_of_constant(expression)
    if not isinstance(expression, Call):
        return of_leaf(expression)
    kinds = [kind_of(argument, of_leaf) for argument in expression.arguments]
    try:
        return kind_of_call(expression, kinds)
    except ArgumentError as error:
        raise ExpressionError(error.shown) from None


class ArgumentError(Exception):
    """An argument that its call cannot take, by its number; None where there are too few or too many."""

    def __init__(self, call: Call, argument: int | None, reason: str) -> None:
        super().__init__(call, argument, reason)
        self.call = call
        self.argument = argument
        self.reason = reason

    @property
    def shown(self) -> str:
        """What is wrong, and in which call."""
        return self.reason if self.argument is None else f"in `{self.call}`: {self.reason}"


def kind_of_call(call: Call, kinds: Sequence[ValueKind]) -> ValueKind:
    """The kind of a call's values, whose arguments are of these kinds."""
    function = BY_NAME[call.function]
    _check_call(function, call)
    try:
        return function.rule(kinds)
    except KindError as error:
        argument = call.arguments[error.argument]
        reason = (
            f"{_SHOWN.get(function.name, function.name)} takes {error.takes}, and "
            f"`{shortened(str(argument), 200)}` is {_described(kinds[error.argument], argument)}"
        )
        raise ArgumentError(call, error.argument, reason) from None


_SHOWN = {"neg": "-", "case": "case when ... then ... end"}


def _described(kind: ValueKind, expression: Expression) -> str:
    if kind is OTHER and expression.compound is not None:
        return f"{expression.compound}, with which no expression computes; make the aggregate a column of its own"
    if kind is OTHER:
        return "of a type that no expression takes, such as a decimal, a duration or a list; cast it in the table first"
    return kind.value


def _check_call(function: Function, call: Call) -> None:
    """Check the number of arguments, and that those which must be constants are."""
    count = len(call.arguments)
    if count < function.fewest or (function.most is not None and count > function.most):
        most = function.most
        takes = f"{function.fewest} or more" if most is None else str(most) if most == function.fewest else None
        takes = takes or f"{function.fewest} to {most}"
        raise ArgumentError(
            call, None, f"{function.name} takes {takes} argument{'' if takes == '1' else 's'}, and got {count}"
        )
    for i, argument in enumerate(call.arguments):
        if not function.is_constant(i):
            continue
        if not isinstance(argument, Constant):
            shown = shortened(str(argument), 200)
            raise ArgumentError(call, i, f"{function.name} takes a constant there, and `{shown}` is none")
        if function.name == "in" and argument.value is None:
            raise ArgumentError(
                call, i, "null equals nothing; leave it out of the list, and ask for it by is_null(), in text: is null"
            )
        if function.check is not None:
            try:
                function.check(argument.value)
            except ExpressionError as error:
                raise ArgumentError(call, i, str(error)) from None


def kind_of_constant(constant: Constant) -> ValueKind:
    """The kind of a constant."""
    return kind_of_value(constant.value)


def kind_of_value(value: object) -> ValueKind:
    """The kind of a single value."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, date):
        return TIME
    kinds = {int: INT, float: FLOAT, str: TEXT}
    return next((kind for base, kind in kinds.items() if isinstance(value, base)), OTHER)


def constrained(expression: Expression) -> dict[str, ValueKind]:
    """The columns that can only be of one kind, by what is done with them: those beside a text are text, say."""
    nodes = _Nodes(expression)
    found = {}
    for name, places in nodes.columns.items():
        fitting = [kind for kind in (BOOL, INT, TEXT, TIME) if nodes.fits(places, kind)]
        if len(fitting) == 1:
            found[name] = fitting[0]
    return found


class _Nodes:
    """The nodes of an expression, each behind its arguments, with their kinds where columns are of unknown ones.

    What another kind of one column changes is found along the way to the root, so that expressions of many columns cost
    no more for each of them.
    """

    def __init__(self, expression: Expression) -> None:
        self._nodes: list[tuple[Expression, list[int]]] = []
        self._parents: list[int | None] = []
        self._kinds: list[ValueKind] = []
        self.columns: dict[str, list[int]] = {}
        self._add(expression)

    def _add(self, expression: Expression) -> int:
        parts = [self._add(part) for part in parts_of(expression)]
        place = len(self._nodes)
        self._nodes.append((expression, parts))
        self._parents.append(None)
        for part in parts:
            self._parents[part] = place
        self._kinds.append(self._kind(place, {}))
        if isinstance(expression, RowColumn):
            self.columns.setdefault(expression.name, []).append(place)
        return place

    def _kind(self, place: int, changed: Mapping[int, ValueKind]) -> ValueKind:
        expression, parts = self._nodes[place]
        if not isinstance(expression, Call):
            return kind_of_constant(expression) if isinstance(expression, Constant) else UNKNOWN
        return BY_NAME[expression.function].rule([changed.get(part, self._kinds[part]) for part in parts])

    def fits(self, places: Sequence[int], kind: ValueKind) -> bool:
        """Whether the column at these places may be of a kind."""
        changed = dict.fromkeys(places, kind)
        waiting = [parent for place in places if (parent := self._parents[place]) is not None]
        heapify(waiting)
        while waiting:
            place = heappop(waiting)  # whose arguments are all settled, since they have lower places
            if place in changed:
                continue
            try:
                changed[place] = self._kind(place, changed)
            except KindError:
                return False
            parent = self._parents[place]
            if changed[place] is not self._kinds[place] and parent is not None:
                heappush(waiting, parent)
        return True


def kind_of_type(kind: pa.DataType) -> ValueKind:
    """The kind of values of an Arrow type."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return kind_of_type(kind.value_type)
    tests = (
        (types.is_boolean, BOOL),
        (types.is_integer, INT),
        (types.is_floating, FLOAT),
        (types.is_null, NULL),
        (types.is_timestamp, TIME),
        (types.is_date, TIME),
    )
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
        return TEXT
    return next((named for test, named in tests if test(kind)), OTHER)


def type_of(expression: Expression, of_leaf: TypeOfLeaf) -> pa.DataType:
    """The Arrow type of an expression's values over columns and aggregates of these types, or an error.

    A column by itself keeps its type; whole numbers are int64 otherwise, floats float64, and text is a string. What is
    computed of columns without a type, which hold nulls alone, may have none either.
    """
    kind = kind_of(expression, lambda leaf: kind_of_type(of_leaf(leaf)))
    if not isinstance(expression, Call | Constant):
        return of_leaf(expression)
    if kind is TIME:
        return _time_type(expression, of_leaf)
    if kind is NULL and kind_of(expression, lambda _leaf: UNKNOWN) is NULL:
        raise ExpressionError(f"`{expression}` is null, whatever the row, so its type cannot be told; cast it")
    return arrow_types()[kind]


def arrow_types() -> dict[ValueKind, pa.DataType]:
    """The Arrow type in which values of a kind are computed."""
    import pyarrow as pa

    return {BOOL: pa.bool_(), INT: pa.int64(), FLOAT: pa.float64(), TEXT: pa.string(), NULL: pa.null()}


def _time_type(expression: Expression, of_leaf: TypeOfLeaf) -> pa.DataType:
    """The type of times among which one is chosen: theirs, or the finest where they differ."""
    if isinstance(expression, Constant):
        return time_constant(expression).type
    if not isinstance(expression, Call):
        return of_leaf(expression)
    parts = expression.arguments
    if expression.function == "case":
        parts = (*parts[1:-1:2], parts[-1])
    kinds = [
        _time_type(part, of_leaf)
        for part in parts
        if kind_of(part, lambda leaf: kind_of_type(of_leaf(leaf))) is not NULL
    ]
    return common_type(kinds)


def common_type(types: list[pa.DataType]) -> pa.DataType:
    """The type of a value that is chosen among some of these types: theirs, a float, or a time of the finest unit."""
    import pyarrow as pa

    if all(kind == types[0] for kind in types):
        return types[0]
    if not pa.types.is_temporal(types[0]):
        return pa.float64()
    units = ["s" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit for kind in types]
    zoned = any(getattr(kind, "tz", None) is not None for kind in types)
    return pa.timestamp(min(units, key=["ns", "us", "ms", "s"].index), "UTC" if zoned else None)


def time_constant(constant: Constant) -> pa.Scalar:
    """A date or a datetime as a scalar of Arrow's; with a zone, in UTC."""
    from datetime import UTC, datetime

    import pyarrow as pa

    value = constant.value
    if not isinstance(value, datetime):
        return pa.scalar(value, pa.date32())
    if value.tzinfo is None:
        return pa.scalar(value, pa.timestamp("us"))
    return pa.scalar(value.astimezone(UTC), pa.timestamp("us", "UTC"))
