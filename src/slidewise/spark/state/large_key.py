"""A key whose rows have pages of their own: chunks of rows, and for each window DABA Lite over the chunks.

A window's oldest rows lie in the chunk that it starts in, its newest ones in the last chunk, which is still open. All
chunks between are known by one aggregate. A call reads the chunks that the windows' starts move through and the open
one, and writes the chunks that new rows go to; neither grows with the window.

Page numbers: `large << 36` is the header, chunk c is that plus 1 + c, and page p of the slots of window w is that plus
(1 + w) << 28 plus p. The header's payload is plain values, see `live.codec`: the first chunk, the open one and the
position of its first row, which windows have states of a bounded size, and for each window the chunk it starts in, the
position of that chunk's first row, and the pointers and running partials of DABA Lite. A chunk's payload is its rows as
an Arrow record batch without schema.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import as_numbers, readied
from slidewise.definition import Definition
from slidewise.engine.answers import check_inputs, typed
from slidewise.engine.batch import columns_of
from slidewise.engine.bounds import spec_bounds
from slidewise.engine.codec import Reader, Writer
from slidewise.engine.sliding import SlidingBatch, StoredRows
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.errors import SnapshotError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.passes.spanning import Spanning, spanning
from slidewise.kernels.passes.spanning_objects import SpanningObjects
from slidewise.spark.sort.sorted_rows import SortedRows
from slidewise.spark.state.chunk_window import ChunkWindow, State
from slidewise.spark.state.page_checks import MOST_CHUNKS, check_order, check_state, reading, require, whole
from slidewise.spark.state.pages import LARGE, Pages, record, record_from
from slidewise.spark.stream.waiting_rows import ticks

CHUNK = 16_384  # bytes of rows


class Windowed:
    """Aggregates that see the same rows, and all of which have states of a bounded size, or none of which has."""

    def __init__(self, spec: WindowSpec, passes: list[Spanning | SpanningObjects | None], bounded: bool) -> None:
        self.spec = spec
        self.passes = passes  # None for a count, which needs no state
        self.bounded = bounded

    def combine(self, older: State, newer: State) -> State:
        if older is None or newer is None:
            return newer if older is None else older
        parts = [
            None if one is None else one.combine(a, b)
            for one, a, b in zip(self.passes, older[1], newer[1], strict=True)
        ]
        return older[0] + newer[0], tuple(parts)

    def fold(self, rows: SortedRows) -> State:
        """The state of a chunk's rows."""
        columns, valid = columns_of(rows, self.spec)
        count = rows.count if valid is None else int(valid.sum())
        if not count:
            return None
        parts: list[Any] = []
        for one, run in zip(self.spec.members, self.passes, strict=True):
            data = [as_numbers(one.operator, column).data for column in readied(one.operator, columns)]
            parts.append(None if run is None else run.fold(data if valid is None else [x[valid] for x in data]))
        return count, tuple(parts)


def windowed(specs: list[WindowSpec], sample: SortedRows, numbers: bool = False) -> list[Windowed]:
    """The specs, each split into the aggregates whose states have a bounded size and the others.

    With `numbers`, states that are no few numbers count as having none.
    """
    found = []
    for spec in specs:
        columns, _ = columns_of(sample, spec)
        members: dict[bool, list[tuple[Member, Any]]] = {True: [], False: []}
        for one in spec.members:
            if one.operator.traits.counts_rows:
                members[True].append((one, None))
                continue
            data = [as_numbers(one.operator, column).data for column in readied(one.operator, columns)]
            run = spanning(one.operator, tuple(str(x.dtype) for x in data))
            run = None if numbers and not isinstance(run, Spanning) else run
            members[run is not None].append((one, run))
        for bounded, some in members.items():
            if some:
                part = copy(spec)
                part.members = [one for one, _ in some]
                found.append(Windowed(part, [run for _, run in some], bounded))
    return found


