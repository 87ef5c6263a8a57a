"""An aggregate is what a user asks for: an operator, its columns and a window. Plain data; nothing here runs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, TypeGuard

from slidewise.errors import ExpressionError, SlidewiseError, WindowError
from slidewise.expressions.expression import Call, Expression, RowColumn, leaves_of
from slidewise.expressions.functions.row_times import NAMES as TIME_COLUMNS
from slidewise.expressions.kinds import BOOL, UNKNOWN
from slidewise.expressions.type_inference import kind_of
from slidewise.expressions.writing import constant_text, quoted_name
from slidewise.operators.traits import AnswerKind, Quantile
from slidewise.windows import Duration, Window
from slidewise.windows.kind import Keeps

if TYPE_CHECKING:
    from slidewise.operators.operator import Operator

_COMPOUND = {
    AnswerKind.LIST: "a list",
    AnswerKind.COUNTS: "a list",
    AnswerKind.COUNTED: "a list",
    AnswerKind.MAP: "a map",
    AnswerKind.BYTES: "bytes",
}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Aggregate(Expression):
    """An operator bound to columns: `.where(condition)` filters rows, `.over(window)` says which rows are in.

    Columns and the condition are names of columns, or expressions over them. An aggregate over a window is an
    expression itself: `sw.sum("x").over("1 day") / sw.count().over("1 day")`.

    Args:
        operator: What is computed.
        columns: What it reads.
        condition: Which rows count.
        window: Which rows are in.

    >>> import slidewise as sw
    >>> sw.mean("temp").where("ok").over(rows=100, at_least=10)
    sw.mean('temp').where('ok').over(rows=100, at_least=10)
    >>> print(sw.sum(sw.col("price") * sw.col("quantity")).over("1 day"))
    sum(price * quantity) over 1 day
    """

    is_aggregate = True

    operator: Operator
    columns: tuple[str | Expression, ...]
    condition: str | Expression | None = None
    window: Window | None = None

    def per(
        self, category: str | Expression | None = None, *, top: int | None = None, rest: str | int = "other"
    ) -> Aggregate:
        """Answer with a map by category: `sw.sum("amount").per("merchant_type")`.

        With `top=10` only the ten categories with the most rows in the window have an entry of their own, and all
        others are together in one named `rest`.

        Args:
            category: A column, or an expression over columns.
            top: How many categories have an entry of their own.
            rest: The name of the entry of all others.

        Returns:
            A new aggregate.

        Raises:
            SlidewiseError: A category that is none, or an operator that has no map.

        >>> import slidewise as sw
        >>> sw.sum("amount").per("kind", top=3).over("1 day")
        sw.sum('amount').per('kind', top=3).over('1 day')
        """
        if not isinstance(category, str | Expression):
            raise SlidewiseError(
                "per takes the name of a column, or an expression over columns, such as per('merchant_type'), not "
                f"{category!r}"
            )
        if self.window is not None:
            raise SlidewiseError("per stands before over: sw.sum('amount').per('merchant_type').over('1 day')")
        if self.operator.goes_by_time(len(self.columns)):
            raise SlidewiseError(
                f"{self.operator.name} goes by the rows' times, and has no map by category; write an aggregate for "
                "each category, with .where(sw.col('merchant_type') == 'food'), say"
            )
        operator = self.operator.per(top=top, rest=rest)
        return replace(self, operator=operator, columns=(*self.columns, argument_of(category, "per")))

    def where(self, condition: str | Expression) -> Aggregate:
        """Keep only the rows whose condition is true, as SQL's FILTER does: a boolean column, or an expression.

        Args:
            condition: The name of a boolean column, or an expression that is true or false.

        Returns:
            A new aggregate.

        Raises:
            SlidewiseError: A condition that is none, a second one, or one behind `over`.

        >>> import slidewise as sw
        >>> print(sw.count().where(sw.col("amount") > 100).over("1 hour"))
        count() where amount > 100 over 1 hour
        """
        if not isinstance(condition, str | Expression):
            raise SlidewiseError(
                f"where takes the name of a boolean column, or a condition such as sw.col('amount') > 100, not "
                f"{condition!r}"
            )
        if self.condition is not None:
            raise SlidewiseError(
                f"{self!r} has a condition already; make one of both: .where({_as_condition(self.condition)} & "
                f"{_as_condition(condition)})"
            )
        if self.window is not None:
            raise SlidewiseError("where stands before over: sw.mean('x').where('ok').over('7d')")
        condition = argument_of(condition, "where")
        if isinstance(condition, Expression):
            kind = kind_of(condition, lambda _leaf: UNKNOWN)
            if kind not in (BOOL, UNKNOWN):
                raise ExpressionError(f"where takes a condition, and `{condition}` is {kind.value}")
        return replace(self, condition=condition)

    def over(
        self,
        last: Duration | timedelta | str | int | float | None = None,
        *,
        rows: int | None = None,
        closed: str = "right",
        at_least: int | None = None,
        grain: Duration | timedelta | str | int | float | None = None,
        delay: Duration | timedelta | str | int | float | None = None,
        zone: str | None = None,
        next: Duration | timedelta | str | int | float | None = None,
        gap: Duration | timedelta | str | int | float | None = None,
        since: str | Expression | None = None,
    ) -> Aggregate:
        """Say which rows are in: `"10 minutes"`, `rows=100`, or `"all"` for everything so far.

        With a length and `rows=100` the window holds the newest 100 rows of the stretch of time.

        With `grain="1 second"` the old edge of a stretch of time is rounded down to whole seconds: rows leave together,
        and what is kept of a key is one partial aggregate for each second, however many rows there are.

        With `delay="1 day"` the stretch of time ends one day before the row. `"1 month"`, `"1 quarter"` and `"2 years"`
        go back on the calendar, of a `zone` such as "Europe/Berlin". `next="1 hour"` looks ahead, for labels: rows
        behind this one, up to an hour later.

        Some windows begin anew, and what is kept of a key is one partial aggregate: with `gap="30 minutes"` at a row
        that comes later than that after the one before it, with `since="login"` at a row where that boolean column, or
        condition, is true, and with `"this day"` (hour, week, month, quarter, year, iso year) as the calendar's unit
        begins, in a `zone`.

        Args:
            last: A duration, a number where times are numbers, a length on the calendar, "this day", or "all".
            rows: How many rows.
            closed: Which ends belong to the window: "right", "both", "left" or "neither".
            at_least: How many rows an answer needs.
            grain: To what the old edge is rounded.
            delay: How long before the row the window ends.
            zone: The calendar's time zone.
            next: The length of a stretch behind the row.
            gap: After how long without rows a window begins anew.
            since: A boolean column or a condition: rows where a window begins anew.

        Returns:
            A new aggregate, to be given to `Sliding` or used in expressions.

        Raises:
            WindowError: A window that makes no sense.
            SlidewiseError: A second window.

        >>> import slidewise as sw
        >>> sw.mean("temp").over("10 minutes", rows=100, at_least=5)
        sw.mean('temp').over('10 minutes', rows=100, at_least=5)
        """
        if self.window is not None:
            raise SlidewiseError(f"{self!r} has a window already; write a second aggregate for a second window")
        if since is not None:
            since = _mark_of(since)
        options = {"closed": closed, "at_least": at_least, "grain": grain, "delay": delay, "gap": gap, "zone": zone}
        window = Window.of(last, rows=rows, since=since, next=next, **options)  # type: ignore[arg-type]
        check_partials(self.operator, window)
        return replace(self, window=window)

    def key(self) -> Hashable:
        parts = (*self.columns, self.condition)
        keys = tuple([part.key() if isinstance(part, Expression) else part for part in parts])
        return "aggregate", self.operator, keys, self.window

    def __eq__(self, other: object) -> Any:
        """A condition; of aggregates without a window, which stand in no expression, whether they are alike."""
        return self.key() == other.key() if self._is_no_operand(other) else Expression.__eq__(self, other)

    def __ne__(self, other: object) -> Any:
        return self.key() != other.key() if self._is_no_operand(other) else Expression.__ne__(self, other)

    __hash__ = Expression.__hash__

    def _is_no_operand(self, other: object) -> TypeGuard[Aggregate]:
        """Whether the two are aggregates of which one has no window yet."""
        return isinstance(other, Aggregate) and (self.window is None or other.window is None)

    @property
    def compound(self) -> str | None:  # type: ignore[override]
        answer = "a struct" if self.operator.traits.fields else None
        return _COMPOUND.get(self.operator.traits.answer, answer)

    @property
    def depth(self) -> int:  # type: ignore[override]
        return 1 + max((part.depth for part in self._expressions()), default=0)

    @property
    def size(self) -> int:  # type: ignore[override]
        return 1 + sum(part.size for part in self._expressions())

    def _expressions(self) -> list[Expression]:
        return [part for part in (*self.columns, self.condition, self.since) if isinstance(part, Expression)]

    @property
    def since(self) -> str | Expression | None:
        """What marks the rows at which the window begins anew, where such a column or condition does."""
        return None if self.window is None else self.window.since

    def _named(self) -> list[str | Expression]:
        """The columns that users name, without those of the time that a definition puts behind them."""
        return [part for part in self.columns if not (isinstance(part, Call) and part.function in TIME_COLUMNS)]

    def written(self) -> str:
        """The aggregate as text: `count() where amount > 100 over 1 hour`."""
        text = self._written_call()
        if self.condition is not None:
            text += f" where {_argument_text(self.condition)}"
        return text if self.window is None else f"{text} over {_window_text(self.window)}"

    def _written_call(self) -> str:
        """The operator and its arguments as text, and the category that they are given per."""
        inner, columns = self.operator.written_inner, list(map(_argument_text, self._named()))
        if inner is None:
            return f"{_operator_text(self.operator)}({', '.join(columns)})"
        per = self.operator.traits.per
        assert per is not None
        top = "" if per.top is None else f" top {per.top}"
        rest = "" if per.top is None or per.rest == "other" else f" rest {parameter_text(per.rest)}"
        return f"{_operator_text(inner)}({', '.join(columns[:-1])}) per {columns[-1]}{top}{rest}"

    def __repr__(self) -> str:
        inner = self.operator.written_inner
        text = f"{self.operator!r}({', '.join(map(repr, self._named()))})"
        if inner is not None:
            options = self.operator.per_options()
            category = repr(self.columns[-1]) + (options and f", {options}")
            text = f"{inner!r}({', '.join(map(repr, self.columns[:-1]))}).per({category})"
        if self.condition is not None:
            text += f".where({self.condition!r})"
        return f"{text}.{self.window!r}" if self.window is not None else text


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PlainAggregate(Aggregate):
    """An aggregate over names of columns, as lanes compute it: what it reads has been computed before."""

    columns: tuple[str, ...]
    condition: str | None = None

    @property
    def since(self) -> str | None:
        return None if self.window is None else self.window.since


def _mark_of(since: str | Expression) -> str | Expression:
    """What `since` reads of each row: the name of a boolean column, or a condition."""
    if not isinstance(since, str | Expression):
        raise SlidewiseError(
            f"since= takes the name of a boolean column, or a condition such as sw.col('kind') == 'x', not {since!r}"
        )
    since = argument_of(since, "since")
    if isinstance(since, Expression):
        kind = kind_of(since, lambda _leaf: UNKNOWN)
        if kind not in (BOOL, UNKNOWN):
            raise ExpressionError(f"since takes a condition, and `{since}` is {kind.value}")
    return since


def argument_of(argument: str | Expression, what: str) -> str | Expression:
    """What an aggregate reads: the name of a column, or an expression that is more than one column and no aggregate."""
    if isinstance(argument, RowColumn):
        return argument.name
    if isinstance(argument, Expression):
        inner = next((leaf for leaf in leaves_of(argument) if leaf.is_aggregate), None)
        if inner is not None:
            raise ExpressionError(
                f"{what} reads the rows' own columns, and `{inner}` is an aggregate; aggregates do not nest: put it "
                "beside this one in an expression, or run two definitions, one after the other"
            )
    return argument


def _as_condition(condition: str | Expression) -> str:
    return f"sw.col({condition!r})" if isinstance(condition, str) else f"({condition!r})"


def _argument_text(argument: str | Expression) -> str:
    return quoted_name(argument) if isinstance(argument, str) else str(argument)


def _operator_text(op: Operator) -> str:
    name = op.name if op.builtin else quoted_name(op.name)
    if not op.parameters:
        return name
    return f"{name}({', '.join(f'{key}={parameter_text(value)}' for key, value in op.parameters.items())})"


def parameter_text(value: object) -> str:
    """A parameter of an operator as text: a constant, bytes as `x'00ff'`, or a list of such in brackets."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(parameter_text, value))}]"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float):
        value = float(value)  # and none of NumPy's
    return constant_text(value)[0] if isinstance(value, bool | int | float | str | date | None) else repr(value)


