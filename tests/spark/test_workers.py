"""Spark's workers that would run another Python: a warning says so before they crash, and nobody else is warned."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slidewise.spark.worker import task as workers


@pytest.fixture(autouse=True)
def _forget() -> None:
    workers._problem_of.cache_clear()


def session(python: str, master: str = "local[2]") -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(pythonExec=python, master=master))


def command(folder: Path, prefix: str, monkeypatch: pytest.MonkeyPatch, missing: str = "[]", minor: int = 0) -> Path:
    """A command `python9` that is found first, and says where and what its packages are."""
    path = folder / "python9"
    version = f"[{sys.version_info[0]}, {sys.version_info[1] + minor}]"
    path.write_text(f"#!/bin/sh\necho '[\"{prefix}\", {version}, {missing}]'\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("by_path", [False, True])
def test_another_python_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_path: bool
) -> None:
    path = command(tmp_path, "/elsewhere", monkeypatch, '["slidewise", "pyarrow"]')
    said = rf"{path}, and not {sys.executable}: it has no slidewise, pyarrow.*set PYSPARK_PYTHON"
    with pytest.warns(UserWarning, match=said):
        workers.check_python(session(str(path) if by_path else path.name))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_what_is_no_python_of_this_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for python, said in (
        (str(tmp_path / "nowhere"), "there is no such command"),
        (str(command(tmp_path, "/elsewhere", monkeypatch, minor=1)), "it is Python 3"),
        ("/bin/echo", "it does not answer as a Python does"),
    ):
        with pytest.warns(UserWarning, match=said):
            workers.check_python(session(python))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_nobody_else_is_warned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same = command(tmp_path, sys.prefix, monkeypatch, '["slidewise"]')  # a launcher of this very Python
    (tmp_path / "other").mkdir()
    other = command(tmp_path / "other", "/opt/python", monkeypatch)  # chosen by hand, with all that is needed
    others = (
        session(str(same)),
        session(sys.executable),
        session(str(other)),
        session("nowhere", "spark://host:7077"),  # whose machines are not this one
        SimpleNamespace(),  # Connect
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in others:
            workers.check_python(one)
