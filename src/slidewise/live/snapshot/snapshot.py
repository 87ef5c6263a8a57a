"""All state of a live definition as bytes: plain values, see `engine.codec`, in an `envelope` with a checksum.

The payload holds the policy and the counters, the events that wait, and for each key its panes: the rows of the
window and each SWAG's own partial aggregates, so that going on gives the same bits as never having stopped. Where
windows share a structure, the longest of them brings its partials; where they have a grain, there are cells and their
partials instead of rows. On a beat, a key has slices instead, see `beat_states`. The version is the oldest that knows
all of it: 1, 2 where windows share, 3 where one has a grain, 4 on a beat, 5 where there are durations in nanoseconds or
times of day, 6 where a column holds no numbers or nothing yet, or events may be put aside, 7 where a window is of the
rows before each row, so that keys have the answers of the first row of their newest time, 8 where it all goes on from a
stream's state.
"""

from __future__ import annotations

from typing import Any

from slidewise.definition import Definition
from slidewise.engine.codec import Reader, Writer
from slidewise.errors import SlidewiseError, SnapshotError
from slidewise.live.beats.beat_live import BeatLive
from slidewise.live.first_answers import decoded, encoded
from slidewise.live.key_state import KeyState
from slidewise.live.keys import canonical
from slidewise.live.live import Answered, Live
from slidewise.live.revising import Revising
from slidewise.live.set_aside import AHEAD, LATE, AheadGuard, LateTo
from slidewise.live.snapshot.beat_states import read_beats, write_beats
from slidewise.live.snapshot.checks import (
    check_bool,
    check_event,
    check_now,
    check_time,
    event_columns,
    reading,
    require,
    restore_times,
)
from slidewise.live.snapshot.envelope import check_key, opened, sealed
from slidewise.live.snapshot.key_states import read_panes, read_revisable, write_pane, write_plain, write_revisable
from slidewise.live.trees.revisable_state import RevisableState
from slidewise.live.types import Key
from slidewise.operators.values.equality import shown
from slidewise.windows import Duration
from slidewise.windows.kind import Keeps

VERSION = 8
_STREAM = "stream"  # up to when the stream has taken events in that this goes on from, and what its upgrades left apart


def snapshot(live: Live, key: bytes | None = None) -> bytes:
    """The live definition's bytes; refused with the reason where a state is no plain value."""
    check_key(key)
    out = Writer()
    for value in (live.late, live.spikes, live.time_reader.kind, live.time_reader.fractions, live.newest):
        out.value(value)
    for count in (live.events, live.answers, live.dropped, live.failed):
        out.size(count)
    more = _extensions(live)
    if more or live.rows_before:
        out.version = max(out.version, 8 if _STREAM in more else 7 if live.rows_before else 6)
        write_plain(out.value, more, "a row that was put aside")
    _write_buffer(out, live)
    _write_revising(out, live)
    if isinstance(live, BeatLive):
        write_beats(out, live)
        return sealed(live.definition, max(4, out.version), bytes(out.data), key)
    out.size(len(live.key_states))
    for name, key_state in live.key_states.items():
        write_plain(out.value, name, "a key")
        out.value(key_state.now)
        out.size(key_state.count)
        if isinstance(key_state, RevisableState):
            write_revisable(out, live, key_state)
            continue
        if live.rows_before:
            out.value(encoded(key_state.firsts))
        for pane in key_state.panes:
            write_pane(out, pane)
    shares = any(spec.sharing is not None for spec in live.specs)
    version = 3 if any(spec.keeps is Keeps.CELLS for spec in live.specs) else 2 if shares else 1
    return sealed(live.definition, max(version, out.version), bytes(out.data), key)


def _extensions(live: Live) -> dict[str, Any]:
    """The fields that versions before 6 have no place for; empty where they can hold it all."""
    keys = [*live.key_states, *(event.key for event in live.buffer or ())]
    kinds = live.kinds.as_dict(live.definition.by, keys) if live.events else {}
    more: dict[str, Any] = {"kinds": kinds} if kinds else {}
    guard = live.aside.guard
    if guard is not None:
        length = str(guard.limit) if isinstance(guard.limit, Duration) else guard.limit
        more["ahead"] = [length, guard.of, guard.newest, live.aside.ahead]
    if live.aside.released is not None:
        more[_STREAM] = [live.aside.released, live.generations]
    if live.aside.rows:
        more["aside"] = [[reason, row] for row, reason in live.aside.rows]
    return more


def _read_extensions(live: Live, more: Any) -> None:
    """Read what `_extensions` gave."""
    require(type(more) is dict, f"there is {shown(more)} where a dict should be")
    kinds = more.pop("kinds", {})
    require(type(kinds) is dict, f"columns are {shown(kinds)}")
    definition = live.definition
    names = [name for name in definition.needs if name != definition.on]
    live.kinds.restore(kinds, names, definition.by, live.events)
    if "ahead" in more:
        length, of, newest, count = more.pop("ahead")
        require(type(length) in (str, int, float) and type(of) is str, f"events may be ahead by {shown(length)}")
        require(type(count) is int and 0 <= count <= live.events, f"{shown(count)} events were ahead")
        live.aside.guard, live.aside.ahead = AheadGuard(length, of), count
        if live.time_reader.kind is not None:
            live.aside.guard.check(live.time_reader.kind)
        if newest is not None:
            check_time(live, newest, "the newest time that was believed")
        live.aside.guard.newest = newest
    if _STREAM in more:
        released, _ = more.pop(_STREAM)
        check_time(live, released, "the time up to which a stream has taken events in")
        live.aside.released = released
    for reason, row in more.pop("aside", []):
        require(reason in (LATE, AHEAD) and type(row) is dict, "no row was put aside like that")
        live.aside.rows.append((row, reason))
    require(not more, f"nothing is known of {shown(more)}")


