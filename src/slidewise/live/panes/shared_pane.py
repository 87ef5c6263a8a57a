"""The panes of windows of several lengths over the same columns: the rows once, and partials that all windows share.

`SharingPlan` says, for all keys, which windows share; `SharedRows` is the structure under one key. A pane stands for
each window, as elsewhere: the first of them takes a row in and finds the answers of all, and the others hand theirs
out.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import Any, NamedTuple

from slidewise.arrays import Array
from slidewise.engine.running_pane import Row, for_each
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.live.panes.row_pane import rows_of
from slidewise.live.types import Arguments, Place
from slidewise.operators.operator import Operator
from slidewise.operators.values.equality import same

_place = itemgetter(0)
_SLACK = 64  # rows that have left every window and may stay until more of them have


class WindowQuery(NamedTuple):
    """One answer of an operator: for a window, as one of its members; `least` rows are needed."""

    window: int
    member: int
    least: int


class SharingPlan:
    """Specs that see the same columns and differ in how far back they look, and each operator's queries of them."""

    def __init__(self, specs: list[WindowSpec]) -> None:
        self.specs = sorted(specs, key=lambda spec: (spec.width, spec.edge))  # the shortest window first
        self.operators = _operators(self.specs)
        self.queries = [
            [
                WindowQuery(window, at, member.least)
                for window, spec in enumerate(self.specs)
                for at, member in enumerate(spec.members)
                if member.operator == operator
            ]
            for operator in self.operators
        ]


def plan_sharing(specs: list[WindowSpec], groups: list[list[str]]) -> None:
    """Let the specs of these groups of aggregates share: `spec.sharing` is the plan from then on."""
    for names in groups:
        sharers = [spec for spec in specs if spec.members[0].name in names]
        plan = SharingPlan(sharers)
        for spec in sharers:
            spec.sharing = plan


def _operators(specs: list[WindowSpec]) -> list[Operator]:
    operators: list[Operator] = []
    for spec in specs:
        operators += [member.operator for member in spec.members if member.operator not in operators]
    return operators


