"""A Spark standalone cluster on this machine, and Pythons that have some packages only.

Master and workers are processes of their own on 127.0.0.1, one core each.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sysconfig
import time
import venv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sessions import PLAIN

HOST = "127.0.0.1"
# What the workers' Python has not: this package, and what only drivers and developers need.
ABSENT = (
    "slidewise",
    "pyspark",
    "py4j",
    "rich",
    "pytest",
    "duckdb",
    "polars",
    "grpc",
    "scipy",
    "sklearn",
    "matplotlib",
)
NAMED = "slidewise-test-python"  # a name that each worker's PATH leads somewhere else
_DEPLOY = "org.apache.spark.deploy"
_LOCAL = ("--host", HOST, "--webui-port", "0")
_PACKAGES = Path(sysconfig.get_path("purelib"))
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile("Successfully registered with master")
_PATIENCE = 120.0


def thin_python(folder: Path, without: Iterable[str], extra: Path | None = None) -> Path:
    """A Python with this one's packages, but for those whose names begin so, and with those of another folder."""
    venv.create(folder, symlinks=True, with_pip=False)
    [target] = (folder / "lib").glob("python*/site-packages")
    unwanted = tuple(name.lower() for name in (*without, "_editable_impl_", "__pycache__"))
    for source in filter(None, (_PACKAGES, extra)):
        for entry in source.iterdir():
            wanted = source is extra or not entry.name.lower().startswith(unwanted)
            if wanted and not (target / entry.name).exists():
                (target / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


def imports(python: Path, modules: str) -> bool:
    """Whether this Python finds them by itself, whatever PYTHONPATH its caller has."""
    return subprocess.run([python, "-I", "-c", f"import {modules}"], capture_output=True, check=False).returncode == 0


class Cluster:
    """A master and its workers; `stop` ends what `start` began, and nothing else."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.url = ""
        self.workers: list[subprocess.Popen[bytes]] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._environment = environment

    def start(self, workers: int = 2) -> None:
        master, log = self._run("master", f"{_DEPLOY}.master.Master", *_LOCAL, "--port", "0")
        self.url = _await(master, log, _MASTER)[1]
        for number in range(workers):
            self.add_worker(number)

    def add_worker(self, number: int, environment: dict[str, str] | None = None) -> None:
        """Start one more worker of one core, with more in its environment, and wait until the master knows it."""
        folder = self.folder / f"worker{number}"
        folder.mkdir()
        options = ["--cores", "1", "--memory", "1500m", "--work-dir", str(folder), self.url]
        worker, log = self._run(
            f"worker{number}", f"{_DEPLOY}.worker.Worker", *_LOCAL, *options, environment=environment
        )
        _await(worker, log, _REGISTERED)
        self.workers.append(worker)

    def stop(self) -> None:
        for process in reversed(self._processes):
            _end(process)

    def executors(self) -> list[int]:
        """The processes of the executors that the workers have started."""
        parents = {worker.pid for worker in self.workers}
        return [pid for pid, parent in _parents() if parent in parents and "CoarseGrainedExecutor" in _command(pid)]

    def kill_an_executor(self) -> int:
        victim = self.executors()[0]
        os.kill(victim, signal.SIGKILL)
        return victim

    @contextmanager
    def running(
        self, name: str, program: str, *options: str, ready: str, environment: dict[str, str] | None = None
    ) -> Iterator[None]:
        """One more program of Spark's beside the cluster, once it says that it is ready, until the block ends."""
        process, log = self._run(name, program, *options, environment=environment)
        try:
            _await(process, log, re.compile(ready))
            yield
        finally:
            _end(process)

    def _run(
        self, name: str, program: str, *options: str, environment: dict[str, str] | None = None
    ) -> tuple[subprocess.Popen[bytes], Path]:
        log = self.folder / f"{name}.log"
        command = [str(spark_home() / "bin" / "spark-class"), program, *options]
        variables = {**self._environment, **(environment or {})}
        with open(log, "wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, env=variables, cwd=self.folder)
        self._processes.append(process)
        return process, log


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def sink_files(folder: Path) -> list[str]:
    """The Parquet files that a stream's sink counts as written: those of attempts that failed lie beside them."""
    logs = [log for log in (folder / "_spark_metadata").iterdir() if not log.name.startswith(".")]
    lines = [line for log in logs for line in log.read_text().splitlines() if line.startswith("{")]
    return sorted({json.loads(line)["path"].removeprefix("file://") for line in lines})


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a cluster's processes: nothing of this project's, and a home of their own."""
    kept = ("PATH", "JAVA_HOME", "LANG", "TMPDIR")
    variables = {name: os.environ[name] for name in kept if name in os.environ}
    home, local = folder / "home", folder / "local"
    home.mkdir(exist_ok=True)
    local.mkdir(exist_ok=True)
    options = "-Dspark.master.rest.enabled=false"
    return {
        **variables,
        "HOME": str(home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(local),
        "SPARK_MASTER_OPTS": options,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_NO_DAEMONIZE": "1",
        "JDK_JAVA_OPTIONS": PLAIN,
        **more,
    }


@contextmanager
def standalone(folder: Path, environment: dict[str, str], workers: int = 2) -> Iterator[Cluster]:
    cluster = Cluster(folder, environment)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()


def _await(process: subprocess.Popen[bytes], log: Path, pattern: re.Pattern[str]) -> re.Match[str]:
    """What a process says once it is ready."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        found = pattern.search(log.read_text(errors="replace"))
        if found:
            return found
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(f"{' '.join(map(str, process.args))}:\n{log.read_text(errors='replace')}")  # type: ignore


def _parents() -> Iterator[tuple[int, int]]:
    """All processes of this machine with their parents."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            yield int(status.parent.name), int(status.read_text().rpartition(")")[2].split()[1])


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
