"""SlideSide (after Theodorakis, Pietzuch, Pirk 2020): prefix and suffix scans that several window sizes share."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from numbers import Integral

from slidewise.errors import SlidewiseError
from slidewise.operators.operator import Operator
from slidewise.operators.types import State, Value
from slidewise.swag.structures.last_rows import LastRows
from slidewise.swag.structures.scans import Scan, Scanned, grouped


class SlideSide(LastRows):
    """The last rows in several sizes, fixed beforehand; the largest of them is the window, and older rows leave by
    themselves. Without sizes it is a window like any other, evicted by hand.

    Combine calls: for each size `query_last` takes at most 1; insert at most n for each group of sizes, amortised
    1 + r, where r is the group's largest size by its smallest; evict the same at most, amortised 1 for each group;
    query at most 1. Space: n partials, and at most n + 1 for each group.

    Sizes that are near to each other form a group and share one scan: aggregates of the rows before a boundary up to
    it, and the aggregate of the rows behind it. So a window of any of these sizes is one partial from each side. When
    the smallest window gets past the boundary, the group's rows are scanned anew up to the end. With one size this is
    Two-Stacks. Groups are chosen so that an insert takes the fewest calls.

    >>> import slidewise as sw
    >>> w = SlideSide(sw.max, sizes=[2, 4])
    >>> for e in [9, 4, 7, 1, 3]:
    ...     w.insert(e)
    >>> w.query_last(2), w.query_last(4), w.query(), len(w)
    (3, 7, 7, 4)
    """

    __slots__ = ("_E", "_scan_of", "_scans", "_values", "sizes")

    _values: deque[State]
    _E: int  # positions go on for ever: the window is [E - len, E)
    _scans: list[Scan]
    _scan_of: dict[int, Scan]

    def __init__(self, operator: Operator, sizes: Iterable[int] = ()) -> None:
        sizes = tuple(sizes)
        for size in sizes:
            if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
                raise SlidewiseError(f"sizes= are numbers of rows from 1 on, such as sizes=[10, 100], not {size!r}")
        self.sizes: tuple[int, ...] = tuple(sorted({int(size) for size in sizes}))
        super().__init__(operator)

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        values, E = self._values, self._E + 1
        full = bool(self.sizes) and len(values) == self.sizes[-1]
        start = E - len(values) - 1 + full
        values.append(v)
        try:
            behind = [
                (self._combine(scan.behind, v) if scan.boundary < E - 1 else v)
                if self._youngest(scan, start, E) < scan.boundary
                else self._scanned(scan, start, E)
                for scan in self._scans
            ]
        except BaseException:
            values.pop()
            raise
        self._E = E
        if full:
            values.popleft()
        for scan, move in zip(self._scans, behind, strict=True):
            if type(move) is Scanned:
                scan.accept(E, move)
            else:
                scan.behind = move
            if full:
                scan.forget(start)

    def evict(self) -> None:
        if not self._values:
            raise self._empty()
        self._drop(1)

    def _drop(self, k: int) -> None:
        start, E = self._E - len(self._values) + k, self._E
        scanned = [
            self._scanned(scan, start, E) if self._youngest(scan, start, E) >= scan.boundary else None
            for scan in self._scans
        ]
        for _ in range(k):
            self._values.popleft()
        for scan, move in zip(self._scans, scanned, strict=True):
            if move is not None:
                scan.accept(E, move)
            scan.forget(start)

    def _youngest(self, scan: Scan, start: int, E: int) -> int:
        """Where the smallest window of a scan begins."""
        return start if scan.smallest is None or E - start < scan.smallest else E - scan.smallest

    def _scanned(self, scan: Scan, start: int, E: int) -> Scanned:
        """The aggregates up to E of the rows that are in a scan's largest window."""
        size = E - start if scan.largest is None else min(E - start, scan.largest)
        return Scanned.of(islice(reversed(self._values), size), self._combine)

    def partial(self) -> State:
        values = self._values
        return self._aggregate(self._scans[-1], self._E - len(values)) if values else self.operator.identity

    def suffix(self, k: int) -> State:
        """The aggregate of the k youngest rows before `lower`, k being one of the sizes or the whole window. Combine
        calls: at most 1.

        Args:
            k: How many rows: one of the sizes, or the whole window.

        Returns:
            A state.

        Raises:
            EmptyWindowError: There are fewer rows.
            SlidewiseError: Another number of rows.
        """
        self._require_rows(k)
        if not k:
            return self.operator.identity
        scan = self._scans[-1] if k == len(self) else self._scan_of.get(k)
        if scan is None:
            made_for = f"the last {', '.join(map(str, self.sizes))} rows" if self.sizes else "its whole window"
            raise SlidewiseError(
                f"this SlideSide answers for {made_for}, not for {k}; name every size in sizes=, or use FlatFit or "
                "BInt, which answer for any"
            )
        return self._aggregate(scan, self._E - k)

    def _aggregate(self, scan: Scan, start: int) -> State:
        before = scan.before[scan.boundary - 1 - start]
        return before if scan.boundary == self._E else self._combine(before, scan.behind)

    def __len__(self) -> int:
        return len(self._values)

    def clear(self) -> None:
        self._values = deque()
        self._E = 0
        groups = grouped(self.sizes)
        self._scans = [Scan(group[0], group[-1]) for group in groups] or [Scan(None, None)]
        self._scan_of = {size: scan for group, scan in zip(groups, self._scans, strict=False) for size in group}

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: at most n - k for each group, and none while its scan lasts."""
        if self._leaving(k):
            self._drop(k)

    def stored(self) -> int:
        return len(self) + sum(scan.stored(self._E) for scan in self._scans)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        values, E = list(self._values), self._E
        start = E - len(values)
        if rows is not None:
            self._require_same(values, self._lifted(rows), "the row of values")
        for scan in self._scans if values else ():
            oldest = start if scan.largest is None else max(start, E - scan.largest)
            youngest = start if scan.smallest is None else max(start, E - scan.smallest)
            held = range(scan.boundary - len(scan.before), scan.boundary)
            self._require(held.start <= oldest, "a scan reaches back to its largest window")
            self._require(youngest < scan.boundary <= E, "every window of a scan begins before its boundary")
            for p in range(max(oldest, held.start), scan.boundary):
                expected = self._fold(values[p - start : scan.boundary - start])
                self._require_same(scan.before[scan.boundary - 1 - p], expected, f"the aggregate of [{p}, boundary)")
            if scan.boundary < E:
                self._require_same(scan.behind, self._fold(values[scan.boundary - start :]), "the aggregate behind")

    def _show(self) -> str:
        scans = [
            f"{scan.smallest} to {scan.largest} rows: boundary {scan.boundary}, before {scan.before[::-1]!r}, "
            f"behind {scan.behind!r}"
            for scan in self._scans
        ]
        return "\n".join([f"[{self._E - len(self)}, {self._E}) {list(self._values)!r}", *scans])
