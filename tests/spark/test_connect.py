"""Definitions over Spark Connect, whose DataFrames have no JVM behind them, on one core: in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sessions import JAVA

import slidewise

pytest.importorskip("pyspark", reason="pyspark is not installed")
MISSING = [
    package
    for package, module in {
        "pandas": "pandas",
        "grpcio": "grpc",
        "grpcio-status": "grpc_status",
        "googleapis-common-protos": "google.rpc",
        "zstandard": "zstandard",
    }.items()
    if importlib.util.find_spec(module.partition(".")[0]) is None or importlib.util.find_spec(module) is None
]
if MISSING:
    pytest.skip(f"Spark Connect needs {', '.join(MISSING)}", allow_module_level=True)
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)

SCRIPT = """
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import slidewise as sw
from slidewise.pipeline.spark_session import run_stream

choose = np.random.default_rng(5)
count = 2_000
table = pa.table(
    {
        "k": choose.integers(0, 20, count),
        "ts": pa.array(choose.permutation(10**6)[:count] * 1_000, pa.timestamp("us", "UTC")),
        "x": choose.random(count),
        "id": np.arange(count),
    }
)
scale = 2.0
own = sw.operator(name="own", identity=0.0, lift=lambda x: x * scale, combine=lambda a, b: a + b)
columns = {
    "top": sw.max("x").over("20s"),
    "mean": sw.mean("x").over("20s"),
    "last": sw.collect("id").over(rows=3),
    "all": sw.count().over("all"),
    "own": own("x").over(rows=3),
}

spark = SparkSession.builder.remote("local[1, 4]").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.conf.set("spark.sql.shuffle.partitions", "3")
df = spark.createDataFrame(table)
assert type(df).__module__.startswith("pyspark.sql.connect."), type(df)
timed = {"top": columns["top"], "mean": columns["mean"]}  # in slices of time
definitions = [sw.Sliding(by="k", on="ts", **columns), sw.Sliding(on="ts", **columns), sw.Sliding(on="ts", **timed)]
for definition in definitions:
    found = df.transform(definition)
    assert found.columns == [*table.column_names, *definition.columns], found.columns
    found = found.toArrow().sort_by("id").to_pydict()
    expected = definition(table).to_pydict()
    for name in definition.columns:
        if name in ("mean", "own"):  # sums, which may be added up in another order
            assert np.allclose(found[name], expected[name], rtol=1e-12), name
        else:
            assert found[name] == expected[name], name

asked = table.select(["id", "k", "ts"]).rename_columns(["id", "key", "at"]).slice(0, 100)
definition, names = definitions[0], dict(on="at", by={"k": "key"})
found = definition.as_of(spark.createDataFrame(asked), df, **names)
assert found.columns == [*asked.column_names, *definition.columns], found.columns
found, expected = found.toArrow().sort_by("id").to_pydict(), definition.as_of(asked, table, **names).to_pydict()
for name in ("top", "last", "all"):
    assert found[name] == expected[name], name

state = "spark.sql.streaming.stateStore."
spark.conf.set(state + "providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
spark.conf.set(state + "rocksdb.changelogCheckpointing.enabled", "true")
spark.conf.set("spark.sql.shuffle.partitions", "1")
here = Path(sys.argv[1])
table = table.sort_by("ts")
for i in range(2):
    draft = here / "draft"
    pq.write_table(table.slice(i * 1_000, 1_000), draft)
    os.utime(draft, (10**9 + i, 10**9 + i))
    (here / "in").mkdir(exist_ok=True)
    draft.rename(here / "in" / f"{i}.parquet")
stream = spark.readStream.schema(df.schema).option("maxFilesPerTrigger", 1).parquet(str(here / "in"))
definition = definitions[0]
writer = (
    stream.withWatermark("ts", "1 second").transform(definition, shards=2)
    .writeStream.format("parquet").option("path", str(here / "out"))
    .option("checkpointLocation", str(here / "checkpoint")).trigger(availableNow=True)
)
run_stream(writer.start)
found = {row["id"]: row for row in spark.read.parquet(str(here / "out")).toArrow().to_pylist()}
assert 1_900 < len(found) < 2_000, len(found)  # those of the last second wait
for row in definition(table).to_pylist():
    if row["id"] in found:
        assert found[row["id"]]["last"] == row["last"] and found[row["id"]]["all"] == row["all"], row
spark.stop()
print("OK")
"""


def test_definitions_over_spark_connect(tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    variables |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": JAVA}
    # Workers of Connect run in a directory of their own, where a relative path leads nowhere.
    variables["PYTHONPATH"] = str(Path(slidewise.__file__).resolve().parents[1])
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=300, check=False)
    assert done.stdout.endswith("OK\n"), done.stdout + done.stderr
