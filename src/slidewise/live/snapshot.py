"""All state of a live definition as bytes. The layout, numbers little-endian:

    8 bytes    "SLIDEWIS"
    2          the format's version
    16         the definition's fingerprint
    8          the payload's length
    ...        the payload: plain values, see `codec`
    16         BLAKE2b of everything before

The payload holds the policy and the counters, the events that wait, and for each key its panes: the rows of the
window and each SWAG's own partial aggregates, so that going on gives the same bits as never having stopped. Where
windows share a structure, the longest of them brings its partials; where they have a grain, there are cells and their
partials instead of rows. On a beat, a key has slices instead, see `beat_snapshot`. The version is the oldest that knows
all of it: 1, 2 where windows share, 3 where one has a grain, 4 on a beat, 5 where there are durations in nanoseconds or
times of day.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from slidewise.definition import Definition
from slidewise.errors import SnapshotError
from slidewise.live.beat_snapshot import read_beats, write_beats
from slidewise.live.beating import BeatLive
from slidewise.live.cell_pane import CellPane
from slidewise.live.codec import Reader, Writer
from slidewise.live.keys import canonical
from slidewise.live.ledger import Ledger
from slidewise.live.live import Live, Track
from slidewise.live.pane import OpenPane, Pane
from slidewise.live.revising import Revising
from slidewise.live.running_pane import RunningPane
from slidewise.live.shared_pane import SharedPane
from slidewise.live.snapshot_parts import (
    plainly,
    read_cells,
    read_ledger,
    read_states,
    write_cells,
    write_ledger,
    write_states,
)
from slidewise.windows import Duration

MAGIC = b"SLIDEWIS"
VERSION = 5
_HEADER = struct.Struct("<8sH16sQ")
_DIGEST = 16


def snapshot(live: Live) -> bytes:
    """The live definition's bytes; refused with the reason where a state is no plain value."""
    out = Writer()
    for value in (live.late, live.spikes, live.clock.kind, live.clock.fractions, live.newest):
        out.value(value)
    for count in (live.events, live.answers, live.dropped, live.failed):
        out.size(count)
    _write_waiting(out, live)
    _write_revising(out, live)
    if isinstance(live, BeatLive):
        write_beats(out, live)
        return _closed(live.definition, max(4, out.version), bytes(out.data))
    out.size(len(live.tracks))
    for key, track in live.tracks.items():
        plainly(out.value, key, "a key")
        out.value(track.now)
        out.size(track.count)
        if isinstance(track, Ledger):
            write_ledger(out, live, track)
            continue
        for pane in track.panes:
            _write_any(out, pane)
    shares = any(spec.sharing is not None for spec in live.specs)
    version = 3 if any(spec.grain is not None for spec in live.specs) else 2 if shares else 1
    return _closed(live.definition, max(version, out.version), bytes(out.data))


def _closed(definition: Definition, version: int, payload: bytes) -> bytes:
    head = _HEADER.pack(MAGIC, version, bytes.fromhex(definition.fingerprint()), len(payload))
    return head + payload + _checksum(head + payload)


def _write_waiting(out: Writer, live: Live) -> None:
    waiting = live.waiting
    if waiting is None:
        return
    out.value(waiting.flushed)
    out.size(waiting.number)
    events = list(waiting)
    out.size(len(events))
    for event in events:
        plainly(out.row, tuple(event.row.items()), "a waiting event")
        plainly(out.value, event.key, "a key")
        out.value(event.time)
        out.size(event.number)
    out.size(len(live.ready))
    for row in live.ready:
        plainly(out.row, tuple(row.items()), "an answer that was not delivered yet")


def _write_revising(out: Writer, live: Live) -> None:
    if isinstance(live, Revising):
        out.value(str(live.retain) if isinstance(live.retain, Duration) else live.retain)
        out.size(live.revised)
        out.size(live.arrivals.number)


def _write_any(out: Writer, pane: Any) -> None:
    kinds: dict[type, Any] = {RunningPane: _write_running, CellPane: write_cells}
    kinds.get(type(pane), _write_pane)(out, pane)


def _write_pane(out: Writer, pane: Pane | SharedPane) -> None:
    rows = pane.all_rows()
    plainly(out.row, rows, f"a row of {pane.spec.members[0].name!r}")
    out.value(pane.frozen is not None)
    if pane.frozen is not None:
        return
    if isinstance(pane, SharedPane):
        for one, operator in pane.brings():
            lengths, states = pane.shared.dump(operator)
            out.row(lengths)
            write_states(out, one, states)
        return
    out.size(len(pane.waiting) if isinstance(pane, OpenPane) else 0)
    for one, swag in zip(pane.spec.members, pane.swags, strict=True):
        numbers, states = swag._dump()
        out.row(numbers)
        write_states(out, one, states)


def _write_running(out: Writer, pane: RunningPane) -> None:
    out.size(pane.count)
    out.size(pane.late_count)
    out.value(pane.at)
    for states in (pane.states, pane.late_states):
        for one, state in zip(pane.spec.members, states, strict=False):
            write_states(out, one, [state])


