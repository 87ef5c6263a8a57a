"""The upgrade of a shard: its pages, which another definition wrote, become those of the query that finds them.

It happens in the shard's first call, as a part of a micro-batch: where that fails or is killed, Spark's state is as it
was, and the next run begins again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from slidewise.definition import Definition
from slidewise.engine.computed.columns import extended_schema
from slidewise.errors import SlidewiseError, SnapshotError
from slidewise.spark.sort.sorted_rows import microseconds
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import Buckets
from slidewise.spark.state.directory import NO_BATCH, Directory, MicroBatch
from slidewise.spark.state.page_checks import stored_schema
from slidewise.spark.state.pages import (
    DESCRIPTION,
    DIRECTORY,
    RESTORE,
    TRAIL,
    OtherQueryError,
    Pages,
    PageStore,
    batch_to_bytes,
    one_batch,
    page_fingerprint,
    table_from_bytes,
)
from slidewise.spark.state.shard_state import ShardState
from slidewise.spark.stream.beat_shard import BeatShard, make_shard
from slidewise.spark.stream.query_description import (
    QueryDescription,
    describe_query,
    differences,
    query_fingerprint,
    read_description,
    why_not_other_shards,
)
from slidewise.spark.stream.shard import QueryTerms, Shard, ShardResult, lifetime
from slidewise.spark.upgrade.changes import Changes
from slidewise.spark.upgrade.knowledge import Knowledge
from slidewise.spark.upgrade.row_conversion import RowConversion
from slidewise.spark.upgrade.slice_conversion import SliceConversion
from slidewise.windows import Duration


def call_shard(
    shard: Shard,
    terms: QueryTerms,
    store: PageStore,
    number: int,
    tables: list[pa.Table],
    watermark: int,
    batch: MicroBatch = NO_BATCH,
) -> ShardResult:
    """Call a shard; where another definition wrote its pages, and the terms have an upgrade from it, convert these."""
    try:
        return shard.call(store, number, tables, watermark, batch)
    except OtherQueryError:
        if terms.upgrade is None:
            raise
    ShardUpgrade(terms, store, number).run()
    return shard.call(store, number, tables, watermark, batch)


class ShardUpgrade:
    """Converts all pages of a shard, in its store, to those of a query with these terms."""

    def __init__(self, terms: QueryTerms, store: PageStore, number: int) -> None:
        assert terms.upgrade is not None
        page = store.get(DIRECTORY)
        assert page is not None
        self._terms = terms
        fingerprint = page_fingerprint(page)
        self._old_pages = Pages(store, fingerprint, number)
        self._old = Directory(self._old_pages)
        self._old_definition = self._written_by(fingerprint)
        self._old_schema = stored_schema(self._old.schema, B.HASH, self._old_definition)
        self._pages = Pages(store, terms.fingerprint, number)
        self._directory = self._old.moved_to(self._pages)
        self._schema = terms.upgrade.schema
        self._changes = Changes(self._old_definition, terms.definition, self._old.generations)
        self._knowledge = None  # where no rows have been taken in yet
        if self._old.released is not None:
            self._knowledge = Knowledge(self._changes, self._old.warming, self._old.released, self._forgets())
        self._shard = make_shard(terms)

    def _written_by(self, fingerprint: str) -> Definition:
        """The definition that wrote the pages, among those that are given."""
        assert self._terms.upgrade is not None
        text = self._old_pages.description()
        query = read_description(text) if text else self._undescribed()
        if query is None:
            raise SnapshotError(f"the description of the query that wrote the checkpoint makes no sense; {RESTORE}")
        old = written_by(self._terms.upgrade.old, query, fingerprint, text)
        if query.shards != self._terms.shards:
            raise SlidewiseError(why_not_other_shards(query.shards, self._terms.shards))
        self._old_forget_after = query.forget_after
        return old

    def _undescribed(self) -> QueryDescription:
        """What is known of a query that left no description, as in pages of version 2."""
        from pyspark.sql.pandas.types import from_arrow_type

        fields = list(pa.ipc.read_schema(pa.py_buffer(self._old.schema)))[1:]
        columns = tuple((field.name, from_arrow_type(field.type).simpleString()) for field in fields)
        return QueryDescription(None, columns, self._terms.shards, self._terms.forget_after)

    def _forgets(self) -> bool:
        """Whether keys may have been forgotten that the new definition would still remember."""
        before = lifetime(self._changes.old_specs, self._old_forget_after)
        after = lifetime(self._changes.new_specs, self._terms.forget_after)
        return before is not None and (after is None or after > before)

    def run(self) -> None:
        """Convert, and write the new pages."""
        self._check_types()
        directory = self._directory
        directory.generations = self._changes.generations
        if self._knowledge is not None:
            directory.warming = self._knowledge.warming
        directory.schema = self._shard.stored_schema(self._schema).serialize().to_pybytes()
        self._convert_waiting()
        if directory.buckets:
            self._convert_keys()
        for number in (TRAIL, TRAIL + 1):
            payload = self._old_pages.read(number)
            if payload is not None:
                self._pages.write(number, payload)
        if self._terms.description:
            self._pages.write(DESCRIPTION, self._terms.description.encode())
        directory.write()
        self._old_pages.flush()
        self._pages.flush()

    def _check_types(self) -> None:
        """Refuse columns that are stored, or will be, and have another type now."""
        for field in self._schema:
            index = self._old_schema.get_field_index(field.name)
            if index < 0 or self._old_schema.field(index).type == field.type:
                continue
            if field.name in {*self._old_definition.event_needs, *self._terms.definition.event_needs}:
                raise SlidewiseError(
                    f"the column {field.name!r} was of type {self._old_schema.field(index).type} and is of type "
                    f"{field.type}, which no upgrade can change, since rows are stored with it; cast it to what it "
                    "was, or give the new one another name"
                )

    def _convert_waiting(self) -> None:
        """Give rows that wait the columns that the stream has now; new ones are null."""
        on = str(self._terms.definition.on)
        for i, waiting in enumerate(self._directory.waiting):
            payload = self._old_pages.read(waiting.page)
            if payload is None:
                raise SnapshotError(f"page {waiting.page} of waiting rows is not there; {RESTORE}")
            table = table_from_bytes(payload, self._old_schema, (B.HASH, on))
            payload = batch_to_bytes(one_batch(self._with_new_columns(table)))
            times = microseconds(table, on)
            if (int(times.min()), int(times.max())) != (waiting.first, waiting.last):
                raise SnapshotError(f"page {waiting.page} of waiting rows is not the one written last; {RESTORE}")
            self._pages.write(waiting.page, payload)
            self._directory.waiting[i] = waiting._replace(size=len(payload))
            self._spill()

    def _with_new_columns(self, table: pa.Table) -> pa.Table:
        columns: list[Any] = []
        for field in self._schema:
            if field.name not in table.column_names:
                columns.append(pa.nulls(len(table), field.type))
                continue
            column = table.column(field.name)
            try:
                columns.append(column if column.type == field.type else column.cast(field.type))
            except (pa.ArrowException, ValueError) as error:
                raise SlidewiseError(
                    f"the column {field.name!r} was of type {column.type} and is of type {field.type}, and rows that "
                    f"wait cannot be made so: {error}; cast it to what it was until these rows are answered"
                ) from error
        return pa.table(columns, schema=self._schema)

    def _convert_keys(self) -> None:
        """Convert page after page of keys, the last one first: a page that is split moves only those behind it."""
        old, new, conversion = self._beats() if isinstance(self._shard, BeatShard) else self._rows()
        for place in reversed(range(len(self._old.buckets))):
            new.write([place], conversion.convert(old.read([place])))
            self._spill()

    def _rows(self) -> tuple[Buckets, Buckets, RowConversion]:
        changes, definition = self._changes, self._terms.definition
        schemas = [extended_schema(self._old_definition, self._old_schema), extended_schema(definition, self._schema)]
        of_old = [spec for spec in changes.old_specs if not spec.running]
        of_new = [spec for spec in changes.new_specs if not spec.running]
        old = ShardState(self._old_pages, self._old, schemas[0], self._old_definition, of_old, {})
        new = ShardState(self._pages, self._directory, schemas[1], definition, of_new, {})
        assert self._knowledge is not None
        return old.buckets, new.buckets, RowConversion(changes, old, new, schemas[1], self._knowledge)

    def _beats(self) -> tuple[Buckets, Buckets, SliceConversion]:
        assert isinstance(self._shard, BeatShard)
        assert self._old.released is not None
        old = BeatShard(QueryTerms(self._old_definition, self._terms.fingerprint, {}))
        conversion = SliceConversion(
            self._changes, old, self._shard, self._old_schema, self._schema, self._old.released
        )
        return (
            old.buckets(self._old_pages, self._old, self._old_schema),
            self._shard.buckets(self._pages, self._directory, self._schema),
            conversion,
        )

    def _spill(self) -> None:
        """Write what is converted: a shard's state need not fit into memory twice."""
        self._old_pages.spill()
        self._pages.spill()


def written_by(
    definitions: Sequence[Definition], query: QueryDescription, fingerprint: str, text: str | None = None
) -> Definition:
    """The definition among these with which a query has this fingerprint; `text` is its whole description, if any."""
    for old in definitions:
        if query_fingerprint(old, query.columns, query.shards, query.forget_after) == fingerprint:
            return old
    forget_after = None if query.forget_after is None else Duration(query.forget_after * 1_000)
    given = describe_query(definitions[-1], query.columns, query.shards, forget_after)
    how = differences(text, given) if text else "it says nothing of itself"
    raise OtherQueryError(
        "the checkpoint was written neither by the definition of this query nor by that of upgrade_from=; between the "
        f"checkpoint's and upgrade_from= these differ: {how}"
    )
