"""What the Pythons of Spark's executors say of themselves: where they are, and what can be imported there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from slidewise.errors import SlidewiseError
from slidewise.spark.failures import reason
from slidewise.spark.ship.requirements import PACKAGES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GUIDE = "docs/cluster.md"
_ROUNDS = 3  # executors may still be starting

# Runs in a Python that may have nothing but itself, so it is text, and comes by value. The pause keeps one executor
# from taking all tasks.
_PROBE = """
def probe(_):
    import importlib, json, os, platform, socket, sys, time
    time.sleep(0.1)
    versions, failures = {}, {}
    for module in modules:
        try:
            versions[module] = str(importlib.import_module(module).__version__)
        except ModuleNotFoundError as error:
            failures[module] = "" if error.name and module.startswith(error.name) else str(error)
        except Exception as error:
            failures[module] = f"{type(error).__name__}: {error}"
    found = {"host": socket.gethostname(), "folder": os.getcwd(), "python": sys.executable}
    found |= {"version": platform.python_version(), "packages": versions, "failures": failures}
    if digest is not None:
        try:
            import slidewise
            found["slidewise"] = slidewise.__file__
            from slidewise.spark.ship.archive import files_digest
            found["digest"] = files_digest()
            import slidewise.spark.worker.runtime
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"
    return json.dumps(found)
"""


class ExecutorPython(NamedTuple):
    """The Python of one executor: its host, its folder there, its versions; `failures` says why a module is missing."""

    host: str
    folder: str
    python: str
    version: str
    packages: dict[str, str]
    failures: dict[str, str]
    slidewise: str = ""
    digest: str = ""
    error: str = ""

    def missing(self, streams: bool) -> str:
        """The packages that are missing or do not fit, in words; nothing where all is well."""
        wrong = []
        for package in PACKAGES:
            if package.streams_only and not streams:
                continue
            if package.module in self.packages:
                wrong.append(package.problem(self.packages[package.module]))
            else:
                why = self.failures[package.module]
                wrong.append(f"{package.name} cannot be imported ({why})" if why else f"{package.name} is missing")
        return ", ".join(filter(None, wrong))


def ask_executors(spark: SparkSession, digest: str | None = None) -> list[ExecutorPython]:
    """Ask each executor of a session what its Python can import; with a digest, whether it has that Slidewise, too."""
    known, seen = _count(spark), dict[tuple[str, str], ExecutorPython]()
    partitions = _default_partitions(spark)
    for _ in range(_ROUNDS):
        for executor in _ask(spark, max(partitions, known), digest):
            seen[executor.host, executor.folder] = executor
        known = _count(spark)
        if len(seen) >= known:
            break
    return list(seen.values())


def _ask(spark: SparkSession, tasks: int, digest: str | None) -> list[ExecutorPython]:
    from pyspark.sql import functions as F

    names: dict[str, Any] = {"__name__": "__main__", "modules": [package.module for package in PACKAGES]}
    names["digest"] = digest
    exec(compile(_PROBE, "<slidewise on an executor>", "exec"), names)
    probe = F.udf(names["probe"], "string", useArrow=False)  # pickled rows need no package
    try:
        rows = spark.range(0, tasks, 1, tasks).select(probe("id")).collect()
    except Exception as error:
        raise SlidewiseError(
            f"the Python of Spark's executors does not run: {reason(error)}\nPYSPARK_PYTHON says which one they start; "
            f"it is a path on their machines, and a Python of the driver's version: {GUIDE}"
        ) from error
    return [ExecutorPython(**json.loads(row[0])) for row in rows]


def _default_partitions(spark: SparkSession) -> int:
    """How many tasks Spark runs at once, as far as it knows by now."""
    from pyspark.sql import functions as F

    rows = spark.range(0, 4_096).select(F.spark_partition_id().alias("number")).collect()
    return len({row[0] for row in rows})


def _count(spark: SparkSession) -> int:
    """How many executors the session has; 1 where it does not tell, over Spark Connect."""
    context = getattr(spark, "sparkContext", None)
    if context is None:
        return 1
    return max(1, int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1)  # the driver is among them
