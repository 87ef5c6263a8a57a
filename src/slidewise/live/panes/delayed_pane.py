"""The pane of a window of time that ends a delay before the row: rows wait until they are old enough to enter it."""

from __future__ import annotations

from collections import deque
from itertools import islice, takewhile
from typing import Any

from slidewise.arrays import Array
from slidewise.engine.running_pane import Row
from slidewise.engine.window_spec import WindowSpec
from slidewise.live.panes.row_pane import RowPane
from slidewise.live.panes.swag_pane import SwagPane
from slidewise.live.types import Arguments, Place
from slidewise.operators.types import State


class DelayedRowPane(RowPane):
    """A window with a delay. `rows` are those that the SWAGs have, and `waiting` the ones behind them.

    An event moves as many rows as have become old enough since the one before, once each.
    """

    __slots__ = ("came", "passed", "waiting")

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self.waiting: deque[Row] = deque()
        self.came = 0  # rows that began to wait since `begin`
        self.passed: list[Row] = []  # rows that have left since then, and never were in the SWAGs

    push = SwagPane.push

    def begin(self) -> None:
        self.came = 0
        self.passed = []
        super().begin()

    def _add(self, place: Place, arguments: Arguments | None) -> None:
        waiting = self.waiting
        if arguments is not None:
            for member in self.spec.members:
                member.operator.lift(*arguments)  # what it refuses is refused now
            waiting.append((place, *arguments))
            self.came += 1
        young, cut = self.spec.young(place), self.spec.cut(place)
        if self.rows and self.rows[0][0] < cut:
            self._evict(cut)
        while waiting and waiting[0][0] < cut:  # too old before they could enter
            self.passed.append(waiting.popleft())
        while waiting and waiting[0][0] <= young:
            self._insert(waiting[0])
            waiting.popleft()

    def answers_at(self, place: Place) -> list[Any]:
        """See `Pane.answers_at`. Combine calls: as without a delay, and one for each row that enters until then."""
        pane = self.readable()
        young, cut = self.spec.young(place), self.spec.cut(place)
        entered = [row[1:] for row in takewhile(lambda row: row[0] <= young, pane.waiting) if row[0] >= cut]
        k = pane._left_at(place)
        n = len(pane.rows) - k + len(entered)
        answers: list[Any] = []
        for swag, member in zip(pane.swags, self.spec.members, strict=True):
            if n < member.least:
                answers.append(None)
            elif not entered:
                answers.append(swag._query_without(k))
            elif member.operator.traits.order_statistic is not None:
                answers.append(swag._query_without(k, [row[0] for row in entered]))
            else:
                answers.append(swag._query_without(k, [folded(member.operator, entered)]))
        return answers

    def undo(self) -> None:
        if self.frozen is not None:  # an operator refused to have it thawed
            return
        entered = list(islice(reversed(self.rows), self.added))
        super().undo()
        self.waiting.extendleft(entered)
        self.waiting.extendleft(reversed(self.passed))
        self.passed = []
        for _ in range(self.came):
            self.waiting.pop()
        self.came = 0

    def thaw(self) -> None:
        """Make rows of the arrays; those that are not old enough at the newest one's place go on waiting."""
        if self.twin is not None:
            self._take_over(self.twin)
        else:
            rows = self.all_rows()
            young = self.spec.young(rows[-1][0]) if rows else 0
            first = next((i for i, row in enumerate(rows) if row[0] > young), len(rows))
            self._build(rows[:first])
            self.hold(rows[:first])
            self.waiting = deque(rows[first:])
        self.frozen = None

    def _take_over(self, twin: Any) -> None:
        self.waiting = twin.waiting
        super()._take_over(twin)

    def freeze(self, frozen: list[Array]) -> None:
        super().freeze(frozen)
        self.waiting = deque()

    def all_rows(self) -> list[Row]:
        return super().all_rows() + (list(self.waiting) if self.frozen is None else [])

    def newest_row(self) -> Row:
        return self.waiting[-1] if self.waiting else super().newest_row()

    def held(self) -> int:
        return super().held() + (len(self.waiting) if self.frozen is None else 0)


def folded(operator: Any, rows: list[Any]) -> State:
    """The state of some rows' arguments, oldest first."""
    state = operator.lift(*rows[0])
    for row in rows[1:]:
        state = operator.combine(state, operator.lift(*row))
    return state
