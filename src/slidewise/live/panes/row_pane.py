"""The pane of a window of rows: the rows that it holds, and a SWAG for each operator that runs over them.

A row is a tuple of its place and its arguments. The rows are kept beside the SWAGs because they say when to evict, and
because batches run through kernels, which begin with rows. After a batch a pane is frozen: it holds its rows as arrays
only, and builds its SWAGs when the next single event comes. A read builds them in a second pane beside it, its `twin`,
which the next event takes over: a read changes nothing, and what is stored of a frozen pane is its rows.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Self

from slidewise.arrays import Array
from slidewise.engine.running_pane import Row
from slidewise.engine.window_spec import WindowSpec, swags_of
from slidewise.live.panes.swag_pane import SwagPane
from slidewise.live.types import Arguments, Place
from slidewise.operators.types import State
from slidewise.swag.structures.queues import PlaceIndex

BLOCK = PlaceIndex.BLOCK
MANY = 64  # rows from which on their places are kept apart


class RowPane(SwagPane):
    """A window that is closed on the right: a row is in its own answer."""

    __slots__ = ("frozen", "places", "rows", "twin")

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec, swags_of(spec))
        self.rows: deque[Row] = deque()
        self.places: PlaceIndex | None = None  # of the rows, once there are many that may leave at once
        self.frozen: list[Array] | None = None  # places, and one array for each argument
        self.twin: Self | None = None  # where it is frozen and was read: a pane of the same rows that is not

    def push(self, place: Place, arguments: Arguments | None) -> list[Any]:
        """See `SwagPane.push`: `begin` and `take`, written out for speed."""
        self.added = 0
        self.gone = None
        if self.frozen is not None:
            self.thaw()
        rows, spec, swags = self.rows, self.spec, self.swags
        for swag in swags:
            swag._savepoint()
        if arguments is not None:
            if len(arguments) == 1:
                x = arguments[0]
                for swag in swags:
                    swag.insert(x)
                rows.append((place, x))
            else:
                for swag in swags:
                    swag.insert(*arguments)
                rows.append((place, *arguments))
            self.added = 1
            places = self.places
            if places is not None:
                if len(places.last) == BLOCK:
                    places.begin_block(len(rows) - 1)
                places.last.append(place)
            elif len(rows) == MANY:
                self._index_places()
        if rows:
            cut = place - spec.whole if type(place) is int else spec.cut(place)
            if rows[0][0] < cut:
                self._evict(cut)
            if len(rows) >= spec.enough:
                return [swag.query() for swag in swags]
        return self._answers()

    def begin(self) -> None:
        self.added = 0
        self.gone = None
        if self.frozen is not None:
            self.thaw()
        for swag in self.swags:
            swag._savepoint()

    def take(self, place: Place, arguments: Arguments | None) -> list[Any]:
        self._add(place, arguments)
        return self._answers()

    def _add(self, place: Place, arguments: Arguments | None) -> None:
        rows, spec = self.rows, self.spec
        if arguments is not None:
            self._insert((place, *arguments))
        cut = spec.cut(place)
        if rows and rows[0][0] < cut:
            self._evict(cut)

    def _insert(self, row: Row) -> None:
        """Put a row at the back."""
        for swag in self.swags:
            swag.insert(*row[1:])
        if self.places is not None:
            self.places.append(row[0], len(self.rows))
        self.rows.append(row)
        self.added += 1
        if len(self.rows) == MANY and self.places is None:
            self._index_places()

    def _index_places(self) -> None:
        """Keep an index of the rows' places, unless one row at most leaves for another."""
        if not self.spec.numbered:
            self.places = PlaceIndex(row[0] for row in self.rows)

    def _answers(self) -> list[Any]:
        n = self._counted()
        members = self.spec.members
        return [swag.query() if n >= member.least else None for swag, member in zip(self.swags, members, strict=True)]

    def _counted(self) -> int:
        """How many rows of the window count."""
        return len(self.rows)

    def answers_at(self, place: Place) -> list[Any]:
        """See `Pane.answers_at`. Combine calls: O(log n), see `swag.indexed`, and n more for the first read after a
        batch; where windows are of rows, at most 3."""
        pane = self if self.frozen is None else self.readable()
        k = pane._left_at(place)
        n = len(pane.rows) - k
        if n >= self.spec.enough:
            return [swag._query_without(k) for swag in pane.swags]
        members = zip(pane.swags, self.spec.members, strict=True)
        return [swag._query_without(k) if n >= member.least else None for swag, member in members]

    def _left_at(self, place: Place) -> int:
        """How many rows have left by a place. Steps: O(log n)."""
        rows, spec = self.rows, self.spec
        cut = spec.cut(place)
        if not rows or rows[0][0] >= cut:
            return 0
        if self.places is not None:
            return self.places.count_before(cut, len(rows))
        return next((k for k, row in enumerate(rows) if row[0] >= cut), len(rows))  # they are few, or one has left

    def readable(self) -> Self:
        """This pane, or where it is frozen its twin, which has rows and SWAGs."""
        if self.frozen is None:
            return self
        if self.twin is None:
            twin = type(self)(self.spec)
            twin.frozen = self.frozen
            twin.thaw()
            self.twin = twin
        return self.twin

    def _evict(self, cut: Place) -> None:
        """Evict the rows before this place."""
        rows = self.rows
        k = 0
        gone = self.gone
        if gone is None:
            gone = self.gone = []
        while rows and rows[0][0] < cut:
            gone.append(rows.popleft())
            k += 1
        for swag in self.swags:
            if k == 1:
                swag.evict()
            else:
                swag.evict_many(k)

    def undo(self) -> None:
        """Take back what has come since `begin`."""
        if self.frozen is None:  # else an operator refused to have it thawed
            self._roll_back(self.rows, self.places)

    def thaw(self) -> None:
        """Make rows of the arrays, and SWAGs of them; where an operator raises, the pane stays frozen."""
        if self.twin is not None:
            self._take_over(self.twin)
        else:
            rows = self.all_rows()
            self._build(rows)
            self.hold(rows)
        self.frozen = None

    def hold(self, rows: list[Row]) -> None:
        """Hold these rows, which the SWAGs have."""
        self.rows = deque(rows)
        self.places = None
        if len(rows) >= MANY:
            self._index_places()

    def _take_over(self, twin: Self) -> None:
        """Hold what the twin holds."""
        self.rows, self.places, self.swags = twin.rows, twin.places, twin.swags
        self.twin = None

    def _build(self, rows: list[Row]) -> None:
        """Build the SWAGs anew from these rows, all of them or none."""
        self._clear()
        try:
            for swag in self.swags:
                for row in rows:
                    swag.insert(*row[1:])
        except BaseException:
            self._clear()
            raise

    def _clear(self) -> None:
        """Empty the SWAGs."""
        for swag in self.swags:
            swag._commit()
            swag.clear()

    def freeze(self, frozen: list[Array]) -> None:
        """Hold these arrays instead of rows and SWAGs."""
        if self.frozen is None:
            self.hold([])
            self.gone = None
            self._clear()
        self.frozen = frozen
        self.twin = None

    def all_rows(self) -> list[Row]:
        """The rows that later windows may hold, oldest first."""
        return list(self.rows) if self.frozen is None else rows_of(self.frozen)

    def newest_row(self) -> Row:
        """The newest row, of which there must be one."""
        return self.rows[-1] if self.frozen is None else rows_of([array[-1:] for array in self.frozen])[0]

    def held(self) -> int:
        """How many rows there are."""
        return len(self.rows) if self.frozen is None else len(self.frozen[0])


