"""Events that wait until event time has moved past them, ordered by time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Set
from heapq import heappop, heappush
from itertools import groupby
from typing import Any

import numpy as np

from slidewise.definition import Definition
from slidewise.engine.window_spec import PLAIN, WindowSpec, plainly, without_nan
from slidewise.errors import InputError, SlidewiseError, WindowError
from slidewise.live.clock import NUMBER, earlier, whole_or_float
from slidewise.live.operator_errors import fail
from slidewise.operators.values.hashing import plain
from slidewise.windows import Duration


def wait_of(late: str, has_time: bool) -> Duration | int | float | None:
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
    """An event that waits: its row, and the arguments that each aggregate reads from it (None: it skips it)."""

    __slots__ = ("arguments", "key", "number", "order", "row", "time")

    def __init__(self, row: Mapping[str, Any], key: Any, time: Any, number: int, order: Any, arguments: Any) -> None:
        self.row = row
        self.key = key
        self.time = time
        self.number = number
        self.order = order
        self.arguments = arguments

    def __lt__(self, other: Event) -> bool:
        return (self.time, self.number) < (other.time, other.number)


class Waiting:
    """A heap of events by time and arrival."""

    def __init__(self, definition: Definition, specs: list[WindowSpec], bound: Duration | int | float) -> None:
        self._definition = definition
        self._specs = specs
        self._bound = bound
        self.bound: Any = bound.ns if isinstance(bound, Duration) else bound
        self.flushed: Any = None  # events up to here were answered by flush
        self.number = 0
        self.others: Set[str] = frozenset()  # columns that hold no numbers, see `missing`
        self._heap: list[Event] = []

    def event(self, row: Mapping[str, Any], key: Any, time: Any) -> Event:
        """An event, checked: what an operator refuses is refused now, and not when it is due."""
        arguments = []
        for spec in self._specs:
            found = spec.arguments(row)
            if found is not None:
                try:
                    for one in spec.members:
                        one.operator.lift(*found)
                except BaseException as error:
                    fail(spec, error, "the event was not taken in")
            arguments.append(found)
        for name in self._definition.columns:
            if name in row:
                raise InputError(f"the event has a column {name!r} already, which is an aggregate's name; rename one")
        try:
            order = self.order_of(row)
        except KeyError as error:
            raise InputError(f"the event has no {error.args[0]!r}; it has {', '.join(map(str, row))}") from None
        self.number += 1
        kept = {name: value if type(value) in PLAIN else plain(value) for name, value in row.items()}
        return Event(kept, key, time, self.number, order, tuple(arguments))

    def order_of(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """What orders an event among those of its key and time."""
        return tuple([_rank(row[name], name, self.others) for name in self._definition.ordering])

    def restate(self, key_of: Callable[[Mapping[str, Any]], Any]) -> Callable[[], None]:
        """Read the events that wait once more, since more is known of their columns; what undoes that."""
        before = [(event, event.key, event.order, event.arguments) for event in self._heap]
        for event in self._heap:
            event.key = key_of(event.row)
            event.order = self.order_of(event.row)
            event.arguments = tuple([spec.arguments(event.row) for spec in self._specs])

        def take_back() -> None:
            for event, key, order, arguments in before:
                event.key, event.order, event.arguments = key, order, arguments

        return take_back

    def check(self, kind: str | None) -> None:
        """Refuse a bound that does not go with this kind of time; none at all goes with every kind."""
        if kind == NUMBER and isinstance(self._bound, Duration):
            raise WindowError(f"times are numbers, but late events wait for {self._bound}; write late='wait:10', say")
        if kind not in (NUMBER, None) and not isinstance(self._bound, Duration) and self._bound:
            raise WindowError(
                f"times are datetimes, but late events wait for {self._bound}; write late='wait:10s', say"
            )

    def add(self, event: Event) -> None:
        heappush(self._heap, event)

    def is_late(self, time: Any, newest: Any) -> bool:
        """Whether events of this time were answered already."""
        return bool(time < self.edge(newest) or (self.flushed is not None and time <= self.flushed))

    def edge(self, newest: Any) -> Any:
        """Events before this time come too late, where that is the newest."""
        return earlier(newest, self.bound)

    def before_edge(self, times: Any, newest: Any) -> Any:
        """Which times of an array lie before the edge; whole times are compared as whole numbers."""
        if times.dtype.kind == "i" and type(newest) is int:
            return times < newest - whole_or_float(self.bound, whole=True)
        edge = self.edge(newest)
        if times.dtype.kind == "f" and type(newest) is float:
            return times < edge
        return np.array([time < edge for time in times.tolist()], np.bool_)

    def due(self, newest: Any) -> list[list[Event]]:
        """The events that no event on time can precede any more, off the heap, in groups of equal key and time."""
        edge = self.edge(newest)
        found = []
        while self._heap and self._heap[0].time < edge:
            found.append(heappop(self._heap))
        return _grouped(found)

    def until(self, time: Any) -> list[list[Event]]:
        """The events at or before a time, off the heap, in groups of equal key and time."""
        found = []
        while self._heap and self._heap[0].time <= time:
            found.append(heappop(self._heap))
        return _grouped(found)

    def read_by(self, specs: list[WindowSpec]) -> None:
        """Let events have the arguments of these from now on."""
        self._specs = specs

    def all(self) -> list[list[Event]]:
        """All events, off the heap, in groups of equal key and time."""
        found = sorted(self._heap)
        self._heap = []
        return _grouped(found)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Event]:
        return iter(sorted(self._heap))


def _grouped(events: list[Event]) -> list[list[Event]]:
    groups: list[list[Event]] = []
    for _, same_time in groupby(events, key=lambda event: event.time):
        by_key: dict[Any, list[Event]] = {}
        for event in same_time:
            by_key.setdefault(event.key, []).append(event)
        groups += by_key.values()
    return groups


def in_order(peers: list[Event]) -> list[Event]:
    """Events of equal key and time as the definition orders them."""
    try:
        return sorted(peers, key=lambda event: event.order)
    except TypeError as error:
        raise InputError(
            f"events of equal time cannot be put in order, for their values differ in kind: {error}"
        ) from error


def _rank(value: Any, name: str, others: Set[str]) -> tuple[Any, ...]:
    """What orders a column's value among others: nulls first, NaN last."""
    value = without_nan(plainly(value), name, others)
    if value is None:
        return (0,)
    return (2,) if value != value else (1, value)
