"""The state of each key in a snapshot: its panes, or where answers are revised its rows and trees, and states.

A pane is stored as its rows or cells and each SWAG's own partials, a frozen one as its rows alone. What is read is
checked before anything runs over it. States of operators go through `encode` and `decode`, where they have these.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from slidewise.engine.codec import NotPlainError, Reader, Writer
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.window_spec import Member
from slidewise.errors import SnapshotError
from slidewise.live.panes.cell_pane import CellPane, GrainCell
from slidewise.live.panes.delayed_pane import DelayedRowPane
from slidewise.live.panes.limited_pane import LimitedRowPane
from slidewise.live.panes.pane import Pane
from slidewise.live.panes.row_pane import OpenRowPane, RowPane
from slidewise.live.panes.shared_pane import SharedPane
from slidewise.live.panes.swag_pane import SwagPane
from slidewise.live.snapshot.checks import (
    check_bool,
    check_counts,
    check_event,
    check_places,
    check_rows,
    check_states,
    check_time,
    event_columns,
    reading,
    require,
)
from slidewise.live.trees.revisable_state import RevisableRow, RevisableState, RowPlace
from slidewise.live.types import Key, Time
from slidewise.live.waiting.reorder_buffer import Event
from slidewise.operators.values.equality import same
from slidewise.operators.values.state_shapes import decoded, encoded
from slidewise.swag.fiba.check import entries
from slidewise.swag.fiba.serialise import rebuild, shape_of

if TYPE_CHECKING:
    from slidewise.live.key_state import KeyState
    from slidewise.live.live import Live
    from slidewise.live.revising import Revising


def write_states(out: Writer, member: Member, states: list[Any]) -> None:
    """States of a member's operator, encoded."""
    op = member.operator
    plain = states if op.builtin and op.encode is None else [encoded(op, state) for state in states]
    write_plain(out.row, plain, f"a state of {member.name!r}", "; give its operator encode= and decode=")


def read_states(source: Reader, member: Member) -> list[Any]:
    """States of a member's operator, decoded and checked."""
    stored = source.row()
    with reading(f"a state of {member.name!r}"):
        op = member.operator
        states = stored if op.builtin and op.decode is None else [decoded(op, state) for state in stored]
        check_states(member.operator, states)
    return states


def _read_state(source: Reader, member: Member) -> Any:
    """The only state in a list of states."""
    states = read_states(source, member)
    require(len(states) == 1, f"there are {len(states)} states instead of one")
    return states[0]


def write_plain(write: Callable[[Any], None], value: Any, what: str, remedy: str = "") -> None:
    """Write a value; refuse one that is not plain, saying what it is."""
    try:
        write(value)
    except NotPlainError as error:
        raise SnapshotError(
            f"{what} is or holds {error}, which cannot be stored: only numbers, bools, text, bytes, dates, "
            f"times, None, and lists, tuples and dicts of them can{remedy}"
        ) from None


def write_pane(out: Writer, pane: Pane) -> None:
    """A pane of any kind."""
    if isinstance(pane, RunningPane):
        _write_running(out, pane)
    elif isinstance(pane, CellPane):
        _write_cells(out, pane)
    elif isinstance(pane, RowPane | SharedPane):
        _write_rows(out, pane)
    else:
        _write_native(out, pane)


def _write_native(out: Writer, pane: Any) -> None:
    """A window in arrays, see `live.native.states`, as a pane of the same rows is written."""
    rows, swags = pane.dump()
    write_plain(out.row, rows, f"a row of {pane.spec.members[0].name!r}")
    out.value(False)
    out.size(0)
    for member, (numbers, states) in zip(pane.spec.members, swags, strict=True):
        out.row(numbers)
        write_states(out, member, states)


def _write_rows(out: Writer, pane: RowPane | SharedPane) -> None:
    """Its rows and whether it is frozen, and where it is not, the partials."""
    rows = pane.all_rows()
    write_plain(out.row, rows, f"a row of {pane.spec.members[0].name!r}")
    out.value(pane.frozen is not None)
    if pane.frozen is not None:
        return
    if isinstance(pane, SharedPane):
        for member, operator in pane.stored_members():
            lengths, states = pane.shared.dump(operator)
            out.row(lengths)
            write_states(out, member, states)
        return
    out.size(len(pane.waiting) if isinstance(pane, OpenRowPane | DelayedRowPane) else 0)
    _write_swags(out, pane)


def _write_swags(out: Writer, pane: SwagPane) -> None:
    """Each SWAG's own numbers and partials."""
    for member, swag in zip(pane.spec.members, pane.swags, strict=True):
        numbers, states = swag._dump()
        out.row(numbers)
        write_states(out, member, states)


