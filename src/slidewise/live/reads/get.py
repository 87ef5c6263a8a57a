"""`get`: the aggregates of one key as of a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slidewise.errors import InputError, SlidewiseError, TimeOrderError, did_you_mean
from slidewise.live.event_times import NUMBER, earlier
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.revising import Revising
from slidewise.live.types import EventRow, Key, Time

if TYPE_CHECKING:
    from slidewise.live.live import KeyState, Live


def get(live: Live, key: EventRow | None, at: Any) -> list[Any]:
    """See `Live.get`: the answers in the order of specs."""
    return answers_as_of(live, _read_key(live, key), live.seen if at is None else read_time(live, at))


def _read_key(live: Live, key: EventRow | None) -> Key:
    """A key in canonical form, of the key columns that a read names."""
    names = live.definition.by
    if key is None and not names:
        key = {}
    if type(key) is not dict and not isinstance(key, Mapping):
        example = "{" + ", ".join(f"{name!r}: ..." for name in names) + "}"
        raise InputError(f"get takes the key's columns, {example}, not {key!r}")
    try:
        return live.key_of(key)
    except KeyError as error:
        missing = error.args[0]
        has = ", ".join(map(str, key)) or "no columns"
        raise InputError(
            f"the key has no {missing!r}; it has {has}{did_you_mean(str(missing), [str(name) for name in key])}"
        ) from None


def read_time(live: Live, at: Any) -> Time:
    """The time of a read as a number, of the kind that the stream's times are of."""
    reader = live.time_reader
    if live.definition.on is None:
        raise SlidewiseError(f"at={at!r} is a time, and this definition has no time column; leave it out")
    if at != at:
        raise InputError(f"at is {at!r}, which is no time; leave it out to read as of the newest event seen")
    time, kind = reader.read(at, "at")
    if kind == NUMBER and type(time) is float and not reader.fractions and time.is_integer():
        return int(time)  # all times are whole, and the windows' edges exact
    return time


def answers_as_of(live: Live, key: Key, time: Time | None) -> list[Any]:
    """A key's answers as of a time, in the order of specs; None is the end of a stream without times."""
    key_state: Any = live.key_states.get(key)
    if key_state is None:
        return [answer for spec in live.specs for answer in spec.empty_answers()]
    if isinstance(live, Revising):
        assert time is not None
        check_retained(live, key, time, key_state.now)
    elif time is not None and time < key_state.now:
        raise TimeOrderError(_passed(live, key, time, key_state.now))
    values: list[Any] = []
    for at, spec in enumerate(live.specs):
        try:
            if isinstance(live, Revising):
                answers = key_state.answers_at(spec, at, time)
            else:
                answers = _pane_answers(live, key_state, at, time)
            if spec.declared:
                spec.check(answers)
        except Exception as error:
            raise_operator_error(spec, error, "this was a read, and nothing has changed")
        values += answers
    return values


def _pane_answers(live: Live, key_state: KeyState, at: int, time: Time | None) -> list[Any]:
    """The answers of the pane at this index as of a time, not before the key's newest."""
    spec, pane = live.specs[at], key_state.panes[at]
    if not spec.numbered:
        assert time is not None
        return pane.answers_at(time)
    if not spec.is_open:
        return pane.answers_at(key_state.count - 1)
    if time is None or time != key_state.now:
        return pane.answers_at(key_state.count)
    return first_answers(live, key_state, at)


def first_answers(live: Live, key_state: KeyState, at: int) -> list[Any]:
    """The answers as of the newest time from a window of the rows before: those that its first row got."""
    if key_state.firsts is None:
        raise SlidewiseError(
            f"{live.specs[at].members[0].name!r} has no answer as of the key's newest event, at "
            f"{live.time_reader.shown(key_state.now or 0)}: the snapshot that it was restored from does not have it; "
            "read as of a later time, or after the key's next event"
        )
    answers = next(part for (i, _), part in zip(live.rows_before, key_state.firsts, strict=True) if i == at)
    return [list(answer) if type(answer) is list else answer for answer in answers]


def check_retained(live: Revising, key: Key, time: Time, newest: Time) -> None:
    """Refuse a read before what a live definition that revises retains of a key."""
    if live.retention is not None and time < earlier(newest, live.retention):
        shown = live.time_reader.shown
        raise TimeOrderError(
            f"at={shown(time)} lies more than {live.retain} before {shown(newest)}, the newest event"
            f"{_whose(live, key)}, and rows are retained for {live.retain}; read as of a later time, or retain them "
            "for longer: live(late='revise', retain=...)"
        )


def _passed(live: Live, key: Key, time: Time, newest: Time) -> str:
    """What is wrong with a read before a key's newest event."""
    shown = live.time_reader.shown
    return (
        f"at={shown(time)} lies before {shown(newest)}, the newest event{_whose(live, key)}, and rows that have left a "
        "window since then are gone; read as of a later time, use live(late='revise'), which retains rows, or "
        "definition.as_of(labels, events) over a table of the events"
    )


def _whose(live: Live, key: Key) -> str:
    return f" of the key {key!r}" if live.definition.by else ""
