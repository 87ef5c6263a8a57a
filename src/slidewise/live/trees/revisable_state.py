"""The state of one key where answers are revised: its rows in order, and a FiBA for each operator over each window.

A row's place is (time, order, number): the number is that of the event's arrival, and the order is what the definition
puts rows of equal time in order by, left out where it makes no difference. So (t,) comes before all rows of time t, and
(t, LAST) behind them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, NoReturn

from slidewise.engine.window_spec import Marked, WindowSpec, arguments_in
from slidewise.errors import InputError
from slidewise.live.beginnings import Beginnings
from slidewise.live.types import EventRow, Time
from slidewise.live.waiting.reorder_buffer import Event
from slidewise.operators.operator import Operator
from slidewise.operators.types import State
from slidewise.swag.fiba.fiba import Fiba

RowPlace = tuple[Any, ...]


class _Last:
    """A part of a place that sorts behind everything."""

    def __lt__(self, other: Any) -> bool:
        return False

    def __gt__(self, other: Any) -> bool:
        return True


LAST = _Last()


class RevisableRow:
    """A row in its place: the event's columns and its answers; no event once the answers cannot change any more."""

    __slots__ = ("answers", "event", "place")

    def __init__(self, place: RowPlace, event: EventRow | None) -> None:
        self.place = place
        self.event: Any = event
        self.answers: list[Any] = []


