"""Random expressions of all kinds of nodes, aggregates and windows included."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

from hypothesis import strategies as st

import slidewise as sw
from slidewise.expressions.expression import Expression, call
from slidewise.expressions.writing import WORDS

ODD_NAMES = ["in", "NULL", "Case", "price in €", "a`b", "``", "'", "a.b", " ", "1", "x y", "größe", "_", "= x", "\n"]
ODD_NAMES += ["sum", "timestamp", "rows", "all", "closed", "x", *sorted(WORDS)]
names = st.sampled_from(["x", "y", "Amount", *ODD_NAMES]) | st.text(min_size=1, max_size=5)

whole = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
floats = st.floats() | st.sampled_from([0.0, -0.0, 1e300, 5e-324, float("nan"), float("inf"), float("-inf")])
texts = st.sampled_from(["", "'", "''", "DE", "a\nb", "`", "\\", "and", "€"]) | st.text(max_size=6)
zones = st.none() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(timezones=zones) | st.dates()


@st.composite
def windows(draw: st.DrawFn, grain: bool = True) -> dict[str, Any]:
    """The arguments of `over`."""
    kind = draw(st.sampled_from(["rows", "all", "duration", "whole", "float"]))
    window: dict[str, Any] = {}
    ends = ["right", "left"]
    if kind == "rows":
        window["rows"] = draw(st.integers(1, 10**6))
        least = st.integers(1, window["rows"])
    else:
        lengths = {
            "all": st.just("all"),
            "duration": st.timedeltas(timedelta(microseconds=1), timedelta(days=9_999)),
            "whole": st.integers(1, 10**30),
            "float": st.floats(1e-300, 1e300),
        }
        window["last"] = draw(lengths[kind])
        ends, least = ["right", "both", "left", "neither"], st.integers(1, 1_000)
        if kind != "all" and grain and draw(st.booleans()):
            window["grain"] = window["last"]
    if draw(st.booleans()):
        window["closed"] = draw(st.sampled_from(ends))
    if draw(st.booleans()):
        window["at_least"] = draw(least)
    return window


PLAIN = [
    sw.sum,
    sw.mean,
    sw.max,
    sw.stddev,
    sw.first,
    sw.count_distinct,
    sw.hyperloglog(p=9),
    sw.bloom(bits=64, probe=5),
]
PLAIN += [sw.bloom(probe="a'b"), sw.bloom(probe=b"\x00\xff"), sw.bloom(probe=-2.5), sw.quantile(0.9, approximate=0.01)]
EXACT = [sw.median, sw.quantile(0.25), sw.quantile(q=0.99, interpolation="nearest")]
PAIRS = [sw.argmax, sw.covariance]


@st.composite
def aggregates(draw: st.DrawFn) -> Expression:
    """An aggregate of columns or expressions, with or without a condition, over a window of any kind."""
    op = draw(st.sampled_from([sw.count, *PLAIN, *EXACT, *PAIRS]))
    argument = names | numbers(2, aggregated=False)
    arguments = [draw(argument) for _ in range(0 if op is sw.count else 2 if op in PAIRS else 1)]
    made = op(*arguments)
    if draw(st.booleans()):
        made = made.where(draw(names | conditions(2, aggregated=False)))
    return made.over(**draw(windows(grain=op not in EXACT)))  # type: ignore[no-any-return]


def leaves(constants: st.SearchStrategy[Any], aggregated: bool) -> st.SearchStrategy[Expression]:
    plain = constants.map(sw.lit) | names.map(sw.col)
    return plain | aggregates() if aggregated else plain


@st.composite
def numbers(draw: st.DrawFn, depth: int = 3, aggregated: bool = True) -> Expression:
    """An expression that is a number, or may be one."""
    kinds = ["leaf", "sign", "sign", "one", "round", "case", "coalesce", "text", "time", "cast", "difference"]
    kind = draw(st.sampled_from(kinds)) if depth else "leaf"
    inner = numbers(depth - 1, aggregated)
    if kind == "sign":
        return call(draw(st.sampled_from(["+", "-", "*", "/", "//", "%", "**"])), draw(inner), draw(inner))
    if kind == "one":
        functions = ["neg", "neg", "abs", "sqrt", "log", "exp", "floor", "ceil", "sign"]
        return call(draw(st.sampled_from(functions)), draw(inner))
    if kind == "round":
        return call("round", draw(inner), draw(st.integers(0, 15)))
    if kind == "case":
        count = draw(st.integers(1, 2))
        pairs = [draw(part) for _ in range(count) for part in (conditions(depth - 1, aggregated), inner)]
        return call("case", *pairs, draw(inner | st.none()))
    if kind == "coalesce":
        return call("coalesce", *draw(st.lists(inner, min_size=1, max_size=3)))
    if kind == "text":
        return call("length", draw(wordings(depth - 1, aggregated)))
    if kind == "time":
        zone = draw(st.sampled_from([[], ["Europe/Berlin"]]))
        return call(draw(st.sampled_from(["hour", "weekday", "day"])), draw(leaves(times, aggregated)), *zone)
    if kind == "cast":
        return call(draw(st.sampled_from(["int", "float"])), draw(wordings(depth - 1, aggregated) | inner))
    if kind == "difference":
        return call("-", draw(leaves(times, aggregated)), draw(leaves(times, aggregated)))
    return draw(leaves(whole | floats | st.none(), aggregated))


@st.composite
def wordings(draw: st.DrawFn, depth: int = 2, aggregated: bool = True) -> Expression:
    """An expression that is a text, or may be one."""
    kind = draw(st.sampled_from(["leaf", "lower", "cast"])) if depth else "leaf"
    if kind == "lower":
        return call(draw(st.sampled_from(["lower", "upper"])), draw(wordings(depth - 1, aggregated)))
    if kind == "cast":
        return call("text", draw(numbers(depth - 1, aggregated)))
    return draw(leaves(texts, aggregated))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3, aggregated: bool = True) -> Expression:
    """An expression that is true or false, or may be."""
    kinds = ["leaf", "both", "both", "not", "compare", "compare", "in", "between", "null", "text", "time"]
    kind = draw(st.sampled_from(kinds)) if depth else "leaf"
    inner, number = conditions(depth - 1, aggregated), numbers(depth - 1, aggregated)
    if kind == "both":
        return call(draw(st.sampled_from(["and", "or"])), draw(inner), draw(inner))
    if kind == "not":
        return call("not", draw(inner))
    if kind == "compare":
        return call(draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="])), draw(number), draw(number))
    if kind == "in":
        of, members = draw(st.sampled_from([(number, whole | floats), (wordings(depth - 1, aggregated), texts)]))
        return call("in", draw(of), *draw(st.lists(members, max_size=3)))
    if kind == "between":
        return call("between", draw(number), draw(number), draw(number))
    if kind == "null":
        return call("is null", draw(inner | number))
    if kind == "text":
        function = draw(st.sampled_from(["contains", "starts_with"]))
        return call(function, draw(wordings(depth - 1, aggregated)), draw(texts))
    if kind == "time":
        return call("<", draw(leaves(times, aggregated)), draw(leaves(times, aggregated)))
    return draw(leaves(st.booleans(), aggregated))


expressions = numbers() | conditions() | wordings() | aggregates()
