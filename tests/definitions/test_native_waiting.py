"""Events that wait where windows lie in arrays: the answers of panes, whatever the rows, and nothing is lost."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.live.native import plan
from slidewise.operators.values.equality import same

PLAIN = sw.Sliding(by="k", on="t", peak=sw.max("x").over(20), mean=sw.mean("x").over(20), n=sw.count().over(rows=3))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let windows lie in arrays from the first event on that may."""
    monkeypatch.setattr(plan, "FROM_EVENTS", 1)
    monkeypatch.setattr(plan, "IN_BACKGROUND", False)


def both(definition: sw.Sliding, late: str = "wait:5", **options: Any) -> tuple[Any, Any]:
    """A live definition whose windows lie in arrays, and one whose windows lie in panes."""
    live, expected = definition.live(late=late, **options), definition.live(late=late, **options)
    expected.opening = None
    return live, expected


def shuffled(seed: int, count: int, disorder: int = 4, keys: int = 3) -> list[dict[str, Any]]:
    choose = random.Random(seed)
    rows = [{"k": choose.randrange(keys), "t": i // 2, "x": choose.random(), "id": f"row {i}"} for i in range(count)]
    return sorted(rows, key=lambda row: row["t"] + choose.randrange(disorder + 1))


def rows_of(result: Any) -> list[dict[str, Any]]:
    return result.to_pylist() if isinstance(result, pa.Table) else list(result)


def is_native(live: Any, misfits: int = 0) -> bool:
    return live.native is not None and live.native.misfits == misfits


@pytest.mark.parametrize("kind", ["floats", "naive", "zoned", "ns"])
def test_times_of_every_kind(kind: str) -> None:
    length: Any = 2.5 if kind == "floats" else timedelta(seconds=3)
    late = "wait:1.5" if kind == "floats" else "wait:1500ms"
    health = sw.Sliding(
        by="k", on="t", mean=sw.mean("x").over(length), n=sw.count("x").over(length), m=sw.max("x").over(rows=2)
    )
    start = datetime(2024, 3, 1, tzinfo=UTC if kind == "zoned" else None)
    choose = random.Random(5)
    rows = []
    for i in range(600):
        at = (i // 3) * 0.5 + (3.0 if choose.random() < 0.004 else choose.choice([0.0, 0.0, 0.5, 1.5]))
        rows.append(
            {
                "k": choose.choice("abc"),
                "t": at if kind == "floats" else start + timedelta(seconds=at),
                "x": choose.random(),
            }
        )
    table = pa.Table.from_pylist(rows)
    if kind == "ns":
        table = table.set_column(1, "t", table.column("t").cast(pa.timestamp("ns")))
    live, expected = both(health, late)
    for at in range(0, 600, 50):
        part = table.slice(at, 40)
        assert live.push_many(part).equals(expected.push_many(part))
        for row in rows[at + 40 : at + 50]:
            assert same(list(live.push(row)), list(expected.push(row)))
    assert same(live.flush(), expected.flush())
    assert is_native(live)
    assert live.stats == expected.stats
    assert live.stats.late > 0


@pytest.mark.parametrize("made", [pd.DataFrame, pa.Table.from_pylist])
def test_tables_and_events_in_turns(made: Any) -> None:
    live, expected = both(PLAIN)
    rows = shuffled(1, 900)
    choose = random.Random(2)
    at = 0
    while at < len(rows):
        part = rows[at : at + choose.randrange(1, 60)]
        at += len(part)
        if choose.random() < 0.5:
            mine, theirs = (one.push_many(made(part)) for one in (live, expected))
            assert type(mine) is type(theirs)
            assert same(as_rows(mine), as_rows(theirs))
        else:
            for row in part:
                assert same(list(live.push(row)), list(expected.push(row)))
        if choose.random() < 0.1:
            assert live.snapshot() == live.snapshot()
            live = PLAIN.restore(live.snapshot())
        assert live.stats == expected.stats
    assert same(live.flush(), expected.flush())
    assert is_native(live)


def as_rows(table: Any) -> list[dict[str, Any]]:
    return table.to_pylist() if isinstance(table, pa.Table) else table.to_dict("records")


def test_peers_see_one_another_in_the_order_of_the_definition() -> None:
    health = sw.Sliding(
        by="k",
        on="t",
        ties="rank",
        total=sw.sum("x").over(5),
        first=sw.max("x").over(rows=2),
        everything=sw.sum("x").over("all"),
    )
    choose = random.Random(4)
    rows = [
        {"rank": choose.randrange(9), "k": choose.randrange(2), "t": i // 12, "x": choose.random()} for i in range(600)
    ]
    live, expected = both(health, "wait:2")
    for at in range(0, 600, 30):
        part = pa.Table.from_pylist(rows[at : at + 24])
        assert same(rows_of(live.push_many(part)), rows_of(expected.push_many(part)))
        for row in rows[at + 24 : at + 30]:
            assert same(list(live.push(row)), list(expected.push(row)))
    assert same(live.flush(), expected.flush())
    assert is_native(live)
    table = pa.Table.from_pylist(rows)
    answers = health(table).to_pylist()
    live = health.live(late="wait:2")
    live.push(rows[0] | {"t": -1000})
    got = rows_of(live.push_many(table)) + live.flush()
    shown = [(row["k"], row["t"], row["rank"], row["x"], row["total"]) for row in got if row["t"] >= 0]
    assert sorted(shown) == sorted((r["k"], r["t"], r["rank"], r["x"], r["total"]) for r in answers)


def test_expressions_several_keys_nulls_and_conditions() -> None:
    health = sw.Sliding(
        by=["k", "place"],
        on="t",
        peak=sw.max(sw.col("x") * 2).over(20),
        share=sw.sum("x").where("ok").over(20) / sw.sum("x").over(20),
    )
    choose = random.Random(6)
    rows = []
    for i in range(400):
        x = choose.choice([None, choose.random(), 3.0])
        rows.append(
            {
                "k": choose.choice(["a", None, "b"]),
                "place": choose.randrange(2),
                "t": i // 2,
                "x": x,
                "ok": choose.choice([True, False, None]),
            }
        )
    rows[0] |= {"k": "a", "x": 1.0, "ok": True}
    live, expected = both(health)
    schema = pa.schema(
        [("k", pa.string()), ("place", pa.int64()), ("t", pa.int64()), ("x", pa.float64()), ("ok", pa.bool_())]
    )
    for at in range(0, 400, 40):
        part = pa.Table.from_pylist(rows[at : at + 30], schema)
        assert same(rows_of(live.push_many(part)), rows_of(expected.push_many(part)))
        for row in rows[at + 30 : at + 40]:
            assert same(list(live.push(row)), list(expected.push(row)))
    assert same(live.flush(), expected.flush())
    assert is_native(live)


def test_rows_wait_in_copies() -> None:
    times, values = np.arange(100), np.ones(100)
    live = PLAIN.live(late="wait:1000")
    live.push({"k": 1, "t": 0, "x": 1.0})
    live.push_many(pa.table({"k": np.ones(100, np.int64), "t": times, "x": values}))
    assert is_native(live)
    values[:] = times[:] = 7
    answers = live.flush()
    assert [row["t"] for row in answers] == [0, *range(100)]
    assert {row["peak"] for row in answers} == {1.0}


def test_an_operator_that_refuses_a_row_when_it_is_due_leaves_the_others_waiting() -> None:
    health = sw.Sliding(by="k", on="t", total=sw.sum("i").over(100))
    live, expected = both(health)
    for one in (live, expected):
        one.push({"k": 0, "t": 0, "i": 1})
        one.push_many(pa.table({"k": [1, 1, 2, 1], "t": [1, 2, 3, 4], "i": [2**62, 2**62, 5, -(2**62)]}))
        assert one.stats.waiting == 5
        with pytest.raises(sw.SlidewiseError, match="does not fit") as error:
            one.push({"k": 2, "t": 20, "i": 1})
        assert "left out" in error.value.__notes__[-1]
        assert one.stats == (6, 2, 0, 3, 1, 2, 0)
    assert same(live.flush(), expected.flush())


def test_waiting_tables_of_another_schema_and_events_beside_them() -> None:
    live, expected = both(PLAIN)
    wide = [{"k": 1, "t": t, "x": 1.0, "note": "n"} for t in range(0, 10, 2)]
    for one in (live, expected):
        one.push({"k": 1, "t": 0, "x": 2.0, "note": None})
    steps: list[Any] = [
        pa.Table.from_pylist(wide),
        pa.table({"k": [1, 2], "t": [9, 11], "x": [4.0, 5.0]}),
        {"k": 1, "t": 12, "x": 6.0, "other": [1]},
        pa.table({"k": [1.0, 2.0], "t": [13, 30], "x": [4.0, 5.0]}),
        pa.table({"k": [1, 2], "t": [31, 60], "x": [4.0, 5.0]}),
    ]
    for step in steps:
        run = [one.push if isinstance(step, dict) else one.push_many for one in (live, expected)]
        mine, theirs = (rows_of(call(step)) for call in run)
        assert same([strip(row) for row in mine], [strip(row) for row in theirs])
        assert live.stats == expected.stats
    assert same([strip(row) for row in live.flush()], [strip(row) for row in expected.flush()])


def strip(row: dict[str, Any]) -> dict[str, Any]:
    """A row without columns that have no value, which tables of several schemas fill up with null."""
    return {name: value for name, value in row.items() if value is not None}


def test_a_callback_gets_the_answers() -> None:
    got: list[list[dict[str, Any]]] = [[], []]
    for answers, native in zip(got, (True, False), strict=True):
        live = PLAIN.live(late="wait:5", answered=answers.append)
        if not native:
            live.opening = None
        for at in range(0, 200, 40):
            rows = shuffled(3, 200)[at : at + 40]
            live.push_many(pa.Table.from_pylist(rows[:20]))
            for row in rows[20:]:
                assert not live.push(row)
        assert is_native(live) is native
        live.flush()
    assert same(*got)
    assert len(got[0]) == 200


def test_columns_that_are_refused_are_refused_at_once() -> None:
    live, expected = both(PLAIN)
    for one in (live, expected):
        one.push({"k": 1, "t": 0, "x": 1.0})
        one.push({"k": 1, "t": 1, "x": 1.0})
        before = one.stats
        for row in (
            {"k": 1, "t": 2},
            {"k": 1, "t": 2, "x": "much"},
            {"k": 1, "t": 2, "x": 1.0, "peak": 3},
            {"t": 2, "x": 1.0},
        ):
            with pytest.raises(sw.SlidewiseError):
                one.push(row)
        with pytest.raises(sw.SlidewiseError):
            one.push_many(pa.table({"k": [1], "t": [2], "x": ["much"]}))
        with pytest.raises(sw.SlidewiseError, match="null"):
            one.push_many(pa.table({"k": [1, 1], "t": [2, None], "x": [1.0, 2.0]}))
        assert one.stats == before
    assert same(live.flush(), expected.flush())
