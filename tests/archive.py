"""Java's classes in a file: `python tests/archive.py` runs a small stream, and Java keeps what it loaded for it.

The many sessions of a test run then start in two thirds of the time. Without the file they start as always.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
from sessions import ARCHIVE, PLAIN, session
from streams import SETTINGS, Files, run

import slidewise as sw
from slidewise.folders import PrivateFolder
from slidewise.spark.java import provide


def main() -> None:
    provide()
    PrivateFolder(ARCHIVE.parent).make()
    ARCHIVE.unlink(missing_ok=True)
    spark = session({**SETTINGS, "spark.driver.extraJavaOptions": f'{PLAIN} "-XX:ArchiveClassesAtExit={ARCHIVE}"'})
    java = spark.sparkContext._gateway.proc
    definition = sw.Sliding(by="k", on="ts", top=sw.max("x").over("1 minute"))
    times = pa.array([0, 1, 2], pa.timestamp("us", "UTC"))
    with tempfile.TemporaryDirectory() as name:
        files = Files(spark, Path(name) / "in")
        files.add(pa.table({"k": ["a", "b", "a"], "ts": times, "x": [1.0, 2.0, 3.0]}))
        stream = files.stream("k string, ts timestamp, x double").withWatermark("ts", "1 second")
        run(stream.transform(definition), Path(name) / "out", Path(name) / "checkpoint")
        spark.read.parquet(str(files.path)).transform(definition).toArrow()
    spark.stop()
    java.stdin.close()  # it ends, and writes the file
    java.wait()


if __name__ == "__main__":
    main()
