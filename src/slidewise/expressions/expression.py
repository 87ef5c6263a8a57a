"""Expressions as plain data: columns, constants, and functions of them. Nothing here runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, NoReturn

from slidewise.errors import ExpressionError, did_you_mean
from slidewise.expressions.constants import Scalar, plain_constant

Operand = Any  # an expression, or a constant: a number, text, a boolean, a time or None

MAX_DEPTH = 200  # how deeply calls may be nested
MAX_SIZE = 10_000  # how many nodes an expression may have


class Expression:
    """Something that is computed from columns, constants and aggregates: of one row, or of all rows at once.

    Write it with Python's own signs: `+ - * / // % **`, comparisons, `& | ~`, and the methods below.

    >>> import slidewise as sw
    >>> c = sw.col
    >>> print((c("amount") > 100) & c("country").is_in(["DE", "FR"]))
    amount > 100 and country in ('DE', 'FR')
    """

    __slots__ = ()

    is_aggregate: ClassVar[bool] = False
    depth: int  # how deeply it is nested
    size: int  # how many parts it has
    compound: str | None = None  # what its values are if no expression computes with them, such as "a list"

    def key(self) -> Hashable:
        """What the expression is, to be compared and hashed: each kind below is equal where it is written alike."""
        return id(self)

    def written(self) -> str:
        """The expression as text; an aggregate, which is none of those below, has its own."""
        return str(self)

    def __add__(self, other: Operand) -> Call:
        return _call("+", self, other)

    def __radd__(self, other: Operand) -> Call:
        return _call("+", other, self)

    def __sub__(self, other: Operand) -> Call:
        return _call("-", self, other)

    def __rsub__(self, other: Operand) -> Call:
        return _call("-", other, self)

    def __mul__(self, other: Operand) -> Call:
        return _call("*", self, other)

    def __rmul__(self, other: Operand) -> Call:
        return _call("*", other, self)

    def __truediv__(self, other: Operand) -> Call:
        return _call("/", self, other)

    def __rtruediv__(self, other: Operand) -> Call:
        return _call("/", other, self)

    def __floordiv__(self, other: Operand) -> Call:
        return _call("//", self, other)

    def __rfloordiv__(self, other: Operand) -> Call:
        return _call("//", other, self)

    def __mod__(self, other: Operand) -> Call:
        return _call("%", self, other)

    def __rmod__(self, other: Operand) -> Call:
        return _call("%", other, self)

    def __pow__(self, other: Operand) -> Call:
        return _call("**", self, other)

    def __rpow__(self, other: Operand) -> Call:
        return _call("**", other, self)

    def __neg__(self) -> Call:
        return _call("neg", self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Call:
        return _call("abs", self)

    def __lt__(self, other: Operand) -> Call:
        return _call("<", self, other)

    def __le__(self, other: Operand) -> Call:
        return _call("<=", self, other)

    def __gt__(self, other: Operand) -> Call:
        return _call(">", self, other)

    def __ge__(self, other: Operand) -> Call:
        return _call(">=", self, other)

    def __eq__(self, other: object) -> Call:  # type: ignore[override]
        return _call("==", self, _not_none(other))

    def __ne__(self, other: object) -> Call:  # type: ignore[override]
        return _call("!=", self, _not_none(other))

    def __hash__(self) -> int:
        return hash(self.key())

    def __and__(self, other: Operand) -> Call:
        return _call("and", self, other)

    def __rand__(self, other: Operand) -> Call:
        return _call("and", other, self)

    def __or__(self, other: Operand) -> Call:
        return _call("or", self, other)

    def __ror__(self, other: Operand) -> Call:
        return _call("or", other, self)

    def __invert__(self) -> Call:
        return _call("not", self)

    def __bool__(self) -> bool:
        raise ExpressionError(
            f"`{self}` is true or false for each row, and not as a whole; write & for and, | for or, ~ for not, each "
            "comparison in parentheses, .is_in([...]) for in, and .between(a, b) for a chain of comparisons"
        )

    def __iter__(self) -> Iterator[NoReturn]:
        raise ExpressionError(f"`{self}` is one expression, and nothing to go through")

    def __contains__(self, _item: object) -> bool:
        raise ExpressionError(f"`{self}` holds nothing; write .is_in([...]), or .contains('...') for text")

    def __round__(self, digits: int = 0) -> Call:
        return _call("round", self, digits)

    def __float__(self) -> float:
        raise ExpressionError(f"`{self}` is a number for each row, and not one; use its methods: .sqrt(), .log()")

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse methods that others have, and say what to write."""
        if name.startswith("_"):
            raise AttributeError(name)
        from slidewise.expressions.missing_methods import missing_method

        raise missing_method(name, self)

    def abs(self) -> Call:
        """The number without its sign."""
        return _call("abs", self)

    def sqrt(self) -> Call:
        """The square root; NaN of a negative number."""
        return _call("sqrt", self)

    def log(self) -> Call:
        """The natural logarithm; -inf of 0, NaN of a negative number."""
        return _call("log", self)

    def exp(self) -> Call:
        """e to the power of the number."""
        return _call("exp", self)

    def floor(self) -> Call:
        """The greatest whole number that is not above; a float stays a float."""
        return _call("floor", self)

    def ceil(self) -> Call:
        """The least whole number that is not below; a float stays a float."""
        return _call("ceil", self)

    def round(self, digits: int = 0) -> Call:
        """The nearest number with so many digits behind the point; of two, the one further from 0, as in SQL."""
        return _call("round", self, digits)

    def sign(self) -> Call:
        """-1, 0 or 1, of the number's own type."""
        return _call("sign", self)

    def is_null(self) -> Call:
        """Whether there is no value; NaN is one."""
        return _call("is null", self)

    def is_in(self, values: Iterable[Scalar]) -> Call:
        """Whether the value is one of these constants."""
        if isinstance(values, str | Expression) or not isinstance(values, Iterable):
            raise ExpressionError(f"is_in takes a list of constants, such as ['DE', 'FR'], not {values!r}")
        return _call("in", self, *values)

    def between(self, low: Operand, high: Operand) -> Call:
        """Whether the value lies between two others, or equals one of them."""
        return _call("between", self, low, high)

    def cast(self, to: str | type) -> Call:
        """The value as `int`, `float` or text (`str`); null where text is no number, or a float is NaN or infinite."""
        names = {int: "int", float: "float", str: "text", "int": "int", "float": "float", "text": "text", "str": "text"}
        name = names.get(to) if isinstance(to, Hashable) else None
        if name is None:
            hint = did_you_mean(to, ("int", "float", "text")) if isinstance(to, str) else ""
            raise ExpressionError(f"cast takes 'int', 'float' or 'text', not {to!r}{hint}")
        return _call(name, self)

    def length(self) -> Call:
        """How many characters a text has."""
        return _call("length", self)

    def lower(self) -> Call:
        """The text in small letters."""
        return _call("lower", self)

    def upper(self) -> Call:
        """The text in capital letters."""
        return _call("upper", self)

    def contains(self, text: str) -> Call:
        """Whether this constant occurs in the text."""
        return _call("contains", self, text)

    def starts_with(self, text: str) -> Call:
        """Whether the text begins with this constant."""
        return _call("starts_with", self, text)

    def hour(self, zone: str | None = None) -> Call:
        """The hour of a time, 0 to 23: in UTC, or in a zone such as 'Europe/Berlin'."""
        return _of_time("hour", self, zone)

    def weekday(self, zone: str | None = None) -> Call:
        """The day of the week, 0 for Monday to 6 for Sunday: in UTC, or in a zone such as 'Europe/Berlin'."""
        return _of_time("weekday", self, zone)

    def day(self, zone: str | None = None) -> Call:
        """The day of the month, 1 to 31: in UTC, or in a zone such as 'Europe/Berlin'."""
        return _of_time("day", self, zone)

    def __str__(self) -> str:
        from slidewise.expressions.writing import as_text

        return as_text(self)

    def __repr__(self) -> str:
        from slidewise.expressions.writing import as_python

        return as_python(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowColumn(Expression):
    """A column of the row."""

    name: str
    depth: int = field(default=1, init=False)
    size: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ExpressionError(f"a column's name is text, such as sw.col('amount'), not {self.name!r}")

    def key(self) -> Hashable:
        return "column", self.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(Expression):
    """A number of at most 64 bits, a text, a boolean, a time, or None for null."""

    value: Scalar
    depth: int = field(default=1, init=False)
    size: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", plain_constant(self.value))

    def key(self) -> Hashable:
        value = self.value
        if isinstance(value, datetime):
            return "constant", "datetime", value.isoformat()
        return "constant", type(value).__name__, repr(value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Expression):
    """A function of expressions; `functions.catalogue` says what it is."""

    function: str
    arguments: tuple[Expression, ...]
    depth: int = field(default=1, init=False)
    size: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        depth = 1 + max((argument.depth for argument in self.arguments), default=0)
        size = 1 + sum(argument.size for argument in self.arguments)
        if depth > MAX_DEPTH:
            raise ExpressionError(
                f"an expression may be nested {MAX_DEPTH} levels deep, and this one is deeper; make columns of its "
                "parts first"
            )
        if size > MAX_SIZE:
            raise ExpressionError(
                f"an expression may have {MAX_SIZE:,} parts, and this one has {size:,}; make columns of its parts first"
            )
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "size", size)

    def __bool__(self) -> bool:
        """Two aggregates are compared where they stand, as everywhere in Python; nothing else is true by itself."""
        if self.function in ("==", "!=") and all(argument.is_aggregate for argument in self.arguments):
            a, b = self.arguments
            return (a.key() == b.key()) == (self.function == "==")
        return Expression.__bool__(self)

    def key(self) -> Hashable:
        return "call", self.function, *(argument.key() for argument in self.arguments)


