"""`push_many` on a beat: a batch folded into slices by the kernels, joined with those that are there; or one by one."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array
from slidewise.columns.frames import frame_of
from slidewise.definition import check_names
from slidewise.engine.answers import as_arrays
from slidewise.engine.beats.parts import Stored, Values
from slidewise.engine.beats.slices import BeatSlices, DueBeats, as_times, sliced
from slidewise.engine.joining import CannotJoinError, arrays_of
from slidewise.engine.sorting import arrange
from slidewise.errors import InputError, SlidewiseError
from slidewise.kernels.bounds.beats import beat_bounds, slice_numbers, times_of
from slidewise.kernels.passes.partials import Partials
from slidewise.live.batch.filtering import Sifted, push_sifted
from slidewise.live.batch.incoming import Incoming
from slidewise.live.batch.waiting import events_of, late_rows, python_rows
from slidewise.live.beats.live_beats import BeatLive
from slidewise.live.beats.track import BeatTrack
from slidewise.live.operator_errors import operators_of

FEW = 64  # so few events go one by one


def push_beats(live: BeatLive, table: Any) -> Any:
    """See `BeatLive.push_many`."""
    frame = frame_of(table)
    check_names(live.definition, frame.names, "table", frame.index)
    with live.all_or_nothing():
        return push_sifted(live, frame, lambda sifted: _push_beats(live, sifted))


def _push_beats(live: BeatLive, sifted: Sifted) -> Any:
    frame = sifted.rest
    incoming = Incoming(live, frame)
    if incoming.count:
        column = incoming.column(str(live.definition.on))
        live.kept.beats(column.unit, incoming.times.dtype == np.float64, column.arrow)  # which the table must hold
        dates = str(column.arrow).startswith("date")
        live.settle(incoming.kind, incoming.times.dtype == np.float64, dates)
    if live.waiting is not None:
        return _waited(live, sifted, incoming)
    late = incoming.late()
    if live.advanced is not None:
        late |= incoming.times <= live.advanced
    dropped = int(late.sum())
    if dropped and live.late == "error":
        at = int(late.argmax())
        code = incoming.codes[at]
        track = BeatTrack()
        before = incoming.times[:at][incoming.codes[:at] == code].tolist()
        nows = [*before, *([] if incoming.tracks[code].now is None else [incoming.tracks[code].now])]
        track.now = max(nows, default=None)
        error = live.late_error(incoming.keys[code], track, incoming.times.tolist()[at])
        error.add_note(f"in row {at}; no row of the batch was taken in")
        raise error
    if dropped:
        incoming = Incoming(live, frame.take(np.flatnonzero(~late)))
    with operators_of(None, "no row of the batch was taken in"):
        result = _through_kernels(live, incoming) if incoming.count >= FEW else None
    result = _in_turn(live, incoming) if result is None else result
    live.events += dropped
    sifted.count(late)
    return result


def _in_turn(live: BeatLive, incoming: Incoming) -> Any:
    """The batch's events one by one, all or none of them."""
    before = {key: track.copied() for key, track in zip(incoming.keys, incoming.tracks, strict=True)}
    known = [key for key in incoming.keys if key in live.tracks]
    counts, clock = (live.events, live.answers), live.clock
    kinds = clock.kind, clock.fractions
    try:
        found = [row for event in python_rows(incoming.frame.to_arrow()) for row in live._push(event)]
        return _as_table(live, incoming, found)
    except BaseException as error:
        error.add_note("no row of the batch was taken in")
        live.events, live.answers = counts
        clock.kind, clock.fractions = kinds
        for key in incoming.keys:
            if key in known:
                live.tracks[key] = before[key]
            else:
                live.tracks.pop(key, None)
        raise


