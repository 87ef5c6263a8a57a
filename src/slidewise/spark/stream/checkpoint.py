"""A query's checkpoint through Spark's state reader: the pages of its shards as a DataFrame; nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.spark.stream.packing import SHARD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_pages(session: SparkSession, checkpoint: str, operator: int | None = None) -> DataFrame:
    """The pages of all shards after the last micro-batch: the shard's label, the page's number, and the page as text.

    A shard's pages lie in one partition, one after the other. `operator` is the number of the query's operator with
    state, where there are several.
    """
    check_path(str(checkpoint))
    state = session.read.format("statestore").option("stateVarName", "pages")
    state = state.option("operatorId", stateful_operator(session, checkpoint, operator)).load(str(checkpoint))
    # A shard's pages lie in one partition of the state, and so in one of what is read.
    return state.selectExpr(f"key.{SHARD}", "user_map_key.number", "user_map_value.page").sortWithinPartitions(SHARD)


def check_path(checkpoint: str) -> None:
    """Refuse a path that Spark's state reader looks for under another name, and does not find."""
    escaped = sorted({*" %"} & {*checkpoint})
    if escaped:
        raise SlidewiseError(
            f"Spark's state reader cannot open the checkpoint {checkpoint!r}, since it writes {escaped[0]!r} in a path "
            "as a number; rename the folder, or read it through a link without such characters"
        )


def stateful_operator(session: SparkSession, checkpoint: str, operator: int | None = None) -> int:
    """The number of the query's operator whose state is that of a definition; the one that is given, if any."""
    if operator is not None:
        return operator
    rows = session.read.format("state-metadata").load(str(checkpoint)).select("operatorId", "operatorName").collect()
    operators = sorted({row.operatorId for row in rows if "transformWithState" in row.operatorName})
    if len(operators) != 1:
        have = f"its operators {', '.join(map(str, operators))} have" if operators else "no operator of it has"
        raise SlidewiseError(
            f"the checkpoint {checkpoint} is not that of one definition: {have} state as definitions keep it"
            + ("; name one with operator=" if operators else "")
        )
    return int(operators[0])
