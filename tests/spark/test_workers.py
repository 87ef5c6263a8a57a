"""Spark's workers that would run another Python: a warning says so before they crash, and nobody else is warned."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slidewise.spark import workers


@pytest.fixture(autouse=True)
def _forget() -> None:
    workers._is_this.cache_clear()


def session(python: str, master: str = "local[2]") -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(pythonExec=python, master=master))


def command(folder: Path, prints: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A command `python9` that is found first, and says that its packages are elsewhere."""
    path = folder / "python9"
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return path.name


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_another_python_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = command(tmp_path, "/elsewhere", monkeypatch)
    with pytest.warns(UserWarning, match=rf"{tmp_path / name}, and not {sys.executable}.*set PYSPARK_PYTHON"):
        workers.check_python(session(name))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_nobody_else_is_warned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same = command(tmp_path, sys.prefix, monkeypatch)  # a launcher of this very Python
    others = (
        session(same),
        session(sys.executable),
        session("/opt/python/bin/python3"),  # chosen by hand
        session("python9", "spark://host:7077"),  # whose machines are not this one
        SimpleNamespace(),  # Connect
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in others:
            workers.check_python(one)
