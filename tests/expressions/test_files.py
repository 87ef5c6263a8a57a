"""Definitions in dicts, in TOML and in job files: columns as text, conditions, and users' own operators in both."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pipeline.test_job import GOOD

import slidewise as sw
from slidewise.cli import main
from slidewise.expressions.expression import Expression
from slidewise.html_pages import columns_table
from slidewise.pipeline.job.job import Job, read_job
from slidewise.pipeline.job.toml_document import JobError
from slidewise.pipeline.report.panels import choose_panels
from slidewise.pipeline.report.picture import draw
from slidewise.pipeline.report.points import POINTS, Points

c = sw.col
spread = sw.operator(name="spread", identity=0.0, combine=max)
IN_LIST = c("country").is_in(["DE", "FR"])
DEFINITION = sw.Sliding(
    by="card",
    on="ts",
    spent=sw.sum(c("price") * c("quantity")).over("1 day"),
    n=sw.count().where((c("amount") > 100) & IN_LIST).over("1 hour"),
    usual=sw.mean("amount").where("ok").over("7 days"),
    odd=sw.max("a b").where("in € ?").over(rows=3),
    z=(c("amount") - sw.mean("amount").over("7 days")) / sw.stddev("amount").over("7 days"),
)
WRITTEN = """\
by = ["card"]
on = "ts"

