"""Traces in the terminal: colours and none, 80 columns and fewer, text, files and standard input."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console

from slidewise.cli import main
from slidewise.trace import record
from slidewise.trace.drawing.terminal import show
from slidewise.trace.operations import random_operations
from slidewise.trace.views.catalogue import VIEWS

EXAMPLE = "insert 4 5 3 4 0 4 4; evict 2; insert 6"


def printed(*names: str, operations: str = EXAMPLE, operator: str = "maxcount", **console: object) -> str:
    out = io.StringIO()
    show(record(names, operations, operator), Console(file=out, **{"width": 80, **console}))  # type: ignore[arg-type]
    return out.getvalue()


def step(text: str, label: str) -> list[str]:
    return text[text.index(f"({label})") :].split("\n\n", maxsplit=1)[0].splitlines()


def test_a_step_of_daba_lite() -> None:
    assert step(printed("daba-lite"), "J") == [
        "(J) evict 5      shrink         combine 2, query 0  answer 3 of 4×3",
        "window    3     4     0     4     4",
        " slots   4×3   4×1   0×1   4×2   4×1",
        "          F     L     R     A           BE",
        "  kept  aggRA 4×2, aggB -",
        " calls  4×1 ⊗ 4×2 = 4×3, 4×1 ⊗ 4×1 = 4×2",
    ]


def test_the_coins_of_two_stacks() -> None:
    text = printed("two-stacks", operator="concat")
    assert step(text, "H")[1].split() == ["coins", *"●●●●●●●"]
    assert step(text, "H")[4].split() == ["agg", "a", "ab", "abc", "abcd", "ab..e", "ab..f", "ab..g"]
    assert "●" not in "".join(step(text, "I"))
    assert step(text, "K")[1].split() == ["coins", "●"]


def test_the_papers_colours() -> None:
    text = printed("daba-lite", force_terminal=True, color_system="truecolor")
    slots = step(text, "J")[2]
    fills = re.findall(r"48;2;(\d+;\d+;\d+)", slots)
    assert fills == [
        "31;78;158",
        "181;211;242",
        "196;230;184",
        "31;78;158",
        "31;78;158",
    ]  # front, left, right, accumulator
    assert "46;125;79" in step(text, "K")[2]  # the back
    assert "accumulator" in text.splitlines()[-1]


@pytest.mark.parametrize("width", [80, 40])
@pytest.mark.parametrize("name", [name for name in VIEWS if name not in ("slick-deque", "subtract-on-evict")])
def test_no_line_is_too_long(name: str, width: int) -> None:
    out = io.StringIO()
    show(record(name, random_operations(60, 4), "concat"), Console(file=out, width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.startswith("(") for line in lines) == 61
    steps = "\n".join(lines).split("\n\n")[1:-1]
    for line in (line for step in steps for line in step.splitlines()):
        assert re.match(r"\([A-Z]+\) | {8}| *[a-z]+( \d)?  ", line), f"a line that was cut: {line!r}"


def test_without_unicode() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(record("two-stacks", EXAMPLE, "maxcount"), Console(file=out, width=80))
    out.seek(0)
    assert "5x1 * 4x1 = 5x1" in out.read()


def test_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "daba-lite", "--operator", "maxcount", EXAMPLE]) == 0
    text = capsys.readouterr().out
    assert "DabaLite with maxcount: insert 4 5 3 4 0 4 4; evict 2; insert 6" in text
    assert "(J) evict 5" in text


def test_a_file_and_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "operations.txt"
    file.write_text("insert 4 5 3  # three rows\nevict 2\ninsert 6\n")
    said = []
    for arguments in (["--file", str(file)], ["--file", "-"], [], ["insert 4 5 3; evict 2; insert 6"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO(file.read_text()))
        assert main(["trace", "two-stacks-lite", *arguments]) == 0
        said.append(capsys.readouterr().out)
    assert len(set(said)) == 1
    assert "(G) insert 6" in said[0]


def test_with_nothing_said_the_papers_example(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["trace"]) == 0
    assert "DabaLite with maxcount: insert 4 5 3 4 0 4 4; evict 2; insert 2 6" in capsys.readouterr().out


def test_random_steps_are_those_of_the_seed(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for seed in ("3", "3", "4"):
        assert main(["trace", "daba", "--random", "40", "--seed", seed]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != said[2]
    assert said[0].count("combine ") == 41


def test_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "all", "--every-case", "--operator", "max,sum"]) == 0
    text = capsys.readouterr().out
    for view in VIEWS.values():
        part = text[text.index(f"{view.algorithm.__name__} with ") :]
        head, _, rest = part.partition("\n")
        steps = rest.split(" with ")[0]
        for case in view.cases:
            assert re.search(rf"^\([A-Z]+\) .*\b{case}\b", steps, re.MULTILINE), f"{head}: {case}"


def test_an_operator_that_an_algorithm_serves_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    for name, operator in (("slick-deque", "max"), ("subtract-on-evict", "sum")):
        assert main(["trace", name, "insert 4 5; evict"]) == 0
        assert f"with {operator}:" in capsys.readouterr().out


def test_rows_of_several_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "daba-lite", "--operator", "argmax", "insert 7,1 8,3 9,2"]) == 0
    assert "answer 8" in capsys.readouterr().out
    assert main(["trace", "daba-lite", "--operator", "argmax", "--random", "5"]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["daba-light"], "did you mean 'daba-lite'"),
        (["insert 4"], "the algorithm comes first, and 'insert 4' is none"),
        (["daba", "insert x", "--operator", "sum"], "line 1, column 8: x cannot be inserted"),
        (["daba", "insert 4; evct"], "line 1, column 11: 'evct' is no operation"),
        (["daba", "insert 4", "--random", "3"], "the operations and --random both say what to trace"),
        (["daba", "--file", "/nowhere/at/all"], "cannot be read: No such file"),
        (["daba", "insert 4", "--operator", "maxcuont"], "did you mean 'maxcount'"),
        (["slick-deque", "insert 4", "--operator", "mean"], "SlickDeque cannot serve 'mean'"),
        (["daba", "insert 4", "--json", "/nowhere/at/all.json"], "cannot be written: No such file"),
        (["daba", "--recorded", "x.json"], "leave them out"),
    ],
)
def test_mistakes(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", *arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith("slidewise: ")
    assert says in said


def test_a_recorded_trace_is_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.json"
    assert main(["trace", "daba", EXAMPLE, "--json", str(file)]) == 0
    assert capsys.readouterr().out == f"wrote {file}\n"
    assert main(["trace", "--recorded", str(file)]) == 0
    recorded = capsys.readouterr().out
    assert main(["trace", "daba", EXAMPLE]) == 0
    assert capsys.readouterr().out == recorded
