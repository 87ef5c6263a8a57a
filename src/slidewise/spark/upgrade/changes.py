"""What becomes of each aggregate when one definition takes the place of another on a stream; plain data, nothing runs.

Exact windows keep their rows, so an aggregate over columns that are stored can be computed as far back as rows are
kept. Windows with a grain keep cells, windows over everything so far keep states, and those of the same operator over
the same columns go on. On a beat, slices of the same operator go on. Everything else starts with what there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

from slidewise.definition import Definition, order_matters
from slidewise.engine.beats.parts import Part, SlicePlan
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import SlidewiseError
from slidewise.expressions.expression import columns_of
from slidewise.operators.aggregate import PlainAggregate
from slidewise.operators.operator import Operator
from slidewise.spark.state.shard_state import stored_columns
from slidewise.spark.state.stored_specs import stored_specs
from slidewise.spark.state.warming import goes_by_time
from slidewise.windows import Beats, Window
from slidewise.windows.kind import Keeps


class Source(Enum):
    """What an aggregate begins with: rows that are stored; cells, states or slices of the same operator; nothing."""

    ROWS = "rows"
    CELLS = "cells"
    STATES = "states"
    SLICES = "slices"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Change:
    """What an aggregate begins with; `old` is the one whose cells or states go on, and `spec` the number of the old
    spec that this is a member of."""

    name: str
    source: Source
    old: str | None = None
    spec: int | None = None


class Origin(NamedTuple):
    """Where a column of rows comes from: a stored column, or stored columns that it is computed from; None and None
    where it was never stored."""

    stored: str | None
    parts: tuple[str, ...] | None

    @property
    def known(self) -> bool:
        return self.stored is not None or self.parts is not None


class Changes:
    """The changes from one definition to another; aggregates of the old one are of these generations.

    A change that cannot be made is an error, with the reason.
    """

    def __init__(self, old: Definition, new: Definition, generations: Mapping[str, int] | None = None) -> None:
        check_change(old, new)
        self.old = old
        self.new = new
        self.old_specs = stored_specs(old, generations or {})
        self._old_numbers = {member.name: i for i, spec in enumerate(self.old_specs) for member in spec.members}
        change = self._change if new.every is None else self._change_of_slices
        self.each = {name: change(name) for name in new.aggregates}

    @cached_property
    def generations(self) -> dict[str, int]:
        """The generations of new aggregates: those of a spec that begin with the same rows share one."""
        numbers: dict[str, int] = {}
        for spec in stored_specs(self.new, {}):
            origins: list[Any] = []
            for member in spec.members if spec.keeps is not Keeps.ROWS else ():
                origin = self.each[member.name].source, self.each[member.name].spec
                if origin not in origins:
                    origins.append(origin)
                if origins.index(origin):
                    numbers[member.name] = origins.index(origin)
        return numbers

    @cached_property
    def new_specs(self) -> list[WindowSpec]:
        return stored_specs(self.new, self.generations)

    def new_spec(self, name: str) -> WindowSpec:
        """The spec of an aggregate of the new definition."""
        return next(spec for spec in self.new_specs if any(member.name == name for member in spec.members))

    def old_spec(self, name: str) -> WindowSpec:
        """The spec of an aggregate of the old definition."""
        return self.old_specs[self._old_numbers[name]]

    def _change(self, name: str) -> Change:
        aggregate = self.new.aggregates[name]
        keeps = _window(aggregate).keeps
        like = [other for other in self.like(name) if _window(self.old.aggregates[other]).keeps is keeps]
        rows = Source.ROWS if self.has_rows and self._is_stored(aggregate) else Source.NOTHING
        going = [other for other in like if self._begins_alike(other, aggregate)] if keeps is Keeps.STATE else []
        if going:
            return Change(name, Source.STATES, going[0], self._old_numbers[going[0]])
        fit = [other for other in like if self._fits(other, aggregate)] if keeps is Keeps.CELLS else []
        if fit:
            farthest = min(fit, key=lambda other: self.old_spec(other).cut(0))
            timed = [spec for spec in self.old_specs if spec.keeps is Keeps.ROWS and goes_by_time(spec)]
            if rows is Source.NOTHING or self.old_spec(farthest).cut(0) <= min((s.cut(0) for s in timed), default=1):
                return Change(name, Source.CELLS, farthest, self._old_numbers[farthest])
        return Change(name, rows)

    def _change_of_slices(self, name: str) -> Change:
        goes_on = self.old_slices(_slices(self.new, name)) is not None
        return Change(name, Source.SLICES if goes_on else Source.NOTHING)

    def old_slices(self, part: Part) -> int | None:
        """Which part of the old definition's slices is the same as one of the new definition's; None for none."""
        wanted = self._part_key(self.new, part)
        parts = SlicePlan(self.old, in_batch=False).parts
        return next((i for i, old in enumerate(parts) if self._part_key(self.old, old) == wanted), None)

    def _part_key(self, definition: Definition, part: Part) -> tuple[Any, ...]:
        columns = tuple(argument_key(definition, column) for column in part.columns)
        operator = None if part.by_rows else operator_key(part.operator)  # all quantiles need the same rows
        return operator, columns, argument_key(definition, part.condition)

    def like(self, name: str) -> list[str]:
        """The old aggregates with the same operator, arguments and condition as a new one."""
        new = self.new.aggregates[name]
        return [other for other, old in self.old.aggregates.items() if self._is_like(old, new)]

    def _is_like(self, old: PlainAggregate, new: PlainAggregate) -> bool:
        return (
            operator_key(old.operator) == operator_key(new.operator)
            and [argument_key(self.old, x) for x in old.columns] == [argument_key(self.new, x) for x in new.columns]
            and argument_key(self.old, old.condition) == argument_key(self.new, new.condition)
        )

    def _begins_alike(self, old: str, new: PlainAggregate) -> bool:
        """Whether windows with a state begin anew at the same rows, so that the state goes on."""
        before, after = _window(self.old.aggregates[old]), _window(new)
        marks = argument_key(self.old, before.since), argument_key(self.new, after.since)
        if before.reset is None or after.reset is None:
            return before.reset is after.reset
        return marks[0] == marks[1] if before.reset.marks and after.reset.marks else before.reset == after.reset

    def _fits(self, old: str, new: PlainAggregate) -> bool:
        """Whether cells can be made those of another grain: it is a multiple of theirs."""
        window, wanted = _window(self.old.aggregates[old]), _window(new)
        return bool(window.edge == wanted.edge and wanted.extent().grain % window.extent().grain == 0)  # type: ignore[operator]

    @cached_property
    def has_rows(self) -> bool:
        """Whether rows are stored."""
        return self.old.every is None and any(spec.keeps is Keeps.ROWS for spec in self.old_specs)

    @cached_property
    def stored(self) -> dict[Any, str]:
        """The names under which columns of rows, computed ones too, are stored, by what they are."""
        return {argument_key(self.old, name): name for name in stored_columns(self.old)} if self.has_rows else {}

    def origin_of(self, column: str) -> Origin:
        """Where a column of the new definition's rows comes from."""
        key = argument_key(self.new, column)
        if key in self.stored:
            return Origin(self.stored[key], ())
        argument = self.new.stages.arguments.get(column)
        if argument is not None:
            parts = tuple(columns_of(argument))
            if all(part in self.stored for part in parts):
                return Origin(None, parts)
        return Origin(None, None)

    def _is_stored(self, aggregate: PlainAggregate) -> bool:
        return all(self.origin_of(column).known for column in aggregate_columns(aggregate))

    def sharing(self, name: str) -> list[list[str]]:
        """For each stored column, or part of slices, that an aggregate begins with the old aggregates that read it."""
        change, new = self.each[name], self.new.aggregates[name]
        if change.source is Source.SLICES:
            return [self._sharing_slices(name)]
        if change.source is not Source.ROWS:
            return []
        columns: dict[str, None] = {}
        for column in aggregate_columns(new):
            stored, parts = self.origin_of(column)
            columns |= dict.fromkeys([stored] if stored is not None else [self.stored[part] for part in parts or ()])
        by_rows = {name: old for name, old in self.old.aggregates.items() if _window(old).keeps is not Keeps.CELLS}
        return [[name for name, old in by_rows.items() if column in aggregate_columns(old)] for column in columns]

    def _sharing_slices(self, name: str) -> list[str]:
        wanted = self.old_slices(_slices(self.new, name))
        return [asked.name for asked in SlicePlan(self.old, in_batch=False).asked if asked.part == wanted]

    @cached_property
    def order_is_lost(self) -> bool:
        """Whether rows of equal time that are stored stand in another order than the new definition's, and columns that
        order them were never stored."""
        if not self.new.ordered or (self.old.ordered and self.old.ordering == self.new.ordering):
            return False
        return not all(column in self.stored for column in self.new.ordering)

    def keeps_old_order(self, name: str) -> bool:
        """Whether an aggregate sees stored rows of equal time in their old order, which may not be the new one, and
        would give another answer then; rows in the order of the same `ties` count as told apart by these."""
        same_ties = self.old.ordered and self.new.ties and self.old.ties == self.new.ties
        from_rows = self.each[name].source is Source.ROWS
        return from_rows and self.order_is_lost and not same_ties and order_matters(self.new.aggregates[name])