def _read_swags(source: Reader, pane: SwagPane, size: int, items: str) -> None:
    """Read what `_write_swags` wrote, for a pane of so many rows or cells."""
    for member, swag in zip(pane.spec.members, pane.swags, strict=True):
        numbers = source.row()
        swag._load(numbers, read_states(source, member))
        if len(swag) != size:
            raise ValueError(f"{member.name!r} has {len(swag)} states for {size} {items}")


def _write_running(out: Writer, pane: RunningPane) -> None:
    """How many rows it has had, how many wait, and the states of both."""
    out.size(pane.count)
    out.size(pane.late_count)
    out.value(pane.at)
    for states in (pane.states, pane.late_states):
        for member, state in zip(pane.spec.members, states, strict=False):
            write_states(out, member, [state])


def read_panes(source: Reader, live: Live, key_state: KeyState, version: int) -> None:
    """A key's panes, as they were written, each checked before anything runs over it."""
    for pane in key_state.panes:
        with reading(f"{pane.spec.members[0].name!r}"):
            if isinstance(pane, RunningPane):
                _read_running(source, live, pane, key_state)
            elif isinstance(pane, CellPane):
                _read_cells(source, live, pane, key_state.now, key_state.count)
            elif isinstance(pane, RowPane | SharedPane):
                rows = source.row()
                check_rows(live, pane.spec, rows, key_state.now, key_state.count)
                if check_bool(source.value(), "whether rows lie in arrays"):
                    from slidewise.engine.joining import arrays_of

                    pane.frozen = arrays_of(rows, pane.spec.before_arguments + max(len(pane.spec.columns), 1))
                elif isinstance(pane, SharedPane):
                    _read_shared(source, pane, rows, version)
                else:
                    _read_row_pane(source, pane, rows, key_state.now)
    for pane in key_state.panes:
        if isinstance(pane, SharedPane) and pane.leads:
            pane.shared.restore()


def _read_shared(source: Reader, pane: SharedPane, rows: list[Any], version: int) -> None:
    """Rows, and the partials that a pane brings; version 1 had a SWAG for each window, which rows make up for."""
    if version > 1:
        partials = {operator: (source.row(), read_states(source, member)) for member, operator in pane.stored_members()}
    else:
        source.size()
        for member in pane.spec.members:
            source.row()
            read_states(source, member)
        partials = {}
    pane.restored = rows, partials


def _read_row_pane(source: Reader, pane: RowPane, rows: list[Any], now: Any) -> None:
    """How many of the rows wait, and the SWAGs."""
    waiting = source.size()
    first = len(rows) - waiting
    delayed = isinstance(pane, DelayedRowPane)
    require(first >= 0 and (not waiting or delayed or pane.spec.is_open), f"{waiting} of {len(rows)} rows wait")
    if delayed:
        require(not first or rows[first - 1][0] <= pane.spec.young(now), "a row is in the window before its delay")
    elif waiting:
        newest = rows[-1][0]
        together = rows[first][0] == newest and (not first or rows[first - 1][0] < newest)
        require(together, "rows wait that are not of the newest time")
    pane.hold(rows[:first])
    if isinstance(pane, DelayedRowPane):
        pane.waiting.extend(rows[first:])
    elif isinstance(pane, OpenRowPane):
        pane.waiting, pane.joined = rows[first:], None
        if waiting:
            with suppress(Exception):  # an operator that refuses: it is made when it is read
                pane.waiting_states()
    skipped = pane.skipped if isinstance(pane, LimitedRowPane) else 0
    _read_swags(source, pane, len(pane.rows) - skipped, "rows")


def _read_running(source: Reader, live: Live, pane: RunningPane, key_state: KeyState) -> None:
    """Read what `_write_running` wrote."""
    pane.count, pane.late_count, pane.at = source.size(), source.size(), source.value()
    require(pane.count + pane.late_count <= key_state.count, f"{pane.count} rows count of {key_state.count}")
    if pane.spec.is_open:
        check_places(live, pane.spec, [pane.at], key_state.now, key_state.count)
    else:
        require(pane.late_count == 0 and pane.at is None, "rows wait, and the window is closed on the right")
    if pane.count:
        pane.states = [_read_state(source, member) for member in pane.spec.members]
    if pane.late_count:
        pane.late_states = [_read_state(source, member) for member in pane.spec.members]
    if pane.spec.reset is not None:
        pane.newest = key_state.count - 1 if pane.spec.numbered else key_state.now


def _write_cells(out: Writer, pane: CellPane) -> None:
    """Each cell's place and number of rows and every member's partials; then whether one waits, and the SWAGs."""
    cells = pane.all_cells()
    out.row([cell.place for cell in cells])
    out.row([cell.rows for cell in cells])
    for j, member in enumerate(pane.spec.members):
        write_states(out, member, [cell.states[j] for cell in cells])
    out.value(pane.frozen is not None)
    if pane.frozen is not None:
        return
    out.value(pane.waiting is not None)
    pane.build_swags()
    _write_swags(out, pane)


