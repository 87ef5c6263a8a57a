"""Whether what a snapshot says can be: everything that windows and kernels trust is checked before they get it.

A checksum without a key proves nothing about who wrote a snapshot, and a place that no window can have would be read
out of bounds by compiled code. So each part is checked for types, lengths, orders and ranges, and against the others.
A ValueError says what is wrong; values of states are not recomputed, so a forged snapshot can still lie about these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from itertools import islice
from operator import itemgetter, le, lt
from typing import Any

from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import SnapshotError
from slidewise.live.clock import NAIVE, NUMBER, ZONED
from slidewise.live.live import Live
from slidewise.operators.operator import Operator
from slidewise.operators.values.equality import same, shown

_FARTHEST = 2**1000  # of whole times: what a float can still hold
_ONE_OF_ALL = (float, bool, str, bytes, datetime, date, time, timedelta)  # an operator takes all of a type, or none


@contextmanager
def inside(what: str) -> Iterator[None]:
    """Say where in a snapshot something makes no sense, whatever was raised there."""
    try:
        yield
    except Exception as error:
        said = str(error) if isinstance(error, ValueError | SnapshotError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{said}, in {what}") from error


def require(holds: Any, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def truth(value: Any, what: str) -> bool:
    require(type(value) is bool, f"{what} is {shown(value)}, and not true or false")
    return bool(value)


def counts(values: Sequence[Any], least: int, what: str) -> list[int]:
    """Whole numbers from one on, that fit into 63 bits."""
    for value in values:
        if type(value) is not int or not least <= value < 2**63:
            raise ValueError(f"{what} is {shown(value)}")
    return list(values)


def only(states: list[Any]) -> Any:
    """The one state of a list."""
    require(len(states) == 1, f"there are {len(states)} states instead of one")
    return states[0]


def named(items: Sequence[Any]) -> dict[str, Any]:
    """An event's columns by name, each once."""
    require(
        all(type(item) is tuple and len(item) == 2 and type(item[0]) is str for item in items), "no event is like that"
    )
    found = dict(items)
    require(len(found) == len(items), "an event has a column twice")
    return found


def check_clock(live: Live, kind: Any, fractions: Any, newest: Any) -> None:
    """Let the clock know what kind of times there were."""
    if live.definition.on is None:
        require(kind is None, f"there are times, {shown(kind)}, and the definition has none")
    require(kind in (None, NUMBER, NAIVE, ZONED), f"times are {shown(kind)}")
    if kind is not None:
        live.clock.check(kind, kind)
        if live.waiting is not None:
            live.waiting.check(kind)
    live.clock.kind = kind
    live.clock.fractions = truth(fractions, "whether times are floats")
    if newest is not None:
        check_time(live, newest, "the newest time")
    live.newest = newest


def check_time(live: Live, found: Any, what: str) -> None:
    """A time as the clock counts it."""
    kind = live.clock.kind
    if type(found) is float and kind == NUMBER and live.clock.fractions and math.isfinite(found):
        return
    whole = type(found) is int and kind is not None and abs(found) < _FARTHEST
    require(whole, f"{what} is {shown(found)}, where times are {kind or 'unknown'}")


def check_event(live: Live, row: dict[str, Any], key: Any, time: Any) -> None:
    """An event that is kept has the key and the time that stand beside it."""
    check_time(live, time, "an event's time")
    its_key, its_time, _ = live.read(row)
    near = its_time == time or (live.clock.kind != NUMBER and abs(its_time - time) < 1_000)  # a row has microseconds
    require(same(its_key, key) and near, f"an event is not of the key {shown(key)} and {shown(time)}")


def check_now(live: Live, now: Any, count: int) -> None:
    """A key's newest time, and how many rows it has had."""
    require(0 < count < 2**62, f"it has had {shown(count)} rows")
    if live.definition.on is None:
        require(now is None, f"its newest time is {shown(now)}, and the definition has none")
    else:
        check_time(live, now, "its newest time")


def check_places(live: Live, spec: WindowSpec, places: Sequence[Any], now: Any, count: int, once: bool = False) -> None:
    """Where rows stand: in order, up to the newest; `once` where no two stand at one place."""
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
    """Rows of a window: their places, and arguments that the operators take."""
    width = 1 + max(len(spec.columns), 1)
    sound = {*map(type, rows)} <= {tuple} and {*map(len, rows)} <= {width}
    require(sound, f"a row has not {width - 1} values")
    check_places(live, spec, [row[0] for row in rows], now, count)
    check_arguments([member.operator for member in spec.members], rows, 1)


def check_arguments(operators: Sequence[Operator], rows: Sequence[tuple[Any, ...]], first: int = 0) -> None:
    """Arguments of rows, from the first on, are such that built-in operators lift them; one of each kind is tried."""
    kinds: dict[Any, tuple[Any, ...]] = {}
    alike = all(_alike(rows, j) for j in range(first, len(rows[0]))) if rows else True
    for whole_row in rows[:1] if alike else rows:
        row = whole_row[first:]
        kind: Any = tuple(map(type, row))
        if type(None) in kind:
            raise ValueError("a row that counts has no value")
        for value, its in zip(row, kind, strict=True):
            if its not in _ONE_OF_ALL and (its is not int or not -(2**63) <= value < 2**63):
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
    return len(kinds) == 1 and kinds <= {*_ONE_OF_ALL}


def check_states(operator: Operator, states: Sequence[Any]) -> None:
    """States are such as the operator has."""
    if operator.is_state is not None:
        for state in states:
            if not operator.is_state(state):
                raise ValueError(f"{shown(state)} is no state of {operator.name!r}")
