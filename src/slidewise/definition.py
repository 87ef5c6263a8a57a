"""A definition: keys, a time column, and named aggregates over windows and expressions over them. Plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from hashlib import blake2b
from typing import Any

from slidewise.errors import InputError, SlidewiseError, did_you_mean
from slidewise.expressions.expression import (
    Expression,
    RowColumn,
    Then,
    When,
    as_expression,
    columns_of,
    leaves_of,
    replaced,
)
from slidewise.expressions.writing import as_text
from slidewise.operators.aggregate import Aggregate, PlainAggregate
from slidewise.stages import Stages, all_aggregates, argument_columns, columns_read, condition_columns, stages_of
from slidewise.windows import Duration, Length, Months, Window, check_beat
from slidewise.windows.kind import Keeps

Names = str | Iterable[str] | None


class Definition:
    """Keys (`by`), a time column (`on`), columns that order rows of equal time (`ties`), and columns by name.

    A column is an aggregate, or an expression over aggregates, the row's own columns and constants. With `every`, there
    is an answer for each key and beat instead of each row; `offset` moves the beats. `stages` says what is computed for
    the columns, in which order.
    """

    __slots__ = ("by", "columns", "every", "offset", "on", "stages", "ties")

    by: tuple[str, ...]
    on: str | None
    ties: tuple[str, ...]
    columns: Mapping[str, Expression]
    every: Length | None
    offset: Length | None
    stages: Stages

    def __init__(
        self,
        by: Names = None,
        on: str | None = None,
        ties: Names = (),
        columns: Mapping[str, Expression] | None = None,
        every: Length | timedelta | str | None = None,
        offset: Length | timedelta | str | None = None,
        **more: Expression,
    ) -> None:
        for name, value in (("every", every), ("offset", offset)):
            if isinstance(value, Expression):
                raise SlidewiseError(
                    f"{name}= is a duration, so a column of that name is given as columns={{{name!r}: {value!r}}}"
                )
        set_once = object.__setattr__
        set_once(self, "by", _names("by", by))
        set_once(self, "on", on)
        set_once(self, "ties", _names("ties", ties))
        set_once(self, "columns", _Columns(_checked_columns(columns, more)))
        set_once(self, "stages", stages_of(self.columns, on, (*self.by, *self.ties, on or "")))
        beat, shift = check_beat(every, offset)
        set_once(self, "every", beat)
        set_once(self, "offset", shift)
        if on is not None and not _is_name(on):
            raise SlidewiseError(f"on= is the name of the time column, or None, not {on!r}")
        if on is not None and on in self.by:
            raise SlidewiseError(f"{on!r} is named both as a key and as the time; a row has one time and its own keys")
        for name in self.columns:
            if name in (*self.by, on):
                raise SlidewiseError(f"the column {name!r} has the name of a key or of the time; choose another")
        for name, aggregate in self.aggregates.items():
            assert aggregate.window is not None
            if on is None and aggregate.window.kind.timed:
                raise SlidewiseError(
                    f"{name!r} is over {aggregate.window.last}, so the definition needs a time column: add on='ts', say"
                )
            if on is None and aggregate.window.kind.clocked:
                raise SlidewiseError(
                    f"{name!r} is over {aggregate.window.words}, so the definition needs a time column: add "
                    "on='ts', say"
                )
            if beat is not None:
                _check_on_beat(name, aggregate.window, beat)
        if beat is not None and on is None:
            raise SlidewiseError(
                f"every={_length(beat)!r} goes by time, so the definition needs a time column: on='ts', say"
            )
        if beat is not None:
            self._check_results_on_beat(beat)

    def _check_results_on_beat(self, beat: Length) -> None:
        """Check that results read no column of a row: a beat has keys and a time only."""
        for name, expression in self.stages.results.items():
            for column in columns_of(expression):
                if column not in (*self.by, self.on):
                    raise SlidewiseError(
                        f"{name!r} reads the column {column!r} of a row, and with every={_length(beat)!r} answers come "
                        "at beats, which have keys and a time only; aggregate it, with sw.last, say"
                    )

    @property
    def aggregates(self) -> Mapping[str, PlainAggregate]:
        """All aggregates that are computed, each once: those that are columns, and those that only feed expressions."""
        return self.stages.aggregates

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that aggregates read, each once, in the order they are named."""
        aggregates = all_aggregates(self.stages.columns)
        return tuple(dict.fromkeys(name for aggregate in aggregates for name in columns_read(aggregate)))

    @property
    def own(self) -> tuple[str, ...]:
        """The columns that results read of the row itself, or of the label or request that asks, each once."""
        return self.stages.own

    @property
    def event_needs(self) -> tuple[str, ...]:
        """Every column that is read of rows which only count, each once."""
        return tuple(dict.fromkeys((*self.by, *([] if self.on is None else [self.on]), *self.ties, *self.inputs)))

    @property
    def needs(self) -> tuple[str, ...]:
        """Every column that is read of rows which count and are answered, each once."""
        return tuple(dict.fromkeys((*self.event_needs, *self.own)))

    @property
    def ordering(self) -> tuple[str, ...]:
        """The columns that order rows of equal time: `ties`, what aggregates read, and last what conditions read."""
        aggregates = list(all_aggregates(self.columns))
        aggregated = [name for aggregate in aggregates for name in argument_columns(aggregate)]
        conditions = [name for aggregate in aggregates for name in condition_columns(aggregate)]
        return tuple(dict.fromkeys((*self.ties, *aggregated, *conditions)))

    @property
    def ordered(self) -> bool:
        """Whether the order of rows of equal time can change an answer."""
        return any(map(order_matters, self.aggregates.values()))

    def fingerprint(self) -> str:
        """A digest of all that stored state depends on: names, windows, operators and the layout of their state.

        A user's operator counts by its name and `version=`, not by its code; an expression by its text, which does not
        depend on how it was laid out.

        Returns:
            Hexadecimal text.

        >>> import slidewise as sw
        >>> sw.Sliding(on="ts", n=sw.count().over(10)).fingerprint()[:8]
        'e98f77f4'
        """
        described: dict[str, Any] = {
            "by": self.by,
            "on": self.on,
            "ties": self.ties,
            "columns": [[name, _described(column)] for name, column in self.columns.items()],
        }
        if self.every is not None:
            described["every"] = [_ticks_of(self.every), _ticks_of(self.offset)]
        text = json.dumps(described, sort_keys=True, separators=(",", ":"), default=repr)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def __setattr__(self, name: str, _value: object) -> None:
        raise SlidewiseError(f"a definition does not change; make a new one with another {name!r}")

    def __delattr__(self, name: str) -> None:
        raise SlidewiseError(f"a definition does not change; make a new one without {name!r}")

    def __reduce__(self) -> Any:
        return type(self), (self.by, self.on, self.ties, dict(self.columns), self.every, self.offset)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Definition):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return (
            self.by,
            self.on,
            self.ties,
            self.every,
            self.offset,
            tuple((name, c.key()) for name, c in self.columns.items()),
        )

    def __repr__(self) -> str:
        parts = [f"by={_shown(self.by)}"] if self.by else []
        parts += [f"on={self.on!r}"] if self.on is not None else []
        parts += [f"ties={_shown(self.ties)}"] if self.ties else []
        beat = (("every", self.every), ("offset", self.offset))
        parts += [f"{name}={_length(length)!r}" for name, length in beat if length is not None]
        plain = {name: a for name, a in self.columns.items() if name.isidentifier() and name not in _ARGUMENTS}
        other = {name: a for name, a in self.columns.items() if name not in plain}
        if list(self.columns) != [*other, *plain]:  # order counts, so none is written as an argument
            plain, other = {}, dict(self.columns)
        parts += [f"columns={{{', '.join(f'{name!r}: {a!r}' for name, a in other.items())}}}"] if other else []
        parts += [f"{name}={a!r}" for name, a in plain.items()]
        inside = "".join(f"\n    {part}," for part in parts)
        return f"sw.{type(self).__name__}({inside}\n)"


