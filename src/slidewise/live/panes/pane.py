"""One window under one key: the rows that it holds, and a SWAG for each operator that runs over them.

A row is a tuple of its place and its arguments. The rows are kept beside the SWAGs because they say when to evict, and
because batches run through kernels, which begin with rows. After a batch a pane holds its rows as arrays only, and
builds its SWAGs when the next single event comes.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from slidewise.engine.running_pane import Row, RunningPane, for_each
from slidewise.engine.window_spec import WindowSpec, swags_of
from slidewise.live.panes.cell_pane import CellPane
from slidewise.live.panes.shared_pane import shared_panes


class Pane:
    """A window that is closed on the right: a row is in its own answer."""

    __slots__ = ("added", "frozen", "gone", "rows", "spec", "swags")

    def __init__(self, spec: WindowSpec) -> None:
        self.spec = spec
        self.swags: list[Any] = swags_of(spec.members)
        self.rows: deque[Row] = deque()
        self.frozen: Any = None  # arrays: places, and one for each argument
        self.added = 0
        self.gone: list[Row] | None = None

    def push(self, place: Any, arguments: Row | None) -> list[Any]:
        """Take in a row, drop those too old for it, and answer; `undo` takes it back until the next push.

        This is `begin` and `take`, written out for speed.
        """
        self.added = 0
        self.gone = None
        if self.frozen is not None:
            self.thaw()
        rows, spec, swags = self.rows, self.spec, self.swags
        for swag in swags:
            swag._mark()
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
        """From here on `undo` takes back."""
        self.added = 0
        self.gone = None
        if self.frozen is not None:
            self.thaw()
        for swag in self.swags:
            swag._mark()

    def keep(self) -> None:
        """What has come since `begin` stays."""
        self.gone = None
        for swag in self.swags:
            swag._unmark()

    def push_peers(self, peers: list[tuple[Any, Row | None]]) -> list[list[Any]]:
        """Take in rows of equal time, which all see one another; numbered rows come one after the other."""
        self.begin()
        if self.spec.numbered or self.spec.is_open:
            return [self.take(place, arguments) for place, arguments in peers]
        for place, arguments in peers:
            self._add(place, arguments)
        return for_each(peers, self._answers())

    def take(self, place: Any, arguments: Row | None) -> list[Any]:
        """Take in one more row after `begin`, and answer."""
        self._add(place, arguments)
        return self._answers()

    def _add(self, place: Any, arguments: Row | None) -> None:
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
        return [swag.query() if n >= one.least else None for swag, one in zip(self.swags, members, strict=True)]

    def _evict(self, cut: Any) -> None:
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
        """Take back what has come since `begin`; no function of the operator is called, since it may be what failed."""
        if self.frozen is not None:  # which an operator refused to have thawed
            return
        if self.gone:
            self.rows.extendleft(reversed(self.gone))
            self.gone = None
        for _ in range(self.added):
            self.rows.pop()
        self.added = 0
        for swag in self.swags:
            swag._take_back()

    def thaw(self) -> None:
        """Rows from arrays, and SWAGs of them; where an operator raises, it stays frozen."""
        rows = self._thawed()
        self._build(rows)
        self.rows = deque(rows)
        self.frozen = None

    def _build(self, rows: list[Row]) -> None:
        """Make the SWAGs anew from these rows, all of them or none."""
        self._clear()
        try:
            for swag in self.swags:
                for row in rows:
                    swag.insert(*row[1:])
        except BaseException:
            self._clear()
            raise

    def _clear(self) -> None:
        for swag in self.swags:
            swag._unmark()
            swag.clear()

    def freeze(self, frozen: Any) -> None:
        """Hold these arrays instead of rows and SWAGs."""
        if self.frozen is None:
            self.rows.clear()
            self.gone = None
            self._clear()
        self.frozen = frozen

    def _thawed(self) -> list[Row]:
        places, *columns = self.frozen
        return list(zip(places.tolist(), *(column.tolist() for column in columns), strict=True))

    def all_rows(self) -> list[Row]:
        """The rows that later windows may hold, oldest first."""
        return list(self.rows) if self.frozen is None else self._thawed()

    def held(self) -> int:
        """How many rows there are."""
        return len(self.rows) if self.frozen is None else len(self.frozen[0])


class OpenPane(Pane):
    """A window whose right end is open: rows wait at the newest place until a later one comes."""

    __slots__ = ("before", "waited", "waiting")

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self.waiting: list[Row] = []
        self.before = self.waiting
        self.waited = 0

    def push(self, place: Any, arguments: Row | None) -> list[Any]:
        self.begin()
        return self.take(place, arguments)

    def begin(self) -> None:
        super().begin()
        self.before = self.waiting
        self.waited = len(self.waiting)

    def take(self, place: Any, arguments: Row | None) -> list[Any]:
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
            for one in spec.members:
                one.operator.lift(*arguments)
            self.waiting.append((place, *arguments))
        return answers

    def undo(self) -> None:
        if self.frozen is None:
            self.waiting = self.before
            del self.waiting[self.waited :]
        super().undo()

    def thaw(self) -> None:
        """The rows of the newest place go on waiting."""
        rows = self._thawed()
        newest = rows[-1][0] if rows else None
        first = next((i for i, row in enumerate(rows) if row[0] == newest), len(rows))
        self._build(rows[:first])
        self.rows, self.waiting = deque(rows[:first]), rows[first:]
        self.frozen = None

    def freeze(self, frozen: Any) -> None:
        super().freeze(frozen)
        self.waiting = []

    def all_rows(self) -> list[Row]:
        return super().all_rows() + (self.waiting if self.frozen is None else [])

    def held(self) -> int:
        return super().held() + (len(self.waiting) if self.frozen is None else 0)


def new_panes(specs: list[WindowSpec]) -> list[Any]:
    """An empty pane for each spec."""
    return [shared or _new_pane(spec) for spec, shared in zip(specs, shared_panes(specs), strict=True)]


def _new_pane(spec: WindowSpec) -> Any:
    if spec.running:
        return RunningPane(spec)
    if spec.grain is not None:
        return CellPane(spec)
    return OpenPane(spec) if spec.is_open else Pane(spec)
