"""A buffer that puts events in the order of their times: they wait in it until the watermark has passed them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Set
from fractions import Fraction
from heapq import heappop, heappush
from itertools import groupby
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.computed.values import ComputedValues
from slidewise.engine.event_values import PLAIN, plain_value, without_nan
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import InputError, SlidewiseError, WindowError
from slidewise.live.event_times import NUMBER, earlier, length_in
from slidewise.live.operator_errors import checked_arguments
from slidewise.live.types import Arguments, EventRow, Key, Time
from slidewise.live.waiting.waiting_tables import WaitingRun, WaitingTables
from slidewise.operators.values.hashing import plain
from slidewise.windows import Duration

SortKey = tuple[Any, ...]
_SPILLED = 64  # rows of a table that become events at once where one of them is asked for as such


def wait_bound(late: str, has_time: bool) -> Duration | int | float | None:
    """The bound in `late="wait:10s"`, a duration or a number; None where late events do not wait."""
    if late in ("error", "drop"):
        return None
    if not isinstance(late, str) or not (late == "revise" or late.startswith("wait:")):
        raise SlidewiseError(f"late={late!r} is none of 'error', 'drop', 'revise' and 'wait:10s', say")
    if not has_time:
        shown = "revise" if late == "revise" else "wait:..."
        raise SlidewiseError(f"late={shown!r} goes by time, and this definition has no time column")
    if late == "revise":
        return None
    text = late.removeprefix("wait:").strip()
    try:
        number: int | float = int(text) if text.isdecimal() else float(text)
    except ValueError:
        if text.startswith("0") and not text.strip("0. ").strip().isdigit() and text.strip("0. ").isalpha():
            Duration.of("1" + text.strip("0. "))  # no time at all, but in a unit that there is
            return 0
        return Duration.of(text)
    if not 0 <= number <= sys.float_info.max:
        raise WindowError(f"late={late!r}: the bound is a number from 0 on, or a duration such as '10s'")
    return int(number) if number == int(number) else number


class Event:
    """An event that was read and checked: its row, and the arguments that each spec reads from it.

    `order` is what orders it among events of its key and time, `number` that of its arrival. A spec's arguments are
    None where it skips the event, and `Marked` ones where events mark that its windows begin anew. Where windows lie in
    arrays, an event that these hold has neither yet: see `ReorderBuffer.complete`.
    """

    __slots__ = ("arguments", "key", "number", "order", "row", "time")

    arguments: tuple[Arguments | None, ...]
    order: SortKey

    def __init__(
        self,
        row: EventRow,
        key: Key,
        time: Time,
        number: int,
        order: SortKey | None,
        arguments: tuple[Arguments | None, ...] | None,
    ) -> None:
        self.row = row
        self.key = key
        self.time = time
        self.number = number
        if arguments is not None and order is not None:
            self.order = order
            self.arguments = arguments


class ReorderBuffer:
    """A heap of events by time and arrival, and `tables` of rows beside it; the watermark is the newest time less the
    bound.

    Rows wait in tables only where windows lie in arrays; all that asks for events gets them as such.
    """

    def __init__(
        self,
        definition: Definition,
        specs: list[WindowSpec],
        bound: Duration | int | float,
        computed: ComputedValues,
    ) -> None:
        self._definition = definition
        self._computed = computed
        self._specs = specs
        self._bound = bound
        self.bound: Time = bound.ns if isinstance(bound, Duration) else bound
        self.flushed: Time | None = None  # events up to here were answered by flush
        self.number = 0
        self.others: Set[str] = frozenset()  # columns that hold no numbers, see `missing_values`
        self._heap: list[tuple[Time, int, Event]] = []
        self.tables = WaitingTables()

    def event(self, row: EventRow, key: Key, time: Time) -> Event:
        """Read and check an event: what an operator refuses is refused now, and not when it is due."""
        extended = self._computed.extended(row)
        arguments = tuple([checked_arguments(spec, extended) for spec in self._specs])
        for name in self._definition.columns:
            if name in row:
                raise InputError(f"the event has a column {name!r} already, which is an aggregate's name; rename one")
        try:
            order = self.order_of(row)
        except KeyError as error:
            raise InputError(f"the event has no {error.args[0]!r}; it has {', '.join(map(str, row))}") from None
        self.number += 1
        return Event(_copied(row), key, time, self.number, order, arguments)

    def plain_event(self, row: EventRow, key: Key, time: Time) -> Event:
        """An event of which it is known that no operator refuses it; it is `complete` once it is asked to be."""
        self.number += 1
        return Event(_copied(row), key, time, self.number, None, None)

    def complete(self, event: Event) -> None:
        """Read an event's arguments, and what orders it, where that was put off."""
        if not hasattr(event, "arguments"):
            extended = self._computed.extended(event.row)
            event.order = self.order_of(event.row)
            event.arguments = tuple([spec.arguments(extended) for spec in self._specs])

    def order_of(self, row: EventRow) -> SortKey:
        """The sort key of an event among those of its key and time."""
        return tuple([_sort_key(row[name], name, self.others) for name in self._definition.ordering])

    def reread(self, key_of: Callable[[EventRow], Key]) -> Callable[[], None]:
        """Read the events that wait once more, since more is known of their columns; returns what undoes that."""
        self.spill()
        events = [event for _, _, event in self._heap]
        for event in events:
            self.complete(event)
        before = [(event, event.key, event.order, event.arguments) for event in events]
        for event in events:
            event.key = key_of(event.row)
            event.order = self.order_of(event.row)
            extended = self._computed.extended(event.row)
            event.arguments = tuple([spec.arguments(extended) for spec in self._specs])

        def undo() -> None:
            for event, key, order, arguments in before:
                event.key, event.order, event.arguments = key, order, arguments

        return undo

    def check(self, kind: str | None) -> None:
        """Refuse a bound that does not go with this kind of time; a bound of 0 goes with every kind."""
        if kind == NUMBER and isinstance(self._bound, Duration):
            raise WindowError(f"times are numbers, but late events wait for {self._bound}; write late='wait:10', say")
        if kind not in (NUMBER, None) and not isinstance(self._bound, Duration) and self._bound:
            raise WindowError(
                f"times are datetimes, but late events wait for {self._bound}; write late='wait:10s', say"
            )

    def add(self, event: Event) -> None:
        """Put an event in."""
        heappush(self._heap, (event.time, event.number, event))

    def is_late(self, time: Time, newest: Time) -> bool:
        """Whether events of this time were answered already, where that is the newest."""
        return bool(time < self.watermark(newest) or (self.flushed is not None and time <= self.flushed))

    def watermark(self, newest: Time) -> Time | Fraction:
        """The time before which events come too late."""
        return earlier(newest, self.bound)

    def before_watermark(self, times: Array, newest: Time) -> Array:
        """Which times of an array lie before the watermark; whole times are compared as whole numbers."""
        if times.dtype.kind == "i" and type(newest) is int:
            due: Array = times < newest - length_in(self.bound, whole=True)
            return due
        watermark = self.watermark(newest)
        if times.dtype.kind == "f" and type(newest) is float:
            due = times < watermark
            return due
        return np.array([time < watermark for time in times.tolist()], np.bool_)

    def pop_due(self, newest: Time) -> list[list[Event]]:
        """Take out the events before the watermark, in groups of equal key and time."""
        if self.tables.count:
            self.take_events(self.tables.take_before(self.cut(newest), _SPILLED))
        return _by_key_and_time(self.pop_events(newest))

    def pop_events(self, newest: Time) -> list[Event]:
        """Take out the events before the watermark, rows of tables not among them."""
        heap = self._heap
        watermark = self.watermark(newest)
        due = []
        while heap and heap[0][0] < watermark:
            due.append(heappop(heap)[2])
        return due

    def pop_until(self, time: Time) -> list[list[Event]]:
        """Take out the events at or before a time, in groups of equal key and time."""
        self.spill()
        due = []
        while self._heap and self._heap[0][0] <= time:
            due.append(heappop(self._heap)[2])
        return _by_key_and_time(due)

    def cut(self, newest: Time) -> Time:
        """The least time that is not due, among times such as this one."""
        return newest - length_in(self.bound, type(newest) is int)

    def spill(self) -> None:
        """Make events of all rows that wait in tables."""
        if self.tables.count:
            self.take_events(self.tables.take_all())

    def take_events(self, runs: list[WaitingRun]) -> None:
        """Take in rows of tables as events."""
        for run in runs:
            for event in self.tables.events(run):
                self.add(event)

    def read_arguments_of(self, specs: list[WindowSpec]) -> None:
        """Read the arguments of these specs from events, from now on."""
        self._specs = specs

    def pop_all(self) -> list[list[Event]]:
        """Take out all events, in groups of equal key and time."""
        self.spill()
        events = [event for _, _, event in sorted(self._heap)]
        self._heap = []
        return _by_key_and_time(events)

    def __len__(self) -> int:
        return len(self._heap) + self.tables.count

    def __iter__(self) -> Iterator[Event]:
        entries = [*self._heap, *((event.time, event.number, event) for event in self.tables)]
        return (event for _, _, event in sorted(entries))


def _copied(row: EventRow) -> dict[str, Any]:
    """A row with plain values."""
    return {name: value if type(value) in PLAIN else plain(value) for name, value in row.items()}


def _by_key_and_time(events: list[Event]) -> list[list[Event]]:
    """Events, which are sorted by time, in groups of equal key and time."""
    if len(events) < 2:
        return [events] if events else []
    groups: list[list[Event]] = []
    for _, same_time in groupby(events, key=lambda event: event.time):
        by_key: dict[Key, list[Event]] = {}
        for event in same_time:
            by_key.setdefault(event.key, []).append(event)
        groups += by_key.values()
    return groups


def sort_peers(peers: list[Event]) -> list[Event]:
    """Sort events of equal key and time as the definition orders them."""
    try:
        return sorted(peers, key=lambda event: event.order)
    except TypeError as error:
        raise InputError(
            f"events of equal time cannot be put in order, for their values differ in kind: {error}"
        ) from error


def _sort_key(value: Any, name: str, others: Set[str]) -> SortKey:
    """The sort key of a column's value: nulls come first, NaN last."""
    value = without_nan(plain_value(value), name, others)
    if value is None:
        return (0,)
    return (2,) if value != value else (1, value)