def _waited(live: BeatLive, sifted: Sifted, incoming: Incoming) -> Any:
    """The batch's events wait with the others; the beats of all keys that are complete by then."""
    waiting, frame = live.waiting, sifted.rest
    assert waiting is not None
    waiting.check(incoming.kind if incoming.count else None)
    late, newest = late_rows(live, waiting, incoming)
    kept = Incoming(live, frame.take(np.flatnonzero(~late))) if late.any() else incoming
    went = None
    if live.callback is None and kept.count >= max(FEW, len(waiting) // 3):
        from slidewise.live.beats.waiting import through_kernels

        # What an operator refuses is found again one by one, where the events at fault are counted and left out.
        with suppress(CannotJoinError, SlidewiseError), operators_of(None):
            went = through_kernels(live, waiting, kept, newest)
    events = [] if went is not None else events_of(waiting, kept)
    live.events += incoming.count
    sifted.count(late)
    live.newest = newest
    incoming.settle()
    if went is not None:
        went.commit()
        return went.table
    for event in events:
        waiting.add(event)
    if newest is not None:
        live.release(waiting.due(newest))
    table = _as_table(live, incoming, live.ready)  # an error leaves the answers for the next call
    delivered = live.deliver()
    return table if live.callback is None else _as_table(live, incoming, delivered)


def _as_table(live: BeatLive, incoming: Incoming, rows: list[dict[str, Any]]) -> Any:
    """Beats as a table of the batch's kind."""
    import pyarrow as pa

    definition = live.definition
    found: dict[str, tuple[str | None, Any]] = {}
    for name in (*definition.by, str(definition.on)):
        values = [row[name] for row in rows]
        try:
            found[name] = name, arrow_array(values, incoming.kind_of(name))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise InputError(f"beats have values of {name!r} that the batch's type cannot hold: {error}") from error
    for one in live.kept.asked:
        spec = live.reader(one)
        types = [incoming.kind_of(name) for name in spec.columns]
        array = as_arrays(spec, types, [[row[one.name]] for row in rows])[0]
        found[one.name] = spec.columns[0] if spec.columns else None, array
    names = (*definition.by, str(definition.on), *definition.columns)
    return incoming.frame.gather((), np.zeros(len(rows), np.int64), {name: found[name] for name in names})


def _through_kernels(live: BeatLive, incoming: Incoming) -> Any:
    """The beats as a table, and the batch part of the state; None where the batch has to go one by one."""
    beats = live.beats
    assert beats is not None
    names = {name for part in live.parts for name in part.columns}
    if incoming.times.dtype == object or any(incoming.column(name).unit is not None for name in names):
        return None  # states of times are Python's own times
    groups = len(incoming.keys)
    arranged = arrange(incoming.codes, groups, incoming.times, incoming.count)
    codes, times = arranged.bring(incoming.codes), arranged.bring(incoming.times)
    new, given = sliced(live.kept, beats, incoming, codes, times, arranged.bring)
    try:
        slices = there(incoming.tracks, new.parts, live).joined(new)
    except CannotJoinError:
        return None
    numbers = slice_numbers(beats, times)
    stops = np.searchsorted(codes, np.arange(groups), side="right")
    until = (numbers[stops - 1] - beats.high) // beats.per
    nows = [live.given if t.now is None else beats.complete(beats.number(t.now)) for t in incoming.tracks]
    after = np.maximum(np.array(nows, np.int64), live.given)
    due = slices.due(beats, after, until)
    answers = slices.answers(live.kept, beats, due, given)
    order = _order(beats, due, codes, numbers, arranged.bring(np.arange(incoming.count)))
    result = _result(live, incoming, due, answers, order)
    kept = slices.taken(slices.needed(beats, np.maximum(until, live.given)))
    cuts = np.searchsorted(kept.codes, np.arange(groups + 1)).tolist()
    counts = np.bincount(incoming.codes, minlength=groups).tolist()
    newest = times[stops - 1].tolist()
    for k in np.argsort(_first_rows(incoming)).tolist():  # in the order in which they came
        key, track = incoming.keys[k], incoming.tracks[k]
        track.frozen = kept.taken(np.arange(cuts[k], cuts[k + 1]))
        track.slices, track.panes, track.start = deque(), None, 0
        track.now = newest[k]
        track.count += counts[k]
        live.tracks[key] = track
    incoming.settle()
    live.events += incoming.count
    live.answers += len(due)
    return result


def _order(beats: Any, due: DueBeats, codes: Array, numbers: Array, rows: Array) -> Array:
    """The beats in the order in which rows show them to be complete, as `push` would give them."""
    shown, ends = np.empty(len(due), np.int64), np.empty(len(due), np.int64)
    beat_bounds(due.codes, due.numbers, codes, numbers, beats.per, beats.high, beats.high, shown, ends)
    return np.argsort(rows[shown], kind="stable") if len(due) else shown


def _result(live: BeatLive, incoming: Incoming, due: DueBeats, answers: dict[str, Any], order: Array) -> Any:
    import pyarrow as pa

    on = str(live.definition.on)
    assert live.beats is not None
    found = as_moments(live, incoming, times_of(live.beats, due.numbers))
    for one in live.kept.asked:
        columns = live.parts[one.part].columns
        found[one.name] = columns[0] if columns else None, answers[one.name]
    names = (on, *live.definition.columns)
    in_order = {name: (found[name][0], found[name][1].take(pa.array(order))) for name in names}
    return incoming.frame.gather(live.definition.by, _first_rows(incoming)[due.codes[order]], in_order)


def as_moments(live: BeatLive, incoming: Incoming, times: Array) -> dict[str, tuple[str | None, Any]]:
    """The time column of beats, in the type of the batch."""
    on = str(live.definition.on)
    column = incoming.column(on)
    return {on: (on, as_times(on, column, times if column.unit is None else times // column.unit))}


def _first_rows(incoming: Incoming) -> Array:
    return np.unique(incoming.codes, return_index=True)[1]


def there(tracks: list[BeatTrack], like: list[Stored], live: BeatLive) -> BeatSlices:
    """The slices of keys that are there already, brought to one form."""
    frozen = [(k, track.frozen) for k, track in enumerate(tracks) if track.frozen is not None and len(track.frozen)]
    parts = [_concatenated([one.parts[i] for _, one in frozen]) for i in range(len(like))] if frozen else like
    codes = np.repeat([k for k, _ in frozen], [len(one) for _, one in frozen]).astype(np.int64)
    numbers = np.concatenate([np.zeros(0, np.int64), *(one.numbers for _, one in frozen)])
    found = BeatSlices(codes, numbers, parts)
    lists = [(k, one) for k, track in enumerate(tracks) if track.frozen is None for one in track.slices]
    if not lists:
        return found
    made = [_stored(live.parts[i].operator, [one[1 + i] for _, one in lists], part) for i, part in enumerate(like)]
    more = BeatSlices(np.array([k for k, _ in lists]), np.array([one[0] for _, one in lists]), made)
    return found.joined(more)


def _concatenated(parts: list[Any]) -> Any:
    if isinstance(parts[0], Values):
        found = parts[0]
        for part in parts[1:]:
            found = found.joined(part)
        return found
    if len({part.dtypes for part in parts}) > 1:
        parts = [part.as_objects() for part in parts]
    fields = [np.concatenate(some) for some in zip(*(part.fields for part in parts), strict=True)]
    return Partials(parts[0].op, fields, np.concatenate([part.counts for part in parts]), parts[0].dtypes)


def _stored(op: Any, slices: list[Any], like: Stored) -> Stored:
    """What a part keeps of slices that lie in lists, in the form of others."""
    counts = np.array([rows for rows, _ in slices], np.int64)
    if isinstance(like, Values):
        rows = [row for some, state in slices if some for row in state]
        return Values(arrays_of(rows, len(like.inputs)), counts)
    if op.traits.counts_rows:
        return Partials(op, [counts], counts, None)
    return Partials.of_objects(op, [state for _, state in slices], counts, like.dtypes)


def thawed(live: BeatLive, track: BeatTrack) -> None:
    """Slices that lie in arrays into lists again."""
    slices = track.frozen
    assert slices is not None
    parts = [_lists(part) for part in slices.parts]
    rows = zip(slices.numbers.tolist(), *parts, strict=True)
    track.slices = deque([number, *map(list, some)] for number, *some in rows)
    track.frozen, track.panes, track.start = None, None, 0


def _lists(part: Stored) -> list[tuple[int, Any]]:
    counts = part.counts.tolist()
    if isinstance(part, Values):
        rows = list(zip(*(x.tolist() for x in part.inputs), strict=True))
        stops = part.offsets.tolist()
        return [(n, rows[a:b] if n else None) for n, a, b in zip(counts, stops[:-1], stops[1:], strict=True)]
    return list(zip(counts, part.as_objects().fields[0].tolist(), strict=True))
