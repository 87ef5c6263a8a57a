"""What the benchmarks share: the console, the line that says what ran where, and the files they save."""

from __future__ import annotations

import csv
import platform
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console

import slidewise as sw

RESULTS = Path(__file__).parent / "results"


def make_console(width: int) -> Console:
    return Console() if sys.stdout.isatty() else Console(width=width)


def describe_machine(packages: Iterable[str]) -> str:
    """The versions of Slidewise, of these packages where they are installed, and of Python, and the system."""
    found = [f"slidewise {sw.__version__}"]
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join([*found, f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"])


def save_csv(name: str, machine: str, fields: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / name
    with path.open("w", newline="") as file:
        file.write(f"# {machine}\n")
        writer = csv.writer(file)
        writer.writerow(fields)
        writer.writerows(rows)
    return path


def say_saved(console: Console, paths: Iterable[Path]) -> None:
    for path in paths:
        console.print(f"saved {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
