"""The pane of a window of time that holds so many rows at most: rows leave by their age, or by how many came since.

A row is a tuple of its place, whether it counts, and its arguments. Rows that the aggregates skip take places, so they
are kept behind the first one that counts; the SWAGs do not have them, and their arguments are there for arrays only.
"""

from __future__ import annotations

from typing import Any

from slidewise.engine.running_pane import Row
from slidewise.engine.window_spec import WindowSpec
from slidewise.live.panes.delayed_pane import folded
from slidewise.live.panes.row_pane import OpenRowPane, RowPane
from slidewise.live.panes.swag_pane import SwagPane
from slidewise.live.types import Arguments, Place
from slidewise.operators.types import State


class LimitedRowPane(OpenRowPane):
    """A window with a limit; where it is open on the right, rows of the newest place wait until a later one comes."""

    __slots__ = ("limit", "skipped", "skipped_before")

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        assert spec.limit is not None
        self.limit = spec.limit
        self.skipped = 0  # rows among those that do not wait which the SWAGs do not have
        self.skipped_before = 0

    def begin(self) -> None:
        super().begin()
        self.skipped_before = self.skipped

    def take(self, place: Place, arguments: Arguments | None) -> list[Any]:
        if not self.spec.is_open:
            self._add(place, arguments)
            return self._answers()
        if self.waiting and self.waiting[0][0] < place:
            waiting, self.waiting = self.waiting, []
            for row in waiting:
                self._insert(row)
        self._evict(self.spec.cut(place))
        answers = self._answers()
        new = self._row(place, arguments)
        if new is not None:
            for member in self.spec.members if arguments is not None else ():
                member.operator.lift(*new[2:])  # what it refuses is refused now
            self.waiting.append(new)
        return answers

    def _add(self, place: Place, arguments: Arguments | None) -> None:
        row = self._row(place, arguments)
        if row is not None:
            self._insert(row)
        self._evict(self.spec.cut(place))

    def _row(self, place: Place, arguments: Arguments | None) -> Row | None:
        """The row to keep; one that is skipped has the arguments of the row before it, and is kept behind others."""
        if arguments is not None:
            return (place, True, *arguments)
        before = self.waiting or self.rows
        return (place, False, *before[-1][2:]) if before else None

    def _insert(self, row: Row) -> None:
        if row[1]:
            for swag in self.swags:
                swag.insert(*row[2:])
        else:
            self.skipped += 1
        self.rows.append(row)
        self.added += 1

    def _evict(self, cut: Place) -> None:
        """Evict the rows before this place, those beyond the limit, and what is skipped in front of the others."""
        rows, limit = self.rows, self.limit
        gone = [] if self.gone is None else self.gone
        leave = 0
        while rows and (rows[0][0] < cut or len(rows) > limit or not rows[0][1]):
            row = rows.popleft()
            gone.append(row)
            leave += row[1]
            self.skipped -= not row[1]
        self.gone = gone
        for swag in self.swags if leave else ():
            swag.evict_many(leave)

    def _counted(self) -> int:
        return len(self.rows) - self.skipped

    def answers_at(self, place: Place) -> list[Any]:
        """See `Pane.answers_at`. Steps: the rows that have left; combine calls: as without a limit, and one for each
        row that waits."""
        pane = self.readable()
        rows, waiting, cut = pane.rows, pane.waiting, self.spec.cut(place)
        if not waiting or not waiting[0][0] < place:
            waiting = []
        elif waiting[0][0] < cut:
            rows, waiting = rows.__class__(), []
        beyond = len(rows) + len(waiting) - self.limit
        n = 0  # rows that count, and have left
        for at, row in enumerate(rows):
            if row[0] >= cut and at >= beyond:
                break
            n += row[1]
        counted = [row[2:] for row in waiting[max(beyond - len(rows), 0) :] if row[1]]
        total = len(rows) - (pane.skipped if rows else 0) - n + len(counted)
        if not rows:  # all of them have left
            n = len(pane.rows) - pane.skipped
        answers: list[Any] = []
        for swag, member in zip(pane.swags, self.spec.members, strict=True):
            if total < member.least:
                answers.append(None)
            elif not counted:
                answers.append(swag._query_without(n))
            elif member.operator.traits.order_statistic is not None:
                answers.append(swag._query_without(n, [row[0] for row in counted]))
            else:
                answers.append(swag._query_without(n, [folded(member.operator, counted)]))
        return answers

    def _index_places(self) -> None:
        """Places need no index: a row that leaves is looked at."""

    def undo(self) -> None:
        if self.frozen is None:
            self.skipped = self.skipped_before
        super().undo()

    def thaw(self) -> None:
        if self.spec.is_open:
            super().thaw()
        else:
            RowPane.thaw(self)

    def hold(self, rows: list[Row]) -> None:
        super().hold(rows)
        self.skipped = sum(not row[1] for row in rows)

    def _take_over(self, twin: Any) -> None:
        super()._take_over(twin)
        self.skipped = twin.skipped

    def _build(self, rows: list[Row]) -> None:
        super()._build([(row[0], *row[2:]) for row in rows if row[1]])

    def waiting_states(self) -> list[State]:
        """None: reads fold the rows that wait."""
        return []

    def newest_row(self) -> Row:
        """The newest row that counts, without the word that it does."""
        return next((row[0], *row[2:]) for row in reversed(self.all_rows()) if row[1])

    push = SwagPane.push
