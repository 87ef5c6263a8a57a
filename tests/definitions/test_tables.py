"""Definitions over the kinds of table that people have: types, order, odd shapes, and mistakes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine import bounds, sorting

PEAK = sw.Sliding(by="k", on="t", peak=sw.max("x").over(10))


def table(**columns: Any) -> pa.Table:
    return pa.table({"k": [1, 1, 2, 1], "t": [0, 5, 6, 12], "x": [4.0, 3.0, 9.0, 1.0], **columns})


def test_the_same_kind_comes_back_with_its_columns_untouched() -> None:
    given = table()
    found = PEAK(given)
    assert found.drop_columns(["peak"]).equals(given)
    assert found.column_names == ["k", "t", "x", "peak"]
    assert found["peak"].to_pylist() == [4.0, 4.0, 9.0, 3.0]
    frame = given.to_pandas().set_index(pd.Index(["p", "q", "q", "s"]))
    answered = PEAK(frame)
    assert isinstance(answered, pd.DataFrame)
    assert answered.index.tolist() == ["p", "q", "q", "s"]
    assert answered["peak"].tolist() == [4.0, 4.0, 9.0, 3.0]
    pd.testing.assert_frame_equal(answered.drop(columns="peak"), frame)
    assert list(frame.columns) == ["k", "t", "x"]  # the input is not changed
    framed = PEAK(pl.from_arrow(given))
    assert isinstance(framed, pl.DataFrame)
    assert framed["peak"].to_list() == [4.0, 4.0, 9.0, 3.0]
    assert PEAK(given.to_batches()[0]).equals(found)


X, Y = "x", "y"
TYPES = [
    (sw.sum(X), pa.int8(), pa.int64()),
    (sw.sum(X), pa.float32(), pa.float64()),
    (sw.sum(X), pa.bool_(), pa.int64()),
    (sw.count(X), pa.string(), pa.int64()),
    (sw.mean(X), pa.int32(), pa.float64()),
    (sw.max(X), pa.float32(), pa.float32()),
    (sw.max(X), pa.timestamp("ms", "UTC"), pa.timestamp("ms", "UTC")),
    (sw.min(X), pa.date32(), pa.date32()),
    (sw.first(X), pa.string(), pa.string()),
    (sw.last(X), pa.bool_(), pa.bool_()),
    (sw.maxcount(X), pa.int64(), pa.int64()),
    (sw.value_range(X), pa.int16(), pa.int64()),
    (sw.relative_variation(X), pa.int16(), pa.float64()),
    (sw.product(X), pa.int64(), pa.float64()),
    (sw.stddev(X), pa.float64(), pa.float64()),
    (sw.count_distinct(X), pa.string(), pa.int64()),
    (sw.hyperloglog(X), pa.int64(), pa.int64()),
    (sw.bloom(bits=64, hashes=2, probe=1)(X), pa.int64(), pa.bool_()),
    (sw.bool_and(X), pa.bool_(), pa.bool_()),
    (sw.collect(X), pa.int16(), pa.list_(pa.int16())),
    (sw.collect(X), pa.timestamp("s"), pa.list_(pa.timestamp("s"))),
    (sw.m4(X), pa.int8(), pa.struct([(name, pa.int8()) for name in ("first", "min", "max", "last")])),
    (sw.max(X), pa.dictionary(pa.int8(), pa.string()), pa.string()),
]
VALUES: dict[Any, list[Any]] = {
    pa.string(): ["a", "b", None],
    pa.bool_(): [True, False, None],
    pa.dictionary(pa.int8(), pa.string()): ["a", "b", None],
}


@pytest.mark.parametrize("rows", [0, 1, 3], ids=["empty", "all null", "some"])
@pytest.mark.parametrize(("aggregate", "given", "expected"), TYPES, ids=str)
def test_types_do_not_depend_on_the_data(rows: int, aggregate: Any, given: Any, expected: Any) -> None:
    if rows == 3:
        plain = pa.array(VALUES.get(given, [1, 2, None]), None if given in VALUES else pa.int64())
        values = (plain.cast(pa.int32()) if pa.types.is_date32(given) else plain).cast(given)
    else:
        values = pa.nulls(rows, given)
    definition = sw.Sliding(on="t", a=aggregate.over(rows=2), b=aggregate.over(5, closed="left"))
    found = definition(pa.table({"t": pa.array(range(rows), pa.int64()), "x": values}))
    assert found.schema.field("a").type == expected
    assert found.schema.field("b").type == expected
    assert len(found) == rows


def test_no_rows_and_no_types() -> None:
    found = PEAK(pa.table({"k": [], "t": [], "x": []}))
    assert found.column_names == ["k", "t", "x", "peak"]
    assert len(PEAK(pd.DataFrame({"k": [], "t": [], "x": []}))) == 0
    assert len(PEAK(pl.DataFrame({"k": [], "t": [], "x": []}))) == 0


def test_pandas_means_null_by_nan() -> None:
    frame = pd.DataFrame({"t": [0, 1, 2], "x": [np.nan, 1.0, np.nan], "i": [1, 2, 3]})
    found = sw.Sliding(on="t", n=sw.count("x").over(5), s=sw.sum("i").over(1, closed="left"))(frame)
    assert found["n"].tolist() == [0, 1, 1]
    assert str(found["n"].dtype) == "int64"
    assert str(found["s"].dtype) == "Int64"  # integers with a hole keep being integers
    assert found["s"].isna().tolist() == [True, False, False]
    nullable = frame.convert_dtypes()
    assert str(sw.Sliding(on="t", m=sw.mean("i").over(5))(nullable)["m"].dtype) == "Float64"
    arrow = frame.convert_dtypes(dtype_backend="pyarrow")
    assert "pyarrow" in str(sw.Sliding(on="t", m=sw.mean("i").over(5))(arrow)["m"].dtype)


@pytest.mark.rule(12)
def test_rows_need_not_be_sorted_and_ties_are_ordered() -> None:
    given = pa.table({"t": [2, 1, 2, 1, 2], "x": [3, 1, None, 2, 1], "tie": ["b", "a", "a", None, "a"]})
    by_value = sw.Sliding(on="t", all=sw.collect("x").over(rows=9))
    assert by_value(given)["all"].to_pylist() == [[1, 2, 1, 3], [1], [1, 2], [1, 2], [1, 2, 1]]
    by_tie = sw.Sliding(on="t", ties="tie", all=sw.collect("x").over(rows=9))
    assert by_tie(given)["all"].to_pylist() == [[2, 1, 1, 3], [2, 1], [2, 1], [2], [2, 1, 1]]


@pytest.mark.rule(12)
def test_an_answer_does_not_depend_on_how_rows_arrived() -> None:
    choose = np.random.default_rng(3)
    given = pa.table(
        {
            "k": choose.integers(0, 3, 200),
            "t": choose.integers(0, 30, 200),
            "x": choose.integers(0, 4, 200),
            "s": choose.choice(["a", "b", "ab"], 200),
            "id": np.arange(200),
        }
    )
    definition = sw.Sliding(
        by="k", on="t", ties="id", a=sw.collect("x").over(rows=4), b=sw.argmax("s", "x").over(5), c=sw.m4("x").over(5)
    )
    expected = definition(given)
    for _ in range(5):
        shuffled = given.take(choose.permutation(200))
        assert definition(shuffled).sort_by("id").equals(expected)


@pytest.mark.rule(11)
def test_keys_of_every_kind() -> None:
    when = datetime(2024, 3, 1)
    for keys in (
        [None, 1, None, 1],
        ["a", "", "a", None],
        [True, False, None, True],
        [0.0, float("nan"), -0.0, float("nan")],
        [when, None, when, when],
        [b"x", b"", b"x", b""],
    ):
        given = pa.table({"k": keys, "t": [0, 1, 2, 3]})
        seen: dict[str, int] = {}
        expected = []
        for key in keys:
            name = repr(key + 0.0 if isinstance(key, float) else key)
            seen[name] = seen.get(name, 0) + 1
            expected.append(seen[name])
        definition = sw.Sliding(by="k", on="t", n=sw.count().over("all"))
        assert definition(given)["n"].to_pylist() == expected
        coded = given.set_column(0, "k", given["k"].combine_chunks().dictionary_encode())
        assert definition(coded)["n"].to_pylist() == expected
        live = definition.live()
        assert [live.push(row)["n"] for row in given.to_pylist()] == expected


def test_many_keys_and_wide_tables() -> None:
    choose = np.random.default_rng(5)
    keys, times = choose.integers(0, 100_000, 300_000), choose.integers(0, 1_000, 300_000)
    x = choose.random(300_000)
    wide = {f"c{i}": pa.array(x) for i in range(200)}
    found = sw.Sliding(by=["k", "g"], on="t", top=sw.max("x").over(100), n=sw.count().over(rows=2))(
        pa.table({"k": keys, "g": keys % 7, "t": times, "x": x, **wide})
    )
    assert found.num_columns == 206
    order = np.lexsort((x, times, keys))
    k, t, v = keys[order], times[order], x[order]
    got = found["top"].to_numpy()[order]
    for i in choose.integers(0, len(k), 500):
        held = (k == k[i]) & (t > t[i] - 100) & (t <= t[i])
        assert got[i] == v[held].max()


def test_shared_work_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sort, and one search for the starts of each distinct window."""
    calls = {"sort": 0, "time": 0, "rows": 0}

    def counting(name: str, function: Any) -> Any:
        def counted(*args: Any) -> Any:
            calls[name] += 1
            return function(*args)

        return counted

    monkeypatch.setattr(sorting, "by_key_and_time", counting("sort", sorting.by_key_and_time))
    monkeypatch.setattr(bounds, "bounds_along", counting("time", bounds.bounds_along))
    monkeypatch.setattr(bounds, "row_bounds", counting("rows", bounds.row_bounds))
    sw.Sliding(
        by="k",
        on="t",
        a=sw.max("x").over(10),
        b=sw.min("x").over(10),
        c=sw.mean("x").over(10, at_least=2),
        d=sw.mean("x").over(20),
        e=sw.last("x").over(rows=2),
        f=sw.first("x").over(rows=2),
    )(table(x=[4.0, None, 9.0, 1.0]))
    assert calls == {"sort": 1, "time": 2, "rows": 1}


