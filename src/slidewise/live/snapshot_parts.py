"""Parts of a snapshot: states of operators, and what is kept of a key where answers are revised."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slidewise.errors import SnapshotError
from slidewise.live.cell_pane import Cell, CellPane
from slidewise.live.codec import NotPlainError, Reader, Writer
from slidewise.live.ledger import Kept, Ledger
from slidewise.live.spec import Member
from slidewise.swag.fiba_check import entries
from slidewise.swag.fiba_stored import rebuild, shape_of

if TYPE_CHECKING:
    from slidewise.live.live import Live


def write_states(out: Writer, one: Member, states: list[Any]) -> None:
    encode = one.operator.encode
    plain = states if encode is None else [encode(state) for state in states]
    plainly(out.row, plain, f"a state of {one.name!r}", "; give its operator encode= and decode=")


def read_states(source: Reader, one: Member) -> list[Any]:
    states = source.row()
    decode = one.operator.decode
    return states if decode is None else [decode(state) for state in states]


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


def read_cells(source: Reader, pane: CellPane) -> None:
    """What `write_cells` wrote."""
    places, counts = source.row(), source.row()
    states = [read_states(source, one) for one in pane.spec.members]
    cells = [Cell(place, count, list(some)) for place, count, *some in zip(places, counts, *states, strict=True)]
    if source.value():
        pane.fill(cells, pane.spec.is_open)
        return
    pane.fill(cells, source.value())
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


def read_ledger(source: Reader, live: Live) -> Ledger:
    """What `write_ledger` wrote, behind the key's newest time and its number of rows."""
    ledger = Ledger(live.specs)
    ledger.now = source.value()
    ledger.count = source.size()
    ledger.places = source.row()
    ledger.kept = [Kept(place, dict(source.row()) if source.value() else None) for place in ledger.places]
    for at, (spec, trees) in enumerate(zip(live.specs, ledger.trees, strict=True)):
        shape = source.row()
        places = source.row()
        for i, (one, tree) in enumerate(zip(spec.members, trees, strict=True)):
            rebuild(tree, shape, places, read_states(source, one))
            before = source.size()
            ledger.bases[at][i] = before, read_states(source, one)[0] if before else None
    for index, kept in enumerate(ledger.kept):
        if kept.row is not None:
            parts = [ledger.answers(spec, at, index) for at, spec in enumerate(live.specs)]
            kept.answers = [value for part in parts for value in part]
    return ledger