def _write_buffer(out: Writer, live: Live) -> None:
    """The events that wait, and the answers that are ready; nothing where none may wait."""
    buffer = live.buffer
    if buffer is None:
        return
    out.value(buffer.flushed)
    out.size(buffer.number)
    events = list(buffer)
    out.size(len(events))
    for event in events:
        write_plain(out.row, tuple(event.row.items()), "a waiting event")
        write_plain(out.value, event.key, "a key")
        out.value(event.time)
        out.size(event.number)
    out.size(len(live.ready))
    for row in live.ready:
        write_plain(out.row, tuple(row.items()), "an answer that was not delivered yet")


def _write_revising(out: Writer, live: Live) -> None:
    """The retention and the counters of a live definition that revises; nothing of another."""
    if isinstance(live, Revising):
        out.value(str(live.retain) if isinstance(live.retain, Duration) else live.retain)
        out.size(live.revised)
        out.size(live.arrivals.number)


def restore(
    definition: Definition,
    blob: bytes,
    answered: Answered | None,
    key: bytes | None = None,
    late_to: LateTo | None = None,
) -> Live:
    """The live definition that wrote these bytes."""
    version, payload = opened(definition, VERSION, blob, key)
    source = Reader(payload)
    try:
        live = _read(source, definition, answered, version)
    except Exception as error:
        kind = "" if isinstance(error, ValueError | SlidewiseError) else f"{type(error).__name__}: "
        raise SnapshotError(f"the snapshot's contents make no sense: {kind}{error}") from error
    live.aside.late_to = late_to
    return live


def _read(source: Reader, definition: Definition, answered: Answered | None, version: int) -> Live:
    late, spikes, kind, fractions, newest = [source.value() for _ in range(5)]
    counts = [source.size() for _ in range(4)]
    more = source.value() if version >= 6 else {}
    require(type(late) is str, f"late is {shown(late)}")
    check_bool(spikes, "spikes")
    if late == "revise":
        live: Live = _read_revising(source, definition)
    elif definition.every is not None:
        live = BeatLive(definition, late=late, answered=answered)
    else:
        generations = _read_generations(more)
        live = Live(definition, late=late, answered=answered, spikes=spikes, generations=generations)
    restore_times(live, kind, fractions, newest)
    live.events, live.answers, live.dropped, live.failed = counts
    _read_extensions(live, more)
    with reading("the events that wait"):
        _read_buffer(source, live)
    if isinstance(live, BeatLive):
        read_beats(source, live, lambda: _read_key(source, definition))
        source.end()
        live.kinds.learn_keys(definition.by, live.key_states)
        return live
    for _ in range(source.most()):
        key = _read_key(source, definition)
        with reading(f"the key {shown(key)}"):
            require(key not in live.key_states, "it is there twice")
            now, count = source.value(), source.size()
            check_now(live, now, count)
            if isinstance(live, Revising):
                live.key_states[key] = read_revisable(source, live, key, now, count)
                continue
            key_state = live.key_states[key] = KeyState(live.specs)
            key_state.now, key_state.count = now, count
            if live.rows_before:
                specs = [live.specs[at] for at, _ in live.rows_before]
                key_state.firsts = decoded(source.value(), specs) if version >= 7 else None
            read_panes(source, live, key_state, version)
    source.end()
    live.kinds.learn_keys(definition.by, live.key_states)
    live.see(key_state.now for key_state in live.key_states.values())
    return live


def _read_generations(more: Any) -> dict[str, int]:
    """The aggregates that upgrades of a stream left apart; none where this goes on from no stream."""
    stream = more.get(_STREAM) if type(more) is dict else None
    if stream is None:
        return {}
    require(type(stream) is list and len(stream) == 2, f"a stream is {shown(stream)}")
    generations = stream[1]
    sound = type(generations) is dict and all(type(name) is str for name in generations)
    require(sound and all(type(number) is int for number in generations.values()), "aggregates have no generations")
    return dict(generations)


def _read_revising(source: Reader, definition: Definition) -> Revising:
    """Read what `_write_revising` wrote, as a live definition without keys."""
    retain = source.value()
    require(type(retain) in (str, int, float), f"events are retained for {shown(retain)}")
    live = Revising(definition, retain=retain)
    live.revised = source.size()
    live.arrivals.number = source.size()
    return live


def _read_buffer(source: Reader, live: Live) -> None:
    """Read what `_write_buffer` wrote."""
    buffer = live.buffer
    if buffer is None:
        return
    flushed = source.value()
    if flushed is not None:
        check_time(live, flushed, "the time up to which events were answered")
    number = source.size()
    numbers: set[int] = set()
    for _ in range(source.most()):
        row = event_columns(source.row())
        key, time, at = _read_key(source, live.definition), source.value(), source.size()
        check_event(live, row, key, time)
        require(live.newest is not None and time <= live.newest, "an event is newer than the newest time")
        require(0 < at <= number and at not in numbers, f"an event has the number {at} of {number}")
        numbers.add(at)
        event = buffer.event(row, key, time)
        event.number = at
        buffer.add(event)
    buffer.flushed, buffer.number = flushed, number
    live.ready = [event_columns(source.row()) for _ in range(source.most())]


def _read_key(source: Reader, definition: Definition) -> Key:
    """A key in canonical form, as events bring it."""
    key = source.value()
    names = definition.by
    if len(names) == 1:
        return canonical(key, names[0])
    require(type(key) is tuple, f"{shown(key)} is no key of {len(names)} columns")
    return tuple([canonical(part, name) for part, name in zip(key, names, strict=True)])
