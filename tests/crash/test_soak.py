"""A stream that runs for long: memory and state stay flat. Asked for by `SLIDEWISE_SOAK=20`, in minutes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from crash import job
from streams import SETTINGS, Files

MINUTES = float(os.environ.get("SLIDEWISE_SOAK", "0"))
pytestmark = pytest.mark.skipif(not MINUTES, reason="a soak is asked for by SLIDEWISE_SOAK=20, in minutes")


def resident() -> int:
    """Memory of this process's Python workers, in KB."""
    found = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
            if "pyspark" in (status.parent / "cmdline").read_text():
                found += int(text.split("VmRSS:")[1].split()[0]) if "VmRSS:" in text else 0
        except OSError:
            continue
    return found


def test_memory_and_state_stay_flat(tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    for name, value in {**SETTINGS, "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1"}.items():
        builder = builder.config(name, value)
    spark = builder.master("local[2]").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    files = Files(spark, tmp_path / "in")
    choose = np.random.default_rng(1)

    def add(i: int) -> None:
        """A second of events: some keys come for good, most come and go."""
        keys = np.concatenate([np.repeat("large", 500), [f"key {i // 30 * 100 + j % 100}" for j in range(500)]])
        times = 1_700_000_000_000_000 + i * 10**6 + np.sort(choose.integers(0, 10**6, 1_000))
        files.add(
            pa.table(
                {
                    "k": keys[choose.permutation(1_000)],
                    "ts": pa.array(times, pa.timestamp("us", "UTC")),
                    "x": choose.random(1_000),
                    "id": np.arange(1_000),
                }
            )
        )

    add(0)
    stream = files.stream(job.SCHEMA).withWatermark("ts", "5 seconds")
    query = (
        stream.transform(job.DEFINITION, shards=4, forget_after="400s")
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    samples, started, i = [], time.monotonic(), 1
    while time.monotonic() < started + MINUTES * 60:
        add(i)
        i += 1
        if i % 20 == 0:
            for old in sorted((tmp_path / "in").iterdir())[:-200]:
                old.unlink()
            progress = query.lastProgress
            if progress and progress.stateOperators:
                samples.append((progress.stateOperators[0].numRowsTotal, resident()))
        time.sleep(0.25)
    query.stop()
    shutil.rmtree(tmp_path / "in")
    third = len(samples) // 3
    for what, values in zip(("pages", "memory"), zip(*samples, strict=True), strict=True):
        middle, last = max(values[third : 2 * third]), max(values[2 * third :])
        assert last <= 1.2 * middle, (what, middle, last)
