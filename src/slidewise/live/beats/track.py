"""What is kept of one key that is answered on a beat: its slices, and a SWAG of slices for each window.

A slice is a list of its number and, for each part, how many rows it holds and their state, or the rows themselves. The
last one is still open. SWAGs can always be made anew from slices; after a batch, arrays take the place of both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slidewise.engine.beats.parts import BeatColumn, Part, SlicePlan
from slidewise.operators.answer_types import check_answer
from slidewise.operators.operator import Operator
from slidewise.swag.daba_lite import DabaLite
from slidewise.swag.interface import Swag
from slidewise.swag.order_statistics import OrderStatistics
from slidewise.windows import Beats

if TYPE_CHECKING:
    from slidewise.engine.beats.slices import BeatSlices

Slice = list[Any]  # its number, and then a list [rows, state] for each part
Arguments = tuple[Any, ...] | None


class View:
    """Aggregates over the same part and window: which slices that holds at beat 0, and what is asked."""

    __slots__ = ("asked", "high", "low", "operators", "part", "rows")

    def __init__(self, kept: SlicePlan, beats: Beats, asked: list[BeatColumn]) -> None:
        self.asked = asked
        self.part = 1 + asked[0].part  # its place in a slice
        self.rows = kept.parts[asked[0].part].by_rows
        self.low, self.high = beats.edges[asked[0].window]
        self.operators = list(dict.fromkeys(one.operator for one in asked))

    def swags(self) -> list[Swag]:
        if self.rows:
            return OrderStatistics.several(self.operators)
        return [DabaLite(of_states(op)) for op in self.operators]


def views_of(kept: SlicePlan, beats: Beats) -> list[View]:
    groups: dict[tuple[int, int], list[BeatColumn]] = {}
    for one in kept.asked:
        groups.setdefault((one.part, one.window), []).append(one)
    return [View(kept, beats, asked) for asked in groups.values()]


def of_states(op: Operator) -> Operator:
    """The operator over states in boxes; a state may be None, which no row may be."""
    return replace(op, lift=_unboxed, inputs=("state",), inverse=None, invertible_if=None)


def _unboxed(box: tuple[Any]) -> Any:
    return box[0]


class Pane:
    """One view's window under one key: how many rows each of its slices has, and their SWAGs."""

    __slots__ = ("next", "rows", "slices", "swags", "view")

    def __init__(self, view: View, start: int) -> None:
        self.view = view
        self.swags = view.swags()
        self.slices: deque[tuple[int, int]] = deque()  # numbers, and rows
        self.rows = 0
        self.next = start  # the position of the next slice to take in

    def move(self, slices: deque[Slice], start: int, first: int, stop: int) -> None:
        """Take in slices up to a number, and let go of those before another; `start` is the first one's position."""
        view = self.view
        while self.slices and self.slices[0][0] < first:
            _, rows = self.slices.popleft()
            self.rows -= rows
            for swag in self.swags:
                swag.evict_many(rows) if view.rows else swag.evict()
        self.next = max(self.next, start)
        while self.next - start < len(slices) and slices[self.next - start][0] < stop:
            one = slices[self.next - start]
            self.next += 1
            rows, state = one[view.part]
            if one[0] < first or not rows:
                continue
            for swag in self.swags:
                if view.rows:
                    for row in state:
                        swag.insert(*row)
                else:
                    swag.insert((state,))
            self.slices.append((one[0], rows))
            self.rows += rows

    def answers(self) -> Iterator[tuple[str, Any]]:
        """The answers by name."""
        found: dict[Operator, Any] = {}
        for one in self.view.asked:
            if self.rows < one.least:
                yield one.name, None
                continue
            op = one.operator
            if op not in found:
                found[op] = self.swags[self.view.operators.index(op)].query()
                check_answer(op, found[op], one.name)
            answer = found[op]
            yield one.name, list(answer) if type(answer) is list else answer


class BeatTrack:
    """One key: its newest time, how many rows it has had, and its slices, as a list or, after a batch, as arrays."""

    __slots__ = ("count", "frozen", "now", "panes", "slices", "start")

    def __init__(self) -> None:
        self.now: Any = None
        self.count = 0
        self.slices: deque[Slice] = deque()
        self.start = 0  # the position of the first slice among all there have been
        self.panes: list[Pane] | None = None
        self.frozen: BeatSlices | None = None

    def copied(self) -> BeatTrack:
        """The same, as it is now; its SWAGs are made anew when they are needed."""
        other = BeatTrack()
        other.now, other.count, other.start, other.frozen = self.now, self.count, self.start, self.frozen
        other.slices = deque([one[0], *([rows, _own(state)] for rows, state in one[1:])] for one in self.slices)
        return other

    @property
    def empty(self) -> bool:
        return not self.slices if self.frozen is None else not len(self.frozen)

    def take(self, parts: list[Part], number: int, arguments: list[Arguments]) -> None:
        """Add a row to its slice; where an operator raises, nothing has changed."""
        opened = not self.slices or self.slices[-1][0] != number
        old = [number, *([0, None] for _ in parts)] if opened else self.slices[-1]
        new: list[Any] = [number]
        for part, (rows, state), given in zip(parts, old[1:], arguments, strict=True):
            if given is None:
                new.append([rows, state])
                continue
            lifted = part.operator.lift(*given)
            if part.by_rows:
                new.append([rows + 1, state if rows else []])
            else:
                new.append([rows + 1, part.operator.combine(state, lifted) if rows else lifted])
        for part, one, row in zip(parts, new[1:], arguments, strict=True):
            if part.by_rows and row is not None:
                one[1].append(row)
        if opened:
            self.slices.append(new)
        else:
            self.slices[-1] = new

    def due(self, beats: Beats, views: list[View], after: int, until: int) -> list[tuple[int, dict[str, Any]]]:
        """The beats after one and up to another at which a window holds a slice, and their answers by name.

        Slices stay until `trim`. Where an operator raises, SWAGs are made anew next time.
        """
        found: list[tuple[int, dict[str, Any]]] = []
        beat, at = after + 1, 0
        try:
            while True:
                while at < len(self.slices) and beats.held(self.slices[at][0])[1] < beat:
                    at += 1
                if at == len(self.slices):
                    return found
                beat = max(beat, beats.held(self.slices[at][0])[0])
                if beat > until:
                    return found
                if self.panes is None:
                    self.panes = [Pane(view, self.start) for view in views]
                answers: dict[str, Any] = {}
                for pane in self.panes:
                    first = beat * beats.per + pane.view.low
                    pane.move(self.slices, self.start, first, beat * beats.per + pane.view.high)
                    answers.update(pane.answers())
                found.append((beat, answers))
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


def _own(state: Any) -> Any:
    return list(state) if type(state) is list else state
