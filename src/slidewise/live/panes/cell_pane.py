"""The pane of a window with a grain: no rows, but one partial aggregate for each cell of rows that leave together.

The newest cell is still open and takes rows in; a SWAG for each operator runs over the partials of the others, which
are kept beside it, as rows are elsewhere. So an event costs a constant number of calls, and a key at most one partial
for each cell of the window.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from slidewise.engine.window_spec import WindowSpec, indexed
from slidewise.live.panes.swag_pane import SwagPane, over_states
from slidewise.live.types import Arguments, Place
from slidewise.swag.structures.queues import PlaceIndex
from slidewise.windows.grain import cell

if TYPE_CHECKING:
    from slidewise.engine.cells import Cells


class GrainCell(NamedTuple):
    """Rows that leave together: the newest place among them, how many count, and each member's partial."""

    place: Place
    rows: int
    states: list[Any]


class CellPane(SwagPane):
    """The cells of a window, oldest first; where the right end is open, rows wait in a cell of their own until a later
    place comes. Partials are never changed, only replaced."""

    __slots__ = ("before", "cells", "frozen", "last", "places", "stale", "total", "twin", "waiting")

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(
            spec,
            [indexed(member.algorithm)(over_states(member.operator)) for member in spec.members if member.algorithm],
        )
        self.cells: deque[GrainCell] = deque()  # those that are closed, which the SWAGs hold
        self.places = PlaceIndex()  # of the closed cells
        self.last: GrainCell | None = None
        self.waiting: GrainCell | None = None
        self.total = 0  # rows in the window
        self.frozen: Cells | None = None  # arrays instead of all this
        self.twin: CellPane | None = None  # where it is frozen and was read: a pane of the same cells that is not
        self.stale = False  # the SWAGs are to be built anew from the closed cells
        self.before: tuple[GrainCell | None, GrainCell | None, int] = (None, None, 0)

    def begin(self) -> None:
        if self.frozen is not None:
            self.fill(self.all_cells(), self.spec.is_open)
        self.added = 0
        self.gone = None
        self.before = self.last, self.waiting, self.total
        self.build_swags()
        for swag in self.swags:
            swag._savepoint()

    def take(self, place: Place, arguments: Arguments | None) -> list[Any]:
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

    def _add(self, place: Place, arguments: Arguments | None) -> None:
        if arguments is not None:
            self._absorb(self._lifted(place, arguments))
        self._evict(self.spec.cut(place))

    def _lifted(self, place: Place, arguments: Arguments) -> GrainCell:
        """A cell of one row."""
        return GrainCell(place, 1, [member.operator.lift(*arguments) for member in self.spec.members])

    def _joined(self, older: GrainCell, newer: GrainCell) -> GrainCell:
        """Two cells as one."""
        members = zip(self.spec.members, older.states, newer.states, strict=True)
        states = [member.operator.combine(a, b) for member, a, b in members]
        return GrainCell(newer.place, older.rows + newer.rows, states)

    def _absorb(self, new: GrainCell) -> None:
        """Put rows into the newest cell, or into one behind it, which closes it."""
        last = self.last
        if last is None:
            self.last = new
        elif self._together(last.place, new.place):
            self.last = self._joined(last, new)
        else:
            for swag, state in zip(self.swags, last.states, strict=True):
                swag.insert((state,))
            self.places.append(last.place, len(self.cells))
            self.cells.append(last)
            self.added += 1
            self.last = new
        self.total += new.rows

    def _together(self, place: Place, later: Place) -> bool:
        """Whether two places are in one cell; a stream of whole times may have gone over to floats between them."""
        grain, edge = self.spec.grain, self.spec.edge
        if type(place) is not type(later):
            place, later = float(place), float(later)
        return bool(cell(place, grain, edge) == cell(later, grain, edge))

    def _evict(self, cut: Place) -> None:
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
        answers: list[Any] = []
        for j, (member, swag) in enumerate(zip(self.spec.members, self.swags, strict=True)):
            op = member.operator
            if n < member.least:
                answers.append(None)
            elif last is None:
                answers.append(op.lower(op.identity))
            else:
                state = last.states[j]
                answers.append(op.lower(op.combine(swag.partial(), state) if self.cells else state))
        return answers

    def answers_at(self, place: Place) -> list[Any]:
        """See `Pane.answers_at`. Combine calls: O(log n) for n cells, and n more for the first read after a batch."""
        pane = self._readable()
        cells, spec = pane.cells, pane.spec
        cut = spec.cut(place)
        newest = [] if pane.last is None or pane.last.place < cut else [pane.last]
        if pane.waiting is not None and cut <= pane.waiting.place < place:
            newest.append(pane.waiting)
        k = pane.places.count_before(cut, len(cells)) if cells and cells[0].place < cut else 0
        rows = sum(each.rows for each in newest)
        if rows < spec.enough:  # every cell has a row: no more of them are looked at than rows are needed
            rows += sum(each.rows for each in islice(reversed(cells), min(len(cells) - k, spec.enough - rows)))
        answers: list[Any] = []
        for j, (member, swag) in enumerate(zip(spec.members, pane.swags, strict=True)):
            op = member.operator
            parts = [each.states[j] for each in newest]
            newer = [op.combine(*parts)] if len(parts) == 2 else parts
            answers.append(swag._query_without(k, newer) if rows >= member.least else None)
        return answers

    def _readable(self) -> CellPane:
        """This pane, or where it is frozen its twin, with SWAGs that are not stale."""
        pane = self
        if self.frozen is not None:
            if self.twin is None:
                self.twin = CellPane(self.spec)
                self.twin.fill(self.all_cells(), self.spec.is_open)
            pane = self.twin
        pane.build_swags()
        return pane

    def undo(self) -> None:
        """Take back what has come since `begin`."""
        self.last, self.waiting, self.total = self.before
        if not self.stale:  # else an operator refused to have the SWAGs built, and no row came in
            self._roll_back(self.cells, self.places)

    def build_swags(self) -> None:
        """Build the SWAGs anew from the closed cells, if they are stale."""
        if not self.stale:
            return
        for j, swag in enumerate(self.swags):
            swag._commit()
            swag.clear()
            for closed in self.cells:
                swag.insert((closed.states[j],))
        self.stale = False

    def fill(self, cells: list[GrainCell], waits: bool) -> None:
        """Hold these cells; `waits` says that the newest is one that waits."""
        self.frozen = self.twin = None
        self.stale = True
        self.waiting = cells.pop() if cells and waits else None
        self.total = sum(each.rows for each in cells)
        self.last = cells.pop() if cells else None
        self.cells = deque(cells)
        self.places = PlaceIndex(each.place for each in cells)

    def freeze(self, frozen: Cells) -> None:
        """Hold these arrays instead of cells and SWAGs."""
        if self.frozen is None:
            self.fill([], False)
            self.build_swags()
        self.frozen = frozen
        self.twin = None

    def all_cells(self) -> list[GrainCell]:
        """All cells, oldest first, those that wait included."""
        if self.frozen is not None:
            return [GrainCell(place, rows, list(states)) for place, rows, *states in self.frozen.rows()]
        return [*self.cells, *(each for each in (self.last, self.waiting) if each is not None)]

    def held(self) -> int:
        """How many cells there are."""
        if self.frozen is not None:
            return len(self.frozen)
        return len(self.cells) + (self.last is not None) + (self.waiting is not None)
