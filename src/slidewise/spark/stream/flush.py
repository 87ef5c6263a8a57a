"""The answers to the rows that a stopped stream still has waiting, from its checkpoint, which stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.spark.state.seven_bits import as_bytes
from slidewise.spark.stream.beat_shard import shard_of
from slidewise.spark.stream.packing import SHARD
from slidewise.spark.stream.shard import Shard, Terms
from slidewise.spark.stream.shard_labels import hashed
from slidewise.spark.worker.task import task

# In milliseconds: past the last moment that Spark's timestamps have, and any window behind it.
_END = 10**15


def flushed(definition: Definition, df: Any, checkpoint: str, operator: int | None, options: dict[str, Any]) -> Any:
    """A batch DataFrame of what the query with this checkpoint would answer if its stream ended here.

    `df` and the options are those that the query was started with.
    """
    from slidewise.spark.batch.dataframe import numbered_schema
    from slidewise.spark.stream.query import planned_stream, terms_of

    schema, plan, _ = planned_stream(definition, df, **options)
    session = df.sparkSession
    found = _operators(session, checkpoint)
    if operator is None and len(found) != 1:
        have = f"its operators {', '.join(map(str, found))} have" if found else "no operator of it has"
        raise SlidewiseError(
            f"the checkpoint {checkpoint} is not that of one definition: {have} state as definitions keep it"
            + ("; name one with operator=" if found else "")
        )
    state = session.read.format("statestore").option("stateVarName", "pages")
    state = state.option("operatorId", found[0] if operator is None else operator).load(str(checkpoint))
    # A shard's pages lie in one partition of the state, and so in one of what is read.
    pages = state.selectExpr(f"key.{SHARD}", "user_map_key.number", "user_map_value.page").sortWithinPartitions(SHARD)
    new = numbered_schema(schema)
    terms = terms_of(definition, df.schema, plan)
    return pages.mapInArrow(task("slidewise.spark.stream.flush", "answered", terms, new.names), new).toDF(*schema.names)


def _operators(session: Any, checkpoint: str) -> list[int]:
    """The numbers of the operators of a query whose state is kept as that of definitions is."""
    rows = session.read.format("state-metadata").load(str(checkpoint)).select("operatorId", "operatorName").collect()
    return sorted({row.operatorId for row in rows if "transformWithState" in row.operatorName})


def answered(terms: Terms, names: list[str], batches: Iterable[Any]) -> Iterator[Any]:
    """Record batches of answers, under these names, from those of pages, which are sorted by shard."""
    shard = shard_of(terms)
    label, pages = None, _Copy()
    for batch in batches:
        for its_label, number, page in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if its_label != label:
                yield from _answered(shard, label, pages, names)
                label, pages = its_label, _Copy()
            pages.put(number, as_bytes(page))
    yield from _answered(shard, label, pages, names)


def _answered(shard: Shard, label: int | None, pages: _Copy, names: list[str]) -> Iterator[Any]:
    if label is not None:
        table = shard.call(pages, hashed(label), [], _END).table
        if table is not None:
            yield from table.rename_columns(names).combine_chunks().to_batches()


class _Copy:
    """A shard's pages in memory: what is written there is not written elsewhere."""

    def __init__(self) -> None:
        self._pages: dict[int, bytes] = {}

    def get(self, number: int) -> bytes | None:
        return self._pages.get(number)

    def put(self, number: int, page: bytes) -> None:
        self._pages[number] = page

    def remove(self, number: int) -> None:
        self._pages.pop(number, None)
