"""What runs in Spark's workers over the pages of a checkpoint: one shard at a time, of which little comes back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.arrays import Array
from slidewise.errors import SlidewiseError
from slidewise.spark.inspect.check import check_shard
from slidewise.spark.inspect.key_table import key_tables
from slidewise.spark.inspect.opened_shard import OpenedShard
from slidewise.spark.inspect.summary import Scale, shard_summary
from slidewise.spark.inspect.written_query import WrittenQuery
from slidewise.spark.state import buckets as B
from slidewise.spark.state.pages import DESCRIPTION, DIRECTORY, LARGE_KEY_BITS, TRAIL, MemoryStore
from slidewise.spark.state.seven_bits import decode_text, encode_text
from slidewise.spark.stream.shard_labels import labelled_shard, shard_label

Queries = Mapping[str, WrittenQuery]
Batches = Iterable[pa.RecordBatch]
REPORT = "shard bigint, report string"


def shards_of(rows: Iterable[tuple[int, int, Any]]) -> Iterator[tuple[int, MemoryStore]]:
    """Each shard's number and its pages, of rows of a shard's label, a page's number and its text, sorted by shard."""
    label, store = None, MemoryStore()
    for its_label, number, page in rows:
        if its_label != label:
            if label is not None:
                yield labelled_shard(label), store
            label, store = its_label, MemoryStore()
        try:
            store.put(number, decode_text(page))
        except SlidewiseError:
            store.put(number, b"")  # which is no page, and is met as such where it is read
    if label is not None:
        yield labelled_shard(label), store


def _shards(batches: Batches) -> Iterator[tuple[int, MemoryStore]]:
    return shards_of(
        row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    )


def list_keys(queries: Queries, names: Sequence[str], batches: Batches) -> Iterator[pa.RecordBatch]:
    """The keys of all shards under these names, see `key_tables`."""
    for shard, store in _shards(batches):
        for table in key_tables(OpenedShard(store, shard, queries)):
            yield from table.rename_columns(list(names)).combine_chunks().to_batches()


def sum_up(queries: Queries, largest: int, scale: Scale | None, batches: Batches) -> Iterator[pa.RecordBatch]:
    """What each shard holds as JSON, see `shard_summary`; or, where it cannot be read, the `error`."""
    for shard, store in _shards(batches):
        try:
            report = shard_summary(OpenedShard(store, shard, queries), largest, scale)
        except SlidewiseError as error:
            report = {"shard": shard, "error": str(error)}
        yield _report(shard, report)


def check(queries: Queries, batches: Batches) -> Iterator[pa.RecordBatch]:
    """The problems of each shard as JSON: pages, and what is wrong in them."""
    for shard, store in _shards(batches):
        problems = check_shard(store, shard, queries)
        yield _report(shard, {"pages": len(store), "problems": [[problem.page, problem.what] for problem in problems]})


def _report(shard: int, report: Mapping[str, Any]) -> pa.RecordBatch:
    return pa.record_batch([pa.array([shard]), pa.array([json.dumps(report)])], names=["shard", "report"])


def find_key(queries: Queries, key: Mapping[str, str], batches: Batches) -> Iterator[pa.RecordBatch]:
    """The pages that a key lies in, with those that every shard has: a small state that has this key."""
    for shard, store in _shards(batches):
        opened = OpenedShard(store, shard, queries)
        for place, keys in enumerate(opened.key_pages()):
            which = np.flatnonzero(has_key(keys.table, key))
            if not len(which):
                continue
            numbers = {DIRECTORY, TRAIL, TRAIL + 1, DESCRIPTION, opened.directory.buckets[place].page}
            large = {int(n) for i in range(opened.parts) for n in keys.numbers(B.part_column(B.LARGE, i))[which]}
            wanted = [n for n in store if n in numbers or (n < TRAIL and n >> LARGE_KEY_BITS in large - {0})]
            pages = [pa.array([shard_label(shard)] * len(wanted)), pa.array(wanted)]
            yield pa.record_batch(
                [*pages, pa.array([encode_text(store[n]) for n in wanted])], names=["shard", "number", "page"]
            )


def has_key(table: pa.Table, key: Mapping[str, str]) -> Array:
    """Which rows of a table have a key, whose columns are given as text; the text `null` is that of a null, too."""
    found = np.ones(len(table), np.bool_)
    for name, text in key.items():
        column = table.column(name)
        try:
            equal = pc.equal(column, pa.scalar(text).cast(column.type)).fill_null(False)
        except (pa.ArrowException, ValueError):
            equal = pa.chunked_array([pa.array(np.zeros(len(table), np.bool_))])
        matches: Array = np.array(equal, np.bool_)
        if text == "null":
            matches |= np.array(column.is_null(), np.bool_)
        if text.lower() == "nan" and pa.types.is_floating(column.type):
            matches |= np.array(pc.is_nan(column).fill_null(False), np.bool_)
        found &= matches
    return found