_ARGUMENTS = ("by", "on", "ties", "columns", "every", "offset", "self")


class _Columns(dict[str, Expression]):
    """A dict that does not change."""

    def _refuse(self, *_args: object, **_named: object) -> Any:
        raise SlidewiseError("a definition does not change; make a new one with other columns")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _names(role: str, value: Names) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, Iterable):
        raise SlidewiseError(f"{role}= takes names of columns, not {value!r}")
    names: tuple[Any, ...] = (value,) if isinstance(value, str | Expression) else tuple(value)
    for name in names:
        if isinstance(name, Expression):
            remedy = f"write {name.name!r}" if isinstance(name, RowColumn) else "make a column of it first"
            raise SlidewiseError(f"{role}= takes names of columns, and `{name}` is an expression; {remedy}")
    for name in names:
        if not _is_name(name):
            raise SlidewiseError(f"{role}= takes names of columns, not {name!r}")
        if names.count(name) > 1:
            raise SlidewiseError(f"{role}= names {name!r} {names.count(name)} times; name it once")
    return names


def _checked_columns(columns: Mapping[str, Expression] | None, more: Mapping[str, Expression]) -> dict[str, Expression]:
    if columns is not None and not isinstance(columns, Mapping):
        raise SlidewiseError(f"columns= is a dict of names and aggregates, not {columns!r}")
    for name in more:
        if columns and name in columns:
            raise SlidewiseError(f"the column {name!r} is given twice, in columns= and as an argument")
    both = {**(columns or {}), **more}
    if not both:
        raise SlidewiseError("a definition needs an aggregate, such as peak=sw.max('temp').over('10 minutes')")
    for name, column in both.items():
        if not _is_name(name):
            raise SlidewiseError(f"a column's name is text, not {name!r}")
        if isinstance(column, When | Then):
            as_expression(column)  # which says what is missing
        if not isinstance(column, Expression):
            hint = did_you_mean(name, _ARGUMENTS) if _is_names(column) else ""
            raise SlidewiseError(f"{name}={column!r} is no aggregate, such as sw.max('temp').over('10 minutes'){hint}")
        if isinstance(column, Aggregate) and column.window is None:
            raise SlidewiseError(f"{name}={column!r} has no window; add .over('10 minutes') or .over(rows=100), say")
        _check_maps(name, column)
    if not any(leaf.is_aggregate for column in both.values() for leaf in leaves_of(column)):
        name, column = next(iter(both.items()))
        raise SlidewiseError(
            f"a definition needs an aggregate, and {name}={column!r} has none; compare it with one, such as "
            "sw.max('temp').over('10 minutes')"
        )
    return both