class SharedRows:
    """The rows of the longest window, where each window begins in them, and FlatFIT's partials for each operator.

    A position is a number that never moves; position p stands at p - base in every list. `aggs[p]` is the aggregate of
    the rows from p up to `stops[p]`. Answers begin with the shortest window: longer ones leap to where it began.
    """

    __slots__ = (
        *("aggs", "answers", "base", "before", "changed", "log", "panes", "peer_answers", "plan", "rows", "starts"),
        *("stops", "twin"),
    )

    def __init__(self, plan: SharingPlan) -> None:
        self.plan = plan
        self.panes: list[SharedPane] = []
        self.answers: list[list[Any]] = []  # the last answers, by window
        self.peer_answers: list[list[list[Any]]] = []  # the last answers of each peer
        self.twin: SharedRows | None = None  # where panes are frozen and were read
        self.clear()

    def clear(self) -> None:
        """Hold no rows."""
        self.fill([], [0] * len(self.plan.specs))

    def fill(self, rows: list[Row], sizes: list[int]) -> None:
        """Hold these rows, of which each window has the youngest ones."""
        self.twin = None
        self.rows = rows
        self.base = 0
        self.starts = [len(rows) - size for size in sizes]
        self.before = len(rows), self.starts[:]
        self.log: list[tuple[Any, Any, int, Any, int]] = []  # partials before they grew, since `begin`
        self.changed = False
        self.aggs = [[operator.lift(*row[1:]) for row in rows] for operator in self.plan.operators]
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

    def take(self, place: Place, arguments: Arguments | None) -> None:
        """Take in a row, and find every window's answers."""
        self.add(place, arguments)
        self.answer()

    def add(self, place: Place, arguments: Arguments | None) -> None:
        """Take in a row, and move every window to end at it."""
        self.changed = True
        rows, starts, base = self.rows, self.starts, self.base
        if arguments is not None:
            stop = base + len(rows) + 1
            for operator, aggs, stops in zip(self.plan.operators, self.aggs, self.stops, strict=True):
                aggs.append(operator.lift(*arguments))
                stops.append(stop)
            rows.append((place, *arguments))
        count = len(rows)
        whole = type(place) is int
        for window, spec in enumerate(self.plan.specs):
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
        plan, starts, base = self.plan, self.starts, self.base
        stop = base + len(self.rows)
        self.answers = answers = [[None] * len(spec.members) for spec in plan.specs]
        for operator, queries, aggs, stops in zip(plan.operators, plan.queries, self.aggs, self.stops, strict=True):
            combine, lower = operator.combine, operator.lower
            for window, member, least in queries:
                start = starts[window]
                if stop - start < least:
                    continue
                if start == stop:
                    answers[window][member] = lower(operator.identity)
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
                answers[window][member] = lower(agg)

    def answers_at(self, window: int, place: Place) -> list[Any]:
        """One window's answers at a place, not before the newest, where no row comes; nothing changes.

        Combine calls: n at worst, since partials are not made to reach the end as `answer` does it.
        """
        spec = self.plan.specs[window]
        rows, base = self.rows, self.base
        at, count = self.starts[window] - base, len(self.rows)
        if at < count and rows[at][0] < (cut := spec.cut(place)):
            at = bisect_left(rows, cut, at, count, key=_place)
        answers: list[Any] = [None] * len(spec.members)
        for operator, queries, aggs, stops in zip(
            self.plan.operators, self.plan.queries, self.aggs, self.stops, strict=True
        ):
            for query in queries:
                if query.window != window or count - at < query.least:
                    continue
                met = at
                parts = []
                while met < count:
                    parts.append(aggs[met])
                    met = stops[met] - base
                state = parts.pop() if parts else operator.identity
                while parts:
                    state = operator.combine(parts.pop(), state)
                answers[query.member] = operator.lower(state)
        return answers

    def readable(self) -> SharedRows:
        """This structure, or where its panes are frozen a twin of it that has their rows."""
        if self.panes[-1].frozen is None:
            return self
        if self.twin is None:
            twin = SharedRows(self.plan)
            twin.fill(self.panes[-1].all_rows(), [pane.held() for pane in self.panes])
            self.twin = twin
        return self.twin

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
        """Make rows of the arrays of the longest window; each shorter one holds the youngest of them.

        Where an operator raises, panes stay frozen.
        """
        self.fill(self.panes[-1].all_rows(), [pane.held() for pane in self.panes])
        for pane in self.panes:
            pane.frozen = None

    def dump(self, operator: int) -> tuple[list[int], list[Any]]:
        """An operator's partials over the longest window that has it: of how many rows each is, and its state."""
        first = self.starts[self.plan.queries[operator][-1].window]
        at = first - self.base
        lengths = [stop - position for position, stop in enumerate(self.stops[operator][at:], first)]
        return lengths, self.aggs[operator][at:]

    def restore(self) -> None:
        """Hold what panes have read from a snapshot, once it is checked."""
        read = [pane.restored for pane in self.panes if pane.restored is not None]
        if read and len(read) != len(self.panes):
            raise ValueError("of windows that share rows, some have them in arrays, and some have not")
        sizes = [pane.held() for pane in self.panes] if not read else [len(rows) for rows, _ in read]
        if sizes != sorted(sizes):
            raise ValueError(f"of windows that share rows, longer ones have fewer: {sizes}")
        if not read:
            return
        longest = read[-1][0]
        ends = [((rows[0][0], rows[-1]), (longest[-len(rows)][0], longest[-1])) for rows, _ in read if rows]
        if not all(same(mine, of_longest) for mine, of_longest in ends):  # where NaN equals itself
            raise ValueError("windows that share rows do not hold the same ones")
        self.fill(longest, sizes)
        for _, partials in read:
            for operator, (lengths, states) in partials.items():
                self._load(operator, lengths, states)
        for pane in self.panes:
            pane.restored = None

    def _load(self, operator: int, lengths: list[int], states: list[Any]) -> None:
        at, count = self.starts[self.plan.queries[operator][-1].window], len(self.rows)
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
        for operator, aggs, stops in zip(self.plan.operators, self.aggs, self.stops, strict=True):
            assert len(aggs) == len(stops) == len(self.rows), "one partial and one stop for each row"
            for at, row in enumerate(self.rows):
                expected = operator.lift(*row[1:])
                for other in self.rows[at + 1 : stops[at] - self.base]:
                    expected = operator.combine(expected, operator.lift(*other[1:]))
                assert self.base + at < stops[at] <= stop, f"the partial at {at} stops at {stops[at]}"
                assert same(aggs[at], expected), f"the partial at {at} is {aggs[at]!r} and should be {expected!r}"


