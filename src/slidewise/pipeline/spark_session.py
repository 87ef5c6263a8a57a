"""The Spark session of a job: a suitable Java, the workers' Python, plain settings, and a log out of the way."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.spark.java import provide

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

# Times are read and written in UTC, whatever the machine's zone; no port is opened to the network for a local job.
PLAIN = {
    "spark.app.name": "slidewise",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.authenticate.socketTimeout": "120s",  # on a busy machine Python and Java meet late
    # Batches end by their rows: else Spark adds up the bytes of all columns again for each row that goes to Python.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
}
# Variables that PySpark reads when a session starts, and the settings in whose place spark-submit sets them.
_PYTHONS = {
    "PYSPARK_PYTHON": ("spark.pyspark.python",),
    "PYSPARK_DRIVER_PYTHON": ("spark.pyspark.driver.python", "spark.pyspark.python"),
}
# A failed task runs again, as on a cluster; `local[*]` alone gives up at the first failure.
ATTEMPTS = 4
LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",  # what is parsed is kept, as fast as can be
}
_STORE = "spark.sql.streaming.stateStore"
STATE_SETTINGS = {
    f"{_STORE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


def start(master: str, conf: Mapping[str, str], log: Path | None = None) -> SparkSession:
    """Start a session; what Spark would print goes to the log."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SlidewiseError(f"a job needs Spark ({error}): pip install 'pyspark>=4.1' pandas") from error
    provide()
    choose_python(conf)
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # no worker imports from the folder that the job was started in
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    builder = SparkSession.builder.master(with_attempts(master))
    for name, value in {**PLAIN, **(LOCAL if master.startswith("local") else {}), **conf}.items():
        builder = builder.config(name, value)
    with _stderr_into(log):
        session = builder.getOrCreate()
    if log is not None:
        session.sparkContext.setLogLevel("ERROR")
    return session


def choose_python(conf: Mapping[str, str]) -> None:
    """Set which Python Spark starts, as spark-submit does: that of the settings, of the environment, or this one."""
    for variable, settings in _PYTHONS.items():
        chosen = [conf[name] for name in settings if conf.get(name)]
        if chosen:
            os.environ[variable] = chosen[0]
        os.environ.setdefault(variable, sys.executable)


def workers_python(conf: Mapping[str, str]) -> str:
    """The Python that Spark's workers run: that of the settings, of the environment, or this one."""
    (setting,) = _PYTHONS["PYSPARK_PYTHON"]
    return conf.get(setting) or os.environ.get("PYSPARK_PYTHON") or sys.executable


def with_attempts(master: str) -> str:
    """A local master that tries a task several times, unless it says how often itself.

    >>> with_attempts("local[*]"), with_attempts("local"), with_attempts("local[2, 1]"), with_attempts("yarn")
    ('local[*, 4]', 'local[1, 4]', 'local[2, 1]', 'yarn')
    """
    local = re.fullmatch(r"local(?:\[\s*(\*|\d+)\s*\])?", master)
    return f"local[{local[1] or 1}, {ATTEMPTS}]" if local else master


@contextmanager
def temporary_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set these settings of a session, and set them back in the end."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def run_stream(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Run a query over all available input, and restart it where Python came too late for Spark; the query.

    Before a query's first batch Spark waits ten seconds, which no setting changes and a busy machine can exceed, for
    a Python process on the driver. Nothing has happened by then, and with its checkpoint the query goes on.
    """
    for attempt in range(1, ATTEMPTS + 1):
        query = start()
        try:
            query.awaitTermination()
            break
        except Exception as error:
            if attempt == ATTEMPTS or not came_too_late(error):
                raise
    return query


def came_too_late(error: Exception) -> bool:
    """Whether a query failed since its Python process did not connect in time."""
    return "Python worker failed to connect back" in str(error)


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
