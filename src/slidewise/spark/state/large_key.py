"""A key with pages of its own: chunks of rows, or of cells, and for each window DABA Lite over the chunks.

A window's oldest rows lie in the chunk that it starts in, its newest ones in the last chunk, which is still open. All
chunks between are known by one aggregate. A call reads the chunks that the windows' starts move through and the open
one, and writes the chunks that new rows go to; neither grows with the window.

Page numbers: `large << 36` is the header, chunk c is that plus 1 + c, and page p of the slots of window w is that plus
(1 + w) << 28 plus p. The header's payload is plain values, see `engine.codec`: the first chunk, the open one and the
position of its first row, which windows have states of a bounded size, and for each window the chunk it starts in, the
position of that chunk's first row, and the pointers and running partials of DABA Lite. A chunk's payload is its rows as
an Arrow record batch without schema.

Where a window has a grain, chunks have cells. New rows come as cells of one row each, and are folded into the open cell
and those behind it once they are answered. The open cell never leaves the open chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.columns.operator_types import readied
from slidewise.definition import Definition
from slidewise.engine.answers import check_inputs, typed
from slidewise.engine.batch import columns_of
from slidewise.engine.bounds import spec_bounds
from slidewise.engine.cells import Cells
from slidewise.engine.codec import Reader, Writer
from slidewise.engine.point_in_time.queries import Queries, first_in
from slidewise.engine.sliding import SlidingBatch, StoredRows
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import SnapshotError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.passes.spanning import Spanning
from slidewise.spark.sort.sorted_rows import SortedRows, microseconds
from slidewise.spark.state.cell_table import NEWEST, CellTables, state_of
from slidewise.spark.state.chunk_window import ChunkAggregates, ChunkWindow, State, folded, numeric_inputs
from slidewise.spark.state.page_checks import MOST_CHUNKS, check_row_order, check_state, reading, require, whole
from slidewise.spark.state.pages import LARGE_KEY_BITS, Pages, batch_to_bytes, one_batch, table_from_bytes

CHUNK_BYTES = 16_384  # bytes of rows
LARGE_CHUNK_BYTES = 131_072  # where as many come at once: each chunk costs some combines in every window


class LargeKey:
    """One key's chunks of rows, and its windows. `schema` is that of a chunk, and `number` the key's own."""

    _min_open = 0  # how many rows the open chunk keeps at least

    def __init__(
        self, pages: Pages, definition: Definition, groups: list[ChunkAggregates], schema: pa.Schema, number: int
    ) -> None:
        self._pages = pages
        self._definition = definition
        self._groups = groups
        self._schema = schema
        self._base = number << LARGE_KEY_BITS
        self._low = self._old_low = self._tail = 0
        self._tail_at = 0
        self._starts = [(0, 0) for _ in groups]  # the chunk that a window starts in, and its first row's position
        self._windows = [
            ChunkWindow(pages, self._base + ((1 + w) << 28), group.combine, partial(check_state, group))
            for w, group in enumerate(groups)
        ]
        self._chunks: dict[int, pa.Table] = {}
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

    def _chunk(self, number: int) -> pa.Table:
        if number not in self._chunks:
            payload = self._pages.read(self._base + 1 + number)
            if payload is None:
                raise SnapshotError(f"chunk {number} of a large key is not there; restore the checkpoint from a copy")
            self._chunks[number] = table_from_bytes(payload, self._schema, self._never_null)
            with reading(f"chunk {number} of a large key"):
                require(number == self._tail or len(self._chunks[number]), "it has no rows")
                times = self._times(self._chunks[number])
                check_row_order(times, np.array([0, len(times)]), once=False)
        return self._chunks[number]

    @property
    def _never_null(self) -> list[str]:
        """The columns that always have a value."""
        return [self._definition.on or ""]

    def _times(self, rows: pa.Table) -> Array:
        return microseconds(rows, self._definition.on or "")

    def begin(self, rows: pa.Table) -> None:
        """Take these rows, which were in a shared page so far; every window begins at the first of them."""
        for window in self._windows:
            window.start_at(0)
        self._append(rows.slice(0, 0), rows)
        self._finish()

    def rebuild(self, pieces: Iterable[pa.Table]) -> None:
        """Take the rows of all pieces, the first of which is the oldest; every window begins at the first of them.

        What is written does not stay in memory.
        """
        for window in self._windows:
            window.start_at(0)
        tail = self._schema.empty_table()
        for rows in pieces:
            tail = self._append(tail, rows)
            self._pages.spill()
        self._finish()

    def chunks(self) -> Iterator[tuple[int, pa.Table]]:
        """The rows of all chunks, the oldest first, and the position of each one's first row; none stays in memory."""
        at = self._low_at
        for number in range(self._low, self._tail + 1):
            chunk = self._chunk(number)
            yield at, chunk
            at += len(chunk)
            del self._chunks[number]
            self._pages.spill()

    @property
    def count(self) -> int:
        """The position behind the last row."""
        return self._tail_at + len(self._chunk(self._tail))

    @property
    def _low_at(self) -> int:
        """The position of the first row that is stored."""
        return min((place for chunk, place in self._starts if chunk == self._low), default=self._tail_at)

    @property
    def stored(self) -> int:
        """How many rows, or cells, are stored; only the header and the open chunk are read."""
        return self.count - self._low_at

    def push(self, rows: pa.Table, queries: Queries | None = None) -> dict[str, pa.Array]:
        """The answers by name for new rows, sorted, or for queries among them; rows are part of the windows then.

        Whatever comes later is later than all of them.
        """
        tail = self._chunk(self._tail)
        count = self._tail_at + len(tail)  # of all rows so far
        if queries is not None:
            queries = queries.numbered(self._times(rows), np.array([0, len(rows)]), np.array([count]))
        answers: dict[str, pa.Array] = {}
        for w, group in enumerate(self._groups):
            last = self._last_place(group.spec, count, rows, queries)
            head, ends_in, starts_at = self._head(w, group, last)
            table = pa.concat_tables([*head, tail, rows]).combine_chunks()
            before = sum(map(len, head))
            positions = np.concatenate(
                [starts_at + np.arange(before), self._tail_at + np.arange(len(tail) + len(rows))]
            )
            is_whole = ends_in + 1 >= self._tail  # all rows of the window are here
            self._windows[w].evict_until(self._tail if is_whole else ends_in + 1)
            arrays, first = self._answers(w, table, positions, before, before + len(tail), is_whole, queries, last)
            answers |= {member.name: array for member, array in zip(group.spec.members, arrays, strict=True)}
            if len(positions):
                self._starts[w] = self._at(w, head, int(positions[min(first, len(positions) - 1)]))
        self._append(tail, rows)
        self._finish()
        return answers

    def _answers(
        self,
        w: int,
        table: pa.Table,
        positions: Array,
        before: int,
        old: int,
        is_whole: bool,
        queries: Queries | None,
        last: int,
    ) -> tuple[list[pa.Array], int]:
        """The answers of a window for the rows from `old` on, or for the queries, and where the one that ends at the
        place `last` starts; `before` is how many rows lie before the chunks between, unless all are here."""
        spec = self._groups[w].spec
        silent = np.arange(len(table)) < old if queries is None else None
        rows = SortedRows(table, self._definition, np.zeros(len(table), np.int64), silent, 1)
        assert rows.times is not None
        places = positions if spec.numbered else rows.times.data
        first = first_in(spec, places, last)
        if not is_whole:
            return self._spanned(self._groups[w], rows, places, before, self._windows[w].query(), queries), first
        batch = SlidingBatch(rows, spec, places, StoredRows.none(1), True, silent, queries)
        arrays = batch.arrays()
        return [array if silent is None else array.filter(~silent) for array in arrays], first

    def _last_place(self, spec: WindowSpec, count: int, rows: pa.Table, queries: Queries | None) -> int:
        """The place at which the last window ends, after `count` rows; none to come ends before it."""
        places = [] if queries is None else queries.places(spec)[-1:].tolist()
        if spec.numbered:
            places.append(count + len(rows) - 1)
        elif len(rows):
            places.append(self._newest(rows))
        return int(max(places))

    def _head(self, w: int, group: ChunkAggregates, last: int) -> tuple[list[pa.Table], int, int]:
        """The chunks before the open one that the window's start moves through on its way to the place `last`, the last
        one's number, and the position of the first row. Where states have no bounded size, all of them."""
        chunk, at = self._starts[w]
        starts_at, head = at, []
        spec = group.spec
        while chunk < self._tail:
            table = self._chunk(chunk)
            head.append(table)
            at += len(table)
            newest = at - 1 if spec.numbered else self._newest(table)
            if group.bounded and self._is_in(spec, newest, last):
                return head, chunk, starts_at
            chunk += 1
        return head, self._tail, starts_at

    def _newest(self, rows: pa.Table) -> int:
        return int(microseconds(rows, self._definition.on or "")[-1])

    def _is_in(self, spec: WindowSpec, place: int, last: int) -> bool:
        """Whether a place is in the window that ends at another."""
        return bool(place >= spec.cut(last))

    def _at(self, w: int, head: list[pa.Table], position: int) -> tuple[int, int]:
        """The chunk that holds a position, as far as chunks are closed, and the position of its first row."""
        chunk, at = self._starts[w]
        for table in head:
            if position < at + len(table):
                return chunk, at
            chunk, at = chunk + 1, at + len(table)
        return self._tail, self._tail_at if position >= self._tail_at else position

    def _spanned(
        self,
        group: ChunkAggregates,
        rows: SortedRows,
        places: Array,
        before: int,
        middle: State,
        queries: Queries | None,
    ) -> list[pa.Array]:
        """The answers of the rows that are not silent, or of the queries, with the chunks between known by their
        state."""
        spec = group.spec
        if queries is not None:
            starts, ends = queries.bounds(spec, places, np.array([0, rows.count]))
        else:
            starts, ends = spec_bounds(spec, places, np.array([0, rows.count]), True)
            starts, ends = starts[~rows.silent], ends[~rows.silent]  # type: ignore[operator]
        starts, ends = np.minimum(starts, before), np.maximum(ends, before)
        columns, valid = columns_of(rows, spec)
        if valid is not None:
            total = np.concatenate([np.zeros(1, np.int64), np.cumsum(valid)])
            starts, ends, before = total[starts], total[ends], int(total[before])
        counts = ends - starts + (0 if middle is None else middle[0])
        types = [rows.kind_of(name) for name in spec.columns]
        arrays = []
        for j, (member, run) in enumerate(zip(spec.members, group.passes, strict=True)):
            check_inputs(member.operator, spec.columns, columns, types)
            enough = counts >= member.least
            if run is None:
                answers = Answers([counts], enough)
            else:
                data = numeric_inputs(member, columns)
                data = data if valid is None else [x[valid] for x in data]
                part = None if middle is None else middle[1][j]
                answers = run.answers(data, before, part, starts, ends, enough).limited(enough)
            arrays.append(typed(member.operator, readied(member.operator, columns), types, answers))
        return arrays

    def _append(self, tail: pa.Table, rows: pa.Table) -> pa.Table:
        """Put rows behind the open chunk's, and close it where it is full; the rows of the open chunk afterwards."""
        table = pa.concat_tables([tail, rows]).combine_chunks()
        small, large = (max(1, size * len(table) // max(table.nbytes, 1)) for size in (CHUNK_BYTES, LARGE_CHUNK_BYTES))
        while len(table) >= small + self._min_open:
            size = large if len(table) >= large + self._min_open else small
            closed, table = table.slice(0, size), table.slice(size)
            self._pages.write(self._base + 1 + self._tail, batch_to_bytes(one_batch(closed)))
            self._tail, self._tail_at = self._tail + 1, self._tail_at + size
            for group, window, state in zip(self._groups, self._windows, self._folded(closed), strict=True):
                if group.bounded:
                    window.insert(state)
        self._pages.write(self._base + 1 + self._tail, batch_to_bytes(one_batch(table)))
        return table

    def _folded(self, chunk: pa.Table) -> list[State]:
        """The state of a chunk's rows for each group; None where states have no bounded size."""
        return folded(self._groups, SortedRows(chunk, self._definition, np.zeros(len(chunk), np.int64)))

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


class LargeCells(LargeKey):
    """One key's chunks of cells of one spec with a grain."""

    _min_open = 1

    def __init__(self, pages: Pages, definition: Definition, tables: CellTables, number: int) -> None:
        self._tables = tables
        self._rows: SortedRows | None = None  # the new rows of a push
        self._passed = 0  # how many cells of the open chunk, and rows behind them, no later window holds
        super().__init__(pages, definition, tables.groups, tables.schema, number)

    def push(self, rows: pa.Table, queries: Queries | None = None) -> dict[str, pa.Array]:
        self._rows = SortedRows(rows, self._definition, np.zeros(len(rows), np.int64))
        self._passed = 2**62
        return super().push(self._tables.table(self._tables.lifted(self._rows)), queries)

    def _answers(
        self,
        w: int,
        table: pa.Table,
        positions: Array,
        before: int,
        old: int,
        is_whole: bool,
        queries: Queries | None,
        last: int,
    ) -> tuple[list[pa.Array], int]:
        group = self._groups[w]
        cells = self._tables.cells(table, group.spec.members)
        first = first_in(group.spec, cells.places, last)
        self._passed = min(self._passed, max(first - before, 0))
        if queries is not None:
            starts, ends = queries.bounds(group.spec, cells.places, np.array([0, len(cells)]))
        else:
            starts, ends = spec_bounds(group.spec, cells.places, np.array([0, len(cells)]), True)
            starts, ends = starts[old:], ends[old:]
        if is_whole:
            members = zip(group.spec.members, cells.parts, strict=True)
            answers = [part.windows(starts, ends, member.least) for member, part in members]
        else:
            answers = self._between(w, cells, np.minimum(starts, before), np.maximum(ends, before), before)
        assert self._rows is not None
        columns, _ = columns_of(self._rows, group.spec)
        types = [self._rows.kind_of(name) for name in group.spec.columns]
        arrays = []
        for member, answer in zip(group.spec.members, answers, strict=True):
            check_inputs(member.operator, group.spec.columns, columns, types)
            arrays.append(typed(member.operator, readied(member.operator, columns), types, answer))
        return arrays, first

    def _between(self, w: int, cells: Cells, starts: Array, ends: Array, before: int) -> list[Answers]:
        """The answers over the cells [starts, before), the chunks between, and the cells [before, ends)."""
        group, middle = self._groups[w], self._windows[w].query()
        counts = cells.parts[0].counts
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        rows = total[ends] - total[starts] + (0 if middle is None else middle[0])
        full = counts > 0
        place = np.concatenate([np.zeros(1, np.int64), np.cumsum(full)])
        starts, ends, h = place[starts], place[ends], int(place[before])
        answers = []
        for j, (member, run) in enumerate(zip(group.spec.members, group.passes, strict=True)):
            enough = rows >= member.least
            if run is None:
                answers.append(Answers([rows], enough))
                continue
            assert isinstance(run, Spanning)
            ok = enough & (rows > 0)
            fields = [field[full] for field in cells.parts[j].fields]
            state = None if middle is None else middle[1][j]
            answers.append(run.answers_of_partials(fields, h, state, starts, ends, ok).limited(ok))
        return answers

    @property
    def _never_null(self) -> list[str]:
        return list(self._schema.names)

    def _times(self, rows: pa.Table) -> Array:
        array: Array = rows.column(NEWEST).to_numpy()
        return array

    def _newest(self, rows: pa.Table) -> int:
        return int(rows.column(NEWEST)[-1].as_py())

    def _folded(self, chunk: pa.Table) -> list[State]:
        cells = self._tables.cells
        return [state_of(group, cells(chunk, group.spec.members)) if group.bounded else None for group in self._groups]

    def _append(self, tail: pa.Table, rows: pa.Table) -> pa.Table:
        both = pa.concat_tables([tail, rows]).slice(self._passed)
        return super()._append(tail.slice(0, 0), self._tables.table(self._tables.folded(self._tables.cells(both))))