@pytest.mark.parametrize(
    ("definition", "given", "message"),
    [
        (PEAK, pa.table({"k": [1], "tz": [1], "x": [1.0]}), "'t' not found; the table has k, tz, x; did you mean 'tz'"),
        (PEAK, table(peak=[1, 2, 3, 4]), "has a column 'peak' already"),
        (PEAK, table(t=["a", "b", "c", "d"]), "on='t' holds text; it must hold timestamps, dates or numbers"),
        (PEAK, table(t=[1, None, 3, None]), "'t' is null in 2 of 4 rows, first in row 1"),
        (PEAK, table(t=[1.0, 2.0, float("nan"), 4.0]), "'t' is nan in row 2"),
        (
            PEAK,
            table(t=pa.array([0, 1, 2, 3], pa.timestamp("s"))),
            "'peak'.*holds timestamps, but the window is the number 10",
        ),
        (PEAK, table(x=["a", "b", "c", "d"]), None),
        (
            sw.Sliding(on="t", s=sw.sum("x").over(5)),
            table(x=["a", "b", "c", "d"]),
            "column 's': sum takes numbers, but 'x' holds text",
        ),
        (
            sw.Sliding(on="t", s=sw.sum("x").over("5s")),
            table(),
            "'s'.*on='t' holds numbers, but the window lasts 5 seconds",
        ),
        (
            sw.Sliding(on="t", s=sw.sum("x").where("k").over(5)),
            table(),
            "where\\('k'\\) needs a boolean column, but 'k' holds int64",
        ),
        (
            sw.Sliding(on="t", s=sw.sum("x").over(5)),
            table(x=pa.array([1, 2, 3, 4]).cast(pa.decimal128(21, 2))),
            "'x' holds decimals",
        ),
        (
            sw.Sliding(on="t", s=sw.countmin("x").over(5)),
            table(),
            "countmin answers with an object that no table can hold",
        ),
        (sw.Sliding(on="t", s=sw.bloom("x").over(5)), table(), "probe="),
        (PEAK, pa.Table.from_arrays([pa.array([1])] * 4, names=["k", "t", "x", "x"]), "2 columns named 'x'"),
        (PEAK, [{"k": 1}], "not on a list; for a list of dicts, use pa.Table.from_pylist"),
        (PEAK, {"k": [1]}, "pa.table"),
    ],
)
def test_mistakes(definition: sw.Sliding, given: Any, message: str | None) -> None:
    if message is None:
        assert definition(given)["peak"].to_pylist() == ["a", "b", "c", "d"]
        return
    with pytest.raises(sw.SlidewiseError, match=message):
        definition(given)


