"""A Spark session for tests: on this machine alone, and quick to start rather than quick in the long run."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from slidewise.folders import PrivateFolder

# Classes that Java need not load one by one, see `archive`; where they are not, or not of this Spark, it loads them.
ARCHIVE = Path(__file__).parents[1] / "build" / "java" / "spark.jsa"
# Tests end before Java's second compiler has paid for itself.
PLAIN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"


def _is_there() -> bool:
    """Whether there is an archive, in a folder that only this user can write to: Java runs what lies in it."""
    with suppress(OSError), PrivateFolder(ARCHIVE.parent).opened():
        return ARCHIVE.is_file()
    return False


JAVA = f'{PLAIN} "-XX:SharedArchiveFile={ARCHIVE}"' if _is_there() else PLAIN
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": JAVA,
}


def session(more: dict[str, str]) -> Any:
    """The session of this process, on two cores, with these settings and some more.

    A task runs once: many tests expect one to fail, and Spark tries all of them as often.
    """
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    builder = builder.master("local[2]").appName("slidewise tests")
    for name, value in {**SETTINGS, **more}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark
