"""What an installed Slidewise must do: run as a script in its environment, with the names of checks as arguments.

It needs nothing but the standard library, and the packages of the extra that a check is for.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"
BEHIND = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    """The README's blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def readme() -> dict[str, Any]:
    """The README's lines with prompts give what stands there; the names that they leave behind."""
    [code] = blocks("pycon")
    test = doctest.DocTestParser().get_doctest(code, {}, "README.md", "README.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.summarize(verbose=False).failed, "".join(report)
    return test.globs


def core() -> None:
    """Importing is light; a window, a definition over an Arrow table and the command line work."""
    import slidewise as sw

    heavy = {"numba", "pyspark", "pandas", "polars", "matplotlib", "pyarrow", "sklearn"} & set(sys.modules)
    assert not heavy, f"import slidewise also imported {heavy}"
    assert "site-packages" in str(sw.__file__), f"{sw.__file__} is not the installed package"
    from importlib.metadata import version

    assert sw.__version__ == version("slidewise")
    window = sw.DabaLite(sw.max)
    window.insert(3)
    assert window.query() == 3
    import pyarrow as pa

    card = sw.Sliding(by="card", on="ts", spent=sw.sum("amount").over(10))
    table = pa.table({"card": [7, 7, 8], "ts": [0, 5, 6], "amount": [20.0, 30.0, 90.0]})
    assert card(table)["spent"].to_pylist() == [20.0, 50.0, 90.0]
    done = subprocess.run([BEHIND / "slidewise", "operators"], capture_output=True, text=True, check=True)
    assert "maxcount" in done.stdout


def spark() -> None:
    """The README's lines on Spark, over a table and a stream, give the rows of its pandas table."""
    from pyspark.sql import SparkSession

    from slidewise.spark.java import provide

    provide()
    os.environ["PYSPARK_PYTHON"] = sys.executable  # as an activated environment has it
    names = readme()
    payments = names["payments"].assign(ts=names["payments"].ts.dt.tz_localize("UTC"))
    expected = [tuple(row.values()) for row in names["card"](payments)[["spent", "usual"]].to_dict("records")]
    settings = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    builder: Any = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    [lines] = blocks("py")
    with tempfile.TemporaryDirectory() as folder:
        names["table"] = session.createDataFrame(payments)
        names["table"].write.parquet(f"{folder}/in")
        end = payments.head(1).assign(ts=payments.ts.max() + timedelta(minutes=2))  # which moves the watermark on
        session.createDataFrame(end).write.mode("append").parquet(f"{folder}/in")
        names["stream"] = session.readStream.schema(names["table"].schema).parquet(f"{folder}/in")
        batch, stream = [eval(ast.unparse(line), names) for line in ast.parse(lines).body]
        writer = stream.writeStream.option("checkpointLocation", f"{folder}/checkpoint")
        query = writer.trigger(availableNow=True).format("parquet").option("path", f"{folder}/out").start()
        assert query.awaitTermination(300)
        for answers in (batch, session.read.parquet(f"{folder}/out")):
            assert [(row.spent, row.usual) for row in answers.orderBy("ts").collect()] == expected
    session.stop()


def plots() -> None:
    """A trace is drawn with matplotlib."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "trace.png"
        subprocess.run([BEHIND / "slidewise", "trace", "daba-lite", "insert 4 5", "--png", picture], check=True)
        assert picture.read_bytes().startswith(b"\x89PNG")


def metrics() -> None:
    """The package that serves metrics is there."""
    import prometheus_client

    assert prometheus_client.CollectorRegistry()


def sklearn() -> None:
    """A definition is a transformer."""
    import pandas as pd

    import slidewise as sw

    card = sw.Sliding(by="card", on="ts", spent=sw.sum("amount").over("10 minutes"))
    now = datetime(2026, 3, 1, tzinfo=UTC)
    given = sw.SlidingFeatures(card).fit_transform(pd.DataFrame({"card": [7], "ts": [now], "amount": [20.0]}))
    assert given.tolist() == [[20.0]]


def worker() -> None:
    """What executors need is there, for streams as well, and PySpark, which Spark brings, is not."""
    import google.protobuf
    import pandas

    assert google.protobuf
    assert pandas
    assert importlib.util.find_spec("pyspark") is None
    found = subprocess.run([BEHIND / "slidewise", "warm", "--help"], capture_output=True, text=True, check=True)
    assert "warm" in found.stdout


def connect() -> None:
    """A client of Spark Connect is there without Spark, and what a definition needs on it can be imported."""
    from pyspark.sql.connect.session import SparkSession

    assert SparkSession
    assert importlib.util.find_spec("py4j") is None, "the client's package brings no Java gateway"
    for module in ("transform", "ship.ship", "ship.archive", "batch.dataframe", "stream.query"):
        importlib.import_module(f"slidewise.spark.{module}")


def java() -> None:
    """A Java for Spark is found."""
    from slidewise.spark.java import provide

    provide()


# What is checked with each extra, beside `core`; an extra that is not here is installed, and imported beside.
CHECKS = {
    "tables": [readme],
    "spark": [readme, spark],
    "worker": [readme, worker],
    "connect": [readme, connect],
    "plots": [plots],
    "metrics": [metrics],
    "sklearn": [readme, sklearn],
    "java": [java],
}

if __name__ == "__main__":
    core()
    for extra in sys.argv[1:]:
        for check in CHECKS.get(extra, []):
            check()
