"""Kernels of a job compiled beside it: what is there afterwards, when a process is started, and that it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidewise as sw
from slidewise.errors import SlidewiseError
from slidewise.kernels.compiler import cache
from slidewise.pipeline import commands
from slidewise.pipeline.job.job import Job, read_job
from slidewise.pipeline.warming import beside
from slidewise.pipeline.warming.beside import Beside, compiling_beside, is_large

JOB = """
[source]
path = "rows.parquet"
format = "parquet"
[definition]
by = "machine"
on = "ts"
[definition.columns]
peak = { operator = "max", of = "temp", over = "10 minutes" }
later = { operator = "max", of = "temp", over = "20 minutes" }
mine = { operator = "my_operators:overshoot", of = "temp", rows = 5 }
[sink]
path = "result"
"""
USE = """
import json
import numba.core.event as event
compiled = []
class Listener(event.Listener):
    def on_start(self, happened):
        compiled.append(happened.data["dispatcher"].py_func.__qualname__)
    def on_end(self, happened):
        pass
event.register("numba:compile", Listener())
import pyarrow as pa, slidewise as sw
from slidewise.kernels.compiler.threads import stay_single
from slidewise.pipeline.warming.lanes import lanes_of_job
stay_single()
definition = sw.Sliding(
    by="machine", on="ts", ties="row",
    peak=sw.max("temp").over("10 minutes"), later=sw.max("temp").over("20 minutes"),
)
rows = 900
table = pa.table({
    "machine": pa.array([f"m{i * i % 7}" for i in range(rows)]),
    "ts": pa.array([1_000_000 * 40 * i for i in range(rows)], pa.timestamp("us", "UTC")),
    "temp": pa.array([float(i * 31 % 17) if i % 5 else None for i in range(rows)]),
    "row": pa.array(range(rows)),
})
for lane in lanes_of_job(labels=False, replay=True):
    lane(definition, table)
print(json.dumps(compiled))
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job in `tmp_path / "job.toml"` that is large enough, with a cache of its own."""
    times = pa.array([1_000_000 * i for i in range(20)], pa.timestamp("us", "UTC"))
    temps = [float(i) for i in range(20)]
    pq.write_table(pa.table({"machine": ["a"] * 20, "ts": times, "temp": temps}), tmp_path / "rows.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(Path(sw.__file__).parents[1]))
    for variable in ("PYSPARK_PYTHON", "SLIDEWISE_COMPILE", "SLIDEWISE_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(beside, "LEAST_BYTES", 1)
    monkeypatch.setattr(beside, "cores", lambda: 2)
    cache.cache_folder.cache_clear()
    (tmp_path / "my_operators.py").write_text("raise RuntimeError('nobody has allowed this')")
    without_own = JOB.replace("mine =", "# mine =")
    (tmp_path / "read.toml").write_text(without_own)
    return read_job(tmp_path / "read.toml")


@pytest.fixture(autouse=True)
def own_cache() -> Any:
    yield
    cache.cache_folder.cache_clear()


@pytest.fixture
def wanted(tmp_path: Path) -> Beside:
    return Beside(tmp_path / "job.toml", replay=True)


def kernels(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "cache").glob("*/*.kernel")]


def test_what_a_job_needs_is_on_disk_afterwards_and_the_next_run_starts_nothing(
    job: Job, wanted: Beside, tmp_path: Path
) -> None:
    """A large key of a stream included; without operators of the user's own, which nobody imports."""
    with compiling_beside(wanted, job, "local[*]", {}) as process:
        assert process is not None
        assert process.wait() == 0
    assert any(name.startswith("spanning_pass") for name in kernels(tmp_path))
    variables = {**os.environ, "SLIDEWISE_COMPILE": "always"}
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == []
    with compiling_beside(wanted, job, "local[*]", {}) as process:
        assert process is None
    wanted.file.write_text(JOB.replace("10 minutes", "30 minutes"))
    with compiling_beside(wanted, job, "local[*]", {}) as process:
        assert process is not None


