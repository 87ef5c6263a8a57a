"""What is kept of one key where answers are revised: its rows in order, and a FiBA for each operator over each window.

A place is (time, order, number): the number is that of the event's arrival, and the order is what the definition puts
rows of equal time in order by, left out where it makes no difference. So (t,) comes before all rows of time t, and
(t, LAST) behind them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, NoReturn

from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import InputError
from slidewise.live.waiting import Event
from slidewise.swag.fiba.fiba import Fiba

Place = tuple[Any, ...]


class _Last:
    """Comes behind everything."""

    def __lt__(self, other: Any) -> bool:
        return False

    def __gt__(self, other: Any) -> bool:
        return True


LAST = _Last()


class Kept:
    """A row, with its answers while they may still change."""

    __slots__ = ("answers", "place", "row")

    def __init__(self, place: Place, row: Any) -> None:
        self.place = place
        self.row = row
        self.answers: list[Any] = []


class Ledger:
    """One key: its newest time, how many rows it has had, those that later rows may need, and the windows' trees."""

    __slots__ = ("bases", "count", "kept", "now", "places", "trees")

    def __init__(self, specs: list[WindowSpec]) -> None:
        self.now: Any = None
        self.count = 0
        self.kept: list[Kept] = []
        self.places: list[Place] = []  # of the kept rows
        self.trees = [[Fiba(one.operator) for one in spec.members] for spec in specs]
        # Of windows over everything so far: how many rows have left the tree, and their product, for each operator.
        self.bases: list[list[tuple[int, Any]]] = [[(0, None) for _ in spec.members] for spec in specs]

    def take(self, new: list[Kept], events: list[Event], at: int, undos: list[Callable[[], None]]) -> None:
        """Put rows into the trees of the spec at this number; they are sorted by place. `undos` gets what undoes it."""
        rows = [
            (kept.place, *event.arguments[at])
            for kept, event in zip(new, events, strict=True)
            if event.arguments[at] is not None
        ]
        for tree in self.trees[at]:
            undos.append(tree.undoable_insert(rows))

    def enter(self, new: list[Kept]) -> None:
        """Put rows in their places."""
        try:
            if len(new) > 8:
                self.kept = sorted([*self.kept, *new], key=lambda kept: kept.place)
                self.places = [kept.place for kept in self.kept]
                return
            for kept in new:
                i = bisect_right(self.places, kept.place)
                self.places.insert(i, kept.place)
                self.kept.insert(i, kept)
        except TypeError as error:
            raise InputError(
                f"events of equal time cannot be put in order, for their values differ in kind: {error}"
            ) from error

    def leave(self, new: list[Kept]) -> None:
        """Take rows out of their places again."""
        gone = set(map(id, new))
        self.kept = [kept for kept in self.kept if id(kept) not in gone]
        self.places = [kept.place for kept in self.kept]

    def moved(self, kept: list[Kept], at: dict[int, Place], fresh: list[bool], specs: list[WindowSpec]) -> Ledger:
        """The same with rows in other places, by the number of their arrival, and some specs' windows begun anew.

        Combine calls: those of putting all rows into trees anew.
        """
        other = Ledger(specs)
        other.now, other.count = self.now, self.count
        other.kept = sorted(kept, key=lambda one: one.place)
        other.places = [one.place for one in other.kept]
        for i, (trees, anew) in enumerate(zip(self.trees, fresh, strict=True)):
            if anew:
                continue
            other.bases[i] = self.bases[i]
            for old, tree in zip(trees, other.trees[i], strict=True):
                tree.fill(sorted(((at[t[-1]], v) for t, v in old.contents()), key=lambda one: one[0]))
        return other

    def touched(self, spec: WindowSpec, kept: Kept, seen: bool) -> range:
        """Which rows' windows a new row changes, itself included; `seen` is whether the aggregates count it."""
        place = kept.place
        time = place[0]
        i = bisect_left(self.places, place)
        if spec.numbered:
            return range(i, min(i + spec.whole + 1, len(self.places)))
        if not seen:
            return range(i, i + 1)
        first = i if spec.is_open else bisect_left(self.places, (time,))
        stop = len(self.places)
        if not spec.running:
            stop = bisect_right(self.places, time, lo=i, key=lambda place: spec.cut(place[0]))
        return range(first, max(stop, i + 1))

    def answers(self, spec: WindowSpec, at: int, index: int) -> list[Any]:
        """The answers of a spec for the row at this index. Combine calls: O(log n) for each."""
        trees, bases = self.trees[at], self.bases[at]
        time = self.places[index][0]
        stop: Place = (time,) if spec.is_open else (time, LAST)
        start: Place | None = None
        if spec.numbered:
            first = max(index - spec.whole, 0)
            start = self.places[first]
            stop = self.places[index]
            if spec.is_open:
                stop = self.places[index - 1] if index > first else ()
        elif not spec.running:
            start = (spec.cut(time),)
        tree = trees[0]
        rows = 0
        if len(tree) and stop:
            places = tree.locate(tree.oldest() if start is None else start, stop)
            rows = places[2]
        found = []
        for one, each, (before, base) in zip(spec.members, trees, bases, strict=True):
            state = one.operator.identity if rows <= 0 else each.located(places[0], places[1])
            if before:
                state = base if rows <= 0 else one.operator.combine(base, state)
            found.append(one.operator.lower(state) if max(rows, 0) + before >= one.least else None)
        if spec.declared:
            spec.check(found)
        return found

    def tidy(self, specs: list[WindowSpec], horizon: Any, fail: Callable[[int, BaseException], NoReturn]) -> None:
        """Drop what no row from the time `horizon` on can need; each step is whole, wherever an operator raises."""
        first = bisect_left(self.places, (horizon,))
        spare = first
        for at, spec in enumerate(specs):
            cut: Place | None = (horizon,) if spec.running else None
            if spec.numbered:
                spare = min(spare, first - spec.whole)
                cut = self.places[first - spec.whole - 1] if first > spec.whole else None
            elif cut is None:
                cut = (spec.cut(horizon),)
            try:
                if cut is not None:
                    self._evict(at, spec, cut)
            except BaseException as error:
                fail(at, error)
        for kept in reversed(self.kept[:first]):
            if kept.row is None:
                break
            kept.row = None
            kept.answers = []
        if spare >= 64:
            del self.kept[:spare], self.places[:spare]

    def _evict(self, at: int, spec: WindowSpec, cut: Place) -> None:
        """Drop the rows up to a place from the trees of a spec; of a window over everything, their product stays.

        Where an operator raises, every tree is as it was: all of them hold the same rows.
        """
        trees, bases = self.trees[at], self.bases[at][:]
        if not len(trees[0]) or trees[0].oldest() > cut:
            return
        undos: list[Callable[[], None]] = []
        try:
            for i, (one, tree) in enumerate(zip(spec.members, trees, strict=True)):
                if spec.running:
                    before, base = bases[i]
                    start, stop, rows = tree.locate(tree.oldest(), cut)
                    state = tree.located(start, stop)
                    bases[i] = before + rows, one.operator.combine(base, state) if before else state
                undos.append(tree.undoable_evict_until(cut))
        except BaseException:
            for take_back in undos:
                take_back()
            raise
        self.bases[at] = bases
