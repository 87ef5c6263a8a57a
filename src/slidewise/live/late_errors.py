"""Errors for events that come late where none may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.errors import TimeOrderError
from slidewise.live.event_times import NUMBER
from slidewise.live.types import Key, Time

if TYPE_CHECKING:
    from slidewise.live.live import Live


def late_error(live: Live, key: Key, time: Time, newest: Time) -> TimeOrderError:
    """The error for an event before the newest of its key."""
    reader = live.time_reader
    whose = f" of the key {key!r}" if live.definition.by else ""
    return TimeOrderError(
        f"the event's time {reader.shown(time)} lies before {reader.shown(newest)}, the newest"
        f"{whose}; sort the events, or use live(late='drop') or live(late='{example_wait(reader.kind)}')"
    )


def released_error(live: Live, time: Time, what: str) -> TimeOrderError:
    """The error for an event that the stream which this goes on from has had, or dropped."""
    shown = live.time_reader.shown
    assert live.aside.released is not None
    return TimeOrderError(
        f"{what}, {shown(time)}, is not after {shown(live.aside.released)}, up to which the stream that this goes "
        "on from has taken events in; push those after it, or use live_from(..., late='drop')"
    )


def example_wait(kind: str | None) -> str:
    """An example of a bound for late events that goes with a kind of time."""
    return "wait:10" if kind == NUMBER else "wait:10s"
