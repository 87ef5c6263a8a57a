"""Stages in the terminal, and a job's failure in words."""

from __future__ import annotations

import io
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from slidewise.pipeline.commands import RunSettings, run_file
from slidewise.pipeline.progress import TerminalStages, tasks_of
from slidewise.pipeline.run import STAGES, Summary

EXAMPLES = Path(__file__).parents[2] / "examples"


class Tracker:
    """Two stages that run, and one that is gone by the time it is asked for."""

    def getActiveStageIds(self) -> list[int]:
        return [1, 2, 3]

    def getStageInfo(self, stage: int) -> SimpleNamespace | None:
        return None if stage == 3 else SimpleNamespace(numTasks=10, numCompletedTasks=3 * stage)


def test_tasks_of_all_stages_that_run() -> None:
    assert tasks_of(Tracker()) == (9, 20)


def test_a_bar_on_a_terminal_and_nothing_elsewhere() -> None:
    for terminal in (True, False):
        out = io.StringIO()
        stages = TerminalStages(Console(file=out, force_terminal=terminal, width=100))
        stages.spark = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=Tracker))
        with stages("read the files"):
            time.sleep(0.4 if terminal else 0)
        assert ("read the files" in out.getvalue()) is terminal


def test_a_session_without_a_context_has_no_tasks_to_show() -> None:
    out = io.StringIO()
    with pytest.raises(ZeroDivisionError), TerminalStages(Console(file=out, force_terminal=True, width=100))("divide"):
        raise ZeroDivisionError
    assert "divide" in out.getvalue()


def test_a_summary_adds_up() -> None:
    done = Summary(10, {"bad time": 2, "empty line": 1}, 3, False, 4, dict.fromkeys((*STAGES, "report"), 1.0))
    assert done.dropped == 6
    assert done.rows_per_second == pytest.approx(10 / 3)
    done.repaired = True
    assert done.dropped == 3
    done.ahead = 5
    assert (done.lost, done.dropped) == (5, 8)


def test_without_java_the_command_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    monkeypatch.setattr("slidewise.spark.java._candidates", lambda _environment: [])
    text = (EXAMPLES / "orders.toml").read_text().replace("../build", str(tmp_path))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "orders.jsonl").write_text("")
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(Exception, match="Spark needs Java 17 or newer, and found none; install one"):
        run_file(tmp_path / "job.toml", RunSettings(), Console(file=io.StringIO()))
