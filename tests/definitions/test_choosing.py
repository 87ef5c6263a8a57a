"""Which algorithm is chosen, case by case, and what `explain` says."""

from __future__ import annotations

from typing import Any

import pytest

import slidewise as sw
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


def test_choose_takes_an_operator() -> None:
    with pytest.raises(sw.SlidewiseError, match=r"sw\.choose\(sw\.max\)"):
        sw.choose("max")  # type: ignore[arg-type]


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


@pytest.mark.parametrize("operator", sw.operators.CATALOGUE, ids=lambda op: op.name)
def test_explain_knows_every_operator(operator: sw.Operator) -> None:
    columns = ["x", "y"][: max(1, int(operator.arity()[0]))]
    for window in (Window.of(rows=5), Window.of("5s"), Window.of("all")):
        aggregate = operator(*columns).over(window.last or ("all" if window.rows is None else None), rows=window.rows)
        text = str(sw.Sliding(on="ts", a=aggregate).explain())
        assert "on tables" in text
