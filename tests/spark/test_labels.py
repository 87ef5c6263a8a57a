"""Shards of a stream are spread evenly over its tasks, however many there are."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from slidewise.spark.stream.shard_labels import labelled_shard, shard_label

SHARDS = (0, 1, 2, 15, 16, 255, 4_711, 65_535)


def test_a_label_is_a_shards_and_nobody_elses() -> None:
    labels = [shard_label(shard) for shard in range(65_536)]
    assert [labelled_shard(one) for one in labels] == list(range(65_536))
    assert len(set(labels)) == 65_536
    assert all(0 <= one < 2**32 for one in labels)


def test_sparks_hash_of_a_label_is_the_shard(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(shard, shard_label(shard)) for shard in SHARDS], "shard long, label long")
    assert [tuple(row) for row in rows.select("shard", F.hash("label")).collect()] == [(s, s) for s in SHARDS]


@pytest.mark.parametrize("partitions", [2, 5, 16])
def test_as_many_shards_in_every_partition(spark: SparkSession, partitions: int) -> None:
    rows = spark.createDataFrame([(shard_label(shard),) for shard in range(2 * partitions)], "label long")
    spread = rows.repartition(partitions, "label").select(F.spark_partition_id()).collect()
    assert sorted(row[0] for row in spread) == sorted([*range(partitions)] * 2)
