"""The state of one key that is answered on a beat: its slices, and a SWAG of slices for each window.

A slice is a list of its number and, for each part, how many rows it holds and their state, or the rows themselves. The
last one is still open. SWAGs can always be made anew from slices; after a batch, arrays take the place of both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slidewise.engine.beats.parts import BeatColumn, Part, SlicePlan
from slidewise.live.panes.swag_pane import over_states
from slidewise.live.types import Arguments, Time
from slidewise.operators.answer_types import check_answer
from slidewise.operators.operator import Operator
from slidewise.swag.daba_lite import DabaLite
from slidewise.swag.interface import Swag
from slidewise.swag.order_statistics import OrderStatistics
from slidewise.windows import Beats

if TYPE_CHECKING:
    from slidewise.engine.beats.slices import BeatSlices

Slice = list[Any]  # its number, and then a list [rows, state] for each part


class BeatWindow:
    """Aggregates over the same part and window, and which slices that window holds at beat 0."""

    __slots__ = ("asked", "high", "low", "operators", "part", "rows")

    def __init__(self, plan: SlicePlan, beats: Beats, asked: list[BeatColumn]) -> None:
        self.asked = asked
        self.part = asked[0].part
        self.rows = plan.parts[asked[0].part].by_rows
        self.low, self.high = beats.edges[asked[0].window]
        self.operators = list(dict.fromkeys(column.operator for column in asked))

    def swags(self) -> list[Swag]:
        """An empty SWAG for each operator."""
        if self.rows:
            return OrderStatistics.several(self.operators)
        return [DabaLite(over_states(op)) for op in self.operators]


def beat_windows(plan: SlicePlan, beats: Beats) -> list[BeatWindow]:
    """The different windows of a plan, where time is cut like this."""
    groups: dict[tuple[int, int], list[BeatColumn]] = {}
    for column in plan.asked:
        groups.setdefault((column.part, column.window), []).append(column)
    return [BeatWindow(plan, beats, asked) for asked in groups.values()]


class BeatPane:
    """One window under one key: how many rows each of its slices has, and their SWAGs."""

    __slots__ = ("next", "rows", "slices", "swags", "window")

    def __init__(self, window: BeatWindow, start: int) -> None:
        self.window = window
        self.swags = window.swags()
        self.slices: deque[tuple[int, int]] = deque()  # numbers, and rows
        self.rows = 0
        self.next = start  # the position of the next slice to take in

    def move(self, slices: deque[Slice], start: int, first: int, stop: int) -> None:
        """Take in slices up to a number, and let go of those before another; `start` is the first one's position."""
        window = self.window
        while self.slices and self.slices[0][0] < first:
            _, rows = self.slices.popleft()
            self.rows -= rows
            for swag in self.swags:
                swag.evict_many(rows) if window.rows else swag.evict()
        self.next = max(self.next, start)
        while self.next - start < len(slices) and slices[self.next - start][0] < stop:
            number, *parts = slices[self.next - start]
            self.next += 1
            rows, state = parts[window.part]
            if number < first or not rows:
                continue
            for swag in self.swags:
                if window.rows:
                    for row in state:
                        swag.insert(*row)
                else:
                    swag.insert((state,))
            self.slices.append((number, rows))
            self.rows += rows

    def answers(self) -> Iterator[tuple[str, Any]]:
        """The answers by name."""
        answers: dict[Operator, Any] = {}
        for column in self.window.asked:
            if self.rows < column.least:
                yield column.name, None
                continue
            op = column.operator
            if op not in answers:
                answers[op] = self.swags[self.window.operators.index(op)].query()
                check_answer(op, answers[op], column.name)
            answer = answers[op]
            yield column.name, list(answer) if type(answer) is list else answer


class BeatKeyState:
    """One key: its newest time, how many rows it has had, and its slices, as a list or, after a batch, as arrays."""

    __slots__ = ("count", "frozen", "now", "panes", "slices", "start")

    def __init__(self) -> None:
        self.now: Time | None = None
        self.count = 0
        self.slices: deque[Slice] = deque()
        self.start = 0  # the position of the first slice among all there have been
        self.panes: list[BeatPane] | None = None
        self.frozen: BeatSlices | None = None

    def copied(self) -> BeatKeyState:
        """A copy, whose SWAGs are made anew when they are needed."""
        other = BeatKeyState()
        other.now, other.count, other.start, other.frozen = self.now, self.count, self.start, self.frozen
        other.slices = deque(
            [number, *([rows, _copied(state)] for rows, state in parts)] for number, *parts in self.slices
        )
        return other

    @property
    def empty(self) -> bool:
        """Whether there are no slices."""
        return not self.slices if self.frozen is None else not len(self.frozen)

    def take(self, parts: list[Part], number: int, arguments: list[Arguments | None]) -> None:
        """Add a row to its slice; where an operator raises, nothing has changed."""
        opened = not self.slices or self.slices[-1][0] != number
        old = [number, *([0, None] for _ in parts)] if opened else self.slices[-1]
        new: list[Any] = [number]
        for part, (rows, state), values in zip(parts, old[1:], arguments, strict=True):
            if values is None:
                new.append([rows, state])
                continue
            lifted = part.operator.lift(*values)
            if part.by_rows:
                new.append([rows + 1, state if rows else []])
            else:
                new.append([rows + 1, part.operator.combine(state, lifted) if rows else lifted])
        for part, (_, state), values in zip(parts, new[1:], arguments, strict=True):
            if part.by_rows and values is not None:
                state.append(values)
        if opened:
            self.slices.append(new)
        else:
            self.slices[-1] = new

    def due(self, beats: Beats, windows: list[BeatWindow], after: int, until: int) -> list[tuple[int, dict[str, Any]]]:
        """The beats after one and up to another at which a window holds a slice, and their answers by name.

        Slices stay until `trim`. Where an operator raises, SWAGs are made anew next time.
        """
        due: list[tuple[int, dict[str, Any]]] = []
        beat, at = after + 1, 0
        try:
            while True:
                while at < len(self.slices) and beats.held(self.slices[at][0])[1] < beat:
                    at += 1
                if at == len(self.slices):
                    return due
                beat = max(beat, beats.held(self.slices[at][0])[0])
                if beat > until:
                    return due
                if self.panes is None:
                    self.panes = [BeatPane(window, self.start) for window in windows]
                answers: dict[str, Any] = {}
                for pane in self.panes:
                    first = beat * beats.per + pane.window.low
                    pane.move(self.slices, self.start, first, beat * beats.per + pane.window.high)
                    answers.update(pane.answers())
                due.append((beat, answers))
                beat += 1
        except BaseException:
            self.panes = None
            raise

    def trim(self, beats: Beats, after: int) -> None:
        """Drop the slices that no beat after this one needs."""
        while self.slices and beats.held(self.slices[0][0])[1] <= after:
            self.slices.popleft()
            self.start += 1
        if not self.slices:
            self.panes = None


def _copied(state: Any) -> Any:
    return list(state) if type(state) is list else state