@pytest.mark.parametrize("error", [None, RuntimeError, KeyboardInterrupt])
def test_it_ends_with_the_job_and_never_fails_it(job: Job, wanted: Beside, error: type[BaseException] | None) -> None:
    processes = []

    def run() -> None:
        with compiling_beside(wanted, job, None, {}) as process:
            assert process is not None
            processes.append(process)
            assert process.poll() is None
            if os.name != "nt":
                assert os.getsid(process.pid) != os.getsid(0)  # Ctrl-C is not for it
            if error is not None:
                raise error

    if error is None:
        run()
    else:
        with pytest.raises(error):
            run()
    assert processes[0].returncode is not None


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_it_ends_when_the_job_is_killed(job: Job, wanted: Beside) -> None:
    program = (
        "import sys; from pathlib import Path; from slidewise.pipeline.warming import beside as b\n"
        "process = b._started(b.Beside(Path(sys.argv[1]), replay=True)); print(process.pid, flush=True); input()"
    )
    command = [sys.executable, "-c", program, str(wanted.file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        pid = int(killed.stdout.readline())
        assert is_running(pid)
        killed.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(pid)


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it has not ended; where nobody waits for children, they stay as zombies."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        if sys.platform == "linux":
            return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


@pytest.mark.parametrize("why", ["few rows", "a cluster", "another Python", "one core", "no cache", "no process"])
def test_none_is_started_where_it_does_not_pay(
    why: str, job: Job, wanted: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, conf = "local[*]", {}
    if why == "few rows":
        monkeypatch.setattr(beside, "LEAST_BYTES", 10**6)
    elif why == "a cluster":
        master = "spark://somewhere:7077"
    elif why == "another Python":
        conf = {"spark.pyspark.python": "/bin/sh"}
    elif why == "one core":
        monkeypatch.setattr(beside, "cores", lambda: 1)
    elif why == "no cache":
        monkeypatch.setenv(cache.VARIABLE, cache.OFF)
        cache.cache_folder.cache_clear()
    else:
        conf = {"spark.pyspark.python": sys.executable}
        monkeypatch.setattr(sys, "executable", str(Path(sys.executable).with_name("no python")))
    with compiling_beside(wanted, job, master, conf) as process:
        assert process is None


def test_a_job_that_makes_no_sense_to_it_is_left_alone(job: Job, wanted: Beside) -> None:
    wanted.file.write_text("this is no job")
    with compiling_beside(wanted, job, None, {}) as process:
        assert process is not None
        assert process.wait() != 0
    with compiling_beside(wanted, job, None, {}) as process:
        assert process is not None  # nothing says that it is done


def test_a_source_is_large_by_the_bytes_of_its_files(tmp_path: Path) -> None:
    definition = sw.Sliding(on="ts", n=sw.count().over(rows=2))
    (tmp_path / "folder").mkdir()
    for i in range(3):
        with open(tmp_path / "folder" / f"{i}.csv", "wb") as file:
            file.truncate(beside.LEAST_BYTES // 3 + 1)
    for paths, large in (("folder", True), ("folder/*.csv", True), ("folder/0.csv", False), ("missing.csv", False)):
        assert is_large(Job(definition, (str(tmp_path / paths),), "sink")) == large
    assert not is_large(Job(definition, ("s3://somewhere/rows",), "sink"))


def test_a_run_compiles_beside_it_from_before_spark_starts_until_its_end(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the master, the settings and the replay that the command line asks for; also where Spark does not start."""
    happened: list[Any] = []

    @contextmanager
    def recorded(wanted: Beside, _job: Job, master: str | None, conf: dict[str, str]) -> Iterator[None]:
        happened.append((wanted, master, conf))
        try:
            yield
        finally:
            happened.append("ended")

    def no_spark(*_arguments: object) -> None:
        happened.append("Spark")
        raise SlidewiseError("no Spark today")

    monkeypatch.setattr(commands, "compiling_beside", recorded)
    monkeypatch.setattr(commands, "start", no_spark)
    file = tmp_path / "read.toml"
    settings = commands.RunSettings(master="local[3]", conf={"spark.ui.enabled": "false"}, replay=True)
    with pytest.raises(SlidewiseError, match="no Spark today"):
        commands.run_file(file, settings)
    assert happened == [(Beside(file, replay=True), "local[3]", settings.conf), "Spark", "ended"]
