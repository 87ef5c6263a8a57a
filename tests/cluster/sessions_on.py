"""Sessions of this process on a cluster, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cluster.standalone import Cluster
from sessions import SETTINGS
from streams import SETTINGS as STREAMS

LIMITS = {"spark.executor.memory": "600m", "spark.executor.cores": "1", "spark.sql.shuffle.partitions": "2"}


@contextmanager
def session_on(cluster: Cluster, python: Path | str, **more: str) -> Iterator[Any]:
    """A session on the cluster, whose executors start this Python; underscores in a setting's name are points."""
    from pyspark.sql import SparkSession

    settings = {**SETTINGS, **STREAMS, **LIMITS, **{name.replace("_", "."): value for name, value in more.items()}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", str(python))
        builder: Any = SparkSession.builder
        builder = builder.master(cluster.url).appName("slidewise tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            session.stop()
