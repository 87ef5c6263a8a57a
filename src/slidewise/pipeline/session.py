"""A Spark session for a job: a Java that can serve, the workers' Python, plain settings, and a log out of the way."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slidewise.errors import SlidewiseError
from slidewise.spark.java import provide

# Times are read and written in UTC, whatever the machine's zone; no port is opened to the network for a local job.
PLAIN = {
    "spark.app.name": "slidewise",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",  # what is parsed is kept, as fast as can be
}


def start(master: str, conf: Mapping[str, str], log: Path | None = None) -> Any:
    """A session; what Spark would print goes to the log."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SlidewiseError(f"a job needs Spark ({error}): pip install 'pyspark>=4.1' pandas") from error
    provide()
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(name, sys.executable)
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # no worker imports from the folder that the job was started in
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    builder = SparkSession.builder.master(master)
    for name, value in {**PLAIN, **(LOCAL if master.startswith("local") else {}), **conf}.items():
        builder = builder.config(name, value)
    with _stderr_into(log):
        session = builder.getOrCreate()
    if log is not None:
        session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def _stderr_into(log: Path | None) -> Iterator[None]:
    """Java, started meanwhile, writes into the log for as long as it lives."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    saved = os.dup(2)
    with open(log, "ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
