"""The part of a snapshot that is about beats: up to where they were given, and each key's slices.

Of each part of the slices there are the numbers of rows and the states, or where a part keeps rows, these.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from slidewise.live.beat_track import BeatTrack
from slidewise.live.beating import BeatLive
from slidewise.live.codec import Reader, Writer
from slidewise.live.snapshot_parts import plainly, read_states, write_states


def write_beats(out: Writer, live: BeatLive) -> None:
    """Everything that comes behind the events that wait."""
    floats = None if live.beats is None else live.beats.floats
    for value in (live.advanced, live.given, live.dates, floats):
        out.value(value)
    out.size(len(live.tracks))
    for key, track in live.tracks.items():
        live.thaw(track)
        plainly(out.value, key, "a key")
        out.value(track.now)
        out.size(track.count)
        out.row([one[0] for one in track.slices])
        for i, part in enumerate(live.parts):
            held = [one[1 + i] for one in track.slices]
            out.row([rows for rows, _ in held])
            if part.by_rows:
                rows = [row for some, state in held if some for row in state]
                plainly(out.row, rows, f"a row of {live.reader_of(i).members[0].name!r}")
            else:
                write_states(out, live.reader_of(i).members[0], [state for some, state in held if some])


def read_beats(source: Reader, live: BeatLive, read_key: Callable[[], Any]) -> None:
    """What `write_beats` wrote; the clock knows the kind of time already."""
    live.advanced, live.given, dates, floats = [source.value() for _ in range(4)]
    if floats is not None and live.clock.kind is not None:
        live.settle(live.clock.kind, floats, dates)
    for _ in range(source.size()):
        key = read_key()
        track = live.tracks[key] = BeatTrack()
        track.now = source.value()
        track.count = source.size()
        slices: list[Any] = [[number] for number in source.row()]
        for i, part in enumerate(live.parts):
            counts = source.row()
            found = iter(source.row() if part.by_rows else read_states(source, live.reader_of(i).members[0]))
            for one, rows in zip(slices, counts, strict=True):
                state = None
                if rows:
                    state = [next(found) for _ in range(rows)] if part.by_rows else next(found)
                one.append([rows, state])
            if next(found, found) is not found:
                raise ValueError("there are more states than slices")
        track.slices = deque(slices)
