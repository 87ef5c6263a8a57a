"""The command line and the tour."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import slidewise as sw
from slidewise.cli import main
from slidewise.operators import CATALOGUE
from slidewise.operators.examples import series
from slidewise.operators.traits import AnswerKind
from slidewise.tour import ROWS, VALUES, tour
from slidewise.trace.operator_plots import answers_of, examples_of

DOCS = Path(__file__).parents[1] / "docs"


def test_operators_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operators"]) == 0
    text = "".join(capsys.readouterr().out.split())
    for row in sw.operators_table():
        assert row.operator.replace(" ", "") in text


def test_operators_as_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operators", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| operator | inputs | output |")


def test_the_tour_shows_every_step_with_the_right_answers() -> None:
    out = io.StringIO()
    tour(Console(file=out, width=120))
    steps = re.findall(r"^ +(\d+) +(\d+) (...)  ((?:\d )+) +(\d+) +(\d+) +(\d+) ", out.getvalue(), re.MULTILINE)
    assert len(steps) == len(VALUES) == 20
    for step, value, _, window, greatest, how_often, calls in steps:
        i = int(step)
        rows = list(VALUES[max(0, i - ROWS) : i])
        assert [int(x) for x in window.split()] == rows
        assert (int(value), int(greatest), int(how_often)) == (rows[-1], max(rows), rows.count(max(rows)))
        assert int(calls) <= 6


def test_the_tour_runs_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tour"]) == 0
    assert "maxcount" in capsys.readouterr().out


def test_operators_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of them, each of its answers as a point of a line; and the documentation shows all that pictures can show."""
    assert main(["operators", "--plot", "max", "--out", str(tmp_path / "max.svg")]) == 0
    assert capsys.readouterr().out.endswith("max.svg: max\n")
    assert "max(x) over 12 rows" in (tmp_path / "max.svg").read_text()
    answers = answers_of(examples_of("max"))["max"]
    x = series()["x"]
    assert answers == [max(x[max(0, i - 11) : i + 1]) for i in range(len(x))]
    names = {*examples_of("all")}
    assert {op.name for op in CATALOGUE if op.traits.answer is not AnswerKind.OBJECT} <= names
    documented = (DOCS / "figures" / "operators.svg").read_text()
    for name in names:
        assert f">{name}</text>" in documented, "run: slidewise operators --plot all --out docs/figures/operators.svg"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plot", "maxx"], "there is no operator 'maxx'; .* did you mean 'max'"),
        (["--plot", "naive_bayes"], "no picture shows"),
        (["--plot", "max", "--out", "max.gif"], "as .svg or .png"),
        (["--out", "max.svg"], "give --plot NAME"),
        (["--plot", "max", "--out", "no/such/folder/max.svg"], "cannot be written"),
    ],
)
def test_what_cannot_be_drawn(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["operators", *arguments]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_operators_on_a_narrow_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["operators"]) == 0
    text = capsys.readouterr().out
    assert "relative_variation" in text
    assert "A wider terminal shows also" in text


def test_python_dash_m() -> None:
    command = [sys.executable, "-m", "slidewise", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("slidewise ")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        ([], 2),
        (["opertors"], 2),
        (["tour", "--seconds-per-step", "-1"], 2),
        (["demo", "--events", "0"], 2),
        (["state"], 2),
        (["state", "--help"], 0),
        (["state", "checkpoint", "--largest", "0"], 2),
    ],
)
def test_help_and_mistakes(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == code
    said = capsys.readouterr()
    assert "slidewise" in said.out + said.err


def test_state_of_what_is_no_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before Spark is started."""
    (tmp_path / "begun" / "offsets").mkdir(parents=True)
    for name, message in (
        ("none", "there is no folder"),
        ("", "has no folder 'offsets'"),
        ("begun", "no micro-batch has finished"),
    ):
        assert main(["state", str(tmp_path / name)]) == 2
        assert message in capsys.readouterr().err
