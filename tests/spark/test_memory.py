"""One key of five million rows in a worker whose memory is limited: in a process of its own, since sessions differ."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from sessions import JAVA

pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)
if not sys.platform.startswith("linux"):
    pytest.skip("Spark limits the memory of its workers on Linux only", allow_module_level=True)

# The limit is of addresses, so what is reserved and never used is kept small: Arrow's pool, arenas, threads' stacks.
SCRIPT = """
from pyspark.sql import SparkSession

import slidewise as sw

settings = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.python.worker.reuse": "false",
    "spark.executor.pyspark.memory": "768m",
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_ARENA_MAX": "1",
    "spark.executorEnv.OMP_NUM_THREADS": "1",
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def one_key(count):
    return spark.range(0, count, 1, 2).selectExpr(
        "1L AS k", "timestamp_micros(id * 1000) AS ts", "CAST(id % 1009 AS DOUBLE) AS x", "id", "repeat('p', 100) AS p"
    )


def held_at_once(df):
    return df.coalesce(1).mapInArrow(lambda batches: iter(list(batches)), df.schema).count()


definition = sw.Sliding(by="k", on="ts", top=sw.max("x").over(rows=1_000), mean=sw.mean("x").over(rows=1_000))
count = 5_000_000
found = one_key(count).transform(definition).selectExpr("count(*)", "max(top)", "sum(top)", "sum(mean)").first()
print(*found)
labels = one_key(count).where("id % 2 = 1").selectExpr("k", "ts", "id", "p || p AS p")
asked = definition.as_of(labels, one_key(count).where("id % 2 = 0"))
print(*asked.selectExpr("count(*)", "max(top)", "sum(top)", "sum(mean)", "max(length(p))").first())
print(held_at_once(one_key(10_000)))
for rows in (one_key(count), labels):
    try:
        print(held_at_once(rows))
    except Exception as error:
        print("MemoryError" if "MemoryError" in str(error) else error)
spark.stop()
"""


def test_a_key_larger_than_the_memory_of_a_worker() -> None:
    """Rows of the key, and half of them as labels over the other half; each lot is too large to be held at once."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    variables |= {"PYSPARK_PYTHON": sys.executable, "JDK_JAVA_OPTIONS": JAVA}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=variables, timeout=600, check=False
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 5, done.stdout + done.stderr
    over_rows, over_labels = ([float(part) for part in line.split()] for line in lines[:2])
    assert over_rows == pytest.approx([5_000_000, 1008, 5039268534, 2519746837.065])
    assert over_labels == pytest.approx([2_500_000, 1008, 2519723187, 1259844450.24632, 200])
    assert lines[2] == "10000"
    assert lines[3:] == ["MemoryError"] * 2, "rows held at once must not fit, or the limit says nothing"