def check_change(old: Definition, new: Definition) -> None:
    """Refuse a change that cannot be made, with the reason."""
    for name, was, now, why in (
        ("by", old.by, new.by, "state is kept by key, and rows that were aggregated have lost theirs"),
        ("on", old.on, new.on, "rows are stored by this time"),
        ("every", old.every, new.every, "on a beat slices are stored, and without one rows; slices are cut at beats"),
        ("offset", old.offset, new.offset, "slices are cut at beats"),
    ):
        if was != now:
            raise SlidewiseError(
                f"{name}= was {_shown(was)} and is {_shown(now)}, which no upgrade can change: {why}; start from a new "
                "checkpoint, with history= if there is a table of earlier rows"
            )
    for name, aggregate in old.aggregates.items():
        window = _window(aggregate)
        if window.kind.timed and window.most_rows is not None:
            raise SlidewiseError(
                f"{name!r} is over {window.words}, and which of a key's rows are stored depends on how many came, so "
                "no upgrade can tell which windows are complete; start from a new checkpoint, with history= if there "
                "is a table of earlier rows"
            )
    if new.every is not None:
        before, after = (SlicePlan(each, in_batch=False).beats(1_000, False) for each in (old, new))
        if not {*after.cuts} <= {*before.cuts}:
            raise SlidewiseError(
                f"a window of the new definition begins or ends within a beat where none of the old one does, and rows "
                f"of a slice cannot be told apart any more{_offending(new, before)}; give it a length of whole beats "
                f"({new.every}), or start from a new checkpoint"
            )


