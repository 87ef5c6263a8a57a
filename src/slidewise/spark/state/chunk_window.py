"""The aggregate of a large key's whole chunks: states of chunks, and DABA Lite over them in pages of a few slots each.

The cases are those of `swag.DabaLite`, and so are the pointers F <= L <= R <= A <= B <= E, which are the numbers of
chunks here. A step looks at a constant number of slots, however long the window is. They are written out a third time,
beside the class and its compiled form, because slots are read from pages when a step first touches them: the class
walks linked chunks in memory, and the compiled form arrays.

A state is None where no row of the chunks counts, or how many do and each aggregate's state as plain values. The
payload of a page of slots: the plain values of its states, see `engine.codec`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from slidewise.arrays import Array
from slidewise.columns.operator_types import as_numbers, readied
from slidewise.columns.series import Column
from slidewise.engine.batch import columns_of
from slidewise.engine.codec import Reader, Writer
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.errors import SnapshotError
from slidewise.kernels.passes.spanning import Spanning, spanning
from slidewise.kernels.passes.spanning_objects import SpanningObjects
from slidewise.spark.sort.sorted_rows import SortedRows
from slidewise.spark.state.page_checks import check_pointers, reading, require
from slidewise.spark.state.pages import Pages

SLOTS = 32
State = tuple[int, tuple[Any, ...]] | None
Combine = Callable[[State, State], State]


class ChunkAggregates:
    """Aggregates that see the same rows, and all of which have states of a bounded size, or none of which has."""

    def __init__(self, spec: WindowSpec, passes: list[Spanning | SpanningObjects | None], bounded: bool) -> None:
        self.spec = spec
        self.passes = passes  # None for a count, which needs no state
        self.bounded = bounded

    def combine(self, older: State, newer: State) -> State:
        """The state of two stretches of chunks together."""
        if older is None or newer is None:
            return newer if older is None else older
        parts = [
            None if run is None else run.combine(a, b)
            for run, a, b in zip(self.passes, older[1], newer[1], strict=True)
        ]
        return older[0] + newer[0], tuple(parts)


def folded(groups: list[ChunkAggregates], rows: SortedRows) -> list[State]:
    """The state of a chunk's rows for each group; None where no row counts, or states have no bounded size.

    Windows of several lengths share what they have in common.
    """
    states: list[State] = []
    shared: dict[tuple[Any, ...], Any] = {}  # the state by the operator and what it reads
    for group in groups:
        spec = group.spec
        columns, valid = columns_of(rows, spec)
        count = 0 if not group.bounded else rows.count if valid is None else int(valid.sum())
        parts: list[Any] = []
        for member, run in zip(spec.members, group.passes, strict=True) if count else ():
            key = id(member.operator), spec.columns, spec.condition
            if run is not None and key not in shared:
                data = numeric_inputs(member, columns)
                shared[key] = run.fold(data if valid is None else [x[valid] for x in data])
            parts.append(None if run is None else shared[key])
        states.append((count, tuple(parts)) if count else None)
    return states


def chunk_aggregates(specs: list[WindowSpec], sample: SortedRows, numbers: bool = False) -> list[ChunkAggregates]:
    """The specs, each split into the aggregates whose states have a bounded size and the others.

    With `numbers`, only states that are a few numbers count as bounded.
    """
    groups = []
    for spec in specs:
        columns, _ = columns_of(sample, spec)
        members: dict[bool, list[tuple[Member, Any]]] = {True: [], False: []}
        for member in spec.members:
            if member.operator.traits.counts_rows:
                members[True].append((member, None))
                continue
            data = numeric_inputs(member, columns)
            run = spanning(member.operator, tuple(str(x.dtype) for x in data))
            run = None if numbers and not isinstance(run, Spanning) else run
            members[run is not None].append((member, run))
        if spec.kind.whole:  # such a window begins, or ends, where only its rows can tell
            members = {True: [], False: [*members[True], *members[False]]}
        for bounded, some in members.items():
            if some:
                part = copy(spec)
                part.members = [member for member, _ in some]
                groups.append(ChunkAggregates(part, [run for _, run in some], bounded))
    return groups


def numeric_inputs(member: Member, columns: list[Column]) -> list[Array]:
    """The arrays of a member's arguments as its kernel takes them."""
    return [as_numbers(member.operator, column).data for column in readied(member.operator, columns)]


