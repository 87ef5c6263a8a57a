"""`push_many` on a beat where events wait in a buffer: all that are due, and the beats of all keys, through kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array
from slidewise.columns.frames import frame_of
from slidewise.engine.beats.slices import BeatSlices, sliced
from slidewise.engine.joining import CannotJoinError
from slidewise.engine.sorting import sort_rows
from slidewise.live.batch.incoming import IncomingBatch
from slidewise.live.batch.push_buffered import PendingBatch, events_of, joined_rows
from slidewise.live.beats.beat_live import BeatLive
from slidewise.live.beats.push_many import beat_results, beat_times
from slidewise.live.beats.slice_arrays import freeze, held_slices
from slidewise.live.keys import key_parts
from slidewise.live.types import Key, Time


def evaluate_due(live: BeatLive, incoming: IncomingBatch, newest: Time) -> PendingBatch:
    """The beats that are complete by the newest time less the bound; CannotJoinError where that takes single events."""
    import pyarrow as pa

    beats, buffer = live.beats, live.buffer
    assert beats is not None
    assert buffer is not None
    if live.ready:
        raise CannotJoinError
    table = joined_rows(buffer, incoming.frame.to_arrow())
    whole = IncomingBatch(live, frame_of(table))
    names = {name for part in live.parts for name in part.columns}
    if whole.times.dtype == object or any(whole.column(name).unit is not None for name in names):
        raise CannotJoinError
    due_rows = buffer.before_watermark(whole.times, newest)
    events = events_of(buffer, IncomingBatch(live, frame_of(table.filter(pa.array(~due_rows)))))
    batch = IncomingBatch(live, frame_of(table.filter(pa.array(due_rows))))
    groups = max(len(batch.keys), 1)
    arranged = sort_rows(live.definition, batch.codes, groups, batch.times, batch.count, batch.column)
    codes, times = arranged.to_sorted(batch.codes), arranged.to_sorted(batch.times)
    new, arguments = sliced(live.plan, beats, batch, codes, times, arranged.to_sorted)
    known = set(batch.keys)
    others = [key for key in live.key_states if key not in known]
    keys = [*batch.keys, *others]
    key_states = [*batch.key_states, *(live.key_states[key] for key in others)]
    slices = held_slices(key_states, new.parts, live.parts).joined(new)
    until = max(live.last_beat, beats.complete(beats.number(buffer.watermark(newest))))
    due = slices.due(beats, live.last_beat, until)
    rank = _ranks(live, batch, keys)
    due = due.taken(np.lexsort((rank[due.codes], due.numbers)))
    by_key = np.lexsort((due.numbers, due.codes))
    back = np.argsort(by_key)
    columns = _keys(live, incoming, keys, due.codes) | beat_times(live, incoming, due)
    answers = {
        name: array.take(pa.array(back))
        for name, array in slices.answers(live.plan, beats, due.taken(by_key), arguments).items()
    }
    own = {name: array for name, (_, array) in columns.items()}
    columns |= beat_results(live.definition, answers, own, len(due))
    result = incoming.frame.gather((), np.zeros(len(due), np.int64), columns)
    held = slices.taken(slices.needed(beats, until))

    def commit() -> None:
        _freeze(live, batch, keys, key_states, held, rank)
        live.last_beat = until
        live.answers += len(due)
        buffer.pop_all()
        for event in events:
            buffer.add(event)

    return PendingBatch(result, commit)


def _ranks(live: BeatLive, batch: IncomingBatch, keys: list[Key]) -> Array:
    """The rank of each key in the order in which they came: known ones, and then new ones by their first events."""
    order = np.argsort(batch.times, kind="stable")
    first = np.full(len(keys), len(order))
    np.minimum.at(first, batch.codes[order], np.arange(len(order)))
    places = {key: i for i, key in enumerate(live.key_states)}
    ranks = [(places.get(key, len(places)), at) for key, at in zip(keys, first.tolist(), strict=True)]
    order_of = np.empty(len(keys), np.int64)
    order_of[sorted(range(len(keys)), key=ranks.__getitem__)] = np.arange(len(keys))
    return order_of


def _keys(live: BeatLive, incoming: IncomingBatch, keys: list[Key], which: Array) -> dict[str, Any]:
    """The key columns of beats, in the types of the batch."""
    import pyarrow as pa

    names = live.definition.by
    columns: dict[str, Any] = {}
    for i, name in enumerate(names):
        values = [key_parts(key, names)[i] for key in keys]
        try:
            columns[name] = name, arrow_array(values, incoming.kind_of(name)).take(pa.array(which))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise CannotJoinError from error
    return columns


def _freeze(
    live: BeatLive, batch: IncomingBatch, keys: list[Key], key_states: list[Any], slices: BeatSlices, rank: Array
) -> None:
    """Let keys have these slices; those without any are dropped."""
    cuts = np.searchsorted(slices.codes, np.arange(len(keys) + 1)).tolist()
    counts = np.bincount(batch.codes, minlength=len(keys)).tolist()
    newest = np.full(len(keys), batch.times.min(initial=0), batch.times.dtype)
    np.maximum.at(newest, batch.codes, batch.times)
    held: dict[Key, Any] = {}
    for k in np.argsort(rank).tolist():
        key_state = key_states[k]
        if counts[k]:
            key_state.now = newest[k : k + 1].tolist()[0]
            key_state.count += counts[k]
        freeze(key_state, slices.taken(np.arange(cuts[k], cuts[k + 1])))
        if not key_state.empty:
            held[keys[k]] = key_state
    live.key_states = held