def _window_text(window: Window) -> str:
    written = window.written()
    if window.reset is not None:
        text = _reset_text(written)
    elif "next" in written:
        text = f"next {written.pop('next')}"
    else:
        text = str(written["over"]) if "over" in written else f"{written.pop('rows')} rows"
    if "zone" in written:
        written["zone"] = constant_text(written["zone"])[0]
    begun = ("over", "gap", "since")
    return text + "".join(f" {key} {value}" for key, value in written.items() if key not in begun)


def _reset_text(written: dict[str, Any]) -> str:
    """A window that begins anew as text: `gap 30 minutes`, `since login`, `this day`."""
    if "gap" in written:
        return f"gap {written['gap']}"
    if "since" in written:
        text = _argument_text(written["since"])
        return f"since {text}" if isinstance(written["since"], str) else f"since ({text})"
    return str(written["over"])


def check_partials(op: Operator, window: Window) -> None:
    """Refuse windows that an operator cannot have: without a row's own value, ahead of its time, or with a grain."""
    if op.traits.own_value is not None and not window.kind.own_rows:
        raise WindowError(
            f"{op.name} is about the row's own value, and {window!r} does not know it; use a window of rows, a stretch "
            "of time without a grain, both, or 'all'"
        )
    if op.traits.on_time is not None and op.traits.on_time.looks_back and window.kind.looks_ahead:
        raise WindowError(
            f"{op.name} is about how long ago rows were, and the rows of {window!r} are yet to come; use a window that "
            "looks back"
        )
    op = op if op.traits.per is None else op.traits.per.inner
    statistic = op.traits.order_statistic if window.keeps is Keeps.CELLS else None
    if statistic is not None:
        share = repr(statistic.q) if isinstance(statistic, Quantile) else "0.75"
        raise WindowError(
            f"an exact {op.name} needs every value of its window, and with a grain rows that leave together are kept "
            f"as one partial aggregate; use sw.quantile({share}, approximate=0.01), or leave out the grain"
        )


def at_least(op: Operator, window: Window) -> int:
    """How many rows an answer needs; counts, and lists of no rows, have one without any."""
    if window.at_least is not None:
        return window.at_least
    return 0 if op.traits.answers_empty else 1
