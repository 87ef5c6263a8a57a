"""Checkpoints that an earlier Slidewise wrote: streams go on from them as if nothing had changed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("google.protobuf", reason="state on streams needs protobuf")

from golden_checkpoint import DEFINITIONS, START, files, go, unpacked
from pyspark.sql import SparkSession
from spark_data import QUIET
from streams import SETTINGS, answered, settings

pytestmark = QUIET


def test_streams_go_on_from_checkpoints_written_before(spark: SparkSession, tmp_path: Path) -> None:
    unpacked(tmp_path)
    tables = files()
    table = pa.concat_tables(tables)
    end = START + timedelta(hours=1)  # a row that moves the watermark past all others, and waits itself
    last = table.slice(0, 1).set_column(1, "ts", pa.array([end], table.schema.field("ts").type))
    with settings(spark, SETTINGS):
        go(spark, tmp_path, [*tables[:-1], pa.concat_tables([tables[-1], last])])
    for name, definition in DEFINITIONS.items():
        before, after = pq.read_table(tmp_path / "answers" / f"{name}.parquet"), answered(tmp_path / "out" / name)
        names, expected = before.column_names, definition(table)
        order = [(column, "ascending") for column in (("k", "ts") if definition.every else ("id",))]
        assert len(expected) > len(before) > 0
        found = pa.concat_tables([before, after.select(names)]).sort_by(order)
        expected = expected.select(names).sort_by(order)
        assert found.cast(expected.schema).equals(expected), name
