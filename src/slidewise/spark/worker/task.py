"""What Spark's workers run travels by value, so that a worker without Slidewise can say so."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

_IMPORTS = """
def working():
    try:
        import slidewise.spark.worker.runtime as working
    except ImportError as error:
        raise RuntimeError(
            f"the Python of Spark's workers cannot import slidewise ({error}); set PYSPARK_PYTHON to the Python that "
            "has it before the session starts, or give spark-submit --conf spark.pyspark.python="
        ) from error
    return working
"""

_TASK = """
def task(batches):
    yield from working().run(payload, batches)
"""

_PROCESSOR = """
from pyspark.sql.streaming import StatefulProcessor

class Processor(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.pages = handle.getMapState("pages", "number bigint", "page string")
        self.working = None

    def go(self, key, rows, timer_values, fired):
        if self.working is None:
            self.working = working().Working(payload, self.handle, self.pages)
        watermark, clock = timer_values.getCurrentWatermarkInMs(), timer_values.getCurrentProcessingTimeInMs()
        yield from self.working.call(key[0], rows, watermark, clock, fired)

    def handleInputRows(self, key, rows, timerValues):
        yield from self.go(key, rows, timerValues, False)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield from self.go(key, (), timerValues, True)

    def close(self):
        pass
"""


def check_python(session: Any) -> None:
    """Warn where Spark on this machine would start another Python than this one, which lacks what it needs."""
    context = getattr(session, "sparkContext", None)  # Connect has none
    if context is None or not context.master.startswith("local"):
        return
    name = context.pythonExec
    fault = _fault(name)
    if fault:
        warnings.warn(
            f"Spark's workers will run {shutil.which(name) or name}, and not {sys.executable}: {fault}, so they will "
            "crash; activate the environment, or set PYSPARK_PYTHON to this Python before the session starts",
            stacklevel=6,
        )


_NEEDED = ("slidewise", "pyarrow", "pandas", "numpy", "numba")
_ASKED = f"""
import importlib.util as found, json, sys
missing = [name for name in {_NEEDED!r} if found.find_spec(name) is None]
print(json.dumps([sys.prefix, list(sys.version_info[:2]), missing]))
"""


@cache
def _fault(name: str) -> str:
    """What a command lacks that workers need; nothing where it is this Python, or one with the same packages."""
    path = shutil.which(name)
    if path is None:
        return "there is no such command"
    if Path(path).parent == Path(sys.executable).parent:
        return ""
    try:
        asked = subprocess.run([path, "-c", _ASKED], capture_output=True, text=True, check=False, timeout=60)
        prefix, version, missing = json.loads(asked.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return "it does not answer as a Python does"
    if prefix == sys.prefix:
        return ""
    if missing:
        return f"it has no {', '.join(missing)}"
    here = list(sys.version_info[:2])
    return "" if version == here else f"it is Python {'.'.join(map(str, version))}"


def task(module: str, function: str, *given: Any) -> Callable[[Any], Any]:
    """A function of record batches for `mapInArrow`: that of a module, by its full name, with these arguments first."""
    found: Callable[[Any], Any] = _by_value(_TASK, (module, function, given))["task"]
    return found


def processor(*given: Any) -> Any:
    """A processor for `transformWithStateInPandas`, which hands its calls to a `Working` made of these arguments."""
    return _by_value(_PROCESSOR, given)["Processor"]()


def _by_value(source: str, given: Any) -> dict[str, Any]:
    from pyspark import cloudpickle

    namespace: dict[str, Any] = {"__name__": "__main__", "payload": cloudpickle.dumps(given)}
    exec(compile(_IMPORTS + source, "<slidewise on a worker>", "exec"), namespace)
    return namespace
