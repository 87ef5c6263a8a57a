"""The tutorial's lines run in their order and print what stands there, and its stream survives a kill."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("google.protobuf", reason="state on streams needs protobuf")

from pyspark.sql import SparkSession
from spark_data import QUIET
from streams import SETTINGS, settings

pytestmark = QUIET
TUTORIAL = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text()
BLOCK = re.compile(r'^```(py|text|sh)(?: title="(\S+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)


def absolute(code: str, here: Path) -> str:
    """The code with the paths of its files in full: the tests' Spark session was started in another folder."""
    return re.sub(r'"(payments\.csv|incoming|features|checkpoint)"', lambda match: repr(str(here / match[1])), code)


def started_and_killed() -> None:
    """Run stream.py in a process of its own, and kill it once the first answers are there."""
    with Path("log").open("w") as log:
        process = subprocess.Popen([sys.executable, "stream.py"], stdout=log, stderr=log, start_new_session=True)
        while process.poll() is None and not list(Path("features").glob("*.parquet")):
            time.sleep(0.05)
        assert process.poll() is None, Path("log").read_text()
        os.killpg(process.pid, signal.SIGKILL)  # its Java, too
        process.wait()


def test_the_tutorial_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("features", "session"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    blocks = BLOCK.findall(TUTORIAL)
    names: dict[str, object] = {}
    asserted = runs = 0
    with settings(spark, {**SETTINGS, "spark.sql.session.timeZone": "UTC"}):
        for i, (kind, title, code) in enumerate(blocks):
            if title:
                Path(title).write_text(code)
            elif kind == "sh" and "kill -9" in code:
                started_and_killed()
            elif kind == "sh" and code == "python stream.py\n":
                runs += 1
                stream = absolute(Path("stream.py").read_text(), tmp_path)
                exec(compile(stream, "stream.py", "exec"), {})
            elif kind == "py":
                printed = io.StringIO()
                with redirect_stdout(printed):
                    exec(compile(absolute(code, tmp_path), f"docs/tutorial.md, block {i}", "exec"), names)
                if blocks[i + 1 : i + 2] and blocks[i + 1][0] == "text":
                    asserted += 1
                    assert printed.getvalue() == blocks[i + 1][2]
    for name in ("features", "session"):
        sys.modules.pop(name, None)
    assert (asserted, runs) == (6, 1)
