"""Windows of several lengths under one key, in one structure: the rows once, and partials that all windows share.

A pane stands for each window, as elsewhere; the first of them takes a row in and finds the answers of all, and the
others hand theirs out.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import Any

from slidewise.engine.running_pane import Row, for_each
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.live.panes.sharing import Sharing
from slidewise.operators.values.equality import same

_place = itemgetter(0)
_SLACK = 64  # rows that have left every window and may stay until more of them have


class Shared:
    """The rows of the longest window, where each window begins in them, and FlatFIT's partials for each operator.

    A position is a number that never moves; position p stands at p - base in every list. `aggs[p]` is the aggregate of
    the rows from p up to `stops[p]`. Answers begin with the shortest window: longer ones leap to where it began.
    """

    __slots__ = (
        *("aggs", "base", "before", "changed", "each", "found", "log", "panes", "rows", "sharing", "starts"),
        "stops",
    )

    def __init__(self, sharing: Sharing) -> None:
        self.sharing = sharing
        self.panes: list[SharedPane] = []
        self.found: list[list[Any]] = []  # the last answers, by window
        self.each: list[list[list[Any]]] = []  # the last answers of each peer
        self.clear()

    def clear(self) -> None:
        """Hold no rows."""
        self.fill([], [0] * len(self.sharing.specs))

    def fill(self, rows: list[Row], sizes: list[int]) -> None:
        """Hold these rows, of which each window has the youngest ones."""
        self.rows = rows
        self.base = 0
        self.starts = [len(rows) - size for size in sizes]
        self.before = len(rows), self.starts[:]
        self.log: list[tuple[Any, Any, int, Any, int]] = []  # partials before they grew, since `begin`
        self.changed = False
        self.aggs = [[operator.lift(*row[1:]) for row in rows] for operator in self.sharing.operators]
        self.stops = [list(range(1, len(rows) + 1)) for _ in self.aggs]

    def begin(self) -> None:
        """From here on `undo` takes back."""
        gone = self.starts[-1] - self.base
        if gone > _SLACK and 2 * gone > len(self.rows):
            for part in (self.rows, *self.aggs, *self.stops):
                del part[:gone]
            self.base += gone
        self.before = len(self.rows), self.starts[:]
        self.log = []
        self.changed = False

    def take(self, place: Any, arguments: Row | None) -> None:
        """Take in a row, and find every window's answers."""
        self.add(place, arguments)
        self.answer()

    def add(self, place: Any, arguments: Row | None) -> None:
        """Take in a row, and move every window to end at it."""
        self.changed = True
        rows, starts, base = self.rows, self.starts, self.base
        if arguments is not None:
            stop = base + len(rows) + 1
            for operator, aggs, stops in zip(self.sharing.operators, self.aggs, self.stops, strict=True):
                aggs.append(operator.lift(*arguments))
                stops.append(stop)
            rows.append((place, *arguments))
        count = len(rows)
        whole = type(place) is int
        for window, spec in enumerate(self.sharing.specs):
            at = starts[window] - base
            if at < count:
                cut = place - spec.whole if whole else spec.cut(place)
                if rows[at][0] < cut:
                    at += 1
                    if at < count and rows[at][0] < cut:
                        at = bisect_left(rows, cut, at, count, key=_place)
                    starts[window] = base + at

    def answer(self) -> None:
        """Find every window's answers."""
        sharing, starts, base = self.sharing, self.starts, self.base
        stop = base + len(self.rows)
        self.found = found = [[None] * len(spec.members) for spec in sharing.specs]
        for operator, asks, aggs, stops in zip(sharing.operators, sharing.asks, self.aggs, self.stops, strict=True):
            combine, lower = operator.combine, operator.lower
            for window, member, least in asks:
                start = starts[window]
                if stop - start < least:
                    continue
                if start == stop:
                    found[window][member] = lower(operator.identity)
                    continue
                at = start - base
                ends = stops[at]
                agg = aggs[at]
                if ends != stop:
                    met = [at]
                    at = ends - base
                    while (ends := stops[at]) != stop:
                        met.append(at)
                        at = ends - base
                    agg = aggs[at]
                    for at in reversed(met):
                        old = aggs[at]
                        agg = combine(old, agg)
                        self.log.append((aggs, stops, at, old, stops[at]))
                        aggs[at] = agg
                        stops[at] = stop
                found[window][member] = lower(agg)

    def undo(self) -> None:
        """Take back what came since `begin`; no function of an operator is called, since it may be what failed."""
        if not self.changed:
            return
        for aggs, stops, at, agg, stop in reversed(self.log):
            aggs[at] = agg
            stops[at] = stop
        self.log = []
        count, self.starts = self.before
        for part in (self.rows, *self.aggs, *self.stops):
            del part[count:]
        self.before = count, self.starts[:]
        self.changed = False

    def thaw(self) -> None:
        """Rows from the arrays of the longest window; each shorter one holds the youngest of them.

        Where an operator raises, panes stay frozen.
        """
        self.fill(self.panes[-1].thawed(), [len(pane.frozen[0]) for pane in self.panes])
        for pane in self.panes:
            pane.frozen = None

    def dump(self, operator: int) -> tuple[list[int], list[Any]]:
        """An operator's partials over the longest window that asks for it: of how many rows each is, and what it is."""
        first = self.starts[self.sharing.asks[operator][-1].window]
        at = first - self.base
        lengths = [stop - position for position, stop in enumerate(self.stops[operator][at:], first)]
        return lengths, self.aggs[operator][at:]

    def restore(self) -> None:
        """Become what panes have read from a snapshot."""
        read = [pane.restored for pane in self.panes if pane.restored is not None]
        if read and len(read) != len(self.panes):
            raise ValueError("of windows that share rows, some have them in arrays, and some have not")
        sizes = [len(pane.frozen[0]) for pane in self.panes] if not read else [len(rows) for rows, _ in read]
        if sizes != sorted(sizes):
            raise ValueError(f"of windows that share rows, longer ones have fewer: {sizes}")
        if not read:
            return
        longest = read[-1][0]
        if any(rows and (rows[0][0], rows[-1]) != (longest[-len(rows)][0], longest[-1]) for rows, _ in read):
            raise ValueError("windows that share rows do not hold the same ones")
        self.fill(longest, sizes)
        for _, partials in read:
            for operator, (lengths, states) in partials.items():
                self._load(operator, lengths, states)
        for pane in self.panes:
            pane.restored = None

    def _load(self, operator: int, lengths: list[int], states: list[Any]) -> None:
        at, count = self.starts[self.sharing.asks[operator][-1].window], len(self.rows)
        sound = len(lengths) == len(states) == count - at and all(type(length) is int for length in lengths)
        if not sound or any(not 0 < length <= count - p for p, length in enumerate(lengths, at)):
            raise ValueError(f"{count - at} rows cannot have partials of {lengths} rows")
        self.stops[operator][at:] = [p + length for p, length in enumerate(lengths, at)]
        self.aggs[operator][at:] = states

    def _check(self) -> None:
        """Verify where windows begin, and every partial against a recomputation."""
        stop = self.base + len(self.rows)
        assert self.starts == sorted(self.starts, reverse=True), f"longer windows begin earlier, not at {self.starts}"
        assert self.base <= self.starts[-1] <= self.starts[0] <= stop, f"{self.starts} lie in [{self.base}, {stop}]"
        for operator, aggs, stops in zip(self.sharing.operators, self.aggs, self.stops, strict=True):
            assert len(aggs) == len(stops) == len(self.rows), "one partial and one stop for each row"
            for at, row in enumerate(self.rows):
                expected = operator.lift(*row[1:])
                for other in self.rows[at + 1 : stops[at] - self.base]:
                    expected = operator.combine(expected, operator.lift(*other[1:]))
                assert self.base + at < stops[at] <= stop, f"the partial at {at} stops at {stops[at]}"
                assert same(aggs[at], expected), f"the partial at {at} is {aggs[at]!r} and should be {expected!r}"