class RevisableState:
    """One key: its newest time, how many rows it has had, those that late rows may need, and the windows' trees."""

    __slots__ = ("bases", "beginnings", "count", "now", "places", "rows", "trees")

    def __init__(self, specs: list[WindowSpec]) -> None:
        self.now: Time | None = None
        self.count = 0
        self.rows: list[RevisableRow] = []
        self.places: list[RowPlace] = []  # of the rows
        self.trees = [[Fiba(member.operator) for member in spec.members] for spec in specs]
        # Of windows over everything so far: how many rows were evicted from the tree, and their product, by operator;
        # where windows begin anew, of those since the last of them began.
        self.bases: list[list[tuple[int, Any]]] = [[(0, None) for _ in spec.members] for spec in specs]
        self.beginnings = [None if spec.reset is None else Beginnings(spec.reset) for spec in specs]

    def insert(self, new: list[RevisableRow], events: list[Event], at: int, undos: list[Callable[[], None]]) -> None:
        """Insert rows, sorted by place, into the trees of the spec at this index; `undos` gets what undoes it."""
        rows = [
            (row.place, *arguments)
            for row, event in zip(new, events, strict=True)
            if (arguments := arguments_in(event.arguments[at])) is not None
        ]
        for tree in self.trees[at]:
            undos.append(tree.undoable_insert(rows))

    def add_rows(self, new: list[RevisableRow], events: list[Event]) -> None:
        """Put rows, which are these events, in their places among the others."""
        for row, event in zip(new, events, strict=True):
            self.mark(row, event)
        try:
            if len(new) > 8:
                self.rows = sorted([*self.rows, *new], key=lambda row: row.place)
                self.places = [row.place for row in self.rows]
                self.find_beginnings()
                return
            for row in new:
                i = bisect_right(self.places, row.place)
                self.places.insert(i, row.place)
                self.rows.insert(i, row)
                for beginnings in self.beginnings:
                    if beginnings is not None:
                        beginnings.insert(self.places, i)
        except TypeError as error:
            raise InputError(
                f"events of equal time cannot be put in order, for their values differ in kind: {error}"
            ) from error

    def mark(self, row: RevisableRow, event: Event) -> None:
        """Note where an event itself says that windows begin anew."""
        for beginnings, read in zip(self.beginnings, event.arguments, strict=True):
            if beginnings is not None and type(read) is Marked and read.begins:
                beginnings.marked.add(row.place[-1])

    def find_beginnings(self) -> None:
        """Find anew where windows begin among the rows that may be revised."""
        if any(self.beginnings):
            first = next((i for i, row in enumerate(self.rows) if row.event is not None), len(self.rows))
            for beginnings in self.beginnings:
                if beginnings is not None:
                    beginnings.find(self.places, first)

    def remove_rows(self, new: list[RevisableRow]) -> None:
        """Take rows out of their places again."""
        gone = set(map(id, new))
        self.rows = [row for row in self.rows if id(row) not in gone]
        self.places = [row.place for row in self.rows]
        for beginnings in self.beginnings:
            if beginnings is not None:
                beginnings.marked -= {row.place[-1] for row in new}
        self.find_beginnings()

    def moved(
        self, rows: list[RevisableRow], at: dict[int, RowPlace], emptied: list[bool], specs: list[WindowSpec]
    ) -> RevisableState:
        """The same with rows in other places, by the number of their arrival, and the windows of some specs emptied.

        Combine calls: those of inserting all rows into new trees.
        """
        other = RevisableState(specs)
        other.now, other.count = self.now, self.count
        other.rows = sorted(rows, key=lambda row: row.place)
        other.places = [row.place for row in other.rows]
        for beginnings, before in zip(other.beginnings, self.beginnings, strict=True):
            if beginnings is not None and before is not None:
                beginnings.marked = set(before.marked)
        other.find_beginnings()
        for i, (trees, empty) in enumerate(zip(self.trees, emptied, strict=True)):
            if empty:
                continue
            other.bases[i] = self.bases[i]
            for old, tree in zip(trees, other.trees[i], strict=True):
                tree.fill(sorted(((at[t[-1]], v) for t, v in old.contents()), key=lambda entry: entry[0]))
        return other

    def affected(self, spec: WindowSpec, at: int, row: RevisableRow, counts: bool) -> list[range]:
        """Which rows' windows a new row changes, itself included; `counts` is whether the aggregates count it."""
        place = row.place
        time = place[0]
        i = bisect_left(self.places, place)
        beginnings = self.beginnings[at]
        if beginnings is not None:  # a row that is skipped may end a window, or make one of two
            end = beginnings.next((time, LAST))
            stop = len(self.places) if end is None else bisect_left(self.places, end)
            return [range(bisect_left(self.places, (time,)), stop)]
        if spec.numbered:
            return [range(i, min(i + spec.whole + 1, len(self.places)))]
        if not counts and spec.limit is None:
            return [range(i, i + 1)]
        first = i if spec.is_open else bisect_left(self.places, (time,))
        stop = len(self.places)
        if not spec.running:
            stop = bisect_right(self.places, time, lo=i, key=lambda place: spec.cut(place[0]))
        if spec.delay is not None:
            first = bisect_left(self.places, time, lo=i, key=lambda place: spec.young(place[0]))
            return [range(i, i + 1), range(max(first, i + 1), max(stop, i + 1))]
        return [range(first, max(stop, i + 1))]

    def answers(self, spec: WindowSpec, at: int, index: int) -> list[Any]:
        """The answers of a spec for the row at this index. Combine calls: O(log n) for each operator."""
        time = self.places[index][0]
        stop = _stop(spec, time)
        start: RowPlace | None = None
        if spec.numbered:
            first = max(index - spec.whole, 0)
            start = self.places[first]
            stop = self.places[index]
            if spec.is_open:
                stop = self.places[index - 1] if index > first else ()
        elif not spec.running:
            start = self._newest_from((spec.cut(time),), stop, spec)
        if spec.reset is not None:
            answers = self._answers_anew(spec, at, time, stop)
        else:
            answers = self._answers_between(spec, at, start, stop, self.places[index])
        if spec.declared:
            spec.check(answers)
        return answers

    def answers_at(self, spec: WindowSpec, at: int, time: Time) -> list[Any]:
        """The answers of a spec as of a time, where no row comes. Combine calls: O(log n) for each operator."""
        stop = _stop(spec, time)
        start: RowPlace | None = None
        if spec.numbered:
            last = bisect_left(self.places, stop)
            first = max(last - (spec.whole if spec.is_open else spec.whole + 1), 0)
            start, stop = (self.places[first], self.places[last - 1]) if last > first else ((), ())
        elif not spec.running:
            start = self._newest_from((spec.cut(time),), stop, spec)
        if spec.reset is not None:
            newest = bisect_left(self.places, (time, LAST)) - 1
            over = newest < 0 or not spec.reset.goes_on(self.places[newest][0], time)
            return spec.empty_answers() if over else self._answers_anew(spec, at, time, stop)
        return self._answers_between(spec, at, start, stop)

    def _answers_anew(self, spec: WindowSpec, at: int, time: Time, stop: RowPlace) -> list[Any]:
        """The answers over the rows up to a place since the window of a time began."""
        beginnings = self.beginnings[at]
        assert beginnings is not None
        start = beginnings.newest((time, LAST))
        if start is None:
            return self._answers_between(spec, at, None, stop)
        none = [(0, None)] * len(spec.members)
        return self._answers_between(spec, at, start, stop if start < stop else (), bases=none)

    def _newest_from(self, start: RowPlace, stop: RowPlace, spec: WindowSpec) -> RowPlace:
        """Where a window begins that starts and stops at these places, and holds so many of a key's rows at most."""
        if spec.limit is None:
            return start
        beyond = bisect_left(self.places, stop) - spec.limit
        return start if beyond < 0 else max(start, self.places[beyond])

    def _answers_between(
        self,
        spec: WindowSpec,
        at: int,
        start: RowPlace | None,
        stop: RowPlace,
        own: RowPlace | None = None,
        bases: list[tuple[int, Any]] | None = None,
    ) -> list[Any]:
        """The answers of a spec over the rows from a place, or the first one, to another, none where that is (); behind
        what was evicted before. `own` is the place of the row that is answered."""
        trees, bases = self.trees[at], self.bases[at] if bases is None else bases
        tree = trees[0]
        rows = 0
        if len(tree) and stop:
            places = tree.locate(tree.oldest() if start is None else start, stop)
            rows = places[2]
        answers = []
        for member, each, (before, base) in zip(spec.members, trees, bases, strict=True):
            op = member.operator
            state = op.identity if rows <= 0 else each.located(places[0], places[1])
            if before:
                state = base if rows <= 0 else op.combine(base, state)
            enough = max(rows, 0) + before >= member.least
            if enough and own is not None and op.traits.own_value is not None:
                inside = (start is None or not own < start) and not stop < own
                answers.append(_about_own_row(op, each, state, own, inside))
                continue
            answers.append(op.lower(state) if enough else None)
        return answers

    def prune(self, specs: list[WindowSpec], horizon: Time, fail: Callable[[int, BaseException], NoReturn]) -> None:
        """Drop what no row from the time `horizon` on can need; each step is whole, wherever an operator raises."""
        first = bisect_left(self.places, (horizon,))
        spare = first - 1 if any(self.beginnings) else first
        for at, spec in enumerate(specs):
            cut: RowPlace | None = (horizon,) if spec.running else None
            if spec.numbered:
                held = spec.whole + (not spec.is_open)  # a read may come before the first row
                spare = min(spare, first - held)
                cut = self.places[first - held - 1] if first > held else None
            elif cut is None:
                cut = (spec.cut(horizon),)
                if spec.limit is not None:
                    spare = min(spare, first - spec.limit)
            try:
                if cut is not None:
                    self._evict(at, spec, cut)
            except BaseException as error:
                fail(at, error)
        for row in reversed(self.rows[:first]):
            for beginnings in self.beginnings:
                if beginnings is not None:
                    beginnings.marked.discard(row.place[-1])
            if row.event is None:
                break
            row.event = None
            row.answers = []
        if spare >= 64:
            del self.rows[:spare], self.places[:spare]

    def _evict(self, at: int, spec: WindowSpec, cut: RowPlace) -> None:
        """Evict the rows up to a place from the trees of a spec; of a window over everything, their product stays.

        Where an operator raises, every tree is as it was: all of them hold the same rows.
        """
        trees, bases = self.trees[at], self.bases[at][:]
        beginnings = self.beginnings[at]
        begun = None if beginnings is None else beginnings.newest(cut)
        if begun is not None:
            bases = [(0, None)] * len(bases)
        if not len(trees[0]) or trees[0].oldest() > cut:
            self._rebase(at, bases, cut)
            return
        undos: list[Callable[[], None]] = []
        try:
            for i, (member, tree) in enumerate(zip(spec.members, trees, strict=True)):
                if spec.running:
                    before, base = bases[i]
                    start, stop, rows = tree.locate(tree.oldest() if begun is None else begun, cut)
                    if rows > 0:
                        state = tree.located(start, stop)
                        bases[i] = before + rows, member.operator.combine(base, state) if before else state
                undos.append(tree.undoable_evict_until(cut))
        except BaseException:
            for undo in undos:
                undo()
            raise
        self._rebase(at, bases, cut)

    def _rebase(self, at: int, bases: list[tuple[int, Any]], cut: RowPlace) -> None:
        """Go on from what was evicted up to a place."""
        self.bases[at] = bases
        beginnings = self.beginnings[at]
        if beginnings is not None:
            beginnings.drop(cut)


def _stop(spec: WindowSpec, time: Time) -> RowPlace:
    """The place behind all rows of a window that ends at, or a delay before, a time."""
    if spec.delay is not None:
        return spec.young(time), LAST
    return (time,) if spec.is_open else (time, LAST)


def _about_own_row(op: Operator, tree: Fiba, state: State, place: RowPlace, inside: bool) -> Any:
    """The answer about the row at a place; None where the tree has none, since it was skipped."""
    start, stop, rows = tree.locate(place, place)
    assert op.traits.own_value is not None
    return op.traits.own_value(state, tree.located(start, stop), inside) if rows else None
