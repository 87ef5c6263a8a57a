"""What tests of streams share: rows in files that come one after the other, and a query that runs over them all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from slidewise.pipeline.spark_session import run_stream

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
SETTINGS = {
    PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    CHANGELOG: "true",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.numRecentProgressUpdates": "10000",
}


@contextmanager
def settings(spark: Any, given: dict[str, str]) -> Iterator[None]:
    """Settings of a session that end with the block."""
    before = {name: spark.conf.get(name, None) for name in given}
    for name, value in given.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


class Files:
    """A directory of Parquet files, read as a stream of one file per micro-batch, in the order they were added."""

    def __init__(self, spark: Any, path: Path) -> None:
        self._spark = spark
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._count = len(list(path.iterdir()))

    def add(self, table: pa.Table) -> None:
        """One more file; its time of modification is later than all others'."""
        self._count += 1
        target = self.path / f"{self._count:05}.parquet"
        draft = self.path.parent / "draft"
        pq.write_table(table, draft)
        os.utime(draft, (10**9 + self._count, 10**9 + self._count))
        draft.rename(target)

    def stream(self, schema: Any) -> Any:
        return self._spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.path))


def run(df: Any, out: Path, checkpoint: Path) -> list[Any]:
    """Run a query over all that is there, into Parquet files; the progress of its micro-batches."""
    query = run_stream(lambda: started(df, out, checkpoint))
    return list(query.recentProgress)


def started(df: Any, out: Path, checkpoint: Path) -> Any:
    """A query over all that is there, into Parquet files, which has begun."""
    writer = df.writeStream.format("parquet").option("path", str(out)).option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start()


def answered(out: Path) -> pa.Table:
    """All rows of the sink."""
    return pq.read_table(out)