class SharedPane:
    """One window of several that share: does what a `Pane` does."""

    __slots__ = ("frozen", "gone", "leads", "restored", "shared", "spec", "window")

    def __init__(self, spec: WindowSpec, shared: Shared, window: int, leads: bool) -> None:
        self.spec = spec
        self.shared = shared
        self.window = window
        self.leads = leads
        self.frozen: Any = None  # arrays: places, and one for each argument
        self.gone = None
        self.restored: Any = None  # rows and partials out of a snapshot, until all windows have theirs

    def push(self, place: Any, arguments: Row | None) -> list[Any]:
        """Take in a row, drop those too old for it, and answer; `undo` takes it back until the next push."""
        if self.leads:
            self.begin()
            self.shared.take(place, arguments)
        return self.shared.found[self.window]

    def begin(self) -> None:
        """From here on `undo` takes back."""
        if self.frozen is not None:
            self.shared.thaw()
        if self.leads:
            self.shared.begin()

    def take(self, place: Any, arguments: Row | None) -> list[Any]:
        """Take in one more row after `begin`, and answer."""
        if self.leads:
            self.shared.take(place, arguments)
        return self.shared.found[self.window]

    def push_peers(self, peers: list[tuple[Any, Row | None]]) -> list[list[Any]]:
        """Take in rows of equal time, which all see one another; numbered rows come one after the other."""
        shared = self.shared
        if self.leads:
            self.begin()
            if self.spec.numbered:
                shared.each = []
                for place, arguments in peers:
                    shared.take(place, arguments)
                    shared.each.append(shared.found)
            else:
                for place, arguments in peers:
                    shared.add(place, arguments)
                shared.answer()
        if self.spec.numbered:
            return [found[self.window] for found in shared.each]
        return for_each(peers, shared.found[self.window])

    def brings(self) -> list[tuple[Member, int]]:
        """The members whose operators no longer window asks for, and the operators' numbers: it stores their
        partials."""
        return [
            (self.spec.members[asks[-1].member], at)
            for at, asks in enumerate(self.shared.sharing.asks)
            if asks[-1].window == self.window
        ]

    def undo(self) -> None:
        """Take the last push back."""
        self.shared.undo()

    def keep(self) -> None:
        """What has come since `begin` stays."""
        self.shared.log = []

    def freeze(self, frozen: Any) -> None:
        """Hold these arrays instead of rows and partials."""
        if self.frozen is None:
            self.shared.clear()
        self.frozen = frozen

    def thawed(self) -> list[Row]:
        """The frozen rows."""
        places, *columns = self.frozen
        return list(zip(places.tolist(), *(column.tolist() for column in columns), strict=True))

    def all_rows(self) -> list[Row]:
        """The rows that later windows may hold, oldest first."""
        if self.frozen is not None:
            return self.thawed()
        shared = self.shared
        return shared.rows[shared.starts[self.window] - shared.base :]

    def held(self) -> int:
        """How many rows there are."""
        shared = self.shared
        if self.frozen is not None:
            return len(self.frozen[0])
        return shared.base + len(shared.rows) - shared.starts[self.window]


def shared_panes(specs: list[WindowSpec]) -> list[Any]:
    """An empty pane for each spec that shares, in the specs' order; None for the others."""
    found: dict[int, Shared] = {}
    panes: list[Any] = []
    for spec in specs:
        sharing = spec.sharing
        if sharing is None:
            panes.append(None)
            continue
        leads = id(sharing) not in found
        shared = found.setdefault(id(sharing), Shared(sharing))
        pane = SharedPane(spec, shared, sharing.specs.index(spec), leads)
        panes.append(pane)
    for shared in found.values():
        mine = [pane for pane in panes if pane is not None and pane.shared is shared]
        shared.panes = sorted(mine, key=lambda pane: pane.window)
    return panes