def restore(definition: Definition, blob: bytes, answered: Callable[[dict[str, Any]], Any] | None) -> Live:
    """The live definition that wrote these bytes."""
    version, payload = _payload(definition, blob)
    source = Reader(payload)
    try:
        late, spikes, kind, fractions, newest = [source.value() for _ in range(5)]
        counts = [source.size() for _ in range(4)]
        if late == "revise":
            live: Live = _read_revising(source, definition)
        elif definition.every is not None:
            live = BeatLive(definition, late=late, answered=answered)
            _read_waiting(source, live)
        else:
            live = Live(definition, late=late, answered=answered, spikes=spikes)
            _read_waiting(source, live)
        live.clock.kind, live.clock.fractions, live.newest = kind, fractions, newest
        live.events, live.answers, live.dropped, live.failed = counts
        if isinstance(live, BeatLive):
            read_beats(source, live, lambda: _read_key(source, definition))
            source.end()
            return live
        for _ in range(source.size()):
            key = _read_key(source, definition)
            if isinstance(live, Revising):
                live.tracks[key] = read_ledger(source, live)
                continue
            track = live.tracks[key] = Track(live.specs)
            track.now = source.value()
            track.count = source.size()
            _read_panes(source, track.panes, version)
        source.end()
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        raise SnapshotError(f"the snapshot's contents make no sense: {error}") from error
    return live


def _read_revising(source: Reader, definition: Definition) -> Revising:
    live = Revising(definition, retain=source.value())
    live.revised = source.size()
    live.arrivals.number = source.size()
    return live


def _payload(definition: Definition, blob: bytes) -> tuple[int, bytes]:
    """The version, and what stands between the header and the checksum, both checked."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise SnapshotError(f"a snapshot is bytes, not {type(blob).__name__}")
    blob = bytes(blob)
    if blob[: len(MAGIC)] != MAGIC[: len(blob)] or len(blob) < len(MAGIC):
        raise SnapshotError("these bytes are no snapshot of Slidewise: they do not begin with SLIDEWIS")
    if len(blob) < _HEADER.size + _DIGEST:
        raise SnapshotError(f"the snapshot is truncated: it has {len(blob)} bytes, less than a header")
    _, version, fingerprint, length = _HEADER.unpack_from(blob)
    if version > VERSION:
        raise SnapshotError(
            f"the snapshot has format version {version}, and this Slidewise reads up to {VERSION}; upgrade Slidewise"
        )
    if len(blob) < _HEADER.size + length + _DIGEST:
        raise SnapshotError(
            f"the snapshot is truncated: it has {len(blob)} of {_HEADER.size + length + _DIGEST} bytes; copy it again"
        )
    if len(blob) > _HEADER.size + length + _DIGEST:
        raise SnapshotError(f"{len(blob) - _HEADER.size - length - _DIGEST} bytes follow the snapshot; copy it again")
    if blob[-_DIGEST:] != _checksum(blob[:-_DIGEST]):
        raise SnapshotError("the snapshot is damaged: its checksum does not match; use an older one")
    if fingerprint.hex() != definition.fingerprint():
        raise SnapshotError(
            f"the snapshot was made by another definition: its fingerprint is {fingerprint.hex()}, and this one's "
            f"{definition.fingerprint()}; restore it with the definition that made it, or start anew"
        )
    return version, blob[_HEADER.size : -_DIGEST]


def _checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST).digest()


def _read_waiting(source: Reader, live: Live) -> None:
    waiting = live.waiting
    if waiting is None:
        return
    waiting.flushed = source.value()
    number = source.size()
    for _ in range(source.size()):
        row = dict(source.row())
        event = waiting.event(row, _read_key(source, live.definition), source.value())
        event.number = source.size()
        waiting.add(event)
    waiting.number = number
    live.ready = [dict(source.row()) for _ in range(source.size())]


def _read_key(source: Reader, definition: Definition) -> Any:
    """A key that equals what events bring: NaN is the one NaN again."""
    key = source.value()
    names = definition.by
    if len(names) == 1:
        return canonical(key, names[0])
    return tuple([canonical(part, name) for part, name in zip(key, names, strict=True)])


def _read_panes(source: Reader, panes: list[Any], version: int) -> None:
    for pane in panes:
        if isinstance(pane, RunningPane):
            _read_running(source, pane)
        elif isinstance(pane, CellPane):
            read_cells(source, pane)
        else:
            rows = source.row()
            if source.value():
                from slidewise.live.incoming import arrays_of

                pane.frozen = arrays_of(rows, 1 + max(len(pane.spec.columns), 1))
            elif isinstance(pane, SharedPane):
                _read_shared(source, pane, rows, version)
            else:
                _read_pane(source, pane, rows)
    for pane in panes:
        if isinstance(pane, SharedPane) and pane.leads:
            pane.shared.restore()


def _read_shared(source: Reader, pane: SharedPane, rows: list[Any], version: int) -> None:
    """Rows, and the partials that a pane brings; version 1 had a SWAG for each window, which rows make up for."""
    if version > 1:
        partials = {operator: (source.row(), read_states(source, one)) for one, operator in pane.brings()}
    else:
        source.size()
        for one in pane.spec.members:
            source.row()
            read_states(source, one)
        partials = {}
    pane.restored = rows, partials


def _read_pane(source: Reader, pane: Pane, rows: list[Any]) -> None:
    waiting = source.size()
    pane.rows = deque(rows[: len(rows) - waiting])
    if isinstance(pane, OpenPane):
        pane.waiting = rows[len(rows) - waiting :]
    for one, swag in zip(pane.spec.members, pane.swags, strict=True):
        numbers = source.row()
        swag._load(numbers, read_states(source, one))
        if len(swag) != len(pane.rows):
            raise ValueError(f"{one.name!r} has {len(swag)} states for {len(pane.rows)} rows")


def _read_running(source: Reader, pane: RunningPane) -> None:
    pane.count = source.size()
    pane.late_count = source.size()
    pane.at = source.value()
    if pane.count:
        pane.states = [read_states(source, one)[0] for one in pane.spec.members]
    if pane.late_count:
        pane.late_states = [read_states(source, one)[0] for one in pane.spec.members]
