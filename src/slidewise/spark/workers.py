"""What Spark's workers run travels by value, so that a worker without Slidewise can say so."""

from __future__ import annotations

from collections.abc import Callable
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
