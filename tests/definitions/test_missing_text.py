"""NaN in a column of text is null in every lane, also before its first text; in a column of numbers it is a value."""

from __future__ import annotations

import math
import random
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import slidewise as sw

NAN = float("nan")
COLUMNS = {
    "n": sw.count("s").over(6),
    "top": sw.max("s").over(6, closed="both"),
    "all": sw.collect("s").over(rows=4),
    "before": sw.count("s").over(6, closed="left"),
    "so_far": sw.count("s").over("all"),
    "cells": sw.last("s").over(6, grain=3),
    "which": sw.argmax("x", "s").over(8),
    "sum": sw.sum("x").over(6),
}


def events(seed: int, count: int, leading: int, texts: Any = "abc") -> list[dict[str, Any]]:
    """Events whose column s is missing in the first ones, as NaN or None."""
    choose = random.Random(seed)
    found, t = [], 0
    for i in range(count):
        t += choose.choice((0, 1, 1, 2))
        text = choose.choice((NAN, None)) if i < leading or choose.random() < 0.4 else choose.choice(texts)
        key = choose.choice(("a", "b", NAN if seed % 2 else None))
        found.append({"id": i, "k": key, "t": t, "s": text, "x": i})
    return found


def expected(definition: sw.Sliding, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    plain = [{name: None if value != value else value for name, value in row.items()} for row in rows]
    return definition(pa.Table.from_pylist(plain)).to_pylist()


def first_text(rows: list[dict[str, Any]]) -> int:
    return next(i for i, row in enumerate(rows) if isinstance(row["s"], str) and isinstance(row["k"], str))


def answers(rows: list[dict[str, Any]], names: Any) -> list[dict[str, Any]]:
    return [{"id": row["id"], **{name: row[name] for name in names}} for row in rows]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", ["push", "push_many", "both", "stored"])
def test_waiting_and_revised_events_have_the_answers_of_the_table(seed: int, way: str) -> None:
    rows = events(seed, 60, leading=5)
    definition = sw.Sliding(by="k", on="t", ties="id", columns=COLUMNS)
    table = answers(expected(definition, rows), COLUMNS)
    for options in ({"late": "wait:0"}, {"late": "revise", "retain": "all"}):
        live = definition.live(**options)
        seen: dict[int, dict[str, Any]] = {}
        for start in range(0, 60, 6):
            part = rows[start : start + 6]
            if way == "push_many" or (way == "both" and start % 12):
                given = live.push_many(pd.DataFrame(part).astype({"s": object, "k": object})).to_dict("records")
            else:
                given = [row for event in part for row in live.push(event)]
            if way == "stored":
                live = definition.restore(live.snapshot())
            seen |= {row["id"]: row for row in given}
        if live.buffer is not None:
            seen |= {row["id"]: row for row in live.flush()}
        found = [{name: None if value is pd.NA else value for name, value in seen[i].items()} for i in range(60)]
        late = first_text(rows) if options["late"] != "revise" else 0
        for one, other in zip(answers(found, COLUMNS)[late:], table[late:], strict=True):
            assert {name: _null(value) for name, value in one.items()} == other


def _null(value: Any) -> Any:
    """What pandas gives for a null."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


@pytest.mark.parametrize("seed", range(4))
def test_after_the_first_text_no_answer_depends_on_what_came_before(seed: int) -> None:
    rows = events(seed, 50, leading=7)
    rows = [row | {"t": i} for i, row in enumerate(rows)]
    definition = sw.Sliding(by="k", on="t", columns=COLUMNS)
    table = answers(expected(definition, rows), COLUMNS)
    live = definition.live()
    found = [{"id": row["id"], **live.push(row)} for row in rows]
    assert found[first_text(rows) :] == table[first_text(rows) :]
    assert found[:7] != table[:7], "until then NaN is a value"
    shared = sw.Sliding(on="t", columns={f"n{n}": sw.max("s").over(n) for n in range(2, 12)})
    live = shared.live(spikes=True)
    found = [{"id": row["id"], **live.push(row)} for row in rows]
    first = next(i for i, row in enumerate(rows) if isinstance(row["s"], str))
    assert found[first:] == answers(expected(shared, rows), shared.columns)[first:]


@pytest.mark.parametrize("late", ["error", "wait:2"])
@pytest.mark.parametrize("batches", [False, True])
def test_beats(late: str, batches: bool) -> None:
    rows = [row | {"k": "a", "t": 1 + i} for i, row in enumerate(events(3, 40, leading=3))]
    columns = {name: COLUMNS[name] for name in ("n", "top", "which", "sum")}
    definition = sw.Sliding(by="k", on="t", every=20, columns=columns)
    live = definition.live(late=late)
    found: list[dict[str, Any]] = []
    for start in range(0, 40, 5):
        part = rows[start : start + 5]
        if batches:
            table = pa.Table.from_pandas(pd.DataFrame(part).astype({"s": object}))
            found += live.push_many(table).to_pylist()
        else:
            found += [row for event in part for row in live.push(event)]
    found += live.advance(to=100)
    assert found == expected(definition, rows)


def test_a_refused_event_says_nothing_of_its_columns() -> None:
    definition = sw.Sliding(on="t", top=sw.max("s").over(9), sum=sw.sum("x").over(9))
    live = definition.live()
    live.push({"t": 0, "s": NAN, "x": 1})
    before = live.snapshot()
    with pytest.raises(sw.InputError, match="sum takes numbers"):
        live.push({"t": 1, "s": "text", "x": "text"})
    assert live.snapshot() == before
    found = live.push({"t": 2, "s": 4.0, "x": 2})
    assert math.isnan(found["top"]), "it is a column of numbers"
    with pytest.raises(sw.SlidewiseError):
        live.push({"t": 3, "s": "text", "x": 3})
    again = definition.restore(live.snapshot())
    assert again.push({"t": 3, "s": 1.0, "x": 3})["sum"] == live.push({"t": 3, "s": 1.0, "x": 3})["sum"] == 6


@pytest.mark.rule(6)
def test_numbers_keep_their_nans() -> None:
    rows = [{"t": i, "x": x} for i, x in enumerate([NAN, None, NAN, 1.0, NAN, 2, None])]
    definition = sw.Sliding(on="t", n=sw.count("x").over("all"), top=sw.max("x").over(3))
    live = definition.live()
    found = [live.push(row) for row in rows]
    table = definition(pa.table({"t": range(7), "x": pa.array([row["x"] for row in rows], pa.float64())}))
    assert str(found) == str([{name: row[name] for name in ("n", "top")} for row in table.to_pylist()])


@pytest.mark.rule(6)
@pytest.mark.parametrize("value", ["text", b"bytes", date(2024, 3, 1), True])
def test_a_nan_among_anything_but_numbers_is_missing(value: Any) -> None:
    definition = sw.Sliding(on="t", n=sw.count("x").over(9), last=sw.last("x").over(9))
    live = definition.live()
    found = [live.push({"t": i, "x": x}) for i, x in enumerate([NAN, value, NAN])]
    assert found[1:] == [{"n": 1, "last": value}] * 2
    array = np.array([NAN, value, NAN, None], object)
    assert sw.rolling(array, sw.count, rows=4).tolist() == [0, 1, 1, 1]
    assert sw.rolling(pd.Series(array), sw.count, rows=4).tolist() == [0, 1, 1, 1]
    frame = pd.DataFrame({"t": range(4), "x": array})
    if isinstance(value, str):
        assert definition(frame)["n"].tolist() == [0, 1, 1, 1]


def test_numbers_as_objects_keep_their_nans() -> None:
    assert sw.rolling(np.array([NAN, 1.0, NAN], object), sw.count, rows=4).tolist() == [1, 2, 3]


@pytest.mark.rule(13)
def test_a_missing_flag_is_not_true() -> None:
    definition = sw.Sliding(on="t", n=sw.count().where("ok").over(9))
    live = definition.live()
    assert [live.push({"t": i, "ok": ok})["n"] for i, ok in enumerate([NAN, True, NAN, False])] == [0, 1, 1, 1]


def test_records_of_pandas_give_the_answers_of_its_frame() -> None:
    frame = pd.DataFrame({"t": range(6), "s": [None, "b", None, "a", None, "c"]}).astype({"s": "str"})
    definition = sw.Sliding(on="t", n=sw.count("s").over(3), top=sw.max("s").over(3))
    live = definition.live()
    found = [live.push(row) for row in frame.to_dict("records")]
    assert [row["n"] for row in found[1:]] == definition(frame)["n"].tolist()[1:]
    assert [row["top"] for row in found[1:]] == definition(frame)["top"].tolist()[1:]
