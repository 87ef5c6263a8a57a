"""What Spark's workers run travels by value, so that a worker without Slidewise can say so."""

from __future__ import annotations

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
        import slidewise.spark.working as working
    except ImportError as error:
        raise RuntimeError(
            f"the Python of Spark's workers cannot import slidewise ({error}); set PYSPARK_PYTHON, or "
            "spark.pyspark.python, to the Python that has it"
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
        yield from self.working.call(key[0], rows, timer_values.getCurrentWatermarkInMs(), fired)

    def handleInputRows(self, key, rows, timerValues):
        yield from self.go(key, rows, timerValues, False)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield from self.go(key, (), timerValues, True)

    def close(self):
        pass
"""


def check_python(session: Any) -> None:
    """Warn where Spark on this machine would start another Python than this one, which may lack all it needs."""
    context = getattr(session, "sparkContext", None)  # Connect has none
    name = getattr(context, "pythonExec", "")
    if context is None or not context.master.startswith("local") or "/" in name or "\\" in name or _is_this(name):
        return
    warnings.warn(
        f"Spark's workers will run {shutil.which(name) or name}, and not {sys.executable}, so they may lack Slidewise, "
        "pyarrow or pandas, and crash; activate the environment, or set PYSPARK_PYTHON to this Python before the "
        "session starts",
        stacklevel=6,
    )


@cache
def _is_this(name: str) -> bool:
    """Whether a command is this Python, or one with the same packages."""
    found = shutil.which(name)
    if found is None or Path(found).parent == Path(sys.executable).parent:
        return found is not None
    asked = [found, "-c", "import sys; print(sys.prefix)"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    return said.stdout.strip() == sys.prefix


def task(module: str, function: str, *given: Any) -> Callable[[Any], Any]:
    """A function of record batches for `mapInArrow`: that of a module of this package, with these arguments first."""
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