class ChunkWindow:
    """A window of chunks' states; `base` is the number of its page 0, and `combine` joins two states."""

    def __init__(self, pages: Pages, base: int, combine: Combine, check: Callable[[Any], State] = lambda s: s) -> None:
        self._pages = pages
        self._check = check  # raises ValueError for a stored state that cannot be
        self._base = base
        self._combine = combine
        self._slots: dict[int, list[State]] = {}
        self._changed: set[int] = set()
        self._first_page = 0
        self._stored = range(0)  # the pages that hold a slot of the window as it was loaded
        self.F = self.L = self.R = self.A = self.B = self.E = 0
        self.aggRA: State = None
        self.aggB: State = None

    def start_at(self, chunk: int) -> None:
        """Empty, and the next chunk to come is this one."""
        self.F = self.L = self.R = self.A = self.B = self.E = chunk
        self.aggRA = self.aggB = None

    def insert(self, v: State) -> None:
        """Put the next chunk's state at the back."""
        self._put(self.E, v)
        aggB = v if self.B == self.E else self._combine(self.aggB, v)
        self.E += 1
        self._fixup(aggB)

    def evict_until(self, chunk: int) -> None:
        """Drop all chunks before this one."""
        while min(chunk, self.E) > self.F:
            self.F += 1
            if self.F == self.E:
                self.start_at(self.E)
            else:
                self._fixup(self.aggB)
        if self.F == self.E < chunk:
            self.start_at(chunk)

    def _fixup(self, aggB: State) -> None:
        if self.F == self.B:  # Singleton case
            self.L = self.R = self.A = self.B = self.E
            self.aggRA = self.aggB = None
        elif self.L == self.R != self.B:  # Shift
            self.A = self.R = self.L = self.L + 1
            self.aggB = aggB
        else:
            if self.L == self.B:  # Flip; R stays where the old B was
                self.L, self.A, self.B = self.F, self.E, self.E
                self.aggRA, aggB = aggB, None
            self.aggB = aggB
            # Shrink
            front = self._combine(self._get(self.L), self.aggRA)
            back = self._get(self.A - 1)
            if self.A != self.B:
                back = self._combine(back, self._get(self.A))
            self._put(self.L, front)
            self._put(self.A - 1, back)
            self.L += 1
            self.A -= 1

    def query(self) -> State:
        """The aggregate of all chunks."""
        if self.F == self.E:
            return None
        front = self._get(self.F)
        return front if self.B == self.E else self._combine(front, self.aggB)

    def _page(self, number: int) -> list[State]:
        if number not in self._slots:
            payload = self._pages.read(self._base + number) if number in self._stored else None
            if number in self._stored and payload is None:
                raise SnapshotError(f"slots {number} of a large key are not there; restore the checkpoint from a copy")
            self._slots[number] = [None] * SLOTS if payload is None else self._read(number, payload)
        return self._slots[number]

    def _read(self, number: int, payload: bytes) -> list[State]:
        source = Reader(payload)
        with reading(f"slots {number} of a large key"):
            states = source.value()
            source.end()
            require(type(states) is list and len(states) == SLOTS, f"there are not {SLOTS} of them")
            return [self._check(state) for state in states]

    def _get(self, chunk: int) -> State:
        return self._page(chunk // SLOTS)[chunk % SLOTS]

    def _put(self, chunk: int, state: State) -> None:
        self._page(chunk // SLOTS)[chunk % SLOTS] = state
        self._changed.add(chunk // SLOTS)

    def write(self) -> None:
        """Write the pages of slots that changed, and drop those that lie before the window."""
        first = self.F // SLOTS
        for number in sorted(self._changed):
            if number >= first:
                out = Writer()
                out.value(self._slots[number])
                self._pages.write(self._base + number, bytes(out.data))
        for number in range(self._first_page, first):
            self._pages.drop(self._base + number)

    def drop(self) -> None:
        """Drop all pages."""
        for number in range(self._first_page, self.E // SLOTS + 1):
            self._pages.drop(self._base + number)

    def dump(self) -> list[Any]:
        """The pointers and running partials."""
        return [self.F, self.L, self.R, self.A, self.B, self.E, self.aggRA, self.aggB]

    def load(self, values: list[Any], tail: int) -> None:
        """Become what `dump` gave; `tail` is the open chunk."""
        *pointers, aggRA, aggB = values
        check_pointers(pointers, tail)
        self.F, self.L, self.R, self.A, self.B, self.E = pointers
        self.aggRA, self.aggB = self._check(aggRA), self._check(aggB)
        self._first_page = self.F // SLOTS
        self._stored = range(self._first_page, -(-self.E // SLOTS) if self.F < self.E else self._first_page)
