"""Which algorithm is chosen, case by case, and what `explain` says."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support import Counter

import slidewise as sw
from slidewise.choosing import DEFAULT, RULES
from slidewise.swag.interface import Swag
from slidewise.windows import Window

own = sw.operator(name="own", identity=0, combine=lambda a, b: a + b)
inverted = sw.operator(name="inverted", identity=0, combine=lambda a, b: a + b, inverse=lambda a, b: a - b)


@pytest.mark.parametrize(
    ("operator", "window", "said", "algorithm"),
    [
        (sw.max, None, {}, sw.DabaLite),
        (sw.max, Window.of("5s"), {}, sw.DabaLite),
        (sw.max, Window.of(rows=9), {"spikes": True}, sw.SlickDeque),
        (sw.first, Window.of(rows=9), {"spikes": True}, sw.SlickDeque),
        (sw.maxcount, None, {"spikes": True}, sw.DabaLite),
        (sw.sum, None, {}, sw.DabaLite),
        (sw.sum, None, {"integers": True}, sw.SubtractOnEvict),
        (sw.mean, None, {"integers": True}, sw.DabaLite),
        (sw.count, None, {}, sw.SubtractOnEvict),
        (sw.countmin, None, {}, sw.SubtractOnEvict),
        (own, None, {}, sw.DabaLite),
        (inverted, None, {}, sw.SubtractOnEvict),
        (sw.max, Window.of("all"), {}, None),
        (sw.count, Window.of("all"), {"spikes": True}, None),
        (sw.count, Window.of("all"), {"late": True, "gaps": "long"}, None),
        (sw.max, None, {"late": True}, sw.Fiba),
        (sw.count, None, {"late": True, "gaps": "long", "windows": 99, "spikes": True}, sw.Fiba),
        (sw.max, None, {"gaps": "long"}, sw.Amta),
        (sw.count, None, {"gaps": "long"}, sw.Amta),
        (sw.max, None, {"gaps": "long", "spikes": True}, sw.Amta),
        (own, Window.of("5s"), {"windows": 4, "spikes": True}, sw.FlatFit),
        (own, None, {"windows": 4, "spikes": True, "gaps": "long"}, sw.FlatFit),
        (own, Window.of(rows=9), {"windows": 4, "spikes": True}, sw.SlideSide),
        (own, Window.of(rows=9), {"windows": 4}, sw.DabaLite),
        (own, Window.of(rows=9), {"windows": 3, "spikes": True}, sw.DabaLite),
        (sw.max, None, {"windows": 7, "spikes": True}, sw.SlickDeque),
        (sw.max, None, {"windows": 8, "spikes": True}, sw.FlatFit),
        (sw.count, None, {"windows": 15, "spikes": True}, sw.SubtractOnEvict),
        (sw.count, None, {"windows": 16, "spikes": True}, sw.FlatFit),
        (sw.sum, None, {"windows": 4, "spikes": True}, sw.FlatFit),
        (sw.sum, None, {"windows": 4, "spikes": True, "integers": True}, sw.SubtractOnEvict),
    ],
)
def test_choices(operator: sw.Operator, window: Window | None, said: Any, algorithm: type[Swag] | None) -> None:
    choice = sw.choose(operator, window, **said)
    assert choice.algorithm is algorithm
    assert choice.why
    assert choice.calls
    if algorithm is not None:
        assert algorithm(operator).operator is operator  # the algorithm accepts it
        assert choice.name == algorithm.__name__


@pytest.mark.parametrize("operator", sw.operators.CATALOGUE, ids=lambda op: op.name)
@pytest.mark.parametrize("spikes", [False, True])
def test_what_is_chosen_serves_and_can_be_stored(operator: sw.Operator, spikes: bool) -> None:
    algorithm = sw.choose(operator, spikes=spikes).algorithm
    assert algorithm is not None
    window = algorithm(operator)
    assert window._dump() is not None


def test_choose_says_what_it_takes() -> None:
    with pytest.raises(sw.SlidewiseError, match=r"sw\.choose\(sw\.max\)"):
        sw.choose("max")  # type: ignore[arg-type]
    with pytest.raises(sw.SlidewiseError, match="gaps= is 'long' or None, not 'short'"):
        sw.choose(sw.max, gaps="short")
    for nonsense in (0, -1, 2.0, True):
        with pytest.raises(sw.SlidewiseError, match="windows= is how many windows there are, from 1 on"):
            sw.choose(sw.max, windows=nonsense)  # type: ignore[arg-type]


def test_every_rule_can_decide() -> None:
    """No rule stands behind one that always holds first, and every algorithm of the picture is reached."""
    reached = set()
    for operator, window, spikes, late, windows, gaps in itertools.product(
        (sw.max, sw.count, sw.median, own),
        (None, Window.of("all"), Window.of(rows=5)),
        (False, True),
        (False, True),
        (1, 16),
        (None, "long"),
    ):
        found = sw.choose(operator, window, spikes=spikes, late=late, windows=windows, gaps=gaps)
        reached.add(found)
    assert reached == {rule.choice for rule in RULES} | {DEFAULT}
    assert len({rule.question for rule in RULES}) == len(RULES)


def test_the_bounds_of_a_choice_are_those_that_are_counted() -> None:
    """What `choose` promises for a long gap, at phases of the cycle of DABA Lite that are its best and its worst.

    A row comes and 10,000 of 20,001 leave. The choice takes log n + 1 calls at most for the one and 2 log n for the
    others; DABA Lite one at most for each row that stays, and where the eviction ends in its back list, nearly as many.
    """
    chosen = sw.choose(sw.sum, gaps="long").algorithm
    assert chosen is not None
    counter = Counter(sw.sum)
    for algorithm, most in ((chosen, 16 + 2 * 15), (sw.DabaLite, 3 + 10_001)):
        calls = []
        for slid in (1, 3_000, 7_000, 9_999, 15_000):
            window = sw.Timed(algorithm(counter.operator), last=20_001)
            for t in range(20_001 + slid):
                window.insert(t, 1)
            before = counter.calls
            window.insert(20_001 + slid + 9_999, 1)
            calls.append(counter.calls - before)
            assert window.query() == 10_002
        assert max(calls) <= most
        assert algorithm is chosen or max(calls) > 7_000  # which is why


def test_the_picture_is_drawn_from_the_rules() -> None:
    docs = Path(__file__).parents[2] / "docs"
    draw = runpy.run_path(str(docs / "draw_choosing.py"))
    stored = (docs / "choosing.svg").read_text()
    assert draw["drawn"]() == stored, "the rules have changed: python docs/draw_choosing.py"
    root = ElementTree.fromstring(stored)
    words = " ".join("".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
    for rule in RULES:
        for part in (rule.question, rule.example, rule.choice.name):
            assert part in words
    assert DEFAULT.name in words


def test_explain_says_what_runs_why_and_what_it_costs() -> None:
    definition = sw.Sliding(
        by="k",
        on="ts",
        peak=sw.max("x").over("10 minutes"),
        n=sw.count().over(rows=100),
        total=sw.sum("x").over("all"),
        users=sw.hyperloglog(p=12)("user").over(rows=10),
        own=own("x").over(rows=10),
        list=sw.collect("x").over(rows=10),
    )
    explained = definition.explain()
    assert [one.name for one in explained] == list(definition.columns)
    by_name = {one.name: one for one in explained}
    assert by_name["peak"].state == "16 bytes for each row in the window"  # a float and a time
    assert by_name["n"].state == "at most 1.62 KB"  # 102 counts and 100 row numbers
    assert by_name["total"].state == "16 bytes"
    assert by_name["users"].state == "at most 49.2 KB"
    assert "the operator's own" in by_name["own"].state
    text = str(explained)
    for word in ("DabaLite", "SubtractOnEvict", "running state", "3 at most", "sw.max('x').over('10 minutes')"):
        assert word in text
    assert all(len(line) <= 150 for line in text.splitlines())


def test_explain_says_a_thing_once() -> None:
    """Twelve columns, of which nine have a suggestion."""
    columns = {
        f"{operator.name} {length}": operator("x").over(length)
        for operator in (sw.max, sw.mean, sw.stddev)
        for length in ("10 minutes", "1 hour", "6 hours", "1 day")
    }
    text = str(sw.Sliding(by="k", on="ts", columns=columns).explain())
    lines = text.splitlines()
    assert len(lines) <= 30
    assert len(lines) == len(set(lines)), "no line twice"
    assert "suggestion for max 1 hour, mean 1 hour, stddev 1 hour\n    more than a million rows of a key from" in text
    assert all(f"{name} = sw." in text for name in columns)


@pytest.mark.parametrize("operator", sw.operators.CATALOGUE, ids=lambda op: op.name)
def test_explain_knows_every_operator(operator: sw.Operator) -> None:
    operator = sw.quantile(0.9) if operator.unset else operator
    columns = ["x", "y"][: max(1, sum(not name.endswith("?") for name in operator.columns_named()))]
    for window in (Window.of(rows=5), Window.of("5s"), Window.of("all")):
        aggregate = operator(*columns).over(window.last or ("all" if window.rows is None else None), rows=window.rows)
        text = str(sw.Sliding(on="ts", a=aggregate).explain())
        assert "on tables" in text
