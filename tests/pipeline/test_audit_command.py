"""`slidewise audit`: exit codes, what is printed, the page, and what is refused before Spark starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pipeline.test_labels import EVENTS, GOOD
from pyspark.sql import SparkSession
from sessions import JAVA
from spark_data import QUIET

from slidewise.cli import main

pytestmark = QUIET

JOB = GOOD.replace('[labels]\npath = "labels.parquet"\non = "decided_at"\nby = { card = "card_id" }\n', "") + (
    '[clean]\nout_of_order = "sort"\n'
)
NAMES = ["--at", "decided_at", "--key", "card=card_id"]


def served(*spent: float | None) -> pa.Table:
    """A log of answers as of 12:30, 12:05, 12:30 and 11:00."""
    times = [datetime(2024, 3, 1, hour, minute, tzinfo=UTC) for hour, minute in ((12, 30), (12, 5), (12, 30), (11, 0))]
    return pa.table({"card_id": [1, 1, 2, 2], "decided_at": times, "spent": list(spent) or [57.0, 5.0, 7.0, None]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events.json").write_text(EVENTS)
    (tmp_path / "job.toml").write_text(JOB)
    pq.write_table(served(), tmp_path / "served.parquet")
    return tmp_path


@pytest.fixture
def audit(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, on the session of all tests."""

    @contextmanager
    def session(*_arguments: Any) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("slidewise.pipeline.audit_command.session_of", session)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*options: str) -> int:
        return main(["audit", str(folder / "job.toml"), "--served", str(folder / "served.parquet"), *options])

    return run


def test_all_equal(audit: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(*NAMES) == 0
    text = capsys.readouterr().out
    assert "0 of 4 answers differ: 4 served rows, 1 column" in text
    assert "rejected: bad time" in text, "what was left out of the source"
    page = folder / "out" / "audit.html"
    assert f"report  {page}" in text
    assert "0 of 4 answers differ" in page.read_text()


def test_differences(audit: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(served(57.0, 5.5, None, 1.0), folder / "served.parquet")
    page = folder / "deep" / "page.html"
    assert audit(*NAMES, "--report", str(page)) == 1
    text = capsys.readouterr().out
    assert "3 of 4 answers differ (25.00 % are equal)" in text
    assert "spent   1        2024-03-01 12:05:00Z  5.5     5.0                0.5" in text
    assert "missing" in text
    assert "<svg" in page.read_text()
    assert audit(*NAMES, "--report", str(page)) == 2
    assert f"there is {page} already; give --overwrite" in capsys.readouterr().err
    assert audit(*NAMES, "--report", str(page), "--overwrite", "--limit", "1") == 1
    pq.write_table(served(57.0, 5.0 + 1e-12, 7.0, None), folder / "served.parquet")
    assert audit(*NAMES, "--report", str(page), "--overwrite") == 1
    assert audit(*NAMES, "--report", str(page), "--overwrite", "--tolerance", "1e-9") == 0


def test_a_log_without_rows_is_no_proof(audit: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(served().slice(0, 0), folder / "served.parquet")
    assert audit(*NAMES) == 2
    assert "has no rows, so there is nothing to compare" in capsys.readouterr().err
    assert not (folder / "out" / "audit.html").exists()


def test_only_own_pages_are_overwritten(audit: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder / "mine.html"
    page.write_text("mine")
    assert audit(*NAMES, "--report", str(page), "--overwrite") == 2
    assert "is none of the pages that slidewise audit has written; --overwrite replaces only" in capsys.readouterr().err
    assert page.read_text() == "mine"
    link = folder / "link.html"
    link.symlink_to(page)
    assert audit(*NAMES, "--report", str(link), "--overwrite") == 2
    assert "is a symbolic link" in capsys.readouterr().err
    assert audit(*NAMES, "--report", str(folder / "out.html")) == 0
    assert audit(*NAMES, "--report", str(folder / "out.html"), "--overwrite") == 0


def test_names_come_from_the_labels(audit: Any, folder: Path) -> None:
    pq.write_table(served().drop_columns("spent"), folder / "labels.parquet")
    (folder / "job.toml").write_text(GOOD + '[clean]\nout_of_order = "sort"\n')
    assert audit() == 0
    renamed = served().rename_columns(["card_id", "when", "feature"])
    pq.write_table(renamed, folder / "served.parquet")
    assert audit("--at", "when", "--column", "spent=feature", "--overwrite") == 0


def test_times_without_a_zone_and_as_text(audit: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    naive = served().set_column(1, "decided_at", served()["decided_at"].cast(pa.timestamp("us")))
    pq.write_table(naive, folder / "served.parquet")
    assert audit(*NAMES) == 0
    (folder / "log.csv").write_text("card_id,decided_at,spent\n1,2024-03-01 12:05:00,5.0\n2,2024-03-01 11:00:00,\n")
    assert audit(*NAMES, "--served", str(folder / "log.csv"), "--overwrite") == 0
    (folder / "log.jsonl").write_text('{"card_id": 1, "decided_at": "2024-03-01T12:05:00Z", "spent": 6.0}\n')
    assert audit(*NAMES, "--served", str(folder / "log.jsonl"), "--overwrite") == 1
    assert "1 of 1 answers differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--served", "nowhere.parquet"], "there is no nowhere.parquet; --served names"),
        (
            ["--key", "card=card_id", "--at", "decided"],
            r"'decided' not found; the log has card_id, decided_at, spent; .*at=.*\(at= is --at here\)",
        ),
        (["--key", "crad=card_id"], "by= names the key 'crad'"),
        ([*NAMES, "--column", "spnt=spent"], "the aggregate 'spnt', .*did you mean 'spent'"),
    ],
)
def test_errors_end_with_two(audit: Any, capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    assert audit(*options) == 2
    error = capsys.readouterr().err
    assert error.startswith("slidewise: ")
    assert re.search(said, error)


@pytest.mark.parametrize(
    "options", [[], ["--served"], ["--tolerance", "2"], ["--tolerance", "x"], ["--limit", "0"], ["--key", "card"]]
)
def test_mistakes_in_arguments(folder: Path, options: list[str]) -> None:
    more = options if options[:1] == ["--served"] or not options else ["--served", "x", *options]
    with pytest.raises(SystemExit) as stopped:
        main(["audit", str(folder / "job.toml"), *more])
    assert stopped.value.code == 2


def test_the_command_line_itself(folder: Path) -> None:
    """In a process of its own, with a session of its own."""
    pq.write_table(served(57.0, 5.0, 8.0, None), folder / "served.parquet")
    command = [sys.executable, "-m", "slidewise", "audit", "job.toml", "--served", "served.parquet", *NAMES]
    settings = ["--master", "local[1]", "--conf", f"spark.driver.extraJavaOptions={JAVA}"]
    done = subprocess.run(
        [*command, *settings],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "COLUMNS": "150"},
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("1 of 4 answers differ")
    assert "spent   2        2024-03-01 12:30:00Z  8.0     7.0                  1" in done.stdout
    assert (folder / "out" / "audit.html").exists()
