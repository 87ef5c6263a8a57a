"""One window with a grain under one key: no rows, but for each cell of rows that leave together one partial aggregate.

The newest cell is still open and takes rows in; a SWAG for each operator runs over the partials of the others, which
are kept beside it, as rows are elsewhere. So an event costs a constant number of calls, and a key at most one partial
for each cell of the window.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, NamedTuple

from slidewise.engine.running_pane import Row, for_each
from slidewise.engine.window_spec import WindowSpec
from slidewise.operators.operator import Operator
from slidewise.windows.grain import cell


class Cell(NamedTuple):
    """Rows that leave together: the newest place among them, how many count, and each member's partial."""

    place: Any
    rows: int
    states: list[Any]


class CellPane:
    """The cells of a window, oldest first; where the right end is open, rows wait in a cell of their own until a later
    place comes. Partials are never changed, only replaced."""

    __slots__ = ("added", "before", "cells", "frozen", "gone", "last", "spec", "stale", "swags", "total", "waiting")

    def __init__(self, spec: WindowSpec) -> None:
        self.spec = spec
        self.swags: list[Any] = [one.algorithm(of_states(one.operator)) for one in spec.members if one.algorithm]
        self.cells: deque[Cell] = deque()  # those that are closed, which the SWAGs hold
        self.last: Cell | None = None
        self.waiting: Cell | None = None
        self.total = 0  # rows in the window
        self.frozen: Any = None  # arrays instead of all this, see `celled.Cells`
        self.stale = False  # the SWAGs are to be made anew from the closed cells
        self.added = 0
        self.gone: list[Cell] | None = None
        self.before: tuple[Any, ...] = (None, None, 0)

    def push(self, place: Any, arguments: Row | None) -> list[Any]:
        """Take in a row, drop the cells too old for it, and answer; `undo` takes it back until the next push."""
        self.begin()
        return self.take(place, arguments)

    def begin(self) -> None:
        """From here on `undo` takes back."""
        if self.frozen is not None:
            self.fill(self.all_cells(), self.spec.is_open)
        self.added = 0
        self.gone = None
        self.before = self.last, self.waiting, self.total
        self.settle()
        for swag in self.swags:
            swag._mark()

    def keep(self) -> None:
        """What has come since `begin` stays."""
        self.gone = None
        for swag in self.swags:
            swag._unmark()

    def push_peers(self, peers: list[tuple[Any, Row | None]]) -> list[list[Any]]:
        """Take in rows of equal time, which all see one another."""
        self.begin()
        if self.spec.is_open:
            return [self.take(place, arguments) for place, arguments in peers]
        for place, arguments in peers:
            self._add(place, arguments)
        return for_each(peers, self._answers())

    def take(self, place: Any, arguments: Row | None) -> list[Any]:
        """Take in one more row after `begin`, and answer."""
        if not self.spec.is_open:
            self._add(place, arguments)
            return self._answers()
        waiting = self.waiting
        if waiting is not None and waiting.place < place:
            self._absorb(waiting)
            self.waiting = waiting = None
        self._evict(self.spec.cut(place))
        answers = self._answers()
        if arguments is not None:
            row = self._lifted(place, arguments)
            self.waiting = row if waiting is None else self._joined(waiting, row)
        return answers

    def _add(self, place: Any, arguments: Row | None) -> None:
        if arguments is not None:
            self._absorb(self._lifted(place, arguments))
        self._evict(self.spec.cut(place))

    def _lifted(self, place: Any, arguments: Row) -> Cell:
        return Cell(place, 1, [one.operator.lift(*arguments) for one in self.spec.members])

    def _joined(self, older: Cell, newer: Cell) -> Cell:
        members = zip(self.spec.members, older.states, newer.states, strict=True)
        states = [one.operator.combine(a, b) for one, a, b in members]
        return Cell(newer.place, older.rows + newer.rows, states)

    def _absorb(self, new: Cell) -> None:
        """Put rows into the newest cell, or into one behind it, which closes it."""
        last = self.last
        if last is None:
            self.last = new
        elif self._together(last.place, new.place):
            self.last = self._joined(last, new)
        else:
            for swag, state in zip(self.swags, last.states, strict=True):
                swag.insert((state,))
            self.cells.append(last)
            self.added += 1
            self.last = new
        self.total += new.rows

    def _together(self, place: Any, later: Any) -> bool:
        """Whether two places are in one cell; a stream of whole times may have gone over to floats between them."""
        grain, edge = self.spec.grain, self.spec.edge
        if type(place) is not type(later):
            place, later = float(place), float(later)
        return bool(cell(place, grain, edge) == cell(later, grain, edge))

    def _evict(self, cut: Any) -> None:
        """Drop the cells whose rows all lie before this place."""
        cells = self.cells
        if cells and cells[0].place < cut:
            gone = self.gone
            if gone is None:
                gone = self.gone = []
            k = 0
            while cells and cells[0].place < cut:
                gone.append(cells.popleft())
                self.total -= gone[-1].rows
                k += 1
            for swag in self.swags:
                if k == 1:
                    swag.evict()
                else:
                    swag.evict_many(k)
        if self.last is not None and self.last.place < cut:
            self.total -= self.last.rows
            self.last = None

    def _answers(self) -> list[Any]:
        n, last = self.total, self.last
        found: list[Any] = []
        for j, (one, swag) in enumerate(zip(self.spec.members, self.swags, strict=True)):
            op = one.operator
            if n < one.least:
                found.append(None)
            elif last is None:
                found.append(op.lower(op.identity))
            else:
                state = last.states[j]
                found.append(op.lower(op.combine(swag.partial(), state) if self.cells else state))
        return found

    def undo(self) -> None:
        """Take back what has come since `begin`; no function of the operator is called, since it may be what failed."""
        self.last, self.waiting, self.total = self.before
        if self.stale:  # an operator refused to have the SWAGs made anew, and no row came in
            return
        if self.gone:
            self.cells.extendleft(reversed(self.gone))
            self.gone = None
        for _ in range(self.added):
            self.cells.pop()
        self.added = 0
        for swag in self.swags:
            swag._take_back()

    def settle(self) -> None:
        """Make the SWAGs anew from the closed cells, if they are not theirs."""
        if not self.stale:
            return
        for j, swag in enumerate(self.swags):
            swag._unmark()
            swag.clear()
            for one in self.cells:
                swag.insert((one.states[j],))
        self.stale = False

    def fill(self, cells: list[Cell], waits: bool) -> None:
        """Hold these cells, of which the newest may be one that waits."""
        self.frozen = None
        self.stale = True
        self.waiting = cells.pop() if cells and waits else None
        self.total = sum(one.rows for one in cells)
        self.last = cells.pop() if cells else None
        self.cells = deque(cells)

    def freeze(self, frozen: Any) -> None:
        """Hold these arrays instead of cells and SWAGs."""
        if self.frozen is None:
            self.fill([], False)
            self.settle()
        self.frozen = frozen

    def all_cells(self) -> list[Cell]:
        """All cells, oldest first, those that wait included."""
        if self.frozen is not None:
            return [Cell(place, rows, list(states)) for place, rows, *states in self.frozen.rows()]
        return [*self.cells, *(one for one in (self.last, self.waiting) if one is not None)]

    def held(self) -> int:
        """How many cells there are."""
        if self.frozen is not None:
            return len(self.frozen)
        return len(self.cells) + (self.last is not None) + (self.waiting is not None)


def of_states(op: Operator) -> Operator:
    """The operator over states instead of rows; a state comes in a tuple, since it may be None, which no row may be."""
    return replace(op, lift=_unboxed, inputs=("state",))


def _unboxed(box: tuple[Any]) -> Any:
    return box[0]
