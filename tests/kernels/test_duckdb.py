"""SQL's window frames, as DuckDB has them, against `sw.rolling`: RANGE for times with ties, ROWS for rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw

duckdb = pytest.importorskip("duckdb")

M = 1_500

SQL = {
    "max": "max(v)",
    "min": "min(v)",
    "sum": "sum(n)",
    "mean": "avg(q)",
    "count": "count(v)",
    "stddev": "stddev_samp(q)",
    "variance": "var_samp(q)",
    "first": "first(v IGNORE NULLS)",
    "last": "last(v IGNORE NULLS)",
    "bool_and": "bool_and(b)",
    "count_distinct": "count(DISTINCT n)",
}
COLUMN = {"sum": "n", "mean": "q", "stddev": "q", "variance": "q", "bool_and": "b", "count_distinct": "n"}
WIDTH = 40
TIMES = {
    "right": f"RANGE BETWEEN {WIDTH - 1} PRECEDING AND CURRENT ROW",
    "both": f"RANGE BETWEEN {WIDTH} PRECEDING AND CURRENT ROW",
    "left": f"RANGE BETWEEN {WIDTH} PRECEDING AND 1 PRECEDING",
    "neither": f"RANGE BETWEEN {WIDTH - 1} PRECEDING AND 1 PRECEDING",
}
ROWS = {
    "right": "ROWS BETWEEN 8 PRECEDING AND CURRENT ROW",
    "left": "ROWS BETWEEN 9 PRECEDING AND 1 PRECEDING",
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Whole times with many ties and without, few and many rows per key, and a null in every tenth place."""
    random = np.random.default_rng(11)

    def holes(values: Any) -> pa.Array:
        return pa.array(values, mask=random.random(M) < 0.1)

    return pa.table(
        {
            "i": np.arange(M),
            "t": np.sort(random.integers(0, 800, M)),
            "u": np.cumsum(random.integers(1, 4, M)),
            "k": pa.array(
                random.choice(["a", "b", "c", "rare"], M, p=[0.6, 0.3, 0.09, 0.01]), mask=random.random(M) < 0.05
            ),
            "v": holes(random.normal(size=M)),
            "n": holes(random.integers(-50, 50, M)),
            "q": holes(random.integers(-400, 400, M) / 4),
            "b": holes(random.random(M) < 0.9),
        }
    )


def ask(table: pa.Table, call: str, frame: str, keyed: bool, times: str = "t") -> list[Any]:
    """DuckDB's answers in the input's order; a RANGE frame goes by time, a ROWS frame by place."""
    order = times if frame.startswith("RANGE") else "i"
    partition = "PARTITION BY k" if keyed else ""
    connection = duckdb.connect()
    connection.register("rows", table)
    connection.execute("SET threads = 1")
    found = connection.execute(f"SELECT {call} OVER ({partition} ORDER BY {order} {frame}) AS a FROM rows ORDER BY i")
    return [row[0] for row in found.fetchall()]


def rolled(table: pa.Table, name: str, keyed: bool, **window: Any) -> list[Any]:
    values = table[COLUMN.get(name, "v")]
    by = table["k"] if keyed else None
    return list(sw.rolling(values, getattr(sw, name), by=by, **window).to_pylist())


def agree(name: str, expected: list[Any], got: list[Any]) -> None:
    assert len(expected) == len(got)
    for i, (e, g) in enumerate(zip(expected, got, strict=True)):
        if name == "count_distinct" and g is None:
            assert e == 0, i  # SQL counts nothing as 0; only count and hyperloglog do so here
        elif name in ("stddev", "variance") and e is not None:
            assert math.isclose(e, g, rel_tol=1e-9, abs_tol=1e-9), (i, e, g)
        else:
            assert e == g, (i, e, g)


@pytest.mark.parametrize("keyed", [False, True], ids=["one", "by key"])
@pytest.mark.parametrize("closed", TIMES)
def test_time_windows_are_range_frames(table: pa.Table, closed: str, keyed: bool) -> None:
    for name, call in SQL.items():
        times = "u" if name in ("first", "last") else "t"  # SQL does not say which of several peers is the first
        got = rolled(table, name, keyed, times=table[times], last=WIDTH, closed=closed)
        agree(name, ask(table, call, TIMES[closed], keyed, times), got)


@pytest.mark.parametrize("keyed", [False, True], ids=["one", "by key"])
@pytest.mark.parametrize("closed", ROWS)
def test_row_windows_are_rows_frames(table: pa.Table, closed: str, keyed: bool) -> None:
    for name, call in SQL.items():
        agree(name, ask(table, call, ROWS[closed], keyed), rolled(table, name, keyed, rows=9, closed=closed))


@pytest.mark.parametrize("keyed", [False, True], ids=["one", "by key"])
def test_the_row_of_an_extreme(table: pa.Table, keyed: bool) -> None:
    """DuckDB's arg_max keeps a row of the greatest value; v is random, so there is one, and i is never null."""
    by = table["k"] if keyed else None
    for op, call in ((sw.argmax, "arg_max(i, v)"), (sw.argmin, "arg_min(i, v)")):
        for closed, frame in TIMES.items():
            got = sw.rolling((table["i"], table["v"]), op, times=table["t"], last=WIDTH, closed=closed, by=by)
            assert got.to_pylist() == ask(table, call, frame, keyed)
        for closed, frame in ROWS.items():
            got = sw.rolling((table["i"], table["v"]), op, rows=9, closed=closed, by=by)
            assert got.to_pylist() == ask(table, call, frame, keyed)


def test_covariance_and_correlation(table: pa.Table) -> None:
    for op, call in ((sw.covariance, "covar_samp(v, q)"), (sw.correlation, "corr(v, q)")):
        expected = ask(table, call, TIMES["both"], True)
        got = sw.rolling((table["v"], table["q"]), op, times=table["t"], last=WIDTH, closed="both", by=table["k"])
        for i, (e, g) in enumerate(zip(expected, got.to_pylist(), strict=True)):
            if g is None:
                assert e is None or e == 0 or math.isnan(e), (i, e)
            else:
                assert math.isclose(e, g, rel_tol=1e-9, abs_tol=1e-9), (i, e, g)


def test_timestamps_and_intervals(table: pa.Table) -> None:
    minutes = pa.array((table["t"].to_numpy() * 60_000).astype("M8[ms]"))
    stamped = table.append_column("moment", minutes)
    connection = duckdb.connect()
    connection.register("rows", stamped)
    frame = "RANGE BETWEEN INTERVAL 40 MINUTES PRECEDING AND CURRENT ROW"
    found = connection.execute(
        f"SELECT max(v) OVER (PARTITION BY k ORDER BY moment {frame}) FROM rows ORDER BY i"
    ).fetchall()
    got = sw.rolling(stamped["v"], sw.max, times=stamped["moment"], last="40 minutes", closed="both", by=stamped["k"])
    assert got.to_pylist() == [row[0] for row in found]