@dataclass(frozen=True, slots=True)
class When:
    """A condition that waits for its `then`; `sw.when(c("x") > 0).then("up").otherwise("down")`."""

    condition: Expression
    before: tuple[Expression, ...] = ()

    def then(self, value: Operand) -> Then:
        """The value where the condition is true, and none before it was."""
        return Then((*self.before, self.condition, as_expression(value)))


@dataclass(frozen=True, slots=True)
class Then:
    """Conditions and their values; `.when(...)` adds another one, `.otherwise(...)` ends it."""

    branches: tuple[Expression, ...]

    def when(self, condition: Operand) -> When:
        """Another condition, which counts where none before it was true."""
        return When(as_expression(condition), self.branches)

    def otherwise(self, value: Operand) -> Call:
        """The value where no condition was true; None for null."""
        return _call("case", *self.branches, value)


def col(name: str) -> RowColumn:
    """A column of the row, to be used in expressions.

    Args:
        name: The column's name.

    Returns:
        An expression.

    >>> import slidewise as sw
    >>> print(sw.col("price") * sw.col("quantity"))
    price * quantity
    """
    return RowColumn(name)


def lit(value: Scalar) -> Constant:
    """A constant as an expression, where Python would compute with it at once; mostly a plain value will do.

    Args:
        value: A number, text, a bool, a date, a datetime or None.

    Returns:
        An expression.

    >>> import slidewise as sw
    >>> print(sw.lit(2) ** sw.lit(0.5))
    2 ** 0.5
    """
    return Constant(value)


