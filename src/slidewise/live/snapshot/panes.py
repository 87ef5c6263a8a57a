"""Panes in a snapshot: a key's rows, cells and states, and each SWAG's own partials."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from slidewise.engine.codec import Reader, Writer
from slidewise.engine.running_pane import RunningPane
from slidewise.live.panes.cell_pane import CellPane
from slidewise.live.panes.pane import OpenPane, Pane
from slidewise.live.panes.shared_pane import SharedPane
from slidewise.live.snapshot.checks import check_places, check_rows, inside, only, require, truth
from slidewise.live.snapshot.states import plainly, read_cells, read_states, write_cells, write_states

if TYPE_CHECKING:
    from slidewise.live.live import Live, Track


def write_pane(out: Writer, pane: Any) -> None:
    """A pane of any kind."""
    kinds: dict[type, Any] = {RunningPane: _write_running, CellPane: write_cells}
    kinds.get(type(pane), _write_rows)(out, pane)


def _write_rows(out: Writer, pane: Pane | SharedPane) -> None:
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


def read_panes(source: Reader, live: Live, track: Track, version: int) -> None:
    """A key's panes, as they were written, each checked before anything runs over it."""
    for pane in track.panes:
        with inside(f"{pane.spec.members[0].name!r}"):
            if isinstance(pane, RunningPane):
                _read_running(source, live, pane, track)
            elif isinstance(pane, CellPane):
                read_cells(source, live, pane, track.now, track.count)
            else:
                rows = source.row()
                check_rows(live, pane.spec, rows, track.now, track.count)
                if truth(source.value(), "whether rows lie in arrays"):
                    from slidewise.engine.joining import arrays_of

                    pane.frozen = arrays_of(rows, 1 + max(len(pane.spec.columns), 1))
                elif isinstance(pane, SharedPane):
                    _read_shared(source, pane, rows, version)
                else:
                    _read_pane(source, pane, rows)
    for pane in track.panes:
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
    first = len(rows) - waiting
    require(first >= 0 and (not waiting or isinstance(pane, OpenPane)), f"{waiting} of {len(rows)} rows wait")
    if waiting:
        newest = rows[-1][0]
        together = rows[first][0] == newest and (not first or rows[first - 1][0] < newest)
        require(together, "rows wait that are not of the newest time")
    pane.rows = deque(rows[:first])
    if isinstance(pane, OpenPane):
        pane.waiting = rows[first:]
    for one, swag in zip(pane.spec.members, pane.swags, strict=True):
        numbers = source.row()
        swag._load(numbers, read_states(source, one))
        if len(swag) != len(pane.rows):
            raise ValueError(f"{one.name!r} has {len(swag)} states for {len(pane.rows)} rows")


def _read_running(source: Reader, live: Live, pane: RunningPane, track: Track) -> None:
    pane.count, pane.late_count, pane.at = source.size(), source.size(), source.value()
    require(pane.count + pane.late_count <= track.count, f"{pane.count} rows count of {track.count}")
    if pane.spec.is_open:
        check_places(live, pane.spec, [pane.at], track.now, track.count)
    else:
        require(pane.late_count == 0 and pane.at is None, "rows wait, and the window is closed on the right")
    if pane.count:
        pane.states = [only(read_states(source, one)) for one in pane.spec.members]
    if pane.late_count:
        pane.late_states = [only(read_states(source, one)) for one in pane.spec.members]