def test_times_that_are_text_are_refused_with_the_line_to_write() -> None:
    """The lines that the errors show do read them."""
    times = ["2024-03-01T12:00:00", "2024-03-01T12:00:10"]
    table = pa.table({"ts": times, "x": [1, 2]})
    definition = sw.Sliding(on="ts", n=sw.sum("x").over("1 minute"))
    for given in (table, table.to_pandas(), pl.from_arrow(table)):
        with pytest.raises(sw.InputError) as refused:
            definition(given)
        lines = ("table['ts'].cast(pa.timestamp('us'))", "pd.to_datetime(df['ts'], format='ISO8601')")
        assert all(line in str(refused.value) for line in (*lines, "pl.col('ts').str.to_datetime()"))
    read = [table["ts"].cast(pa.timestamp("us")), pd.to_datetime(table.to_pandas()["ts"], format="ISO8601")]
    read.append(pl.from_arrow(table).select(pl.col("ts").str.to_datetime())["ts"])
    for column in read:
        assert definition(pa.table({"ts": column, "x": [1, 2]}))["n"].to_pylist() == [1, 3]
    with pytest.raises(sw.InputError, match=r"give it as datetime.fromisoformat\(...\)"):
        definition.live().push({"ts": times[0], "x": 1})
    with pytest.raises(sw.WindowError, match=r"these are text, so give them as np.asarray\(times\).astype"):
        sw.rolling(np.array([1, 2]), sw.sum, times=np.array(times), last="1 minute")
    assert sw.rolling(
        np.array([1, 2]), sw.sum, times=np.asarray(times).astype("datetime64[us]"), last="1 minute"
    ).tolist() == [1, 3]
