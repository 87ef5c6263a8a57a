"""Window specs: the aggregates of a definition that see the same rows, with their columns, condition and window."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Set
from copy import copy
from fractions import Fraction
from typing import Any, NamedTuple

from slidewise.choosing import choose
from slidewise.definition import Definition
from slidewise.engine.event_values import PLAIN, not_in_event, plain_value, without_nan
from slidewise.errors import InputError
from slidewise.operators.aggregate import at_least
from slidewise.operators.answer_types import check_answer, declares
from slidewise.operators.operator import Operator
from slidewise.swag.daba_lite import DabaLite
from slidewise.swag.indexed.indexed_daba_lite import IndexedDabaLite
from slidewise.swag.indexed.indexed_subtract_on_evict import IndexedSubtractOnEvict
from slidewise.swag.interface import Swag
from slidewise.swag.order_statistics import OrderStatistics
from slidewise.swag.subtract_on_evict import SubtractOnEvict
from slidewise.windows import Window
from slidewise.windows.delayed import youngest
from slidewise.windows.extent import Extent
from slidewise.windows.grain import lowest
from slidewise.windows.kind import Keeps


class Member(NamedTuple):
    """One aggregate of a spec: its operator, the algorithm that keeps its window, and how many rows it needs."""

    name: str
    operator: Operator
    algorithm: type[Swag] | None
    least: int


class Marked(NamedTuple):
    """What a spec reads of a row where rows mark that windows begin anew: whether this one does, and the arguments."""

    begins: bool
    arguments: tuple[Any, ...] | None


def arguments_in(read: Marked | tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """The arguments in what a spec has read of a row."""
    return read.arguments if type(read) is Marked else read


class WindowSpec:
    """Aggregates that see the same rows: the same columns, condition and window.

    Every row has a place, its time or its number in its key, and leaves when that is too old.
    """

    __slots__ = (
        *(
            "ahead",
            "column",
            "columns",
            "condition",
            "declared",
            "delay",
            "edge",
            "enough",
            "grain",
            "is_open",
            "keeps",
            "kind",
            "limit",
            "members",
            "months",
            "tick",
        ),
        *("mark", "numbered", "others", "own", "reset", "running", "sharing", "whole", "width"),
    )

    def __init__(self, columns: tuple[str, ...], condition: str | None, window: Window, has_time: bool) -> None:
        self.columns = columns
        self.column = columns[0] if len(columns) == 1 else None
        self.condition = condition
        self.members: list[Member] = []
        self.declared = False  # whether an operator declares the type of its answers
        self.own = False  # whether an operator's answers are about the row's own value
        self.others: Set[str] = frozenset()  # columns that hold no numbers, so that NaN is null in them
        self.enough = 0  # rows that every member is content with
        self.sharing: Any = None  # where other windows share its structure
        self.kind = window.kind
        self.keeps = self.kind.keeps
        self.running = self.keeps is Keeps.STATE
        self.mark: str | None = window.since  # the column that marks the rows at which windows begin anew
        self.reset: Any = None if window.reset is None else window.reset.ticking(1)
        self.numbered = window.kind.numbered or not has_time
        extent = window.extent()
        self.is_open = extent.open_right
        # A row leaves when its place is below the newest minus `whole`; in floats, minus `width`.
        self.edge = extent.edge
        self.width: Any = extent.width
        self.grain: Any = extent.grain
        self.limit: int | None = extent.limit
        self.delay: Any = extent.delay
        self.ahead = extent.ahead
        self.months = extent.months
        self.tick = extent.tick
        self.whole = _whole(self.width, self.edge, self.delay)

    @property
    def extent(self) -> Extent:
        """How far its windows reach back, in the unit of places."""
        of_kind = Extent(self.kind, self.width, self.grain, self.edge, self.is_open, self.limit, self.delay)
        return of_kind._replace(ahead=self.ahead, months=self.months, tick=self.tick)

    @property
    def runs_empty(self) -> bool:
        """Whether windows begin anew as time goes on, whatever rows come."""
        return self.reset is not None and not self.reset.marks

    @property
    def before_arguments(self) -> int:
        """How many items of a stored row stand before its arguments: its place, and with a limit whether it counts."""
        return 1 if self.limit is None else 2

    def cut(self, place: int | float) -> Any:
        """Rows whose place is below this have left the window that ends at `place`."""
        if self.grain is not None:
            return lowest(place, self.width, self.grain, self.edge)
        if self.months is not None:
            return self.months.lowest(int(place), self.tick, self.edge)
        if isinstance(place, int):
            return place - self.whole
        end = place if self.delay is None else place - float(self.delay)
        edge = end - self.width
        return edge if self.edge else min(math.nextafter(edge, math.inf), end)

    def young(self, place: int | float) -> Any:
        """Rows whose place is not above this one are young enough for the window that ends at, or before, `place`."""
        return youngest(place, self.delay or 0, self.is_open)

    def scaled(self, unit: int) -> WindowSpec:
        """The same with its stretches of time in a larger unit."""
        if self.months is not None:
            scaled = copy(self)
            scaled.tick *= unit
            return scaled
        if self.numbered or (self.width is None and self.reset is None):
            return self
        scaled = copy(self)
        if self.reset is not None:
            scaled.reset = self.reset.ticking((self.reset.tick or 1) * unit) if self.runs_empty else self.reset
            return scaled
        scaled.width = Fraction(self.width, unit)
        scaled.delay = None if self.delay is None else Fraction(self.delay, unit)
        scaled.whole = _whole(scaled.width, self.edge, scaled.delay)
        scaled.grain = None if self.grain is None else Fraction(self.grain, unit)
        return scaled

    def empty_answers(self) -> list[Any]:
        """The answers of a window without rows, one for each member."""
        members = self.members
        return [None if member.least else member.operator.lower(member.operator.identity) for member in members]

    def check(self, answers: list[Any]) -> None:
        """Refuse answers, one for each member, that do not fit their declared types."""
        for member, answer in zip(self.members, answers, strict=True):
            check_answer(member.operator, answer, member.name)

    def arguments(self, row: Mapping[str, Any]) -> Any:
        """The operator's arguments in a row, or None where the aggregate skips it: one is null, or it is filtered.

        Where rows mark that windows begin anew, `Marked` ones.
        """
        if self.mark is None:
            return self._arguments(row)
        arguments = self._arguments(row)
        if self.mark not in row:
            raise self._missing(row, self.mark)
        return Marked(self._is_true(row[self.mark], f"since={self.mark!r}"), arguments)

    def _arguments(self, row: Mapping[str, Any]) -> tuple[Any, ...] | None:
        try:
            if self.condition is not None and not self._holds(row[self.condition]):
                return None
            if self.column is not None:
                x = row[self.column]
                if type(x) not in PLAIN:
                    x = plain_value(x)
                if type(x) is float and x != x and self.column in self.others:
                    return None
                return None if x is None else (x,)
            if not self.columns:
                return (0,)
            values = tuple([without_nan(plain_value(row[name]), name, self.others) for name in self.columns])
        except KeyError as error:
            raise self._missing(row, error.args[0]) from None
        return None if any(value is None for value in values) else values

    def _missing(self, row: Mapping[str, Any], name: str) -> InputError:
        return not_in_event(name, self.members[0].name, row)

    def _holds(self, flag: object) -> bool:
        return self._is_true(flag, f"where({self.condition!r})")

    def _is_true(self, flag: object, what: str) -> bool:
        flag = without_nan(plain_value(flag), "", ("",))
        if flag is None or isinstance(flag, bool):
            return flag is True
        raise InputError(f"{what} needs True, False or None, but the event has {flag!r}")


def window_specs_of(definition: Definition, spikes: bool) -> list[WindowSpec]:
    """The definition's aggregates, those that see the same rows together; exact quantiles among themselves."""
    specs: dict[Any, WindowSpec] = {}
    for name, aggregate in definition.aggregates.items():
        op, window = aggregate.operator, aggregate.window
        assert window is not None
        ordered = op.traits.order_statistic is not None
        seen = (aggregate.columns, aggregate.condition, *window.bounds_key, ordered)
        if seen not in specs:
            specs[seen] = WindowSpec(aggregate.columns, aggregate.condition, window, definition.on is not None)
        algorithm = choose(op, window, spikes=spikes).algorithm
        least = at_least(op, window)
        specs[seen].members.append(Member(name, op, algorithm, least))
        specs[seen].declared |= declares(op)
        specs[seen].own |= op.traits.own_value is not None
        specs[seen].enough = max(specs[seen].enough, least)
    return list(specs.values())