def _offending(new: Definition, before: Beats) -> str:
    for name, aggregate in new.aggregates.items():
        assert new.every is not None
        own = Beats(new.every, new.offset, [_window(aggregate)], 1_000)
        if not {*own.cuts} <= {*before.cuts}:
            return f" ({name!r}, {_window(aggregate)!r})"
    return ""


def _slices(definition: Definition, name: str) -> Part:
    """The part of slices that an aggregate of a definition on a beat needs."""
    plan = SlicePlan(definition, in_batch=False)
    return next(plan.parts[asked.part] for asked in plan.asked if asked.name == name)


def operator_key(op: Operator) -> tuple[Any, ...]:
    """An operator by what its states depend on: a user's own by its name and `version=`."""
    parameters = tuple(sorted((name, repr(value)) for name, value in op.parameters.items()))
    return op.builtin, op.name, op.version, op.state, parameters


def argument_key(definition: Definition, column: str | None) -> Any:
    """A column that aggregates read by what it is: its name, or the expression that computes it."""
    argument = definition.stages.arguments.get(column or "")
    return column if argument is None else ("computed", argument.key())


def aggregate_columns(aggregate: PlainAggregate) -> tuple[str, ...]:
    """The columns that an aggregate reads of rows: arguments, its condition, and what marks that its window begins."""
    marks = (aggregate.condition, aggregate.since)
    return (*aggregate.columns, *(column for column in marks if column is not None))


def _window(aggregate: PlainAggregate) -> Window:
    assert aggregate.window is not None
    return aggregate.window


def _shown(value: object) -> str:
    if value is None or value == ():
        return "not given"
    if isinstance(value, tuple):
        return repr(value[0] if len(value) == 1 else list(value))
    return repr(str(value))
