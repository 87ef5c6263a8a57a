"""Functions and stateful processors that are shipped to Spark's workers.

They are pickled by value, as a few lines that import `slidewise.spark.worker.runtime` there: so a worker without
Slidewise can say so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StatefulProcessor

    from slidewise.spark.stream.shard import QueryTerms

RecordBatches = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

_IMPORTS = """
def runtime():
    try:
        import slidewise.spark.worker.runtime as runtime
    except ImportError as error:
        raise RuntimeError(explain(error)) from error
    return runtime

def explain(error):
    import socket, sys
    where = f"the Python of Spark's workers, {sys.executable} on {socket.gethostname()},"
    if (error.name or "").partition(".")[0] == "slidewise":
        return (
            f"{where} has no Slidewise: call sw.ship(spark) before the transformation (slidewise run --ship), or let "
            "PYSPARK_PYTHON name a Python that has it before the session starts, or give spark-submit --conf "
            "spark.pyspark.python=...; docs/cluster.md has all ways"
        )
    return (
        f"{where} cannot import what Slidewise needs ({error}): pip install 'slidewise[worker]' brings all of it; "
        "docs/cluster.md has other ways"
    )
"""

_TASK = """
def task(batches):
    yield from runtime().run_task(payload, batches)
"""

_PROCESSOR = """
from pyspark.sql.streaming import StatefulProcessor

class Processor(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.pages = handle.getMapState("pages", "number bigint", "page string")
        self.runner = None

    def ready(self):
        if self.runner is None:
            self.runner = runtime().ShardRunner(payload, self.handle, self.pages)
        return self.runner

    def call(self, key, rows, timer_values, fired):
        watermark, clock = timer_values.getCurrentWatermarkInMs(), timer_values.getCurrentProcessingTimeInMs()
        yield from self.ready().call(key[0], rows, watermark, clock, fired)

    def handleInitialState(self, key, initialState, timerValues):
        self.ready().load(key[0], initialState)

    def handleInputRows(self, key, rows, timerValues):
        yield from self.call(key, rows, timerValues, False)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield from self.call(key, (), timerValues, True)

    def close(self):
        pass
"""


def check_python(session: SparkSession) -> None:
    """Warn where Spark on this machine would start another Python than this one, which lacks what it needs."""
    context = getattr(session, "sparkContext", None)  # Connect has none
    if context is None or not context.master.startswith("local"):
        return
    name = context.pythonExec
    problem = _problem_of(name)
    if problem:
        warnings.warn(
            f"Spark's workers will run {shutil.which(name) or name}, and not {sys.executable}: {problem}, so they will "
            "crash; activate the environment, or set PYSPARK_PYTHON to this Python before the session starts",
            stacklevel=6,
        )


_NEEDED = ("slidewise", "pyarrow", "pandas", "numpy", "numba")
_PROBE = f"""
import importlib.util, json, sys
missing = [name for name in {_NEEDED!r} if importlib.util.find_spec(name) is None]
print(json.dumps([sys.prefix, list(sys.version_info[:2]), missing]))
"""


@cache
def _problem_of(name: str) -> str:
    """Packages that workers need and a command lacks; none where it is this Python, or one with the same packages."""
    path = shutil.which(name)
    if path is None:
        return "there is no such command"
    if Path(path).parent == Path(sys.executable).parent:
        return ""
    try:
        probe = subprocess.run([path, "-c", _PROBE], capture_output=True, text=True, check=False, timeout=60)
        prefix, version, missing = json.loads(probe.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return "it does not answer as a Python does"
    if prefix == sys.prefix:
        return ""
    if missing:
        return f"it has no {', '.join(missing)}"
    here = list(sys.version_info[:2])
    return "" if version == here else f"it is Python {'.'.join(map(str, version))}"


def task(function: Callable[..., Any], *arguments: Any) -> RecordBatches:
    """A function of record batches for `mapInArrow`, which calls a function of this package with these arguments first.

    The function is sent by its name; the arguments are pickled.
    """
    made: RecordBatches = _by_value(_TASK, (function.__module__, function.__qualname__, arguments))["task"]
    return made


def processor(terms: QueryTerms, names: list[str], types: list[pa.DataType] | None) -> StatefulProcessor:
    """A processor for `transformWithStateInPandas`, which hands its calls to a `ShardRunner` with these arguments."""
    return _by_value(_PROCESSOR, (terms, names, types))["Processor"]()


def _by_value(source: str, payload: tuple[Any, ...]) -> dict[str, Any]:
    """The names that source code defines, with these arguments pickled as its `payload`."""
    from pyspark import cloudpickle

    namespace: dict[str, Any] = {"__name__": "__main__", "payload": cloudpickle.dumps(payload)}
    exec(compile(_IMPORTS + source, "<slidewise on a worker>", "exec"), namespace)
    return namespace
