"""A Spark Connect server on the cluster, and a client that has `pyspark-client` only: the same answers, in batches."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.sessions_on import LIMITS
from cluster.standalone import HOST, Cluster, imports, thin_python

import slidewise

ROOT = Path(__file__).parents[2]
CLIENT = """
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.util import is_remote_only

sys.path.append(sys.argv[3])
import slidewise as sw
from slidewise.spark.failures import reason
from spark_data import HEALTH, TIMED, events, same_rows
from streams import SETTINGS, Files, run

assert is_remote_only(), "there is more than the client"
folder = Path(sys.argv[2])
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
for name, value in {**SETTINGS, "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "2"}.items():
    spark.conf.set(name, value)
table = events(2_000).sort_by("ts")
df = spark.createDataFrame(table)


def failure(run):
    try:
        run()
    except Exception as error:
        return reason(error)
    raise AssertionError("it ran")


assert "has no Slidewise: call sw.ship(spark) before" in failure(df.transform(HEALTH).collect)
assert len(sw.ship(spark, streams=False).executors) == 2

expected = HEALTH(table.sort_by("id"))
assert same_rows(df.transform(HEALTH), expected)
assert same_rows(df.transform(TIMED, parallel="by_time"), TIMED(table.sort_by("id")), TIMED)
scale = 2.0
own = sw.operator(name="own", identity=0.0, lift=lambda x: x * scale, combine=lambda a, b: max(a, b))
mine = sw.Sliding(by="k", on="ts", own=own("x").over(rows=3))
assert same_rows(df.transform(mine), mine(table.sort_by("id")), mine)

# A streaming query of Connect does not see what its session was sent: docs/cluster.md says so.
files = Files(spark, folder / "in")
files.add(table)
stream = files.stream("k long, ts timestamp, x double, id long").withWatermark("ts", "1 second")
found = failure(lambda: run(stream.transform(HEALTH, shards=2), folder / "out", folder / "checkpoint"))
assert "has no Slidewise" in found, found
spark.stop()
print("OK")
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with this package and the extra `connect`, and without PySpark's jars, Py4J and Java's gateway."""
    packages = tmp_path_factory.mktemp("packages")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--retries", "1", "--no-deps", "--target", str(packages)]
    done = subprocess.run(
        [*pip, "-c", str(ROOT / "constraints.txt"), "pyspark-client"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"pip cannot install pyspark-client: {done.stderr[-300:]}")
    without = ("slidewise", "pyspark", "py4j", "duckdb", "polars")
    python = thin_python(tmp_path_factory.mktemp("client"), without, packages)
    [target] = (python.parents[1] / "lib").glob("python*/site-packages")
    (target / "slidewise.pth").write_text(f"{Path(slidewise.__file__).parents[1]}\n")
    assert imports(python, "slidewise, pyspark.sql, grpc")
    assert not imports(python, "py4j")
    return python


@pytest.fixture(scope="module")
def server(cluster: Cluster, python: Path) -> Iterator[str]:
    """A Connect server whose executors are the cluster's; its address."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    conf = {**LIMITS, "spark.ui.enabled": "false", "spark.driver.host": HOST, "spark.driver.bindAddress": HOST}
    conf |= {"spark.connect.grpc.binding.address": HOST, "spark.connect.grpc.binding.port": str(port)}
    settings = [option for name, value in conf.items() for option in ("--conf", f"{name}={value}")]
    program = "org.apache.spark.sql.connect.service.SparkConnectServer"
    options = ["--master", cluster.url, *settings, "--class", program, "spark-internal"]
    environment = {"PYSPARK_PYTHON": str(python), "SPARK_DAEMON_MEMORY": "700m"}
    submit, ready = "org.apache.spark.deploy.SparkSubmit", "Spark Connect server started"
    with cluster.running("connect", submit, *options, ready=ready, environment=environment):
        yield f"sc://{HOST}:{port}"


def test_definitions_from_a_client_without_spark(server: str, client: Path, tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    variables.pop("PYTHONPATH", None)
    script = tmp_path / "client.py"  # PySpark takes a program given by -c for its own doctests
    script.write_text(CLIENT)
    command = [str(client), "-W", "ignore", str(script), server, str(tmp_path), str(ROOT / "tests")]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=240, check=False)
    assert done.stdout.endswith("OK\n"), done.stdout + done.stderr
