"""The pane of a window of rows: the rows that it holds, and a SWAG for each operator that runs over them.

A row is a tuple of its place and its arguments. The rows are kept beside the SWAGs because they say when to evict, and
because batches run through kernels, which begin with rows. After a batch a pane is frozen: it holds its rows as arrays
only, and builds its SWAGs when the next single event comes.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from slidewise.arrays import Array
from slidewise.engine.running_pane import Row
from slidewise.engine.window_spec import WindowSpec, swags_of
from slidewise.live.panes.swag_pane import SwagPane
from slidewise.live.types import Arguments, Place


class RowPane(SwagPane):
    """A window that is closed on the right: a row is in its own answer."""

    __slots__ = ("frozen", "rows")

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec, swags_of(spec.members))
        self.rows: deque[Row] = deque()
        self.frozen: list[Array] | None = None  # places, and one array for each argument

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
            for swag in self.swags:
                swag.insert(*arguments)
            rows.append((place, *arguments))
            self.added += 1
        cut = place - spec.whole if type(place) is int else spec.cut(place)
        if rows and rows[0][0] < cut:
            self._evict(cut)

    def _answers(self) -> list[Any]:
        n = len(self.rows)
        members = self.spec.members
        return [swag.query() if n >= member.least else None for swag, member in zip(self.swags, members, strict=True)]

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
            self._roll_back(self.rows)

    def thaw(self) -> None:
        """Make rows of the arrays, and SWAGs of them; where an operator raises, the pane stays frozen."""
        rows = self.all_rows()
        self._build(rows)
        self.rows = deque(rows)
        self.frozen = None

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
            self.rows.clear()
            self.gone = None
            self._clear()
        self.frozen = frozen

    def all_rows(self) -> list[Row]:
        """The rows that later windows may hold, oldest first."""
        return list(self.rows) if self.frozen is None else rows_of(self.frozen)

    def held(self) -> int:
        """How many rows there are."""
        return len(self.rows) if self.frozen is None else len(self.frozen[0])


class OpenRowPane(RowPane):
    """A window that is open on the right: rows of the newest place wait until a later one comes."""

    __slots__ = ("before", "waited", "waiting")

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self.waiting: list[Row] = []
        self.before = self.waiting
        self.waited = 0

    def push(self, place: Place, arguments: Arguments | None) -> list[Any]:
        self.begin()
        return self.take(place, arguments)

    def begin(self) -> None:
        super().begin()
        self.before = self.waiting
        self.waited = len(self.waiting)

    def take(self, place: Place, arguments: Arguments | None) -> list[Any]:
        rows, spec = self.rows, self.spec
        if self.waiting and self.waiting[0][0] < place:
            waiting, self.waiting = self.waiting, []
            for row in waiting:
                for swag in self.swags:
                    swag.insert(*row[1:])
                rows.append(row)
                self.added += 1
        cut = spec.cut(place)
        if rows and rows[0][0] < cut:
            self._evict(cut)
        answers = self._answers()
        if arguments is not None:
            for member in spec.members:
                member.operator.lift(*arguments)
            self.waiting.append((place, *arguments))
        return answers

    def undo(self) -> None:
        if self.frozen is None:
            self.waiting = self.before
            del self.waiting[self.waited :]
        super().undo()

    def thaw(self) -> None:
        """Make rows of the arrays; those of the newest place go on waiting."""
        rows = super().all_rows()
        newest = rows[-1][0] if rows else None
        first = next((i for i, row in enumerate(rows) if row[0] == newest), len(rows))
        self._build(rows[:first])
        self.rows, self.waiting = deque(rows[:first]), rows[first:]
        self.frozen = None

    def freeze(self, frozen: list[Array]) -> None:
        super().freeze(frozen)
        self.waiting = []

    def all_rows(self) -> list[Row]:
        return super().all_rows() + (self.waiting if self.frozen is None else [])

    def held(self) -> int:
        return super().held() + (len(self.waiting) if self.frozen is None else 0)


def rows_of(arrays: list[Array]) -> list[Row]:
    """Rows from arrays: of their places, and of each argument."""
    places, *columns = arrays
    return list(zip(places.tolist(), *(column.tolist() for column in columns), strict=True))
