"""A stream that is killed again and again, and goes on from its checkpoint: no row is lost, and none comes twice."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("google.protobuf", reason="state on streams needs protobuf")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)

from crash import job
from streams import Files

import slidewise

KILLS = int(os.environ.get("SLIDEWISE_KILLS", "3"))
SEED = int(os.environ.get("SLIDEWISE_SEED", "1"))
JOB = Path(job.__file__)


def events(files: int, rows: int, seed: int) -> list[pa.Table]:
    """Files of events, most of them of one key, in random order within 5 s."""
    choose = np.random.default_rng(seed)
    count = files * rows
    times = np.sort(choose.integers(0, count * 50, count)) * 1_000  # 20 events a second
    arrival = np.argsort(times + choose.integers(0, 4_900_000, count), kind="stable")
    keys = choose.choice(["large", "large", "large", "a", "b", "c"], count)
    table = pa.table(
        {
            "k": keys[arrival],
            "ts": pa.array(times[arrival] + 1_700_000_000_000_000, pa.timestamp("us", "UTC")),
            "x": choose.random(count),
            "id": np.arange(count),
        }
    )
    return [table.slice(i * rows, rows) for i in range(files)]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path


def filled(directory: Path, files: int, rows: int, seed: int) -> pa.Table:
    """The job's input; all rows but the last one, which moves the watermark past the others.

    The first third of the time is the history of one of the jobs.
    """
    source = Files(None, directory / "in")
    tables = events(files, rows, seed)
    for table in tables:
        source.add(table)
    newest = max(table.column("ts").cast(pa.int64()).to_numpy().max() for table in tables)
    end = pa.array([int(newest) + 6_000_000], pa.timestamp("us", "UTC"))
    source.add(tables[0].slice(0, 1).set_column(1, "ts", end))
    table = pa.concat_tables(tables)
    pq.write_table(table.filter(pa.array(~after_history(table.column("ts")))), directory / "history.parquet")
    return table


def after_history(times: pa.ChunkedArray) -> np.ndarray:
    """Which of some times lie after those of the history."""
    numbers = times.cast(pa.int64()).to_numpy()
    return numbers > numbers.min() + (numbers.max() - numbers.min()) // 3


def start(directory: Path, how: str, *names: str, kill_at: dict[str, list[int]] | None = None) -> subprocess.Popen[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    path = [Path(slidewise.__file__).resolve().parents[1]]
    if kill_at is not None:
        variables |= {"KILL_AT": json.dumps(kill_at), "KILL_IN": str(directory / "moments")}
        path.insert(0, JOB.parent / "killing")
    variables["PYTHONPATH"] = os.pathsep.join(map(str, path))
    with (directory / "log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, str(JOB), str(directory), how, *names],
            stdout=log,
            stderr=log,
            text=True,
            env=variables,
            start_new_session=True,
        )


def log_of(directory: Path) -> str:
    return (directory / "log").read_text()[-3_000:]


def compare(directory: Path, table: pa.Table) -> int:
    """Every job's sink against the batch: none lost, none twice, and every answer the same; how many rows there are."""
    compared = 0
    newest = table.column("ts").cast(pa.int64()).to_numpy().max()
    for what, definition in job.JOBS.items():
        expected = definition(table)
        if what == "beats":  # as far as the watermark went
            passed = expected.column("ts").cast(pa.int64()).to_numpy() <= newest + 1_000_000
            expected = expected.filter(pa.array(passed))
        order = [(name, "ascending") for name in (("k", "ts") if what == "beats" else ("id",))]
        found = pq.read_table(directory / "rows" / f"{what}.parquet").sort_by(order)
        if what == job.WARM:  # nothing of the history is answered again
            expected = expected.filter(pa.array(after_history(table.column("ts"))))
        expected = expected.sort_by(order)
        assert len(found) == len(expected), what
        compared += len(found)
        for name in (*dict(order), *definition.columns):
            assert found.column(name).to_pylist() == expected.column(name).to_pylist(), (what, name)
        if what == job.UPGRADED:
            compare_upgraded(found, table)
    return compared


