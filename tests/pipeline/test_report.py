"""The report without Spark: which panels are chosen, how points become lines, and what the page says."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

import pytest

import slidewise as sw
from slidewise.cli import ROWS_LOST, main
from slidewise.pipeline.job.job import Job
from slidewise.pipeline.report.page import html_of
from slidewise.pipeline.report.panels import MOST, choose_panels
from slidewise.pipeline.report.picture import broken, draw, in_grid
from slidewise.pipeline.report.points import POINTS, Points
from slidewise.pipeline.run import STAGES, Summary

DEFINITION = sw.Sliding(
    on="ts",
    n=sw.count().over("1 hour"),
    bots=sw.count().where("bot").over("1 hour"),
    peak=sw.max("x").over("1 hour"),
    usual=sw.mean("x").over("10 minutes"),
    low=sw.min("y").over("10 minutes"),
    change=sw.relative_variation("x").over("1 hour"),
    names=sw.collect("name").over(rows=3),
    top=sw.quantile(0.99, approximate=0.01)("x").over("1 hour", at_least=5, grain="1 minute"),
)
NUMBERS = {**dict.fromkeys(DEFINITION.columns, "double"), "x": "double", "y": "int", "names": "array<string>"}


def job(**more: Any) -> Job:
    return Job(DEFINITION, ("events.json",), "out", "json", **more)


def test_every_aggregate_that_is_a_number_has_a_panel() -> None:
    chosen = choose_panels(job(), NUMBERS)
    assert [panel.title for panel in chosen.panels] == [
        "rows: count",
        "rows: count where bot",
        "x: max, mean, quantile",
        "y: min",
        "x: relative_variation",
    ]
    assert chosen.note == "Not drawn: names (no number)."
    assert [panel.signal for panel in chosen.panels] == [None, None, "x", "y", None]
    first = choose_panels(job(signals=("y",)), NUMBERS).panels[0]
    assert first.title == "y: min"
    beats = choose_panels(job(), {name: kind for name, kind in NUMBERS.items() if name in DEFINITION.columns})
    assert {panel.signal for panel in beats.panels} == {None}, "beats and labels come without the rows' columns"
    assert [column for panel in beats.panels for column in panel.columns] == [*[*NUMBERS][:6], "top"]


def test_panels_are_a_dozen_at_most_and_the_rest_is_named() -> None:
    columns = {f"c{at}": sw.sum(f"x{at}").over("1h") for at in range(15)}
    chosen = choose_panels(Job(sw.Sliding(on="ts", columns=columns), (), ""), dict.fromkeys(columns, "bigint"))
    assert len(chosen.panels) == MOST
    assert chosen.note == "Not drawn: c12, c13, c14 (beyond the first 12 panels)."
    grid = in_grid(list(chosen.panels)[:11])
    assert [len(row) for row in grid] == [3, 3, 3, 3]
    assert grid[-1][-1] is None
    pairs = {f"{name} of {column}": operator(column).over("1h") for column in "abc" for name, operator in OPERATORS}
    grid = in_grid(
        list(choose_panels(Job(sw.Sliding(on="ts", columns=pairs), (), ""), dict.fromkeys(pairs, "int")).panels)
    )
    assert [[panel.title for panel in row if panel] for row in grid] == [
        ["a: sum", "b: sum", "c: sum"],
        ["a: stddev", "b: stddev", "c: stddev"],
    ]


OPERATORS = (("sum", sw.sum), ("stddev", sw.stddev))


def points(values: dict[int, float], of: Job) -> Points:
    begin = datetime(2024, 3, 1)
    found = Points(choose_panels(of, NUMBERS), [begin + timedelta(seconds=at) for at in range(POINTS)])
    found.span, found.shown, found.outside = (begin, begin.replace(year=2031)), (begin, found.times[-1]), 20
    names = [name for panel in found.chosen.panels for name in panel.columns]
    found.columns = {name: [values.get(at) for at in range(POINTS)] for name in (*names, "x low", "x high")}
    return found


def test_few_points_are_one_line_and_silences_break_it() -> None:
    few = points(dict.fromkeys([0, 20, 41, 60, 83, 700, 720], 1.0), job())
    times, values = broken(few, "peak")
    assert [math.isnan(value) for value in values] == [False] * 5 + [True] + [False] * 2
    assert times[0] == few.times[0]
    assert broken(points({}, job()), "peak") == ([], [])


def test_the_page_says_what_is_shown_and_what_is_not() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    of = job(threshold=0.5)
    shown = points({at: math.sin(at / 50) for at in range(POINTS)}, of)
    picture = draw(of, shown)
    assert picture.startswith(b"\x89PNG")
    assert draw(of, Points(choose_panels(of, {}))).startswith(b"\x89PNG"), "nothing to draw"
    done = Summary(100, {}, 10, False, 80, dict.fromkeys(STAGES, 1.0), ahead=10, warning="20 of 100 rows are lost")
    page = html_of(of, done, shown, picture)
    assert '<p class="warning">20 of 100 rows are lost</p>' in page
    assert '<td>too far ahead, put aside</td><td class="n">10</td>' in page
    assert "Not drawn: names (no number)." in page
    assert (
        "20 rows that lie far from all others, up to 2024-03-01 00:00:00 and 2031-03-01 00:00:00, are not drawn" in page
    )
    assert "<th>where</th><th>window</th><th>closed</th><th>at least</th><th>grain</th>" in page
    assert "<td>bots</td><td>count</td><td></td><td>bot</td><td>1 hour</td>" in page
    assert "<td>quantile(q=0.99, " in page


def test_rows_that_are_lost_have_an_exit_status_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for warning, status in (("", 0), ("lost", ROWS_LOST)):
        done = Summary(warning=warning)
        monkeypatch.setattr("slidewise.pipeline.commands.run_file", lambda *_arguments, done=done: done)
        assert main(["run", "job.toml"]) == status
