"""Checks of what a snapshot holds: everything that windows and kernels trust is checked before they get it.

A checksum without a key proves nothing about who wrote a snapshot, and a place that no window can have would be read
out of bounds by compiled code. So each part is checked for types, lengths, orders and ranges, and against the others.
A ValueError says what is wrong; values of states are not recomputed, so a forged snapshot can still lie about these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from itertools import islice
from operator import itemgetter, le, lt
from typing import Any

from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import SnapshotError
from slidewise.live.event_times import NAIVE, NUMBER, ZONED
from slidewise.live.live import Live
from slidewise.live.types import Key, Time
from slidewise.operators.operator import Operator
from slidewise.operators.values.equality import same, shown

_FARTHEST = 2**1000  # of whole times: what a float can still hold
_ALL_OR_NONE = (
    float,
    bool,
    str,
    bytes,
    datetime,
    date,
    time_of_day,
    timedelta,
)  # an operator takes all of a type, or none


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Name the part of a snapshot that is read inside in every error that is raised there."""
    try:
        yield
    except Exception as error:
        problem = str(error) if isinstance(error, ValueError | SnapshotError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{problem}, in {what}") from error


def require(holds: object, problem: str) -> None:
    """Raise a ValueError that states the problem, unless this holds."""
    if not holds:
        raise ValueError(problem)


def check_bool(value: object, what: str) -> bool:
    """Check that a value is true or false."""
    require(type(value) is bool, f"{what} is {shown(value)}, and not true or false")
    return bool(value)


def check_counts(values: Sequence[Any], least: int, what: str) -> list[int]:
    """Check that values are whole numbers from `least` on, of at most 63 bits."""
    for value in values:
        if type(value) is not int or not least <= value < 2**63:
            raise ValueError(f"{what} is {shown(value)}")
    return list(values)


def event_columns(items: Sequence[Any]) -> dict[str, Any]:
    """An event's columns by name, each checked to be there once."""
    require(
        all(type(item) is tuple and len(item) == 2 and type(item[0]) is str for item in items), "no event is like that"
    )
    columns = dict(items)
    require(len(columns) == len(items), "an event has a column twice")
    return columns


def restore_times(live: Live, kind: Any, fractions: object, newest: Any) -> None:
    """Check the kind of time of a stream and its newest time, and let the live definition have them."""
    if live.definition.on is None:
        require(kind is None, f"there are times, {shown(kind)}, and the definition has none")
    require(kind in (None, NUMBER, NAIVE, ZONED), f"times are {shown(kind)}")
    if kind is not None:
        live.time_reader.check(kind, kind)
        if live.buffer is not None:
            live.buffer.check(kind)
    live.time_reader.kind = kind
    live.time_reader.fractions = check_bool(fractions, "whether times are floats")
    if newest is not None:
        check_time(live, newest, "the newest time")
    live.newest = newest


def check_time(live: Live, time: Any, what: str) -> None:
    """Check that a value is a time of the stream's kind, as a number."""
    kind = live.time_reader.kind
    if type(time) is float and kind == NUMBER and live.time_reader.fractions and math.isfinite(time):
        return
    whole = type(time) is int and kind is not None and abs(time) < _FARTHEST
    require(whole, f"{what} is {shown(time)}, where times are {kind or 'unknown'}")


def check_event(live: Live, row: dict[str, Any], key: Key, time: Time) -> None:
    """Check that an event has the key and the time that stand beside it."""
    check_time(live, time, "an event's time")
    its_key, its_time, _ = live.read(row)
    near = its_time == time or (
        live.time_reader.kind != NUMBER and abs(its_time - time) < 1_000
    )  # a row has microseconds
    require(same(its_key, key) and near, f"an event is not of the key {shown(key)} and {shown(time)}")


def check_now(live: Live, now: Time | None, count: int) -> None:
    """Check a key's newest time, and how many rows it has had."""
    require(0 < count < 2**62, f"it has had {shown(count)} rows")
    if live.definition.on is None:
        require(now is None, f"its newest time is {shown(now)}, and the definition has none")
    else:
        check_time(live, now, "its newest time")


def check_places(live: Live, spec: WindowSpec, places: Sequence[Any], now: Any, count: int, once: bool = False) -> None:
    """Check that places of rows are in order, up to the newest; `once` where no two are the same."""
    kinds = {*map(type, places)}
    if spec.numbered:
        require(kinds <= {int}, "rows have numbers that are none")
        require(not places or (places[0] >= 0 and places[-1] < count), f"rows of {count} have other numbers")
        once = True
    elif places:
        # What lies in order between two finite times is finite, so of numbers the ends tell it all.
        for place in (places[0], places[-1]) if kinds == {int} or kinds == {float} else places:
            check_time(live, place, "a row's time")
        require(places[-1] <= now, "rows are newer than the newest time")
    require(all(map(lt if once else le, places, islice(places, 1, None))), "rows are not in order")


def check_rows(live: Live, spec: WindowSpec, rows: Sequence[Any], now: Any, count: int) -> None:
    """Check the rows of a window: their places, and arguments that the operators take."""
    first = spec.before_arguments
    width = first + max(len(spec.columns), 1)
    sound = {*map(type, rows)} <= {tuple} and {*map(len, rows)} <= {width}
    require(sound, f"a row has not {width - first} values")
    check_places(live, spec, [row[0] for row in rows], now, count)
    if spec.limit is not None:
        require(all(type(row[1]) is bool for row in rows), "a row neither counts nor is skipped")
        require(not rows or rows[0][1], "the first row is one that is skipped")
        rows = [row for row in rows if row[1]]
    check_arguments([member.operator for member in spec.members], rows, first)


def check_arguments(operators: Sequence[Operator], rows: Sequence[tuple[Any, ...]], first: int = 0) -> None:
    """Check that built-in operators lift the arguments of rows, from the first on; one of each kind is tried."""
    kinds: dict[Any, tuple[Any, ...]] = {}
    alike = all(_alike(rows, j) for j in range(first, len(rows[0]))) if rows else True
    for whole_row in rows[:1] if alike else rows:
        row = whole_row[first:]
        kind: Any = tuple(map(type, row))
        if type(None) in kind:
            raise ValueError("a row that counts has no value")
        for value, value_type in zip(row, kind, strict=True):
            if value_type not in _ALL_OR_NONE and (value_type is not int or not -(2**63) <= value < 2**63):
                kind = (*kind, len(kinds))  # it may be refused for what is in it
                break
        kinds.setdefault(kind, row)
    for operator in operators:
        if operator.builtin:
            for row in kinds.values():
                operator.lift(*row)


def _alike(rows: Sequence[tuple[Any, ...]], j: int) -> bool:
    """Whether an operator takes all values at this place of rows, or none: they are of one type."""
    value = itemgetter(j)
    kinds = {*map(type, map(value, rows))}
    if kinds == {int}:
        return bool(min(map(value, rows)) >= -(2**63) and max(map(value, rows)) < 2**63)
    return len(kinds) == 1 and kinds <= {*_ALL_OR_NONE}


def check_states(operator: Operator, states: Sequence[Any]) -> None:
    """Check that these are states such as the operator has."""
    if operator.is_state is not None:
        for state in states:
            if not operator.is_state(state):
                raise ValueError(f"{shown(state)} is no state of {operator.name!r}")