def _check_maps(name: str, column: Expression) -> None:
    """Refuse expressions over maps."""
    for leaf in () if isinstance(column, Aggregate) else leaves_of(column):
        if isinstance(leaf, Aggregate) and leaf.operator.traits.per is not None:
            raise SlidewiseError(
                f"{name}={column!r} reads `{leaf}`, which answers with a map by category, and a map is no value to "
                "compute with; make the aggregate a column of its own, or write .where(sw.col(...) == ...) for one "
                "category"
            )


def _is_names(value: object) -> bool:
    return isinstance(value, str | list | tuple)


def _shown(names: tuple[str, ...]) -> str:
    return repr(names[0]) if len(names) == 1 else repr(list(names))


def _described(column: Expression) -> list[Any]:
    """All of a column that stored state depends on, as JSON holds it."""
    if not isinstance(column, Aggregate):
        aggregates = [leaf for leaf in leaves_of(column) if isinstance(leaf, Aggregate)]
        numbers = iter(range(len(aggregates)))

        def numbered(leaf: Expression) -> Expression:  # which no column's name can be taken for
            return RowColumn(f"{next(numbers)}" if leaf.is_aggregate else f"column {leaf}")

        text = as_text(replaced(column, numbered))
        return ["expression", text, [_described(aggregate) for aggregate in aggregates]]
    op, window = column.operator, column.window
    assert window is not None
    kind = "builtin" if op.builtin else "user"
    parameters = sorted((name, repr(value)) for name, value in op.parameters.items())
    return [
        kind,
        op.name,
        op.version,
        op.state,
        parameters,
        [_described_argument(argument) for argument in column.columns],
        None if column.condition is None else _described_argument(column.condition),
        window.described(),
    ]


