"""Beats in a snapshot: up to where they were given, and each key's slices.

For each part of the slices, the numbers of rows are stored and the states, or where a part keeps rows, these.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from slidewise.engine.codec import Reader, Writer
from slidewise.live.beats.beat_live import BeatLive
from slidewise.live.beats.key_state import BeatKeyState
from slidewise.live.snapshot.checks import (
    check_arguments,
    check_bool,
    check_counts,
    check_now,
    check_time,
    reading,
    require,
)
from slidewise.live.snapshot.key_states import read_states, write_plain, write_states
from slidewise.live.types import Key, Time
from slidewise.operators.values.equality import shown

_FARTHEST = 2**62  # of the numbers of beats and slices


def write_beats(out: Writer, live: BeatLive) -> None:
    """All that stands behind the events that wait: how far beats were given, and the state of each key."""
    floats = None if live.beats is None else live.beats.floats
    for value in (live.advanced, live.last_beat, live.dates, floats):
        out.value(value)
    out.size(len(live.key_states))
    for key, key_state in live.key_states.items():
        live.thaw(key_state)
        write_plain(out.value, key, "a key")
        out.value(key_state.now)
        out.size(key_state.count)
        out.row([each[0] for each in key_state.slices])
        for i, part in enumerate(live.parts):
            held = [each[1 + i] for each in key_state.slices]
            out.row([rows for rows, _ in held])
            if part.by_rows:
                rows = [row for some, state in held if some for row in state]
                write_plain(out.row, rows, f"a row of {live.reader_of(i).members[0].name!r}")
            else:
                write_states(out, live.reader_of(i).members[0], [state for some, state in held if some])


def read_beats(source: Reader, live: BeatLive, read_key: Callable[[], Key]) -> None:
    """Read what `write_beats` wrote; the kind of time is known already."""
    advanced, given, dates, floats = [source.value() for _ in range(4)]
    if advanced is not None and live.time_reader.kind is not None:
        check_time(live, advanced, "the time up to which beats were asked for")
    elif advanced is not None:  # the first event was refused, so that there are no times yet
        require(type(advanced) in (int, float), f"beats were asked for up to {shown(advanced)}")
    require(type(given) is int and abs(given) <= _FARTHEST, f"beats were given up to {shown(given)}")
    live.advanced, live.last_beat = advanced, given
    check_bool(dates, "whether times are dates")
    if floats is not None:
        check_bool(floats, "whether beats are floats")
        if live.time_reader.kind is not None:
            live.set_beats(live.time_reader.kind, floats, dates)
    for _ in range(source.most()):
        key = read_key()
        with reading(f"the key {shown(key)}"):
            require(key not in live.key_states, "it is there twice")
            live.key_states[key] = _read_key_state(source, live)


def _read_key_state(source: Reader, live: BeatLive) -> BeatKeyState:
    key_state = BeatKeyState()
    key_state.now, key_state.count = source.value(), source.size()
    check_now(live, key_state.now, key_state.count)
    numbers = source.row()
    _check_slices(live, numbers, key_state.now)
    slices: list[Any] = [[number] for number in numbers]
    for i, part in enumerate(live.parts):
        rows_of = check_counts(source.row(), 0, "the number of rows in a slice")
        require(sum(rows_of) <= key_state.count, f"slices hold {sum(rows_of)} of {key_state.count} rows")
        held = source.row() if part.by_rows else read_states(source, live.reader_of(i).members[0])
        if part.by_rows:
            width = max(len(part.columns), 1)
            require(all(type(row) is tuple and len(row) == width for row in held), "a row has not its values")
            check_arguments([column.operator for column in live.plan.asked if column.part == i], held)
        stored = iter(held)
        for each, rows in zip(slices, rows_of, strict=True):
            state = None
            if rows:
                state = [next(stored) for _ in range(rows)] if part.by_rows else next(stored)
            each.append([rows, state])
        if next(stored, stored) is not stored:
            raise ValueError("there are more states than slices")
    key_state.slices = deque(slices)
    return key_state


def _check_slices(live: BeatLive, numbers: list[Any], now: Time) -> None:
    """Check that slices are in order, up to that of the newest time, and that a beat to come holds each of them."""
    require(live.beats is not None, "there are slices, and no beats")
    assert live.beats is not None
    sound = all(type(number) is int and abs(number) <= _FARTHEST for number in numbers)
    require(sound, "slices have numbers that none can have")
    require(all(a < b for a, b in pairwise(numbers)), "slices are not in order")
    if not numbers:  # no window holds the rows that there were
        return
    require(numbers[-1] <= live.beats.number(now), "slices are newer than the newest time")
    done = (
        live.last_beat if live.buffer is not None else max(live.last_beat, live.beats.complete(live.beats.number(now)))
    )
    for number in numbers:
        first, last = live.beats.held(number)
        require(first <= last and last > done, f"no beat is to come for the slice {number}")
    live.moment(live.beats.time(live.beats.held(numbers[0])[0]))  # which must be a moment that there is