def when(condition: Operand) -> When:
    """A value that depends on conditions: `sw.when(c("x") > 0).then("up").otherwise("down")`.

    Args:
        condition: An expression that is true or false.

    Returns:
        A case: add `.then(value)`, more cases, and `.otherwise(value)`.

    Raises:
        ExpressionError: An aggregate without a window.

    >>> import slidewise as sw
    >>> print(sw.when(sw.col("x") > 0).then("up").when(sw.col("x") < 0).then("down").otherwise(None))
    case when x > 0 then 'up' when x < 0 then 'down' else null end
    """
    return When(as_expression(condition))


def coalesce(*values: Operand) -> Call:
    """The first value that is not null.

    Args:
        *values: Expressions or plain values, of one kind.

    Returns:
        An expression.

    Raises:
        ExpressionError: Values of different kinds.

    >>> import slidewise as sw
    >>> print(sw.coalesce(sw.col("nickname"), sw.col("name"), "nobody"))
    coalesce(nickname, name, 'nobody')
    """
    return _call("coalesce", *values)


def as_expression(value: Operand) -> Expression:
    """An expression as it is, and anything else as a constant."""
    if isinstance(value, Expression):
        if value.is_aggregate and getattr(value, "window", None) is None:
            raise ExpressionError(f"{value!r} has no window; add .over('10 minutes') or .over(rows=100), say")
        return value
    if isinstance(value, When | Then):
        missing = ".then(...)" if isinstance(value, When) else ".otherwise(...)"
        raise ExpressionError(f"sw.when(...) is not complete; end it with {missing}")
    return Constant(value)


def call(function: str, *arguments: Operand) -> Call:
    """A function of expressions and constants, whose kinds are checked as far as they are known."""
    made = Call(function, tuple([as_expression(argument) for argument in arguments]))
    from slidewise.expressions.kinds import UNKNOWN
    from slidewise.expressions.type_inference import kind_of

    kind_of(made, lambda _leaf: UNKNOWN)
    return made


_call = call


def _not_none(other: Operand) -> Operand:
    if other is None:
        raise ExpressionError("nothing equals null, and nothing differs from it; write .is_null(), or ~(...).is_null()")
    return other


def _of_time(function: str, time: Expression, zone: str | None) -> Call:
    return _call(function, time) if zone is None else _call(function, time, zone)


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that one is made of directly; an aggregate's own are inside it, and not among them."""
    return expression.arguments if isinstance(expression, Call) else ()


def leaves_of(expression: Expression) -> Iterator[Expression]:
    """The columns and aggregates of an expression, in the order in which they are written."""
    if isinstance(expression, RowColumn) or expression.is_aggregate:
        yield expression
    for part in parts_of(expression):
        yield from leaves_of(part)


def columns_of(expression: Expression) -> tuple[str, ...]:
    """The names of the row's own columns in an expression, each once, in the order in which they are written."""
    return tuple(dict.fromkeys(leaf.name for leaf in leaves_of(expression) if isinstance(leaf, RowColumn)))


def replaced(expression: Expression, replace: Callable[[Expression], Expression]) -> Expression:
    """The expression with other columns and aggregates in the places of its own."""
    if isinstance(expression, Call):
        return Call(expression.function, tuple([replaced(part, replace) for part in expression.arguments]))
    return expression if isinstance(expression, Constant) else replace(expression)
