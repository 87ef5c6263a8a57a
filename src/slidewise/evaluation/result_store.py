"""The store of raw results: Parquet files in a folder for each experiment, renamed into place once it is whole."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import slidewise as sw
from slidewise.errors import SlidewiseError
from slidewise.evaluation.settings import ExperimentSettings
from slidewise.folders import whole_file

ResultRows = list[dict[str, Any]]
ResultTables = dict[str, ResultRows]
PACKAGES = ("numba", "llvmlite", "numpy", "pyarrow", "matplotlib", "pyspark")


def machine() -> dict[str, str]:
    """The machine, its load at this moment, and the versions of all that takes part."""
    details = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load": ", ".join(f"{load:.1f}" for load in os.getloadavg()) if hasattr(os, "getloadavg") else "not known",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "slidewise": sw.__version__,
    }
    for package in PACKAGES:
        try:
            details[package] = version(package)
        except PackageNotFoundError:
            continue
    return details


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def settings_in(folder: Path) -> ExperimentSettings:
    """The settings that a run in this folder was begun with."""
    note = folder / "raw" / "settings.json"
    try:
        values: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))["settings"]
    except (OSError, ValueError, KeyError) as error:
        raise SlidewiseError(f"{folder} has no results of `slidewise bench paper`: {note}: {error}") from error
    for name, value in values.items():
        values[name] = tuple(value) if isinstance(value, list) else value
    return ExperimentSettings(**values)


class ResultStore:
    """The folder of a run, with the results of the experiments that are done."""

    def __init__(self, folder: Path, settings: ExperimentSettings, resume: bool) -> None:
        self.folder = folder
        self.raw = folder / "raw"
        self.settings = settings
        done = [path for path in self.raw.glob("[!.]*") if path.is_dir()]
        if done and not resume:
            raise SlidewiseError(
                f"{folder} has the results of {len(done)} experiments already; give --resume to go on with them, "
                "or another --out"
            )
        note = self.raw / "settings.json"
        self._check_owner(done)
        if done and note.exists():
            known = json.loads(note.read_text(encoding="utf-8")).get("digest")
            if known != settings.digest():
                raise SlidewiseError(
                    f"{folder} was begun with other settings ({known}, not {settings.digest()}); give the same "
                    "options, or another --out"
                )
        self.raw.mkdir(parents=True, exist_ok=True)
        with whole_file(note) as file:
            file.write(json.dumps({"digest": settings.digest(), "settings": asdict(settings)}).encode())

    def _check_owner(self, done: list[Path]) -> None:
        """A run begins in a folder where nothing has the names that it will write to, unless a run wrote it."""
        note = self.raw / "settings.json"
        if note.exists():
            settings_in(self.folder)
        taken = [self.folder / name for name in ("report.html", "figures")] if not done and not note.exists() else []
        if others := [path for path in taken if os.path.lexists(path)]:
            raise SlidewiseError(f"{others[0]} is there, and no run wrote it; give another --out")

    def has(self, experiment: str) -> bool:
        return (self.raw / _folder_name(experiment)).is_dir()

    def save(self, experiment: str, tables: ResultTables, seconds: float = 0.0) -> None:
        """Write an experiment's tables, and how long it took; a run that is stopped meanwhile leaves nothing."""
        place = self.raw / _folder_name(experiment)
        unfinished = self.raw / f".{place.name}-{secrets.token_hex(6)}"  # of this run alone
        unfinished.mkdir()
        try:
            self._write(experiment, tables, seconds, unfinished)
            unfinished.rename(place)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    def _write(self, experiment: str, tables: ResultTables, seconds: float, folder: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        metadata = {
            **machine(),
            "task": experiment,
            "seed": str(self.settings.seed),
            "settings": self.settings.digest(),
        }
        metadata["seconds"] = f"{seconds:.3f}"
        for name, rows in tables.items():
            if rows:
                table = pa.Table.from_pylist(rows).replace_schema_metadata(metadata)
                parquet.write_table(table, folder / f"{name}.parquet", compression="zstd")

    def rows(self, table: str) -> ResultRows:
        """The rows of a table from all experiments that are done."""
        from pyarrow import parquet

        rows: ResultRows = []
        for path in sorted(self.raw.glob(f"[!.]*/{table}.parquet")):
            rows += parquet.ParquetFile(path).read().to_pylist()
        return rows

    def seconds(self) -> dict[str, float]:
        """How long each experiment took."""
        from pyarrow import parquet

        durations = {}
        for path in sorted(self.raw.glob("[!.]*/*.parquet")):
            metadata = parquet.read_schema(path).metadata or {}
            durations[metadata.get(b"task", b"").decode()] = float(metadata.get(b"seconds", b"0"))
        return durations

    def machine(self) -> dict[str, str]:
        """The machine of the first experiment that is done; this machine where there is none."""
        from pyarrow import parquet

        for path in sorted(self.raw.glob("[!.]*/*.parquet")):
            metadata = parquet.read_schema(path).metadata or {}
            return {key.decode(): value.decode() for key, value in metadata.items() if key != b"ARROW:schema"}
        return machine()


def _folder_name(experiment: str) -> str:
    return experiment.replace(" ", "_").replace("=", "")