def _described_argument(argument: str | Expression) -> str | list[str]:
    return argument if isinstance(argument, str) else ["expression", as_text(argument)]


def _ticks_of(length: Length | None) -> Any:
    return f"{length.ns} ns" if isinstance(length, Duration) else length


def _length(length: Length | Months | None) -> Any:
    """A length as users write it."""
    return str(length) if isinstance(length, Duration) else length


def _check_on_beat(name: str, window: Window, beat: Length) -> None:
    """Check that a window that is answered on a beat is one of time, and of its kind."""
    if window.kind.clocked:
        raise SlidewiseError(
            f"{name!r} is over {window.words}, which begins anew at other times than beats do, and with "
            f"every={_length(beat)!r} time is cut into slices that repeat with every beat; leave out every=, or "
            "give it a length, such as .over('10 minutes')"
        )
    if not window.kind.timed:
        raise SlidewiseError(
            f"{name!r} is over {window.kind.phrase(window)}, and such a window never runs empty, so its beats would "
            f"never end; give it a length, such as .over('10 minutes'), or leave out every={_length(beat)!r}"
        )
    if window.most_rows is not None:
        raise SlidewiseError(
            f"{name!r} is over {window.words}, and with every={_length(beat)!r} rows of one beat share a partial, so "
            "they cannot be counted one by one; leave out rows=, or every="
        )
    if window.kind.no_beats:
        raise SlidewiseError(
            f"{name!r} is over {window.words}, and with every={_length(beat)!r} {window.kind.no_beats}"
        )
    if window.keeps is Keeps.CELLS:
        raise SlidewiseError(
            f"{name!r} has a grain, but with every={_length(beat)!r} rows of one beat share a partial already, and "
            "exactly; leave out grain="
        )
    if isinstance(window.last, Duration) != isinstance(beat, Duration):
        raise SlidewiseError(
            f"{name!r} is over {_length(window.last)!r}, and every={_length(beat)!r}: give both as durations, or "
            "both as numbers where times are numbers"
        )


def check_no_lookahead(definition: Definition, where: str) -> None:
    """Refuse windows that look ahead where answers are due before the rows of their windows come."""
    for name, aggregate in definition.aggregates.items():
        if aggregate.window is not None and aggregate.window.kind.looks_ahead:
            raise SlidewiseError(
                f"{name!r} is over {aggregate.window.words}, and {where}, before those rows come; run it over a table "
                "or a batch DataFrame, and leave it out of the definition here"
            )


def order_matters(aggregate: Aggregate) -> bool:
    """Whether rows of equal time change places with a difference: in row windows, in those that begin anew at a row
    which is marked, and where `combine` has an order."""
    window = aggregate.window
    if window is None:
        return False
    return window.most_rows is not None or window.since is not None or not aggregate.operator.commutative


def column_not_found(
    name: str, names: list[Any], having: str, index: Iterable[Any] = (), remedy: str = "", *, hints: bool = True
) -> InputError:
    """The error for a column that is none of these; `having` is who has those, such as "the table has".

    `hints` look for a name like it among those, where it may be misspelt.
    """
    has = ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")
    hint = did_you_mean(name, [str(column) for column in names]) if hints else ""
    hint = "; it is in the index: reset_index() makes it a column" if name in index else hint
    return InputError(f"column {name!r} not found; {having} {has or 'no columns'}{hint}{remedy}")


def check_names(
    definition: Definition, names: list[Any], what: str, index: Iterable[Any] = (), *, added: bool = True
) -> None:
    """Check that every column that is read exists, and none that is `added`; `index` are the names of pandas' index.

    Where none is added, rows only count, and others are answered.
    """
    for name in definition.needs if added else definition.event_needs:
        if name not in names:
            raise column_not_found(name, names, f"the {what} has", index)
        if names.count(name) > 1:
            raise InputError(f"the {what} has {names.count(name)} columns named {name!r}; rename all but one")
    for name in definition.columns if added else ():
        if name in names:
            raise InputError(
                f"the {what} has a column {name!r} already; name the aggregate otherwise, or drop the column"
            )