def _read_cells(source: Reader, live: Live, pane: CellPane, now: Time | None, count: int) -> None:
    """Read what `_write_cells` wrote."""
    places, rows = source.row(), check_counts(source.row(), 1, "the number of rows in a cell")
    check_places(live, pane.spec, places, now, count, once=True)
    require(sum(rows) <= count, f"cells hold {sum(rows)} rows of {count}")
    states = [read_states(source, member) for member in pane.spec.members]
    cells = [GrainCell(place, n, list(parts)) for place, n, *parts in zip(places, rows, *states, strict=True)]
    if check_bool(source.value(), "whether cells lie in arrays"):
        pane.fill(cells, pane.spec.is_open)
        return
    waits = check_bool(source.value(), "whether a cell waits")
    require(not waits or (cells and pane.spec.is_open), "a cell waits, and the window is closed on the right")
    pane.fill(cells, waits)
    pane.stale = False
    _read_swags(source, pane, len(pane.cells), "cells")


def write_revisable(out: Writer, live: Live, state: RevisableState) -> None:
    """Rows in their places, and of each window the shape of its trees, its rows' places, and every operator's states.

    Answers are not written: they follow.
    """
    write_plain(out.row, state.places, "an event's order")
    for row in state.rows:
        out.value(row.event is not None)
        if row.event is not None:
            write_plain(out.row, tuple(row.event.items()), "an event that may be revised")
    for spec, trees, bases in zip(live.specs, state.trees, state.bases, strict=True):
        out.row(shape_of(trees[0]))
        write_plain(out.row, [t for t, _ in entries(trees[0]._left[-1])], "an event's order")
        for member, tree, (before, base) in zip(spec.members, trees, bases, strict=True):
            write_states(out, member, [partial for _, partial in entries(tree._left[-1])])
            out.size(before)
            if before:
                write_states(out, member, [base])


def read_revisable(source: Reader, live: Revising, key: Key, now: Time, count: int) -> RevisableState:
    """Read what `write_revisable` wrote, behind the key's newest time and its number of rows."""
    state = RevisableState(live.specs)
    state.now, state.count = now, count
    state.places = source.row()
    _check_places_of_rows(live, state.places, now)
    require(len(state.places) <= count, f"it keeps {len(state.places)} of {count} rows")
    for place in state.places:
        event = event_columns(source.row()) if check_bool(source.value(), "whether a row is kept") else None
        complete = event is not None or all(older.event is None for older in state.rows[-1:])
        require(complete, "a row is missing among others")
        state.rows.append(RevisableRow(place, event))
        if event is not None:
            state.mark(state.rows[-1], _check_revisable_row(live, event, key, place))
    state.find_beginnings()
    for at, (spec, trees) in enumerate(zip(live.specs, state.trees, strict=True)):
        shape = check_counts(source.row(), 0, "a tree's shape")
        places = source.row()
        _check_places_of_rows(live, places, now)
        for i, (member, tree) in enumerate(zip(spec.members, trees, strict=True)):
            rebuild(tree, shape, places, read_states(source, member))
            before = source.size()
            require(before + len(places) <= count and (spec.running or not before), f"{before} rows have left")
            state.bases[at][i] = before, _read_state(source, member) if before else None
    for index, row in enumerate(state.rows):
        if row.event is not None:
            parts = [state.answers(spec, at, index) for at, spec in enumerate(live.specs)]
            row.answers = [value for part in parts for value in part]
    return state


def _check_places_of_rows(live: Revising, places: list[Any], now: Time) -> None:
    """Check places of rows that may be revised: a time, what orders rows of equal time, and the number of arrival."""
    width = 3 if live.ordered else 2
    require(all(type(place) is tuple and len(place) == width for place in places), "no row stands there")
    for place in places:
        check_time(live, place[0], "a row's time")
        require(type(place[-1]) is int and 0 < place[-1] <= live.arrivals.number, "a row has a number of no event")
        require(width == 2 or type(place[1]) is tuple, "rows of equal time have no order")
    require(all(a < b for a, b in pairwise(places)), "rows are not in order")
    require(not places or places[-1][0] <= now, "rows are newer than the newest time")


def _check_revisable_row(live: Revising, row: dict[str, Any], key: Key, place: RowPlace) -> Event:
    """Check that a row that may be revised stands where an event like it would; returns that event."""
    check_event(live, row, key, place[0])
    number = live.arrivals.number
    event = live.arrivals.event(row, key, place[0])
    live.arrivals.number = number
    require(not live.ordered or same(event.order, place[1]), "a row of equal time is not in order")
    return event
