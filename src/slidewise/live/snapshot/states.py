"""Parts of a snapshot: states of operators, and what is kept of a key where answers are revised."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from slidewise.engine.codec import NotPlainError, Reader, Writer
from slidewise.engine.window_spec import Member
from slidewise.errors import SnapshotError
from slidewise.live.ledger import Kept, Ledger
from slidewise.live.panes.cell_pane import Cell, CellPane
from slidewise.live.snapshot.checks import (
    check_event,
    check_places,
    check_states,
    check_time,
    counts,
    inside,
    named,
    only,
    require,
    truth,
)
from slidewise.operators.values.equality import same
from slidewise.swag.fiba.check import entries
from slidewise.swag.fiba.serialise import rebuild, shape_of

if TYPE_CHECKING:
    from slidewise.live.live import Live
    from slidewise.live.revising import Revising


def write_states(out: Writer, one: Member, states: list[Any]) -> None:
    encode = one.operator.encode
    plain = states if encode is None else [encode(state) for state in states]
    plainly(out.row, plain, f"a state of {one.name!r}", "; give its operator encode= and decode=")


def read_states(source: Reader, one: Member) -> list[Any]:
    """States as the operator has them, and such as it can have."""
    states = source.row()
    decode = one.operator.decode
    with inside(f"a state of {one.name!r}"):
        found = states if decode is None else [decode(state) for state in states]
        check_states(one.operator, found)
    return found


def plainly(write: Callable[[Any], None], value: Any, what: str, remedy: str = "") -> None:
    """Write a value; refuse one that is not plain, saying what it is."""
    try:
        write(value)
    except NotPlainError as error:
        raise SnapshotError(
            f"{what} is or holds {error}, which cannot be stored: only numbers, bools, text, bytes, dates, "
            f"times, None, and lists, tuples and dicts of them can{remedy}"
        ) from None


def write_cells(out: Writer, pane: CellPane) -> None:
    """Each cell's place and number of rows and every member's partials; then whether one waits, and the SWAGs."""
    cells = pane.all_cells()
    out.row([one.place for one in cells])
    out.row([one.rows for one in cells])
    for j, one in enumerate(pane.spec.members):
        write_states(out, one, [each.states[j] for each in cells])
    out.value(pane.frozen is not None)
    if pane.frozen is not None:
        return
    out.value(pane.waiting is not None)
    pane.settle()
    for one, swag in zip(pane.spec.members, pane.swags, strict=True):
        numbers, states = swag._dump()
        out.row(numbers)
        write_states(out, one, states)


def read_cells(source: Reader, live: Live, pane: CellPane, now: Any, count: int) -> None:
    """What `write_cells` wrote."""
    places, rows = source.row(), counts(source.row(), 1, "the number of rows in a cell")
    check_places(live, pane.spec, places, now, count, once=True)
    require(sum(rows) <= count, f"cells hold {sum(rows)} rows of {count}")
    states = [read_states(source, one) for one in pane.spec.members]
    cells = [Cell(place, count, list(some)) for place, count, *some in zip(places, rows, *states, strict=True)]
    if truth(source.value(), "whether cells lie in arrays"):
        pane.fill(cells, pane.spec.is_open)
        return
    waits = truth(source.value(), "whether a cell waits")
    require(not waits or (cells and pane.spec.is_open), "a cell waits, and the window is closed on the right")
    pane.fill(cells, waits)
    pane.stale = False
    for one, swag in zip(pane.spec.members, pane.swags, strict=True):
        numbers = source.row()
        swag._load(numbers, read_states(source, one))
        if len(swag) != len(pane.cells):
            raise ValueError(f"{one.name!r} has {len(swag)} states for {len(pane.cells)} cells")


def write_ledger(out: Writer, live: Live, ledger: Ledger) -> None:
    """Rows in their places, and of each window the shape of its trees, its rows' places, and every operator's states.

    Answers are not written: they follow.
    """
    plainly(out.row, ledger.places, "an event's order")
    for kept in ledger.kept:
        out.value(kept.row is not None)
        if kept.row is not None:
            plainly(out.row, tuple(kept.row.items()), "an event that may be revised")
    for spec, trees, bases in zip(live.specs, ledger.trees, ledger.bases, strict=True):
        out.row(shape_of(trees[0]))
        plainly(out.row, [t for t, _ in entries(trees[0]._left[-1])], "an event's order")
        for one, tree, (before, base) in zip(spec.members, trees, bases, strict=True):
            write_states(out, one, [state for _, state in entries(tree._left[-1])])
            out.size(before)
            if before:
                write_states(out, one, [base])


def read_ledger(source: Reader, live: Revising, key: Any, now: Any, count: int) -> Ledger:
    """What `write_ledger` wrote, behind the key's newest time and its number of rows."""
    ledger = Ledger(live.specs)
    ledger.now, ledger.count = now, count
    ledger.places = source.row()
    _check_ledger(live, ledger.places, now)
    require(len(ledger.places) <= count, f"it keeps {len(ledger.places)} of {count} rows")
    for place in ledger.places:
        row = named(source.row()) if truth(source.value(), "whether a row is kept") else None
        if row is not None:
            _check_kept(live, row, key, place)
        require(row is not None or all(kept.row is None for kept in ledger.kept[-1:]), "a row is missing among others")
        ledger.kept.append(Kept(place, row))
    for at, (spec, trees) in enumerate(zip(live.specs, ledger.trees, strict=True)):
        shape = counts(source.row(), 0, "a tree's shape")
        places = source.row()
        _check_ledger(live, places, now)
        for i, (one, tree) in enumerate(zip(spec.members, trees, strict=True)):
            rebuild(tree, shape, places, read_states(source, one))
            before = source.size()
            require(before + len(places) <= count and (spec.running or not before), f"{before} rows have left")
            ledger.bases[at][i] = before, only(read_states(source, one)) if before else None
    for index, kept in enumerate(ledger.kept):
        if kept.row is not None:
            parts = [ledger.answers(spec, at, index) for at, spec in enumerate(live.specs)]
            kept.answers = [value for part in parts for value in part]
    return ledger


def _check_ledger(live: Revising, places: list[Any], now: Any) -> None:
    """Places of rows that may be revised: a time, what orders rows of equal time, and the number of arrival."""
    width = 3 if live.ordered else 2
    require(all(type(place) is tuple and len(place) == width for place in places), "no row stands there")
    for place in places:
        check_time(live, place[0], "a row's time")
        require(type(place[-1]) is int and 0 < place[-1] <= live.arrivals.number, "a row has a number of no event")
        require(width == 2 or type(place[1]) is tuple, "rows of equal time have no order")
    require(all(a < b for a, b in pairwise(places)), "rows are not in order")
    require(not places or places[-1][0] <= now, "rows are newer than the newest time")


def _check_kept(live: Revising, row: dict[str, Any], key: Any, place: Any) -> None:
    """A row that may be revised stands where an event like it would."""
    check_event(live, row, key, place[0])
    number = live.arrivals.number
    event = live.arrivals.event(row, key, place[0])
    live.arrivals.number = number
    require(not live.ordered or same(event.order, place[1]), "a row of equal time is not in order")
