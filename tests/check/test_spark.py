"""`make check` on Spark: a few cases as a batch, as a stream and as a job file, against the semantics."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("google.protobuf", reason="state on streams needs protobuf")

import definitions.test_lanes as features
import lanes
from check import few_cases
from check.few_cases import BEATS, ROWS
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from spark_data import QUIET
from streams import SETTINGS, Files, answered, settings, started

import slidewise as sw
from slidewise.pipeline.job.job import read_job
from slidewise.pipeline.run import run as run_job

pytestmark = [QUIET, pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")]
for module in (features, few_cases, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(module)


def check(lane: Any, *cases: lanes.Case) -> None:
    """Run cases in this lane, with times as Spark has them, and compare with the semantics."""
    lanes.LANES["spark"] = lane
    try:
        for case, found in lanes.run_alone("spark", list(cases)).values():
            lanes.assert_same(case, found, lanes.direct(case.definition, case.table))
    finally:
        del lanes.LANES["spark"]


def test_a_few_cases_on_batch(spark: SparkSession) -> None:
    check(lambda definition, table: spark.createDataFrame(table).transform(definition).toArrow(), ROWS, BEATS)


def test_a_few_cases_on_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Both definitions at the same time, in two micro-batches; one more row moves the watermark past the others."""

    def lane(definition: sw.Sliding, table: pa.Table) -> pa.Table:
        here = tmp_path / ("rows" if definition.every is None else "beats")
        files = Files(spark, here / "in")
        on = table.schema.get_field_index("ts")
        ordered = table.sort_by("ts")
        end = pa.array(
            [ordered.column("ts").cast(pa.int64()).to_pylist()[-1] + 60 * 10**6], table.schema.field(on).type
        )
        files.add(ordered.slice(0, 30))
        files.add(pa.concat_tables([ordered.slice(30), ordered.slice(0, 1).set_column(on, "ts", end)]))
        stream = files.stream(spark.createDataFrame(table).schema).withWatermark("ts", "30 seconds")
        started(stream.transform(definition, shards=2), here / "out", here / "checkpoint").awaitTermination()
        found = answered(here / "out")
        at = found.schema.get_field_index("ts")
        return found.set_column(at, "ts", found.column("ts").cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")))

    with settings(spark, SETTINGS):
        check(lane, ROWS, BEATS)


NAMES = ("seq", "peak", "total")
JOB = """
[source]
path = "in"
format = "parquet"

[definition]
by = "machine"
on = "ts"
ties = "seq"

[definition.columns]
peak = { operator = "max", of = "temp", over = "10s" }
total = { operator = "sum", of = "load", rows = 3 }

[sink]
path = "out"
"""


def test_a_few_cases_in_a_job_file(spark: SparkSession, tmp_path: Path) -> None:
    definition = sw.Sliding(
        by="machine", on="ts", ties="seq", peak=sw.max("temp").over("10s"), total=sw.sum("load").over(rows=3)
    )
    table = lanes.in_microseconds(lanes.Case("job", definition, features.BIG.drop_columns(["line"]).sort_by("ts")))
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "events.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    assert run_job(read_job(tmp_path / "job.toml"), spark).rows_out == len(table)
    tables = pq.read_table(tmp_path / "out" / "rows"), definition(table)
    found, expected = ([one.sort_by("seq").column(name).to_pylist() for name in NAMES] for one in tables)
    assert lanes.alike(found, expected)
