"""examples/monitoring: the job on Spark and the live definition raise alarm at the same events."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from slidewise.pipeline.job.job import read_job
from slidewise.pipeline.run import run

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
FOLDER = Path(__file__).parents[2] / "examples" / "monitoring"


def test_alarms_live_are_those_of_the_job(
    spark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = []

    def on_the_tests_session(words: list[str]) -> int:
        command, path, overwrite = words
        assert (command, overwrite) == ("run", "--overwrite")
        ran.append(run(read_job(Path(path)), spark, overwrite=True))
        return 0

    monkeypatch.setattr("slidewise.cli.main", on_the_tests_session)
    monitor = runpy.run_path(str(FOLDER / "monitor.py"))
    assert monitor["both"]()
    said = capsys.readouterr().out
    assert ran[0].rows_out == 290
    assert re.search(r"live: 290 events, 4 late, (\d+) with an alert\n", said)
    assert re.findall(r"the signal (begins|is calm)", said) == ["begins", "is calm", "begins"]


def test_another_live_definition_is_told_from_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = runpy.run_path(str(FOLDER / "monitor.py"))
    columns = monitor["JOB"]["definition"]["columns"]
    data = FOLDER.parent / "data" / "manufacturing.tsv"
    alerts = monitor["watch"](data)
    monkeypatch.setitem(columns, "alert", columns["alert"].replace("0.0065", "0.007"))
    assert 0 < len(monitor["watch"](data)) < len(alerts)


def test_the_readme_names_the_command() -> None:
    assert "\npython examples/monitoring/monitor.py\n" in (FOLDER / "README.md").read_text()
