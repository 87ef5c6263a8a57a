"""Random tables, and random definitions over them, for hypothesis."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import slidewise as sw

NAN = float("nan")
SCHEMA = pa.schema(
    [
        *(("k", pa.string()), ("j", pa.float64()), ("t", pa.int64()), ("x", pa.float64()), ("i", pa.int64())),
        *(("s", pa.string()), ("ok", pa.bool_())),
    ]
)

# What `results` below read of the row itself, besides its time.
OWN_VALUES = {
    "x": st.sampled_from([None, NAN, 0.0, -0.0, 1.5, -2.0, 1e16, 0.1, float("inf")]),
    "i": st.sampled_from([None, -3, 0, 1, 2, 2**62]),
    "s": st.sampled_from([None, "", "a", "é"]),
}
row = st.fixed_dictionaries(
    {
        "k": st.sampled_from(["a", "b", None]),
        "j": st.sampled_from([0.0, -0.0, NAN, None]),
        "t": st.integers(0, 12),
        **OWN_VALUES,
        "ok": st.sampled_from([True, False, None]),
    }
)
rows = st.lists(row, max_size=25)

operators = st.sampled_from(
    [
        *(sw.max("x"), sw.min("i"), sw.max("s"), sw.mean("x"), sw.mean("i"), sw.sum("x"), sw.count(), sw.count("x")),
        *(sw.first("x"), sw.last("i"), sw.argmax("s", "x"), sw.argmin("x", "i"), sw.maxcount("x"), sw.mincount("s")),
        *(sw.m4("x"), sw.collect("i"), sw.collect("s"), sw.count_distinct("x"), sw.hyperloglog(p=4)("i")),
        *(sw.value_range("x"), sw.bool_or("ok"), sw.bloom(bits=32, hashes=2, probe="a")("s")),
        *(sw.rank("x"), sw.percent_rank("i")),
    ]
)


c = sw.col
# Arguments and conditions that are computed, and columns over an aggregate `n` of numbers; none of them overflows.
computed = st.sampled_from(
    [
        *(sw.max(c("x") * 0.5), sw.mean(c("x") - 1), sw.sum(c("x").abs()), sw.count(c("s").upper())),
        *(sw.first(sw.coalesce(c("s"), "-")), sw.last(c("i") // 2), sw.collect(c("i") % 3), sw.bool_or(c("x") > 1)),
    ]
)
conditions = st.sampled_from(
    [c("x") > 0, (c("s") == "a") | ~c("ok"), c("i").between(0, 2), c("x").is_null(), c("s").is_in(["", "é"]) & c("ok")]
)
numbers = st.sampled_from([sw.count(), sw.mean("x"), sw.max("x"), sw.max(c("x") + 0.5), sw.count("s")])


def results(n: Any) -> list[Any]:
    """Columns that are more than an aggregate."""
    return [
        *(n / 2, c("x") - n, n > c("x"), sw.when(n > 1).then(c("s")).otherwise("few"), sw.coalesce(n, -1.5)),
        *(c("i").cast("float") / n, n.is_null() | (c("t") > 3), (n * n).sqrt().floor(), c("t") - n, n.cast("text")),
    ]


_WITH_GRAIN = ("max", "mean", "count", "collect", "argmax", "hyperloglog")  # the others would take long to compile


@st.composite
def aggregates(draw: st.DrawFn, timed: bool, of: Any = None) -> Any:
    aggregate = draw(operators | computed if of is None else of)
    if draw(st.booleans()):
        aggregate = aggregate.where(draw(st.just("ok") | conditions))
    least = draw(st.sampled_from([None, None, 1, 2]))
    anew_kinds = ["since", "gap"] if timed else ["since"]
    if aggregate.operator.traits.own_value is not None:  # such windows do not know it
        anew_kinds = []
    kind = draw(st.sampled_from(["rows", "all", "time", *anew_kinds] if timed else ["rows", "all", *anew_kinds]))
    if kind == "rows":
        n = draw(st.integers(max(1, least or 1), 5))
        return aggregate.over(rows=n, closed=draw(st.sampled_from(["right", "left"])), at_least=least)
    if kind in ("since", "gap"):
        anew = (
            {"since": draw(st.just("ok") | conditions)} if kind == "since" else {"gap": draw(st.sampled_from([1, 2.5]))}
        )
        return aggregate.over(**anew, closed=draw(st.sampled_from(["right", "left"])), at_least=least)
    closed = draw(st.sampled_from(["right", "both", "left", "neither"] if timed else ["right", "left"]))
    if kind == "all":
        return aggregate.over("all", closed=closed, at_least=least)
    last = draw(st.sampled_from([1, 3, 2.5, 100]))
    grain = draw(st.sampled_from([None, 0.75, 1, last]))
    if aggregate.operator.name not in _WITH_GRAIN:
        grain = None
    return aggregate.over(last, closed=closed, at_least=least, grain=grain)


@st.composite
def expressions(draw: st.DrawFn, timed: bool) -> Any:
    n = draw(aggregates(timed, numbers))
    return draw(st.sampled_from(results(n)))


@st.composite
def definitions(draw: st.DrawFn) -> sw.Sliding:
    timed = draw(st.integers(0, 4)) > 0
    columns = {f"c{i}": draw(aggregates(timed) | expressions(timed)) for i in range(draw(st.integers(1, 4)))}
    return sw.Sliding(
        by=draw(st.sampled_from([(), ("k",), ("k", "j")])),
        on="t" if timed else None,
        ties=draw(st.sampled_from([(), ("i",), ("s", "x")])),
        columns=columns,
    )
