"""Windows of time that hold so many rows at most: what is written, refused, read back, and answered at other times."""

from __future__ import annotations

import random

import point_in_time
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.errors import SlidewiseError, WindowError
from slidewise.windows import Window


def definition(closed: str = "right") -> sw.Sliding:
    return sw.Sliding(
        by="k",
        on="t",
        ties="x",
        some=sw.collect("x").where("ok").over(6, rows=3, closed=closed),
        middle=sw.median("x").over(9, rows=4, closed=closed),
        share=sw.sum("x").over(5, rows=2, closed=closed) / sw.count().over(5, rows=2, closed=closed),
    )


def test_both_are_written_and_read_back() -> None:
    window = Window.of("1 hour", rows=100, closed="both", at_least=2)
    assert repr(window) == "over('1 hour', rows=100, closed='both', at_least=2)"
    assert window.described() == [100, "3600000000000 ns", "both", 2]
    assert Window.of(last="1 hour", rows=100) == Window.of("1 hour", rows=100)
    one = definition("left")
    again = sw.Sliding.from_toml(one.to_toml())
    assert again.to_dict() == one.to_dict()
    assert "3 rows" not in str(one.columns["some"])
    assert str(sw.count().over("1 hour", rows=100)) == "count() over 1 hour rows 100"
    assert sw.choose(sw.count().over("1 hour", rows=100)).name == "SubtractOnEvict"


@pytest.mark.rule(21)
def test_what_cannot_count_rows_is_refused() -> None:
    with pytest.raises(WindowError, match="two windows"):
        Window.of("all", rows=3)
    with pytest.raises(WindowError, match="do not go together"):
        Window.of("1 hour", rows=3, grain="1s")
    with pytest.raises(WindowError, match="can never be met"):
        Window.of("1 hour", rows=3, at_least=4)
    with pytest.raises(SlidewiseError, match="counted one by one"):
        sw.Sliding(on="ts", every="1 minute", n=sw.count().over("1 hour", rows=3))


@pytest.mark.rule(21)
@pytest.mark.parametrize("closed", ["right", "both", "left", "neither"])
def test_answers_at_other_times(closed: str) -> None:
    choose = random.Random(3)
    rows = [
        {"k": choose.choice("ab"), "t": t, "x": choose.choice([None, 1, 2, 3]), "ok": choose.choice([True, False])}
        for t in sorted(choose.choices(range(30), k=50))
    ]
    rows.sort(key=lambda row: (row["t"], row["x"] or 0, row["ok"]))  # as the definition puts peers in order
    one, events = definition(closed), pa.Table.from_pylist(rows)
    labels = pa.table({"k": ["a", "b", "c"] * 13, "t": list(range(39))})
    expected = point_in_time.judge_table(one, labels, events)
    queries = list(zip(labels["k"].to_pylist(), labels["t"].to_pylist(), strict=True))
    point_in_time.assert_answers(one, one.as_of(labels, events).to_pylist(), expected, queries)
    late = labels.slice(30)
    for batched in (False, True):
        live = one.live()
        if batched:
            live.push_many(events)
        else:
            for row in rows:
                live.push(row)
        live = one.restore(live.snapshot())
        singly = [live.get({"k": key}, at=t) for key, t in queries[30:]]
        point_in_time.assert_answers(one, singly, expected[30:], queries[30:])
        point_in_time.assert_answers(one, live.get_many(late).to_pylist(), expected[30:], queries[30:])


def test_explain_says_what_a_stream_reads() -> None:
    definition = sw.Sliding(by="k", on="ts", m=sw.max("x").over("1 hour", rows=100))
    assert "a batch reads its keys' whole windows, since rows are counted" in str(definition.explain())