def compare_upgraded(found: pa.Table, table: pa.Table) -> None:
    """The answers of columns that one of two definitions has: the table's, or null where the other one ran."""
    names = ("spread", "cells")
    answered = {*names} <= {*found.column_names}
    by_other = [value is not None for value in found.column("cells").to_pylist()] if answered else [False] * len(found)
    if KILLS >= 100:
        assert any(by_other), "the second definition never ran"
        assert not all(by_other), "the first definition never ran"
    if not answered:
        return
    expected = job.OTHER(table).sort_by("id")
    for name in names:
        answers = found.filter(pa.array(by_other)).column(name).to_pylist()
        assert answers == expected.filter(pa.array(by_other)).column(name).to_pylist(), name


def batches(directory: Path, name: str, what: str) -> int:
    """How many micro-batches a job has begun ("offsets"), or ended ("commits")."""
    logged = (directory / "checkpoint" / name / what).glob("[0-9]*")
    return max((int(path.name) + 1 for path in logged if path.suffix == ""), default=0)


def phase(directory: Path, name: str, ended_before: int) -> str:
    """What a job was about when it was killed, which had ended so many micro-batches when it was started."""
    ended = batches(directory, name, "commits")
    if name == job.WARM and not ended:
        return "loading history"
    return "upgrading" if name == job.UPGRADED and ended_before and ended == ended_before else "running"


def not_done(directory: Path) -> list[str]:
    return [name for name in job.JOBS if not (directory / "rows" / f"{name}.parquet").exists()]


def test_killed_streams_go_on_without_a_trace(directory: Path) -> None:
    """The jobs take turns at being killed."""
    choose = random.Random(KILLS + SEED)
    table = filled(directory, files=max(10, KILLS // 2), rows=800, seed=SEED)
    kills = tries = 0
    phases: Counter[str] = Counter()
    while kills < KILLS and not_done(directory):
        left = not_done(directory)
        name = left[kills % len(left)]
        (directory / "started").unlink(missing_ok=True)
        running = start(directory, "once", name)
        before, moment = batches(directory, name, "offsets"), None
        ended = batches(directory, name, "commits")
        # In its first micro-batch, which loads a history or converts the state, and which may be one that is run again;
        # or in one that it has not begun before.
        at_first = choose.random() < 0.5
        longest = choose.choice([2.0, 5.0]) if at_first else choose.choice([0.2, 1.0, 2.5])
        while running.poll() is None:
            time.sleep(0.02)
            new = batches(directory, name, "offsets") > before
            if moment is None and ((directory / "started").exists() if at_first else new):
                moment = time.monotonic() + choose.random() * longest
            if moment is not None and time.monotonic() >= moment:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
        if running.returncode == -signal.SIGKILL:
            kills += 1
            phases[phase(directory, name, ended)] += 1
            continue
        if running.returncode and tries < 5 and "failed to connect back" in log_of(directory):
            tries += 1  # a machine too busy to start Python's workers in time, which is one more way to die
            continue
        assert running.returncode == 0, log_of(directory)
    assert kills >= KILLS // 2, "the jobs were done before they could be killed often enough"
    if not_done(directory):
        assert start(directory, "once", *not_done(directory)).wait() == 0, log_of(directory)
    rows = compare(directory, table)
    print(f"killed {dict(phases)}; {rows:,} rows compared")


def test_workers_that_die_before_between_and_after_writes_leave_no_trace(directory: Path) -> None:
    """As many die at each of the three; such moments are counted over all jobs, shards and tries."""
    each = max(2, KILLS // 4)
    files = each + 1
    table = filled(directory, files=files, rows=2_000, seed=2)
    choose = random.Random(KILLS)
    moments = {"before": 11 * files, "between": 36 * files, "after": 11 * files}
    kill_at = {name: sorted(choose.sample(range(1, most), each)) for name, most in moments.items()}
    (directory / "moments").mkdir()
    assert start(directory, "until_done", kill_at=kill_at).wait() == 0, log_of(directory)
    for name, wanted in kill_at.items():
        assert (directory / "moments" / name).stat().st_size >= wanted[-1], f"no worker died {name} writes"
    failures = int(re.findall(r"done after (\d+) failures", log_of(directory))[-1])
    assert failures >= each
    compare(directory, table)
