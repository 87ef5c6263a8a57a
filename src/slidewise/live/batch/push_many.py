"""`push_many`: a batch of events through the kernels, or one by one where that is faster."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.columns.frames import AnswerColumns, frame_of
from slidewise.definition import check_names
from slidewise.engine.answers import as_arrays, check_inputs
from slidewise.engine.joining import CannotJoinError
from slidewise.errors import TimeOrderError
from slidewise.live.batch.evaluate import evaluate
from slidewise.live.batch.filtering import FilteredBatch, push_filtered
from slidewise.live.batch.incoming import IncomingBatch
from slidewise.live.late_errors import example_wait, released_error
from slidewise.live.live import Live
from slidewise.live.native.plan import Misfit, native_windows
from slidewise.live.operator_errors import raise_operator_error

# Costs in microseconds: of an event by itself, and a frozen row that is thawed for it; of a batch through the kernels,
# a key of it, and a row, new or held.
_EVENT, _THAW = 8.0, 3.0
_BATCH, _KEY, _ROW = 3_000.0, 12.0, 0.1


def push_many(live: Live, table: Any) -> Any:
    """See `Live.push_many`."""
    native = live.native
    if native is not None and native.takes_tables(table):
        result = native.push_table(table)
        if result is not None:
            return result
    frame = frame_of(table)
    check_names(live.definition, frame.names, "table", frame.index)
    return push_filtered(live, frame, lambda filtered: _push_filtered(live, filtered))


def _push_filtered(live: Live, filtered: FilteredBatch) -> Any:
    """Take in the rows that are on time; late ones are dropped, or refused with the whole batch."""
    if live.buffer is not None:
        from slidewise.live.batch.push_buffered import push_buffered

        return push_buffered(live, filtered)
    native = native_windows(live, filtered)
    if native is not None:
        try:
            from slidewise.live.native.push_many import push_native

            return push_native(native, filtered)
        except Misfit:
            result = _push_into_panes(live, filtered)
            return native.misfit(result) if len(filtered.frame) else result
    return _push_into_panes(live, filtered)


def _push_into_panes(live: Live, filtered: FilteredBatch) -> Any:
    """Take in the rows by the kernels or one by one."""
    frame = filtered.frame
    incoming = IncomingBatch(live, frame)
    late = incoming.late()
    if live.aside.released is not None:
        released = incoming.times <= live.aside.released
        if live.late == "error" and released.any():
            row = int(released.argmax())
            raise released_error(live, incoming.times.tolist()[row], f"the time in row {row}")
        late |= released
    dropped = int(late.sum())
    if dropped and live.late == "error":
        raise _late_error(live, incoming, int(late.argmax()))
    if dropped:
        incoming = IncomingBatch(live, frame.take(np.flatnonzero(~late)))
    result = _push(incoming)
    live.events += incoming.count + dropped
    filtered.commit(late)
    return result


def _push(incoming: IncomingBatch) -> Any:
    """Take in rows that are all on time, by the kernels or one by one; returns the table with their answers."""
    live = incoming.live
    incoming.own_states()
    if by_kernels(incoming):
        try:
            answers, commit = evaluate(incoming, peers=False)
        except CannotJoinError:
            return _one_by_one(incoming)
        result = incoming.frame.with_columns(answers)
        commit()
        return result
    live.effort = 0.0
    return _one_by_one(incoming)


def by_kernels(incoming: IncomingBatch) -> bool:
    """Whether the kernels are faster than one event after the other.

    Kernels go through all rows of the batch's keys again, and leave them frozen; single events have them thawed first,
    once. What kernels have cost since then counts against that, so that neither way is taken for long where the other
    would have paid.
    """
    live = incoming.live
    panes = [pane for key_state in incoming.key_states for pane in key_state.panes]
    held = sum(pane.held() for pane in panes)
    frozen = sum(pane.held() for pane in panes if getattr(pane, "frozen", None) is not None)
    kernels = _BATCH + _KEY * len(panes) + _ROW * (held + incoming.count * len(live.specs))
    events = _EVENT * incoming.count * len(live.specs) + max(0.0, _THAW * frozen - live.effort)
    if kernels >= events:
        return False
    live.effort += kernels
    return True


def _late_error(live: Live, incoming: IncomingBatch, row: int) -> TimeOrderError:
    """The error that names the time in a row, and the newest of its key before it."""
    code = incoming.codes[row]
    newest = incoming.newest_before(row)
    shown = [live.time_reader.shown(time, incoming.kind) for time in (incoming.times.tolist()[row], newest)]
    return TimeOrderError(
        f"the time in row {row}, {shown[0]}, lies before {shown[1]}, the newest"
        + (f" of the key {incoming.keys[code]!r}" if live.definition.by else "")
        + "; sort the events, or use live(late='drop') or live(late='"
        + example_wait(incoming.kind)
        + "'). No row was taken in"
    )


def _one_by_one(incoming: IncomingBatch) -> Any:
    """Take in the batch's events one by one, all or none of them."""
    live = incoming.live
    rows = incoming.rows()
    times = [None] * incoming.count if incoming.times is None else incoming.times.tolist()
    counts = [key_state.count for key_state in incoming.key_states]
    begun: list[Any] = []
    answers: list[list[Any]] = []
    nows = [key_state.now for key_state in incoming.key_states]
    firsts = [key_state.firsts for key_state in incoming.key_states]
    spec = None
    try:
        for key_state in incoming.key_states:
            for pane in key_state.panes:
                spec = pane.spec
                begun.append(pane)
                pane.begin()
        for row, code, time in zip(rows, incoming.codes.tolist(), times, strict=True):
            values: list[Any] = []
            key_state = incoming.key_states[code]
            is_later = live.rows_before and time != nows[code]
            reads = live.reads_before(key_state, counts[code]) if is_later else None
            for pane in key_state.panes:
                spec = pane.spec
                values += pane.take(counts[code] if spec.numbered else time, spec.arguments(row))
            counts[code] += 1
            answers.append(values)
            if is_later:
                firsts[code] = live.firsts_of(values, reads)
            nows[code] = time
        spec = None
        result = incoming.frame.with_columns(_as_columns(incoming, answers))
    except BaseException as error:
        for pane in begun:
            pane.undo()
        raise_operator_error(spec, error, "no row of the batch was taken in")
    for pane in begun:
        pane.keep()
    after = zip(incoming.keys, incoming.key_states, counts, nows, firsts, strict=True)
    for key, key_state, count, now, first in after:
        key_state.count, key_state.now, key_state.firsts = count, now, first
        live.key_states[key] = key_state
    live.see(nows)
    incoming.adopt_time_kind()
    live.answers += incoming.count
    return result


def _as_columns(incoming: IncomingBatch, answers: list[list[Any]]) -> AnswerColumns:
    """Answers of each row, in the order of specs and their members, as columns in the definition's order."""
    live = incoming.live
    columns_by_name: AnswerColumns = {}
    at = 0
    for spec in live.specs:
        types = [incoming.kind_of(name) for name in spec.columns]
        columns = [incoming.column(name) for name in spec.columns]
        for member in spec.members:
            check_inputs(member.operator, spec.columns, columns, types)
        of_spec = [values[at : at + len(spec.members)] for values in answers]
        at += len(spec.members)
        like = spec.columns[0] if spec.columns else None
        arrays = as_arrays(spec, types, of_spec)
        columns_by_name |= {member.name: (like, array) for member, array in zip(spec.members, arrays, strict=True)}
    return incoming.results(columns_by_name)