[columns]
"spent" = "sum(price * quantity) over 1 day"
"n" = {"operator" = "count", "of" = [], "where" = "amount > 100 and country in ('DE', 'FR')", "over" = "1 hour"}
"usual" = {"operator" = "mean", "of" = ["amount"], "where" = "ok", "over" = "7 days"}
"odd" = {"operator" = "max", "of" = ["a b"], "where" = "`in € ?`", "rows" = 3}
"z" = "(amount - mean(amount) over 7 days) / stddev(amount) over 7 days"
"""


def columns(**texts: Any) -> dict[str, Any]:
    return {"by": "card", "on": "ts", "columns": texts}


def test_a_definition_as_a_dict_and_as_toml() -> None:
    assert DEFINITION.to_toml() == WRITTEN
    assert DEFINITION.to_dict()["columns"]["z"] == str(DEFINITION.columns["z"])
    for again in (sw.Sliding.from_toml(WRITTEN), sw.Sliding.from_dict(DEFINITION.to_dict())):
        assert again == DEFINITION
        assert again.fingerprint() == DEFINITION.fingerprint()


def test_plain_aggregates_are_written_as_ever() -> None:
    definition = sw.Sliding(on="ts", peak=sw.max("temp").where("ok").over("10 minutes"))
    plain = {"operator": "max", "of": ["temp"], "where": "ok", "over": "10 minutes"}
    assert definition.to_dict() == {"on": "ts", "columns": {"peak": plain}}
    assert '[columns."peak"]\n' in definition.to_toml()
    assert sw.Sliding.from_toml(definition.to_toml()) == definition


def test_a_file_by_hand() -> None:
    text = """
    by = "card"
    on = "ts"
    [columns]
    spent = "SUM(price * quantity) OVER 1d"
    z = '''
        (amount - mean(amount) over 7 days)
        / stddev(amount) over 7 days
    '''
    [columns.n]
    operator = "count"
    where = "amount > 100 AND country IN ('DE', 'FR')"
    over = "1 hour"
    """
    read = sw.Sliding.from_toml(text)
    assert {name: column.key() for name, column in read.columns.items()} == {
        name: DEFINITION.columns[name].key() for name in ("spent", "z", "n")
    }
    assert read.needs == ("card", "ts", "price", "quantity", "amount", "country")


def test_a_feature_set_in_toml() -> None:
    features = sw.FeatureSet(card=DEFINITION, shop=sw.Sliding(by="shop", on="ts", n=sw.count().over("1 hour")))
    assert sw.FeatureSet.from_toml(features.to_toml()).to_dict() == features.to_dict()
    assert sw.FeatureSet.from_toml(features.to_toml()).definitions["card"] == DEFINITION


def test_a_condition_that_is_a_name_is_a_column() -> None:
    read = sw.Sliding.from_dict(columns(a={"operator": "sum", "of": "x", "where": "`sum`", "over": "all"}))
    assert read.columns["a"].condition == "sum"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (5, ["the column 'a' is a dict", "or text such as 'sum(price * quantity) over 1 day'", "not 5"]),
        (
            "sum(x) ovr 1 day",
            ["the column 'a': expected over", "did you mean 'over'", "column 8:\n", "\n" + " " * 11 + "^"],
        ),
        ("'b' + sum(x) over 1 day", ["the column 'a': + takes numbers", "`'b'` is text", "\n    ^"]),
        ("", ["the column 'a': expected a value"]),
        (
            {"operator": "sum", "of": "x", "where": "x >", "over": "1 day"},
            ["the column 'a': in 'where': expected a value"],
        ),
        ({"operator": "sum", "of": "x", "where": "x + 1", "over": "1 day"}, ["where takes a condition", "`x + 1`"]),
        ({"operator": "sum", "of": "x", "where": "is ok", "over": "1 day"}, ["'where'", "found `is`", "backticks"]),
        ({"operator": "sum", "of": "x", "where": "count() over 5 > 1", "over": "1 day"}, ["aggregates do not nest"]),
        ({"operator": "sum", "of": "x", "where": 5, "over": "1 day"}, ["the name of a boolean column", "not 5"]),
    ],
)
def test_an_error_names_the_column_and_the_place(column: Any, words: list[str]) -> None:
    for read in (sw.Sliding.from_dict, lambda written: sw.FeatureSet.from_dict({"cards": written})):
        with pytest.raises(sw.SlidewiseError) as caught:
            read(columns(a=column))
        for word in words:
            assert word in str(caught.value)


def test_users_operators_in_text(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "own_spreads", module)
    ratio = spread("x").over("1 day") / spread(c("x") + 1).where(c("x") > 0).over("1 day")
    definition = sw.Sliding(on="ts", ratio=ratio, plain=spread("x").over("1 day"))
    text = definition.to_dict()["columns"]["ratio"]
    assert ":spread`(x) over 1 day / `" in text
    again = sw.Sliding.from_toml(definition.to_toml())
    assert again == definition
    assert again.fingerprint() == definition.fingerprint()
    text = text.replace(text[1 : text.index(":")], "own_spreads")
    assert sw.Sliding.from_dict({"on": "ts", "columns": {"ratio": text}}).columns["ratio"].key() == ratio.key()


OWN_MODULE = "import slidewise as sw\ntop = sw.operator(name='top', identity=0, combine=max)\nLOADED = True\n"


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "own_tops.py").write_text(OWN_MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "own_tops"
    sys.modules.pop("own_tops", None)


def test_text_imports_nothing_that_is_not_allowed(own_module: str) -> None:
    written = columns(a=f"x - `{own_module}:top`(x) over 5", b={"operator": "count", "of": [], "over": 5})
    with pytest.raises(sw.SlidewiseError, match=r"'own_tops', which is not imported.*imports=.*own_tops"):
        sw.Sliding.from_dict(written)
    with pytest.raises(sw.SlidewiseError, match="not imported"):
        sw.Sliding.from_dict(written, imports=["other"])
    broken = {**written, "columns": {**written["columns"], "c": "x +"}}
    with pytest.raises(sw.SlidewiseError, match="the column 'c': expected a value"):
        sw.Sliding.from_dict(broken, imports=True)
    assert own_module not in sys.modules, "all else is checked first"
    read = sw.Sliding.from_dict(written, imports=[own_module])
    assert [aggregate.operator.name for aggregate in read.aggregates.values()] == ["top", "count"]
    with pytest.raises(sw.SlidewiseError, match=r"the column 'a': .*'own_tops:top' was made already"):
        sw.Sliding.from_dict(columns(a=f"x - `{own_module}:top`(p=1)(x) over 5"))
    with pytest.raises(sw.SlidewiseError, match="has no 'absent'"):
        sw.Sliding.from_dict(columns(a=f"x - `{own_module}:absent`(x) over 5"))


def test_a_parameter_without_a_text_is_refused() -> None:
    odd = replace(sw.max, parameters={"since": timedelta(1)})
    compared = c("x") == odd("x").over(5)
    assert str(compared) == "x == max(since=datetime.timedelta(days=1))(x) over 5"
    with pytest.raises(sw.SlidewiseError, match=r"'a': no text can hold the parameter since=.* of max \(timedelta\)"):
        sw.Sliding(on="ts", a=compared).to_dict()


JOB = GOOD.replace(
    """[definition.columns.peak]
