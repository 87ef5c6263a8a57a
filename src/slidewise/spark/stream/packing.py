"""Rows packed into blobs on their way into a stream's state and out of it: Spark hands values over one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from slidewise.spark.state.buckets import HASH
from slidewise.spark.stream.shard_labels import shard_label

MAX_BLOB_BYTES = 4 * 2**20  # about
SHARD, DATA, ROWS = "shard", "data", "rows"
REFUSED = ("dropped", "ahead", "before_history")  # the counts of rows that are not answered
BLOB_SCHEMA = f"{SHARD} long, {DATA} binary"


def pack_by_shard(shards: int, to_all: bool, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack record batches, whose first column is the keys' hash, into rows of a shard's label and a blob of its rows.

    Shard 0 gets a blob, even an empty one, whenever there are rows: so a checkpoint of another definition, or of
    other shards, is found out before anything is answered. With `to_all`, all shards do: an upgrade is then done after
    one micro-batch with rows.
    """
    gathered: list[pa.RecordBatch] = []
    size = 0
    empty = True
    for batch in batches:
        if not batch.num_rows:
            continue
        if empty:
            blob = next(to_blobs(plain(pa.Table.from_batches([batch.slice(0, 0)]))))[0]
            for shard in range(shards if to_all else 1):
                yield _blob(shard, blob)
            empty = False
        gathered.append(batch)
        size += batch.nbytes
        if size >= MAX_BLOB_BYTES * 4:
            yield from _pack(pa.Table.from_batches(gathered), shards)
            gathered, size = [], 0
    if gathered:
        yield from _pack(pa.Table.from_batches(gathered), shards)


def _pack(table: pa.Table, shards: int) -> Iterator[pa.RecordBatch]:
    table = plain(table)
    number = np.mod(table.column(0).to_numpy(), shards).astype(np.uint16)  # never negative; short numbers sort fast
    table = table.take(pa.array(np.argsort(number, kind="stable"))).combine_chunks()
    counts = np.bincount(number)
    stops = np.cumsum(counts)
    for shard in np.flatnonzero(counts).tolist():
        for blob, _ in to_blobs(table.slice(int(stops[shard] - counts[shard]), int(counts[shard]))):
            yield _blob(shard, blob)


def _blob(shard: int, blob: bytes) -> pa.RecordBatch:
    return pa.record_batch([pa.array([shard_label(shard)], pa.int64()), pa.array([blob], pa.binary())], [SHARD, DATA])


def plain(table: pa.Table) -> pa.Table:
    """The same rows in a schema that no setting of the session changes: times with a zone in UTC."""
    fields = []
    for field in table.schema:
        zoned = pa.types.is_timestamp(field.type) and field.type.tz is not None
        fields.append(pa.field(field.name, pa.timestamp(field.type.unit, "UTC") if zoned else field.type))
    return table.cast(pa.schema(fields)).rename_columns([HASH, *table.column_names[1:]])


def to_blobs(table: pa.Table) -> Iterator[tuple[bytes, int]]:
    """A table serialised as Arrow IPC streams of a few MB at most, and how many rows each has."""
    count = max(1, min(-(-table.nbytes // MAX_BLOB_BYTES), len(table)))
    cuts = np.linspace(0, len(table), count + 1).astype(np.int64).tolist()
    for a, b in pairwise(cuts):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(a, b - a))
        yield sink.getvalue().to_pybytes(), b - a


def from_blob(blob: bytes) -> pa.Table:
    """The table in a blob."""
    with pa.ipc.open_stream(pa.py_buffer(blob)) as reader:
        return reader.read_all()


def unpack(names: list[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The record batches in the blobs, under these names."""
    for batch in batches:
        for blob in batch.column(batch.schema.get_field_index(DATA)).to_pylist():
            if blob is not None:
                yield from from_blob(blob).rename_columns(names).combine_chunks().to_batches()
