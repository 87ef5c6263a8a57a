"""A stream that runs for long: memory and state stay flat. Asked for by `SLIDEWISE_SOAK=20`, in minutes."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from crash import job
from sessions import session
from spark_data import QUIET
from streams import SETTINGS, Files

MINUTES = float(os.environ.get("SLIDEWISE_SOAK", "0"))
pytestmark = [
    QUIET,
    pytest.mark.skipif(not MINUTES, reason="a soak is asked for by SLIDEWISE_SOAK=20, in minutes"),
]


def resident() -> int:
    """Memory of this process's Python workers, in KB."""
    found: dict[int, tuple[int, int]] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            worker = "pyspark" in (status.parent / "cmdline").read_text()
        except OSError:
            continue
        size = int(fields["VmRSS"].split()[0]) if worker and "VmRSS" in fields else 0
        found[int(fields["Pid"])] = int(fields["PPid"]), size

    def mine(process: int) -> bool:
        return process == os.getpid() or (process in found and mine(found[process][0]))

    return sum(size for process, (_, size) in found.items() if mine(process))


def test_memory_and_state_stay_flat(tmp_path: Path) -> None:
    spark = session(SETTINGS)
    files = Files(spark, tmp_path / "in")
    choose = np.random.default_rng(1)

    def add(i: int) -> None:
        """Ten seconds of events: some keys come for good, most come and go."""
        keys = np.concatenate([np.repeat("large", 500), [f"key {i // 30 * 100 + j % 100}" for j in range(500)]])
        times = 1_700_000_000_000_000 + i * 10**7 + np.sort(choose.integers(0, 10**7, 1_000))
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
        stream.transform(job.JOBS["rows"], shards=4, forget_after="400s")
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    samples, started, i = [], time.monotonic(), 1
    while time.monotonic() < started + MINUTES * 60:
        add(i)
        i += 1
        if i % 5 == 0:
            query.processAllAvailable()  # raises what ended the query
            for old in sorted((tmp_path / "in").iterdir())[:-20]:
                old.unlink()
            state = query.lastProgress.stateOperators[0]
            samples.append((state.numRowsTotal, state.memoryUsedBytes, resident()))
    counted = [one.observedMetrics["slidewise"] for one in query.recentProgress if one.observedMetrics]
    answered = sum(one.answered or 0 for one in counted)
    assert len(query.recentProgress) < 10_000, "the oldest counts are gone"
    query.stop()
    shutil.rmtree(tmp_path / "in")
    print(f"{i} files of 1,000 rows, {answered} rows answered")
    assert answered >= (i - 2) * 1_000
    third = len(samples) // 3
    assert i >= 150, "too short to tell: windows of 400 s were hardly full"
    kinds = ("pages", "bytes of state in memory", "KB of workers")
    for what, values in zip(kinds, zip(*samples, strict=True), strict=True):
        print(f"{what}: {', '.join(map(str, values[:: max(1, third // 4)]))}")
        middle, last = max(values[third : 2 * third]), max(values[2 * third :])
        assert last <= 1.2 * middle, (what, middle, last)