def _whole(width: Any, edge: bool, delay: Any = None) -> int:
    """The age of the oldest row that a window of this width holds, where places are whole numbers."""
    if width is None:
        return 0
    if delay is not None:
        width = Fraction(width) + Fraction(delay)
    fits = int(width) == width
    return int(width) - (1 if fits and not edge else 0)


def with_members(spec: WindowSpec, names: Container[str]) -> WindowSpec:
    """The spec with those of its members that have these names."""
    if all(member.name in names for member in spec.members):
        return spec
    some = copy(spec)
    some.members = [member for member in spec.members if member.name in names]
    return some


def split_by_generation(specs: list[WindowSpec], generations: Mapping[str, int]) -> list[WindowSpec]:
    """The specs, each split by the generations of its aggregates, 0 where they are not named; one that keeps rows stays
    whole, since these are the same for all."""
    split = []
    for spec in specs:
        numbers = sorted({generations.get(member.name, 0) for member in spec.members})
        if spec.keeps is Keeps.ROWS or len(numbers) == 1:
            split.append(spec)
            continue
        for number in numbers:
            names = [member.name for member in spec.members if generations.get(member.name, 0) == number]
            split.append(with_members(spec, names))
    return split


def swags_of(spec: WindowSpec) -> list[Swag]:
    """A SWAG for each member, and one for all of them where all are quantiles of the same values.

    From windows of time any number of rows may leave at once, so theirs are indexed, see `swag.indexed`.
    """
    members = spec.members
    if len(members) > 1 and all(member.algorithm is OrderStatistics for member in members):
        return OrderStatistics.several([member.operator for member in members])
    swags = []
    for member in members:
        if member.algorithm is not None:
            kept = spec.numbered or member.operator.traits.counts_rows
            swags.append((member.algorithm if kept else indexed(member.algorithm))(member.operator))
    return swags


def indexed(algorithm: type[Swag]) -> type[Swag]:
    """The form of an algorithm that also answers without its oldest rows; the same where it does that anyway."""
    return _INDEXED.get(algorithm, algorithm)


_INDEXED: dict[type[Swag], type[Swag]] = {DabaLite: IndexedDabaLite, SubtractOnEvict: IndexedSubtractOnEvict}


def readers_of(specs: list[WindowSpec]) -> tuple[list[WindowSpec], list[int]]:
    """One spec for each different set of arguments to read from an event, and which of these each spec has."""
    alike = [(spec.columns, spec.condition, spec.mark) for spec in specs]
    different = list(dict.fromkeys(alike))
    return [specs[alike.index(reader)] for reader in different], [different.index(reader) for reader in alike]
