"""`slidewise run --master spark://... --ship`: a job file on a cluster, as a batch, and twice as a stream."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from cluster.sessions_on import LIMITS
from cluster.standalone import NAMED, Cluster, sink_files
from sessions import JAVA

from slidewise.pipeline.job.job import read_job

START = datetime(2026, 3, 1, tzinfo=UTC)
JOB = """\
[source]
path = "events"

[lines]
separator = ";"
fields = 3

[lines.columns]
ts = { field = 1, type = "timestamp" }
machine = { field = 2 }
temp = { field = 3, type = "bigint" }

[clean]
out_of_order = "sort"

[definition]
by = "machine"
on = "ts"

[definition.columns]
peak = { operator = "max", of = "temp", over = "30 seconds" }
seen = { operator = "count", over = "all" }

[sink]
path = "out"

[stream]
watermark = "10 seconds"
checkpoint = "checkpoint"
trigger = "available now"
shards = 2

[stream.sink]
path = "live"
"""


def write_rows(folder: Path, numbers: range) -> list[dict[str, Any]]:
    """A file of a row a second, and its rows."""
    (folder / "events").mkdir(exist_ok=True)
    rows = [{"ts": START + timedelta(seconds=i), "machine": f"m{i % 3}", "temp": i * 37 % 101} for i in numbers]
    lines = [f"{row['ts']:%Y-%m-%d %H:%M:%S};{row['machine']};{row['temp']}\n" for row in rows]
    (folder / "events" / f"{numbers.start:05}.txt").write_text("".join(lines))
    return rows


def slidewise(cluster: Cluster, folder: Path, python: Path | str, *options: str) -> subprocess.CompletedProcess[str]:
    conf = {**LIMITS, "spark.pyspark.python": str(python), "spark.driver.extraJavaOptions": JAVA}
    conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    settings = [option for name, value in conf.items() for option in ("--conf", f"{name}={value}")]
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    command = [sys.executable, "-m", "slidewise", "run", "job.toml", "--master", cluster.url, *settings, *options]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300, check=False)


def rows_in(folder: Path) -> list[dict[str, Any]]:
    rows_folder = folder / "rows"
    is_sink = (rows_folder / "_spark_metadata").exists()
    rows = (
        pq.read_table(sink_files(rows_folder) if is_sink else rows_folder)
        .select(["machine", "ts", "temp", "peak", "seen"])
        .to_pylist()
    )
    return sorted(rows, key=lambda row: row["ts"])


def test_a_job_as_a_batch_and_as_a_stream(cluster: Cluster, python: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    written = write_rows(tmp_path, range(200))
    definition = read_job(tmp_path / "job.toml").definition

    def expected(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        table = pa.Table.from_pylist(rows).select(["machine", "ts", "temp"])
        found: list[dict[str, Any]] = definition(table).to_pylist()
        return found

    done = slidewise(cluster, tmp_path, python)
    assert done.returncode == 1, done.stdout
    assert "has no Slidewise: call sw.ship(spark) before the transformation (slidewise run --ship)" in done.stderr
    done = slidewise(cluster, tmp_path, python, "--ship", "--overwrite")
    assert done.returncode == 0, done.stderr
    assert "ship Slidewise" in done.stdout
    assert rows_in(tmp_path / "out") == expected(written)

    done = slidewise(cluster, tmp_path, python, "--ship", "--stream")
    assert done.returncode == 0, done.stderr
    first = rows_in(tmp_path / "live")
    assert 150 < len(first) < 200
    written += write_rows(tmp_path, range(200, 300))
    done = slidewise(cluster, tmp_path, python, "--ship", "--stream")
    assert done.returncode == 0, done.stderr
    both = rows_in(tmp_path / "live")
    assert 250 < len(both) < 300
    assert both == expected(written)[: len(both)]


def test_hosts_that_lack_packages_are_named(cluster: Cluster, tmp_path: Path) -> None:
    """The same name is another Python on each of the two: one has all that is needed."""
    (tmp_path / "job.toml").write_text(JOB)
    write_rows(tmp_path, range(20))
    done = slidewise(cluster, tmp_path, NAMED, "--ship")
    assert done.returncode == 1
    [line] = [line for line in done.stderr.splitlines() if line.startswith("  ")]
    assert line.endswith("numba is missing"), "a batch needs no pandas"
    done = slidewise(cluster, tmp_path, NAMED, "--ship", "--stream")
    [line] = [line for line in done.stderr.splitlines() if line.startswith("  ")]
    assert line.endswith("numba is missing, pandas is missing")
    assert not (tmp_path / "out").exists()