class LargeKey:
    """One key's chunks and windows. `rows_schema` is that of the rows, and `number` the key's own."""

    _stay = 0  # how many rows the open chunk keeps at least

    def __init__(
        self, pages: Pages, definition: Definition, groups: list[Windowed], rows_schema: Any, number: int
    ) -> None:
        self._pages = pages
        self._definition = definition
        self._groups = groups
        self._schema = rows_schema
        self._base = number << LARGE
        self._low = self._old_low = self._tail = 0
        self._tail_at = 0
        self._starts = [(0, 0) for _ in groups]  # the chunk that a window starts in, and its first row's position
        self._windows = [
            ChunkWindow(pages, self._base + ((1 + w) << 28), group.combine, partial(check_state, group))
            for w, group in enumerate(groups)
        ]
        self._chunks: dict[int, Any] = {}
        payload = pages.read(self._base)
        if payload is not None:
            self._load(payload)

    def _load(self, payload: bytes) -> None:
        source = Reader(payload)
        with reading("the header of a large key"):
            low, tail, tail_at, bounded, starts, windows = [source.value() for _ in range(6)]
            source.end()
            if bounded != [group.bounded for group in self._groups]:
                raise ValueError("an operator that was compiled is not any more, or the other way round")
            self._tail = whole(tail, 0, MOST_CHUNKS - 2, "the open chunk")
            self._tail_at = whole(tail_at, tail, 2**62, "the place of the open chunk's first row")
            self._starts = [(whole(c, 0, tail, "a chunk"), whole(at, 0, 2**62, "a place")) for c, at in starts]
            self._low = self._old_low = min((chunk for chunk, _ in self._starts), default=tail)
            require(low == self._low, "the first chunk is not that of a window")
            for window, values, (chunk, _) in zip(self._windows, windows, self._starts, strict=True):
                window.load(values, tail)
                require(min(chunk, tail) <= window.F, "a window begins after its aggregates")

    def _chunk(self, number: int) -> Any:
        if number not in self._chunks:
            payload = self._pages.read(self._base + 1 + number)
            if payload is None:
                raise SnapshotError(f"chunk {number} of a large key is not there; restore the checkpoint from a copy")
            self._chunks[number] = record_from(payload, self._schema, self._never_null)
            with reading(f"chunk {number} of a large key"):
                require(number == self._tail or len(self._chunks[number]), "it has no rows")
                times = self._times(self._chunks[number])
                check_order(times, np.array([0, len(times)]), once=False)
        return self._chunks[number]

    @property
    def _never_null(self) -> list[str]:
        """The columns that always have a value."""
        return [self._definition.on or ""]

    def _times(self, rows: Any) -> Array:
        return ticks(rows, self._definition.on or "")

    def begin(self, rows: Any) -> None:
        """Take these rows, which were in a shared page so far; every window begins at the first of them."""
        for window in self._windows:
            window.start_at(0)
        self._append(rows.slice(0, 0), rows)
        self._finish()

    def push(self, rows: Any) -> dict[str, Any]:
        """The answers by name for new rows, sorted; they are part of the windows then."""
        import pyarrow as pa

        tail = self._chunk(self._tail)
        found: dict[str, Any] = {}
        for w, group in enumerate(self._groups):
            head, ends_in, starts_at = self._head(w, group, tail, rows)
            table = pa.concat_tables([*head, tail, rows]).combine_chunks()
            before = sum(map(len, head))
            positions = np.concatenate(
                [starts_at + np.arange(before), self._tail_at + np.arange(len(tail) + len(rows))]
            )
            whole = ends_in + 1 >= self._tail  # all rows of the window are here
            self._windows[w].evict_until(self._tail if whole else ends_in + 1)
            arrays, first = self._answers(w, table, positions, before, before + len(tail), whole)
            found |= {one.name: array for one, array in zip(group.spec.members, arrays, strict=True)}
            self._starts[w] = self._at(w, head, int(positions[min(first, len(positions) - 1)]))
        self._append(tail, rows)
        self._finish()
        return found

    def _answers(
        self, w: int, table: Any, positions: Array, before: int, old: int, whole: bool
    ) -> tuple[list[Any], int]:
        """The answers of a window for the rows from `old` on, and where the last one starts; `before` is how many rows
        lie before the chunks between, unless all are here."""
        spec = self._groups[w].spec
        silent = np.arange(len(table)) < old
        rows = SortedRows(table, self._definition, np.zeros(len(table), np.int64), silent)
        assert rows.times is not None
        places = positions if spec.numbered else rows.times.data
        if not whole:
            return self._spanned(self._groups[w], rows, places, before, self._windows[w].query())
        slid = SlidingBatch(rows, spec, places, StoredRows.none(1), True, silent)
        return [array.filter(~silent) for array in slid.arrays()], int(slid.starts[-1])

    def _head(self, w: int, group: Windowed, tail: Any, rows: Any) -> tuple[list[Any], int, int]:
        """The chunks before the open one that the window's start moves through, the last one's number, and the position
        of the first row. Where states have no bounded size, all of them."""
        chunk, at = self._starts[w]
        starts_at, head = at, []
        spec = group.spec
        last = self._tail_at + len(tail) + len(rows) - 1 if spec.numbered else self._newest(rows)
        while chunk < self._tail:
            table = self._chunk(chunk)
            head.append(table)
            at += len(table)
            newest = at - 1 if spec.numbered else self._newest(table)
            if group.bounded and self._is_in(spec, newest, last):
                return head, chunk, starts_at
            chunk += 1
        return head, self._tail, starts_at

    def _newest(self, rows: Any) -> int:
        return int(ticks(rows, self._definition.on or "")[-1])

    def _is_in(self, spec: WindowSpec, place: int, last: int) -> bool:
        """Whether a place is in the window that ends at another."""
        return bool(last - place < spec.width or (last - place == spec.width and spec.edge))

    def _at(self, w: int, head: list[Any], position: int) -> tuple[int, int]:
        """The chunk that holds a position, as far as chunks are closed, and the position of its first row."""
        chunk, at = self._starts[w]
        for table in head:
            if position < at + len(table):
                return chunk, at
            chunk, at = chunk + 1, at + len(table)
        return self._tail, self._tail_at if position >= self._tail_at else position

    def _spanned(
        self, group: Windowed, rows: SortedRows, places: Array, before: int, middle: State
    ) -> tuple[list[Any], int]:
        """The answers of the rows that are not silent, with the chunks between known by their state; and where the last
        window starts."""
        spec = group.spec
        starts, ends = spec_bounds(spec, places, np.array([0, rows.count]), True)
        first = int(starts[-1])
        new = ~rows.silent  # type: ignore[operator]
        starts, ends = np.minimum(starts[new], before), np.maximum(ends[new], before)
        columns, valid = columns_of(rows, spec)
        if valid is not None:
            total = np.concatenate([np.zeros(1, np.int64), np.cumsum(valid)])
            starts, ends, before = total[starts], total[ends], int(total[before])
        counts = ends - starts + (0 if middle is None else middle[0])
        types = [rows.kind_of(name) for name in spec.columns]
        arrays = []
        for j, (one, run) in enumerate(zip(spec.members, group.passes, strict=True)):
            check_inputs(one.operator, spec.columns, columns, types)
            given = readied(one.operator, columns)
            enough = counts >= one.least
            if run is None:
                answers = Answers([counts], enough)
            else:
                data = [as_numbers(one.operator, column).data for column in given]
                data = data if valid is None else [x[valid] for x in data]
                part = None if middle is None else middle[1][j]
                ok = enough & (counts > 0)
                answers = run.answers(data, before, part, starts, ends, ok).limited(ok)
            arrays.append(typed(one.operator, given, types, answers))
        return arrays, first

    def _append(self, tail: Any, rows: Any) -> None:
        """Put rows behind the open chunk's, and close it where it is full."""
        import pyarrow as pa

        table = pa.concat_tables([tail, rows]).combine_chunks()
        size = max(1, CHUNK * len(table) // max(table.nbytes, 1))
        while len(table) >= size + self._stay:
            closed, table = table.slice(0, size), table.slice(size)
            self._pages.write(self._base + 1 + self._tail, record(closed.combine_chunks().to_batches()[0]))
            self._tail, self._tail_at = self._tail + 1, self._tail_at + size
            for group, window in zip(self._groups, self._windows, strict=True):
                if group.bounded:
                    window.insert(self._fold(group, closed))
        none = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in self._schema], schema=self._schema)
        batches = table.combine_chunks().to_batches()
        self._pages.write(self._base + 1 + self._tail, record(batches[0] if batches else none))

    def _fold(self, group: Windowed, chunk: Any) -> State:
        return group.fold(SortedRows(chunk, self._definition, np.zeros(len(chunk), np.int64)))

    def _finish(self) -> None:
        """Drop what lies before every window, and write the header."""
        for window, (chunk, _) in zip(self._windows, self._starts, strict=True):
            window.evict_until(min(chunk + 1, self._tail))
            window.write()
        self._low = min((chunk for chunk, _ in self._starts), default=self._tail)
        for chunk in range(self._old_low, self._low):
            self._pages.drop(self._base + 1 + chunk)
        out = Writer()
        bounded, windows = [group.bounded for group in self._groups], [window.dump() for window in self._windows]
        for value in (self._low, self._tail, self._tail_at, bounded, self._starts, windows):
            out.value(value)
        self._pages.write(self._base, bytes(out.data))

    def drop(self) -> None:
        """Drop all pages of the key. Some are looked at, so that a header does not make up millions of them."""
        for chunk in range(self._low, self._tail + 1):
            if (self._tail - chunk) % 1_024 == 0:
                self._chunk(chunk)
            self._pages.drop(self._base + 1 + chunk)
        for window in self._windows:
            window.drop()
        self._pages.drop(self._base)
