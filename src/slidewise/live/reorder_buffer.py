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
from slidewise.engine.window_spec import WindowSpec, arguments_in
from slidewise.errors import InputError, SlidewiseError, WindowError
from slidewise.live.event_times import NUMBER, earlier, length_in
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.types import Arguments, EventRow, Key, Time
from slidewise.operators.values.hashing import plain
from slidewise.windows import Duration

SortKey = tuple[Any, ...]


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
    None where it skips the event, and `Marked` ones where events mark that its windows begin anew.
    """

    __slots__ = ("arguments", "key", "number", "order", "row", "time")

    def __init__(
        self, row: EventRow, key: Key, time: Time, number: int, order: SortKey, arguments: tuple[Arguments | None, ...]
    ) -> None:
        self.row = row
        self.key = key
        self.time = time
        self.number = number
        self.order = order
        self.arguments = arguments

    def __lt__(self, other: Event) -> bool:
        return (self.time, self.number) < (other.time, other.number)


class ReorderBuffer:
    """A heap of events by time and arrival; the watermark is the newest time less the bound."""

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
        self._heap: list[Event] = []

    def event(self, row: EventRow, key: Key, time: Time) -> Event:
        """Read and check an event: what an operator refuses is refused now, and not when it is due."""
        arguments: list[Any] = []
        extended = self._computed.extended(row)
        for spec in self._specs:
            read = spec.arguments(extended)
            values = arguments_in(read)
            if values is not None:
                try:
                    for member in spec.members:
                        member.operator.lift(*values)
                except BaseException as error:
                    raise_operator_error(spec, error, "the event was not taken in")
            arguments.append(read)
        for name in self._definition.columns:
            if name in row:
                raise InputError(f"the event has a column {name!r} already, which is an aggregate's name; rename one")
        try:
            order = self.order_of(row)
        except KeyError as error:
            raise InputError(f"the event has no {error.args[0]!r}; it has {', '.join(map(str, row))}") from None
        self.number += 1
        copied = {name: value if type(value) in PLAIN else plain(value) for name, value in row.items()}
        return Event(copied, key, time, self.number, order, tuple(arguments))

    def order_of(self, row: EventRow) -> SortKey:
        """The sort key of an event among those of its key and time."""
        return tuple([_sort_key(row[name], name, self.others) for name in self._definition.ordering])

    def reread(self, key_of: Callable[[EventRow], Key]) -> Callable[[], None]:
        """Read the events that wait once more, since more is known of their columns; returns what undoes that."""
        before = [(event, event.key, event.order, event.arguments) for event in self._heap]
        for event in self._heap:
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
        heappush(self._heap, event)

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
        watermark = self.watermark(newest)
        due = []
        while self._heap and self._heap[0].time < watermark:
            due.append(heappop(self._heap))
        return _by_key_and_time(due)

    def pop_until(self, time: Time) -> list[list[Event]]:
        """Take out the events at or before a time, in groups of equal key and time."""
        due = []
        while self._heap and self._heap[0].time <= time:
            due.append(heappop(self._heap))
        return _by_key_and_time(due)

    def read_arguments_of(self, specs: list[WindowSpec]) -> None:
        """Read the arguments of these specs from events, from now on."""
        self._specs = specs

    def pop_all(self) -> list[list[Event]]:
        """Take out all events, in groups of equal key and time."""
        events = sorted(self._heap)
        self._heap = []
        return _by_key_and_time(events)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Event]:
        return iter(sorted(self._heap))


def _by_key_and_time(events: list[Event]) -> list[list[Event]]:
    """Events, which are sorted by time, in groups of equal key and time."""
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
