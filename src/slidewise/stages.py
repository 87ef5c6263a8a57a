"""The stages in which a definition's columns are computed: arguments of aggregates, aggregates, and results of them.

Plain data; nothing here runs. An aggregate that stands in several expressions is there once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from slidewise.errors import SlidewiseError
from slidewise.expressions.expression import Expression, RowColumn, columns_of, leaves_of, replaced
from slidewise.operators.aggregate import Aggregate, PlainAggregate

MARK = "= "  # before the name of a column that is computed


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answer(Expression):
    """An aggregate's answer, by the name that the aggregate has among those which are computed."""

    name: str
    aggregate: Aggregate
    depth: int = field(default=1, init=False)
    size: int = field(default=1, init=False)

    is_aggregate = True

    @property
    def compound(self) -> str | None:  # type: ignore[override]
        return self.aggregate.compound

    def key(self) -> Hashable:
        return "answer", self.name

    def written(self) -> str:
        return self.aggregate.written()

    def __repr__(self) -> str:
        return repr(self.aggregate)


class Stages(NamedTuple):
    """What is computed, in this order.

    `arguments` are columns that aggregates read and no table has, by name; `aggregates` are all that are computed, over
    names of columns; `results` are the definition's columns that are more than an aggregate, with answers in the places
    of aggregates, and `own` the columns that they read of the row itself. An aggregate that is no column by itself has
    its own text for a name. `columns` are the definition's, with the rows' time given to the aggregates that go by it.
    """

    arguments: Mapping[str, Expression]
    aggregates: Mapping[str, PlainAggregate]
    results: Mapping[str, Expression]
    own: tuple[str, ...]
    columns: Mapping[str, Expression]


def stages_of(columns: Mapping[str, Expression], on: str | None = None, others: Iterable[str] = ()) -> Stages:
    """The stages of columns that are aggregates, or expressions over them, where `on` is the time.

    `others` are names that are taken, too.
    """
    columns = with_times(columns, on)
    taken = {*columns, *others, *(name for column in columns.values() for name in all_columns_read(column))}
    arguments: dict[str, Expression] = {}
    named: dict[Hashable, str] = {}

    def column(argument: str | Expression) -> str:
        if isinstance(argument, str):
            return argument
        key = argument.key()
        if key not in named:
            named[key] = _free(MARK + str(argument), taken)
            arguments[named[key]] = argument
        return named[key]

    def plain(aggregate: Aggregate) -> PlainAggregate:
        columns = tuple([column(part) for part in aggregate.columns])
        condition = None if aggregate.condition is None else column(aggregate.condition)
        window = aggregate.window
        if window is not None and aggregate.since is not None:
            window = replace(window, reset=replace(window.reset, column=column(aggregate.since)))  # type: ignore[type-var]
        return PlainAggregate(aggregate.operator, columns, condition, window)

    names = {one.key(): name for name, one in reversed(list(columns.items())) if isinstance(one, Aggregate)}
    aggregates: dict[str, PlainAggregate] = {}
    results: dict[str, Expression] = {}

    def answer(leaf: Expression) -> Expression:
        if not isinstance(leaf, Aggregate):
            return leaf
        name = names.setdefault(leaf.key(), "") or _free(str(leaf), taken)
        names[leaf.key()] = name
        aggregates.setdefault(name, plain(leaf))
        return Answer(name, leaf)

    for name, expression in columns.items():
        if isinstance(expression, Aggregate):
            aggregates[name] = plain(expression)
        else:
            results[name] = replaced(expression, answer)
    own = dict.fromkeys(name for result in results.values() for name in columns_of(result))
    return Stages(arguments, aggregates, results, tuple(own), columns)


def with_times(columns: Mapping[str, Expression], on: str | None) -> dict[str, Expression]:
    """The columns with the time given to the aggregates that go by it."""

    def timed(name: str, leaf: Expression) -> Expression:
        on_time = leaf.operator.traits.on_time if isinstance(leaf, Aggregate) else None
        if on_time is None or not isinstance(leaf, Aggregate):
            return leaf
        expanded = on_time.expand(leaf, RowColumn(on or "?"))
        if on is None and expanded is not leaf:
            raise SlidewiseError(
                f"{name!r}: {leaf.operator.name} goes by the rows' times, so the definition needs a time column: add "
                "on='ts', say"
            )
        return expanded

    return {name: replaced(column, partial(timed, name)) for name, column in columns.items()}


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken, and is from now on."""
    while name in taken:
        name = MARK + name
    taken.add(name)
    return name


def all_aggregates(columns: Mapping[str, Expression]) -> Iterator[Aggregate]:
    """The aggregates in a definition's columns, in the order in which they are written."""
    for expression in columns.values():
        for leaf in leaves_of(expression):
            if isinstance(leaf, Aggregate):
                yield leaf


def reader_of(columns: Mapping[str, Expression], argument: Expression) -> str:
    """The first of a definition's columns with an aggregate that reads this argument, or has it for a condition."""
    for name, column in columns.items():
        for aggregate in all_aggregates({name: column}):
            parts = (*aggregate.columns, aggregate.condition, aggregate.since)
            if any(isinstance(part, Expression) and part.key() == argument.key() for part in parts):
                return name
    raise KeyError(argument.key())


def argument_columns(aggregate: Aggregate) -> list[str]:
    """The columns that an aggregate's arguments read."""
    return [name for argument in aggregate.columns for name in _names(argument)]


def condition_columns(aggregate: Aggregate) -> list[str]:
    """The columns that an aggregate's conditions read: that of its rows, and that of where its window begins anew."""
    return [name for part in (aggregate.condition, aggregate.since) if part is not None for name in _names(part)]


def columns_read(aggregate: Aggregate) -> list[str]:
    """The columns that an aggregate reads."""
    return [*argument_columns(aggregate), *condition_columns(aggregate)]


def _names(argument: str | Expression) -> list[str]:
    return [argument] if isinstance(argument, str) else list(columns_of(argument))


def all_columns_read(column: Expression) -> list[str]:
    """The columns that a definition's column reads: of the row itself, and of the rows that its aggregates see."""
    aggregates = all_aggregates({"": column})
    return [*columns_of(column), *(name for aggregate in aggregates for name in columns_read(aggregate))]
