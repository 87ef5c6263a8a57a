"""A stream's shard for answers on a beat: its state is slices, and a beat comes once the watermark has passed it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.columns.series import read
from slidewise.engine.beats.parts import Arguments, SlicePlan
from slidewise.engine.beats.slices import BeatSlices, as_times, sliced
from slidewise.engine.computed.columns import extended_schema, result_arrays, with_arguments
from slidewise.errors import SlidewiseError, SnapshotError
from slidewise.kernels.bounds.beats import held_at, times_of
from slidewise.spark.error_location import first_failing_row
from slidewise.spark.sort.sorted_rows import SortedRows, row_label
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import Buckets, KeyTable
from slidewise.spark.state.directory import Directory
from slidewise.spark.state.pages import Pages
from slidewise.spark.state.slice_table import SliceTables
from slidewise.spark.state.warming import Warming
from slidewise.spark.stream.query_shard import QueryShard
from slidewise.spark.stream.shard import QueryTerms, Shard
from slidewise.windows import Beats

_NEVER = -(2**62)
_LAYOUT = b"slidewise slices"


def make_shard(terms: QueryTerms) -> Shard:
    """A shard for a definition with beats, or without, or for labels."""
    if terms.labels is not None:
        return QueryShard(terms)
    return Shard(terms) if terms.definition.every is None else BeatShard(terms)


class BeatShard(Shard):
    """Evaluates a definition on a beat on shards. A key's page has its slices in the place of rows.

    In the place of a key's newest time stands that of its next beat, and a page has the earliest of them.
    """

    def __init__(self, terms: QueryTerms) -> None:
        super().__init__(terms)
        self.plan = SlicePlan(terms.definition, in_batch=False)
        self._on = str(terms.definition.on)
        self._cached: tuple[pa.Schema, SliceTables] | None = None
        self._warming = Warming()

    @cached_property
    def beats(self) -> Beats:
        return self.plan.beats(1_000, False)

    def _timer(self, directory: Directory) -> int | None:
        """When the first waiting row is due, or the first beat."""
        moments = [waiting.first for waiting in directory.waiting[:1]] + [bucket.newest for bucket in directory.buckets]
        return max(1, -(-min(moments) // 1_000)) if moments else None

    def layout(self, schema: pa.Schema) -> SliceTables:
        """The layout of slices of rows with this schema."""
        if self._cached is None or not self._cached[0].equals(schema):
            whole = extended_schema(self._definition, schema)
            rows = SortedRows(whole.empty_table(), self._definition, np.zeros(0, np.int64))
            self._cached = schema, SliceTables(self.plan, *self._sliced(rows))
        return self._cached[1]

    def _sliced(self, rows: SortedRows) -> tuple[BeatSlices, list[Arguments]]:
        assert rows.times is not None
        return sliced(self.plan, self.beats, rows, rows.codes, rows.times.data, lambda x: x)

    def stored_schema(self, schema: pa.Schema) -> pa.Schema:
        """The rows' schema, which also says how slices lie in pages."""
        return schema.with_metadata({_LAYOUT: self.layout(schema).schema.serialize().to_pybytes()})

    def _release(
        self,
        pages: Pages,
        directory: Directory,
        schema: pa.Schema,
        due: pa.Table,
        until: int,
        before: int | None,
    ) -> pa.Table | None:
        layout = self.layout(schema)
        self._warming = directory.warming
        if schema.metadata and schema.metadata.get(_LAYOUT) != layout.schema.serialize().to_pybytes():
            raise SnapshotError(
                "the slices in the state lie otherwise than here: an operator that was compiled is not any more, or "
                "the other way round; go back to the versions of Numba and Slidewise that wrote them"
            )
        buckets = self.buckets(pages, directory, schema)
        places = set(directory.touched(due.column(B.HASH).to_numpy()) if len(due) else [])
        places |= {place for place, bucket in enumerate(directory.buckets) if bucket.newest <= until}
        if not places and not len(due):
            return None
        old = buckets.read(sorted(places))
        table, codes = self._sorted(old, due)
        stored = layout.slices(old.rows, np.repeat(np.arange(len(old)), old.numbers(B.COUNT)))
        after = _NEVER if before is None else self.beats.at_or_before(before)
        last = self.beats.at_or_before(until)
        try:
            answered, slices, keys = self._answer_beats(old, stored, table, codes, after, last)
        except SlidewiseError as error:
            raise self._located(error, old, stored, table, codes, after, last) from error
        slices = slices.taken(slices.needed(self.beats, last))
        buckets.write(sorted(places), self.key_table(layout, keys, slices, last))
        return answered

    def buckets(self, pages: Pages, directory: Directory, schema: pa.Schema) -> Buckets:
        """The pages of keys and their slices, of rows with this schema."""
        keys_schema = B.keys_schema(schema, self._definition.by)
        return Buckets(pages, directory, keys_schema, [self.layout(schema).schema], of_page=np.min)

    def _answer_beats(
        self, old: KeyTable, stored: BeatSlices, table: pa.Table, codes: Array, after: int, last: int
    ) -> tuple[pa.Table | None, BeatSlices, pa.Table]:
        """The beats after one and up to another, as a table or None; the slices, and the keys that these are of."""
        table = with_arguments(self._definition, table, self._label)
        rows = SortedRows(table, self._definition, codes)
        new, arguments = self._sliced(rows)
        slices = stored.joined(new)
        firsts = np.flatnonzero(np.diff(codes, prepend=-1))
        firsts = firsts[codes[firsts] >= len(old)]
        names = [*self._definition.by, B.HASH]
        keys = pa.concat_tables([old.table.select(names), table.select(names).take(pa.array(firsts))])
        due = slices.due(self.beats, after, last)
        if not len(due) or self._loading:
            return None, slices, keys
        moments = as_times(self._on, read(table.column(self._on), self._on), times_of(self.beats, due.numbers))
        answered = keys.select(list(self._definition.by)).take(pa.array(due.codes)) if self._definition.by else None
        answered = pa.table({self._on: moments}) if answered is None else answered.append_column(self._on, moments)
        answers = slices.answers(self.plan, self.beats, due, arguments)
        beats = answered
        columns = result_arrays(
            self._definition, answers, beats.column, len(beats), lambda row: self._label(beats, row)
        )
        if self._terms.only_complete:
            times = times_of(self.beats, due.numbers)
            columns = self._only_complete(columns, times, self._warming, {})
        return self._appended(answered, columns), slices, keys

    def _located(
        self,
        error: SlidewiseError,
        old: KeyTable,
        stored: BeatSlices,
        table: pa.Table,
        codes: Array,
        after: int,
        last: int,
    ) -> SlidewiseError:
        """The error with the row at which it comes up; or with the watermark, where it is about rows from before."""

        def fails(count: int) -> bool:
            try:
                self._answer_beats(old, stored, table.slice(0, count), codes[:count], after, last)
            except SlidewiseError:
                return True
            return False

        if fails(0):
            at = f"a beat up to {self.beats.time(last)} us after 1970, of rows that came before"
        else:
            at = row_label(self._definition, table, first_failing_row(fails, len(table)), ())
        return type(error)(f"{error}; at {at}")

    def key_table(self, layout: SliceTables, keys: pa.Table, slices: BeatSlices, last: int) -> KeyTable:
        """The keys that still have slices, sorted by hash, with the time of each one's next beat."""
        which, firsts, counts = np.unique(slices.codes, return_index=True, return_counts=True)
        beats = np.maximum(held_at(self.beats, slices.numbers[firsts])[0], last + 1)
        table = keys.take(pa.array(which))
        for name, column in (
            (B.NEWEST, pa.array(times_of(self.beats, beats))),
            (B.COUNT, pa.array(counts.astype(np.int64))),
            (B.STATES, pa.nulls(len(which), pa.binary())),
            (B.LARGE, pa.array(np.zeros(len(which), np.int64))),
        ):
            table = table.append_column(name, column)
        unsorted = KeyTable(table, [layout.table(slices)])
        return unsorted.taken(np.argsort(unsorted.numbers(B.HASH), kind="stable"))