class SharedPane:
    """A `Pane` of one window of several that share; the one that `leads` takes rows in for all."""

    __slots__ = ("frozen", "leads", "restored", "shared", "spec", "window")

    def __init__(self, spec: WindowSpec, shared: SharedRows, window: int, leads: bool) -> None:
        self.spec = spec
        self.shared = shared
        self.window = window
        self.leads = leads
        self.frozen: list[Array] | None = None  # places, and one array for each argument
        self.restored: Any = None  # rows and partials out of a snapshot, until all windows have theirs

    def push(self, place: Place, arguments: Arguments | None) -> list[Any]:
        if self.leads:
            self.begin()
            self.shared.take(place, arguments)
        return self.shared.answers[self.window]

    def begin(self) -> None:
        if self.frozen is not None:
            self.shared.thaw()
        if self.leads:
            self.shared.begin()

    def take(self, place: Place, arguments: Arguments | None) -> list[Any]:
        if self.leads:
            self.shared.take(place, arguments)
        return self.shared.answers[self.window]

    def push_peers(self, peers: list[tuple[Place, Arguments | None]]) -> list[list[Any]]:
        shared = self.shared
        if self.leads:
            self.begin()
            if self.spec.numbered:
                shared.peer_answers = []
                for place, arguments in peers:
                    shared.take(place, arguments)
                    shared.peer_answers.append(shared.answers)
            else:
                for place, arguments in peers:
                    shared.add(place, arguments)
                shared.answer()
        if self.spec.numbered:
            return [answers[self.window] for answers in shared.peer_answers]
        return for_each(peers, shared.answers[self.window])

    def answers_at(self, place: Place) -> list[Any]:
        return self.shared.readable().answers_at(self.window, place)

    def stored_members(self) -> list[tuple[Member, int]]:
        """The members whose operators no longer window has, and the operators' numbers: this pane's snapshot stores
        their partials."""
        return [
            (self.spec.members[queries[-1].member], at)
            for at, queries in enumerate(self.shared.plan.queries)
            if queries[-1].window == self.window
        ]

    def undo(self) -> None:
        self.shared.undo()

    def keep(self) -> None:
        self.shared.log = []

    def freeze(self, frozen: list[Array]) -> None:
        """Hold these arrays instead of rows and partials."""
        if self.frozen is None:
            self.shared.clear()
        self.shared.twin = None
        self.frozen = frozen

    def all_rows(self) -> list[Row]:
        """The rows that later windows may hold, oldest first."""
        if self.frozen is not None:
            return rows_of(self.frozen)
        shared = self.shared
        return shared.rows[shared.starts[self.window] - shared.base :]

    def newest_row(self) -> Row:
        """The newest row, of which there must be one."""
        return self.shared.rows[-1] if self.frozen is None else rows_of([array[-1:] for array in self.frozen])[0]

    def held(self) -> int:
        shared = self.shared
        if self.frozen is not None:
            return len(self.frozen[0])
        return shared.base + len(shared.rows) - shared.starts[self.window]


def shared_panes(specs: list[WindowSpec]) -> list[SharedPane | None]:
    """An empty pane for each spec that shares, in the specs' order; None for the others."""
    shared_rows: dict[int, SharedRows] = {}
    panes: list[SharedPane | None] = []
    for spec in specs:
        plan = spec.sharing
        if plan is None:
            panes.append(None)
            continue
        leads = id(plan) not in shared_rows
        shared = shared_rows.setdefault(id(plan), SharedRows(plan))
        pane = SharedPane(spec, shared, plan.specs.index(spec), leads)
        shared.panes.append(pane)
        panes.append(pane)
    for shared in shared_rows.values():
        shared.panes.sort(key=lambda pane: pane.window)
    return panes
