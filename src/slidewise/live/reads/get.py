"""`get`: the aggregates of one key as of a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slidewise.errors import InputError, SlidewiseError, TimeOrderError
from slidewise.expressions.expression import columns_of
from slidewise.live.event_times import NUMBER, earlier
from slidewise.live.keys import key_parts
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.revising import Revising
from slidewise.live.types import EventRow, Key, Time
from slidewise.windows.kind import Keeps

if TYPE_CHECKING:
    from slidewise.engine.window_spec import WindowSpec
    from slidewise.live.key_state import KeyState
    from slidewise.live.live import Live

READ = "this was a read, and nothing has changed"


def get(live: Live, key: EventRow | None, at: Any) -> dict[str, Any]:
    """See `Live.get`."""
    at = _time_of(live, key, at)
    time = live.seen if at is None else read_time(live, at)
    answers = answers_as_of(live, _read_key(live, key), time)
    if not live.definition.own:
        return live.computed.columns(answers, {})
    request = dict(key or {})
    for name in live.definition.own:
        if name == live.definition.on:
            request[name] = _moment(live, at, time)
        elif name not in request:
            reader = next(c for c, result in live.definition.stages.results.items() if name in columns_of(result))
            has = ", ".join(map(str, request)) or "no columns"
            raise InputError(
                f"the request has no {name!r}, which {reader!r} reads of the row that asks; give it beside the key. It "
                f"has {has}"
            )
    return live.computed.columns(answers, request)


def _time_of(live: Live, key: EventRow | None, at: Any) -> Any:
    """The time to read as of: `at`, or that of the request; both only if they are the same."""
    on = live.definition.on
    if on is None or not isinstance(key, Mapping) or key.get(on) is None:
        return at
    if at is not None and read_time(live, at) != read_time(live, key[on]):
        raise InputError(
            f"the request's {on!r} is {key[on]!r}, and at={at!r}; give one of them, or the same time in both"
        )
    return key[on]


def _moment(live: Live, at: Any, time: Time | None) -> Any:
    """The time of a read as events have it; None where nothing has been seen."""
    return at if at is not None or time is None else live.time_reader.moment(time)


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
        raise InputError(f"the key has no {missing!r}; it has {has}") from None


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
        check_key_kind(live, key)
        return [answer for spec in live.specs for answer in spec.empty_answers()]
    if time is not None:
        check_time(live, key, time, key_state.now)
    values: list[Any] = []
    for at in range(len(live.specs)):
        values += spec_answers(live, key_state, at, time)
    return values


def check_key_kind(live: Live, key: Key) -> None:
    """Refuse a key that has had no event and can have none: text where events have numbers, or the other way round."""
    kinds, names = live.kinds, live.definition.by
    for name, value in zip(names, key_parts(key, names), strict=True):
        if value is None or name in kinds.unknown:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number == (name in kinds.others):
            have, gives = ("others than numbers", "a number") if is_number else ("numbers", "none")
            raise InputError(
                f"the key {name!r} is {value!r}, {gives}, and the events' keys are {have}, so none of them is equal; "
                "give it in the events' type"
            )


def spec_answers(live: Live, key_state: Any, at: int, time: Time | None) -> list[Any]:
    """The answers of the spec at this index as of a time that a key can be read at."""
    spec = live.specs[at]
    if spec.is_open and live.aside.released is not None:
        _check_open(live, spec, key_state.now, time)
    try:
        if isinstance(live, Revising):
            answers: list[Any] = key_state.answers_at(spec, at, time)
        elif not spec.numbered:
            answers = key_state.panes[at].answers_at(time)
        elif not spec.is_open:
            answers = key_state.panes[at].answers_at(key_state.count - 1)
        elif time is None or time != key_state.now:
            answers = key_state.panes[at].answers_at(key_state.count)
        else:
            answers = first_answers(live, key_state, at)
        if spec.declared:
            spec.check(answers)
    except Exception as error:
        raise_operator_error(spec, error, READ)
    return answers


def _check_open(live: Live, spec: WindowSpec, newest: Time, time: Time | None) -> None:
    """Refuse a read as of the newest event of a key that a stream left, by a window that leaves out rows of that time:
    the stream had let them in already, since all that came after was later. Rows that are kept tell their times."""
    kept = spec.keeps is Keeps.ROWS and not spec.numbered
    if time == newest and not kept and live.aside.is_released(newest):
        raise SlidewiseError(
            f"{spec.members[0].name!r} has no answer as of the key's newest event, at {live.time_reader.shown(newest)}:"
            " the stream that this goes on from does not have it; read as of a later time, or after the key's next "
            "event"
        )


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


def oldest_time(live: Live, newest: Time) -> Any:
    """The oldest time that a key can be read as of, by its newest event's; None where it can be of any time."""
    if not isinstance(live, Revising):
        return newest
    return None if live.retention is None else earlier(newest, live.retention)


def check_time(live: Live, key: Key, time: Time, newest: Time, row: int | None = None) -> None:
    """Refuse a read as of a time that a key cannot be read as of; `row` is that of a table of requests."""
    oldest = oldest_time(live, newest)
    if oldest is None or time >= oldest:
        return
    shown = live.time_reader.shown
    at = f"at={shown(time)}" if row is None else f"the time in row {row}, {shown(time)},"
    whose = f" of the key {key!r}" if live.definition.by else ""
    if isinstance(live, Revising):
        raise TimeOrderError(
            f"{at} lies more than {live.retain} before {shown(newest)}, the newest event{whose}, and rows are retained "
            f"for {live.retain}; read as of a later time, or retain them for longer: live(late='revise', retain=...)"
        )
    raise TimeOrderError(
        f"{at} lies before {shown(newest)}, the newest event{whose}, and rows that have left a window since then are "
        "gone; read as of a later time, use live(late='revise'), which retains rows, or definition.as_of(labels, "
        "events) over a table of the events"
    )