operator = "max"
of = "temp"
over = "10 minutes"
""",
    """[definition.columns]
peak = { operator = "max", of = "temp", where = "temp > 5 and machine != 'm'", over = "10 minutes" }
z = "(temp - mean(temp) over 1 day) / stddev(temp) over 1 day"
""",
)


def read_text(folder: Path, text: str, **more: Any) -> Job:
    (folder / "events.txt").write_text("")
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml", **more)


def test_a_job_with_expressions(tmp_path: Path) -> None:
    job = read_text(tmp_path, JOB + '[run]\nparallel = "by_time"\n[clean]\nahead = "1 day"\n')
    day = (c("temp") - sw.mean("temp").over("1 day")) / sw.stddev("temp").over("1 day")
    peak = sw.max("temp").where((c("temp") > 5) & (c("machine") != "m")).over("10 minutes")
    assert job.definition == sw.Sliding(by="machine", on="ts", peak=peak, z=day)


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ("(temp - mean", "(tmp - mean", 19, ["column 'tmp' not found", "did you mean 'temp'"]),
        ("mean(temp)", "mean(tmp)", 19, ["column 'tmp' not found", "did you mean 'temp'"]),
        ("temp > 5", "tmp > 5", 18, ["column 'tmp' not found"]),
        ("stddev(temp) over 1 day", "stddev(temp)", 19, ["the column 'z': expected over", "at line 1, column 46", "^"]),
        ("stddev(temp)", "stdev(temp)", 19, ["'stdev'", "did you mean 'stddev'"]),
        ("temp > 5", "temp >> 5", 18, ["the column 'peak': in 'where': expected a value", "at line 1, column 7", "^"]),
        ("1 day) /", "1 dya) /", 19, ["unknown unit 'dya'", "at line 1"]),
        ("1 day) /", "5) /", 19, ["line 19"]),
        ("stddev(temp)", "`os:getcwd`(temp)", 19, ["'os:getcwd'", "no operator"]),
        ("stddev(temp)", "`job_tops:top`(temp)", 19, ["'job_tops', which is not imported", "--allow-imports"]),
    ],
)
def test_an_error_in_a_job_names_the_line(tmp_path: Path, before: str, after: str, line: int, words: list[str]) -> None:
    text = JOB.replace(before, after)
    if after == "5) /":
        text += '[clean]\nahead = "1 day"\n'
        line, words = text[: text.index("ahead")].count("\n") + 1, ["the times are numbers"]
    with pytest.raises(JobError) as caught:
        read_text(tmp_path, text)
    assert f"job.toml, line {line}: " in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_caret_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "events.txt").write_text("")
    (tmp_path / "job.toml").write_text(JOB.replace("1 day) /", "1 day) //// "))
    assert main(["run", str(tmp_path / "job.toml")]) == 1
    *_, shown, caret = capsys.readouterr().err.rstrip("\n").split("\n")
    assert shown[caret.index("^") :].startswith("//")


def test_a_job_with_users_operators_in_text(tmp_path: Path) -> None:
    (tmp_path / "job_tops.py").write_text(OWN_MODULE)
    text = JOB.replace("stddev(temp)", "`job_tops:top`(temp)")
    try:
        job = read_text(tmp_path, text, imports=True)
        assert [aggregate.operator.name for aggregate in job.definition.aggregates.values()] == ["max", "mean", "top"]
        with pytest.raises(JobError, match=r"line 19: 'job_tops:top' is in the module 'job_tops', and \[operators\]"):
            read_text(tmp_path, text + '[operators]\nmodules = ["other"]\n', imports=True)
    finally:
        sys.modules.pop("job_tops", None)


KINDS = {"temp": "double", "peak": "double", "cost": "double", "z": "double", "high": "boolean", "n": "bigint"}


def report_job(tmp_path: Path) -> Job:
    text = JOB + 'cost = "sum(temp * 2) where temp > 0 over 1 day"\nhigh = "temp > max(temp) over 1 day"\n'
    text = text.replace('[sink]\npath = "out"\n', "")
    return read_text(tmp_path, text + 'n = "count() over 1 day"\n[sink]\npath = "out"\n[report]\nsignals = ["temp"]\n')


def test_a_report_draws_expressions(tmp_path: Path) -> None:
    job = report_job(tmp_path)
    chosen = choose_panels(job, KINDS)
    titles = {panel.title: list(panel.columns) for panel in chosen.panels}
    assert titles == {
        "temp: max where temp > 5 and machine != 'm'": ["peak"],
        "z: (temp - mean(temp) over 1 day) / stddev(temp) over 1 day": ["z"],
        "temp * 2: sum where temp > 0": ["cost"],
        "rows: count": ["n"],
    }
    assert chosen.left_out == {"high": "no number"}
    assert [panel.signal for panel in chosen.panels] == ["temp", None, None, None]
    begin = datetime(2024, 1, 1)
    points = Points(chosen, [begin + timedelta(seconds=at) for at in range(POINTS)])
    points.span = points.shown = (points.times[0], points.times[-1])
    points.columns = {name: [float(at) for at in range(POINTS)] for name in (*KINDS, "temp low", "temp high")}
    assert draw(job, points).startswith(b"\x89PNG")


def test_the_table_of_columns_shows_expressions(tmp_path: Path) -> None:
    page = columns_table(report_job(tmp_path).definition)
    head = "<table><tr><th>column</th><th>expression</th><th>operator</th><th>of</th><th>where</th><th>window</th>"
    assert page.startswith(head)
    assert "<td>z</td><td>(temp - mean(temp) over 1 day) / stddev(temp) over 1 day</td>" in page
    assert "<td>cost</td><td></td><td>sum</td><td>temp * 2</td><td>temp &gt; 0</td><td>1 day</td>" in page
    alone: dict[str, Expression] = {"z": 2 * sw.mean("x").over("1 day")}
    assert "<th>operator</th>" not in columns_table(sw.Sliding(on="ts", columns=alone))
    plain = columns_table(sw.Sliding(on="ts", n=sw.count().over("1 day")))
    assert plain.startswith("<table><tr><th>column</th><th>operator</th><th>of</th><th>window</th>")


def test_labels_have_columns_of_their_own(tmp_path: Path) -> None:
    """What an expression reads of the row itself is the label's, and no line needs it."""
    text = JOB.replace("(temp - mean", "(asked - mean")
    with pytest.raises(JobError, match="line 19: column 'asked' not found"):
        read_text(tmp_path, text)
    (tmp_path / "labels").mkdir()
    labels = '[labels]\npath = "labels"\n'
    assert read_text(tmp_path, text + labels).definition.own == ("asked",)
    with pytest.raises(JobError, match="line 19: column 'tmp' not found"):
        read_text(tmp_path, text.replace("mean(temp)", "mean(tmp)") + labels)
