"""The answers to the rows that a stopped stream still has waiting, from its checkpoint, which stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from slidewise.definition import Definition
from slidewise.spark.state.pages import MemoryStore
from slidewise.spark.state.seven_bits import decode_text
from slidewise.spark.stream.beat_shard import make_shard
from slidewise.spark.stream.checkpoint import read_pages
from slidewise.spark.stream.shard import QueryTerms, Shard
from slidewise.spark.stream.shard_labels import labelled_shard
from slidewise.spark.upgrade.upgrade import call_shard
from slidewise.spark.worker.task import task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# In milliseconds: past the last moment that Spark's timestamps have, and any window behind it.
_END = 10**15


def flush_stream(
    definition: Definition, df: DataFrame, checkpoint: str, operator: int | None, options: dict[str, Any]
) -> DataFrame:
    """A batch DataFrame of what the query with this checkpoint would answer if its stream ended here.

    `df` and the options are those that the query was started with.
    """
    from slidewise.spark.column_names import numbered_schema
    from slidewise.spark.stream.query import plan_stream, query_terms

    schema, plan, _ = plan_stream(definition, df, **options)
    pages = read_pages(df.sparkSession, checkpoint, operator)
    new = numbered_schema(schema)
    terms = query_terms(definition, df.schema, plan)
    return pages.mapInArrow(task(answer_pages, terms, new.names), new).toDF(*schema.names)


def answer_pages(terms: QueryTerms, names: list[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Record batches of answers, under these names, from those of pages, which are sorted by shard."""
    shard = make_shard(terms)
    label, pages = None, MemoryStore()
    for batch in batches:
        for its_label, number, page in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if its_label != label:
                yield from _flush_shard(shard, terms, label, pages, names)
                label, pages = its_label, MemoryStore()
            pages.put(number, decode_text(page))
    yield from _flush_shard(shard, terms, label, pages, names)


def _flush_shard(
    shard: Shard, terms: QueryTerms, label: int | None, pages: MemoryStore, names: list[str]
) -> Iterator[pa.RecordBatch]:
    if label is not None:
        table = call_shard(shard, terms, pages, labelled_shard(label), [], _END).table
        if table is not None:
            yield from table.rename_columns(names).combine_chunks().to_batches()
