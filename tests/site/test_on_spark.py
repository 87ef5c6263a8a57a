"""What the README runs on Spark gives what it shows for pandas: tables, streams and live events have the same rows."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("google.protobuf", reason="state on streams needs protobuf")

from pyspark.sql import SparkSession
from spark_data import QUIET
from streams import SETTINGS, Files, answered, run, settings

pytestmark = QUIET
README = (Path(__file__).parents[2] / "README.md").read_text()


def names_after(code: str) -> dict[str, Any]:
    """What the statements of an example with prompts leave behind."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(code):
        exec(compile(example.source, "README.md", "single"), names)
    return names


def test_the_readme_gives_the_same_rows_in_all_four_ways(spark: SparkSession, tmp_path: Path) -> None:
    [example] = re.findall(r"^```pycon\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    [on_spark] = re.findall(r"^```py\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    names = names_after(example)
    payments = names["payments"]
    table = pa.Table.from_pandas(payments.assign(ts=payments.ts.dt.tz_localize("UTC")), preserve_index=False)
    table = table.set_column(1, "ts", table.column("ts").cast(pa.timestamp("us", "UTC")))
    columns = list(names["card"].columns)
    expected = [
        tuple(row.values()) for row in pa.Table.from_pandas(names["card"](payments)).select(columns).to_pylist()
    ]
    live = names["card"].live()
    assert [tuple(live.push(event).values()) for event in payments.to_dict("records")] == expected
    with settings(spark, SETTINGS):
        files = Files(spark, tmp_path / "in")
        for i in range(len(payments)):  # one row in each micro-batch, and one more that moves the watermark on
            files.add(table.slice(i, 1))
        end = pa.array(
            [payments.ts.max().tz_localize("UTC") + names["pd"].Timedelta("2 minutes")], table.schema[1].type
        )
        files.add(table.slice(0, 1).set_column(1, "ts", end))
        names["table"] = spark.createDataFrame(table)
        names["stream"] = files.stream(names["table"].schema)
        batch, stream = [eval(ast.unparse(line), names) for line in ast.parse(on_spark).body]
        run(stream, tmp_path / "out", tmp_path / "checkpoint")
        given = {"batch": batch.toArrow(), "stream": answered(tmp_path / "out")}
    for lane, answers in given.items():
        rows = answers.sort_by("ts").select(columns).to_pylist()
        assert [tuple(row.values()) for row in rows] == expected, lane
