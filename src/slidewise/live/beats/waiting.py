"""`push_many` on a beat where events wait: all that are due go through the kernels, and so do the beats of all keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array
from slidewise.columns.frames import frame_of
from slidewise.engine.beats.slices import BeatSlices, sliced
from slidewise.engine.joining import CannotJoinError
from slidewise.engine.sorting import Arranged, arrange, order_peers
from slidewise.kernels.bounds.beats import times_of
from slidewise.live.batch.incoming import Incoming
from slidewise.live.batch.waiting import events_of, joined_rows
from slidewise.live.beats.live_beats import BeatLive
from slidewise.live.beats.push_many import as_moments, there
from slidewise.live.waiting import Waiting


class Went(NamedTuple):
    """A table of beats, and what makes the batch part of the state."""

    table: Any
    commit: Callable[[], None]


def through_kernels(live: BeatLive, waiting: Waiting, incoming: Incoming, newest: Any) -> Went:
    """The beats that are complete by the newest time less the bound; CannotJoinError where that takes single events."""
    import pyarrow as pa

    beats = live.beats
    assert beats is not None
    if live.ready:
        raise CannotJoinError
    table = joined_rows(waiting, incoming.frame.to_arrow())
    whole = Incoming(live, frame_of(table))
    names = {name for part in live.parts for name in part.columns}
    if whole.times.dtype == object or any(whole.column(name).unit is not None for name in names):
        raise CannotJoinError
    due_rows = waiting.before_edge(whole.times, newest)
    events = events_of(waiting, Incoming(live, frame_of(table.filter(pa.array(~due_rows)))))
    batch = Incoming(live, frame_of(table.filter(pa.array(due_rows))))
    arranged = _arranged(live, batch)
    codes, times = arranged.bring(batch.codes), arranged.bring(batch.times)
    new, given = sliced(live.kept, beats, batch, codes, times, arranged.bring)
    known = set(batch.keys)
    others = [key for key in live.tracks if key not in known]
    keys = [*batch.keys, *others]
    tracks = [*batch.tracks, *(live.tracks[key] for key in others)]
    slices = there(tracks, new.parts, live).joined(new)
    until = max(live.given, beats.complete(beats.number(waiting.edge(newest))))
    due = slices.due(beats, live.given, until)
    rank = _ranks(live, batch, keys)
    due = due.taken(np.lexsort((rank[due.codes], due.numbers)))
    by_key = np.lexsort((due.numbers, due.codes))
    back = np.argsort(by_key)
    found = as_moments(live, incoming, times_of(beats, due.numbers))
    for name, array in slices.answers(live.kept, beats, due.taken(by_key), given).items():
        columns = live.definition.columns[name].columns
        found[name] = columns[0] if columns else None, array.take(pa.array(back))
    result = incoming.frame.gather((), np.zeros(len(due), np.int64), _keys(live, incoming, keys, due.codes) | found)
    kept = slices.taken(slices.needed(beats, until))

    def commit() -> None:
        _freeze(live, batch, keys, tracks, kept, rank)
        live.given = until
        live.answers += len(due)
        waiting.all()
        for event in events:
            waiting.add(event)

    return Went(result, commit)


def _arranged(live: BeatLive, batch: Incoming) -> Arranged:
    """The rows by key and time, those of equal time as the definition orders them."""
    arranged = arrange(batch.codes, max(len(batch.keys), 1), batch.times, batch.count)
    if not live.ordered or not batch.count:
        return arranged
    columns = [(name, batch.column(name)) for name in live.definition.ordering]
    return order_peers(arranged, arranged.bring(batch.times), columns)


def _ranks(live: BeatLive, batch: Incoming, keys: list[Any]) -> Array:
    """The order in which keys first came: those that are there, and then new ones by their first events."""
    order = np.argsort(batch.times, kind="stable")
    first = np.full(len(keys), len(order))
    np.minimum.at(first, batch.codes[order], np.arange(len(order)))
    places = {key: i for i, key in enumerate(live.tracks)}
    ranks = [(places.get(key, len(places)), at) for key, at in zip(keys, first.tolist(), strict=True)]
    found = np.empty(len(keys), np.int64)
    found[sorted(range(len(keys)), key=ranks.__getitem__)] = np.arange(len(keys))
    return found


def _keys(live: BeatLive, incoming: Incoming, keys: list[Any], which: Array) -> dict[str, Any]:
    """The key columns of beats, in the types of the batch."""
    import pyarrow as pa

    names = live.definition.by
    found: dict[str, Any] = {}
    for i, name in enumerate(names):
        values = [key if len(names) == 1 else key[i] for key in keys]
        try:
            found[name] = name, arrow_array(values, incoming.kind_of(name)).take(pa.array(which))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise CannotJoinError from error
    return found


def _freeze(
    live: BeatLive, batch: Incoming, keys: list[Any], tracks: list[Any], slices: BeatSlices, rank: Array
) -> None:
    """Let keys have these slices; those without any are dropped."""
    cuts = np.searchsorted(slices.codes, np.arange(len(keys) + 1)).tolist()
    counts = np.bincount(batch.codes, minlength=len(keys)).tolist()
    newest = np.full(len(keys), batch.times.min(initial=0), batch.times.dtype)
    np.maximum.at(newest, batch.codes, batch.times)
    found = {}
    for k in np.argsort(rank).tolist():
        track = tracks[k]
        if counts[k]:
            track.now = newest[k : k + 1].tolist()[0]
            track.count += counts[k]
        track.frozen = slices.taken(np.arange(cuts[k], cuts[k + 1]))
        track.slices, track.panes, track.start = deque(), None, 0
        if len(track.frozen):
            found[keys[k]] = track
    live.tracks = found