class MonthRowPane(RowPane):
    """A window that is closed on the right, and whose length varies from row to row."""

    __slots__ = ()

    push = SwagPane.push


class OpenRowPane(RowPane):
    """A window that is open on the right: rows of the newest place wait until a later one comes.

    `joined` is for each member the partial of the rows that wait, None where it is yet to be made: a read at a later
    place has it behind the others.
    """

    __slots__ = ("before", "joined", "waited", "waiting")

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self.waiting: list[Row] = []
        self.joined: list[State] | None = None
        self.before: tuple[list[Row], list[State] | None] = self.waiting, self.joined
        self.waited = 0

    def push(self, place: Place, arguments: Arguments | None) -> list[Any]:
        self.begin()
        return self.take(place, arguments)

    def begin(self) -> None:
        super().begin()
        self.before = self.waiting, self.joined
        self.waited = len(self.waiting)

    def take(self, place: Place, arguments: Arguments | None) -> list[Any]:
        rows, spec = self.rows, self.spec
        if self.waiting and self.waiting[0][0] < place:
            waiting, self.waiting = self.waiting, []
            for row in waiting:
                self._insert(row)
        cut = spec.cut(place)
        if rows and rows[0][0] < cut:
            self._evict(cut)
        answers = self._answers()
        if arguments is not None:
            states = [member.operator.lift(*arguments) for member in spec.members]
            if not self.waiting:
                self.joined = states
            elif self.joined is not None:
                self.joined = self._combined(self.joined, states)
            self.waiting.append((place, *arguments))
        return answers

    def _combined(self, older: list[State], newer: list[State]) -> list[State]:
        """The partials of rows that wait and of those behind them; exact quantiles go by the rows, and have none."""
        members = self.spec.members
        return [
            b if member.operator.traits.order_statistic is not None else member.operator.combine(a, b)
            for member, a, b in zip(members, older, newer, strict=True)
        ]

    def answers_at(self, place: Place) -> list[Any]:
        """See `Pane.answers_at`: the rows that wait are in from the place behind theirs on."""
        pane = self.readable()
        spec, waiting = pane.spec, pane.waiting
        if waiting and not spec.cut(place) <= waiting[0][0] < place:
            waiting = []
        k = pane._left_at(place)
        n = len(pane.rows) - k + len(waiting)
        states: list[State] = pane.waiting_states() if waiting else []
        answers: list[Any] = []
        for i, (swag, member) in enumerate(zip(pane.swags, spec.members, strict=True)):
            if n < member.least:
                answers.append(None)
            elif not waiting:
                answers.append(swag._query_without(k))
            elif member.operator.traits.order_statistic is not None:
                answers.append(swag._query_without(k, [row[1] for row in waiting]))
            else:
                answers.append(swag._query_without(k, [states[i]]))
        return answers

    def waiting_states(self) -> list[State]:
        """Each member's partial of the rows that wait, made of them where it is not kept."""
        if self.joined is None:
            states: list[State] | None = None
            for row in self.waiting:
                lifted = [member.operator.lift(*row[1:]) for member in self.spec.members]
                states = lifted if states is None else self._combined(states, lifted)
            self.joined = states
        assert self.joined is not None
        return self.joined

    def undo(self) -> None:
        if self.frozen is None:
            self.waiting, self.joined = self.before
            del self.waiting[self.waited :]
        super().undo()

    def thaw(self) -> None:
        """Make rows of the arrays; those of the newest place go on waiting."""
        if self.twin is not None:
            self._take_over(self.twin)
        else:
            rows = super().all_rows()
            newest = rows[-1][0] if rows else None
            first = next((i for i, row in enumerate(rows) if row[0] == newest), len(rows))
            self._build(rows[:first])
            self.hold(rows[:first])
            self.waiting, self.joined = rows[first:], None
        self.frozen = None

    def _take_over(self, twin: Self) -> None:
        self.waiting, self.joined = twin.waiting, twin.joined
        super()._take_over(twin)

    def freeze(self, frozen: list[Array]) -> None:
        super().freeze(frozen)
        self.waiting, self.joined = [], None

    def all_rows(self) -> list[Row]:
        return super().all_rows() + (self.waiting if self.frozen is None else [])

    def newest_row(self) -> Row:
        return self.waiting[-1] if self.waiting else super().newest_row()

    def held(self) -> int:
        return super().held() + (len(self.waiting) if self.frozen is None else 0)


def rows_of(arrays: list[Array]) -> list[Row]:
    """Rows from arrays: of their places, and of each argument."""
    places, *columns = arrays
    return list(zip(places.tolist(), *(column.tolist() for column in columns), strict=True))
