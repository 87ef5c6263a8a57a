"""Random arithmetic, comparisons and logic against DuckDB, whose meaning is ours in these."""

from __future__ import annotations

import math
from contextlib import suppress
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.errors import NumberOverflowError
from slidewise.expressions.expression import Expression, call
from slidewise.expressions.over_arrays import evaluate_all

Pair = tuple[Expression, str]  # ours, and the same as SQL
NAN, INF = float("nan"), float("inf")
FLOATS = (0.0, -0.0, 1.5, -2.25, 0.1, 1e300, -1e-300, NAN, INF, -INF, 7.0, None, None)


def table(choose: Random, rows: int) -> pa.Table:
    def column(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array([choose.choice(values) for _ in range(rows)], kind)

    return pa.table(
        {
            **{name: column([*range(-9, 10), None], pa.int64()) for name in ("i", "j")},
            **{name: column(FLOATS, pa.float64()) for name in ("f", "g")},
            **{name: column((True, False, None), pa.bool_()) for name in ("p", "q")},
            **{name: column(("", "a", "B", "ab", "ß", "𝒳", "\uffff", None), pa.string()) for name in ("s", "t")},
        }
    )


def number(choose: Random, depth: int) -> Pair:
    if depth == 0 or choose.random() < 0.15:
        if choose.random() < 0.2:
            value = choose.choice((3, -2, 0.5, 2.0))
            return sw.lit(value), f"({value}::{'DOUBLE' if isinstance(value, float) else 'BIGINT'})"
        name = choose.choice("ijfg")
        return sw.col(name), name
    kind = choose.randrange(8)
    x, y = number(choose, depth - 1), number(choose, depth - 1)
    if kind < 4:
        sign = choose.choice("+-*/")
        return call(sign, x[0], y[0]), f"({x[1]} {sign} {y[1]})"
    if kind == 4:
        name = choose.choice(("abs", "neg"))
        return call(name, x[0]), f"(-{x[1]})" if name == "neg" else f"abs({x[1]})"
    if kind == 5:
        name = choose.choice(("floor", "ceil"))
        return call(name, x[0]), f"{name}({x[1]})"
    if kind == 6:
        return call("coalesce", x[0], y[0]), f"coalesce({x[1]}, {y[1]})"
    when = truth(choose, depth - 1)
    return call("case", when[0], x[0], y[0]), f"(CASE WHEN {when[1]} THEN {x[1]} ELSE {y[1]} END)"


def truth(choose: Random, depth: int) -> Pair:
    if depth <= 0 or choose.random() < 0.15:
        name = choose.choice("pq")
        return sw.col(name), name
    kind = choose.randrange(7)
    if kind < 2:
        name = choose.choice(("and", "or"))
        x, y = truth(choose, depth - 1), truth(choose, depth - 1)
        return call(name, x[0], y[0]), f"({x[1]} {name} {y[1]})"
    if kind == 2:
        x = truth(choose, depth - 1)
        return call("not", x[0]), f"(NOT {x[1]})"
    if kind == 3:
        x = number(choose, depth - 1)
        return call("is null", x[0]), f"({x[1]} IS NULL)"
    texts = choose.random() < 0.2
    x, y, z = [choose.choice(TEXTS) if texts else number(choose, depth - 1) for _ in range(3)]
    if kind == 4:
        return call("between", x[0], y[0], z[0]), f"({x[1]} BETWEEN {y[1]} AND {z[1]})"
    sign, sql = choose.choice((("==", "="), ("!=", "<>"), ("<", "<"), ("<=", "<="), (">", ">"), (">=", ">=")))
    return call(sign, x[0], y[0]), f"({x[1]} {sql} {y[1]})"


TEXTS: list[Pair] = [(sw.col("s"), "s"), (sw.col("t"), "t"), (sw.lit("a"), "'a'"), (sw.col("s").lower(), "lower(s)")]


def same(x: Any, y: Any) -> bool:
    if isinstance(x, float) and isinstance(y, float):
        return math.isnan(x) == math.isnan(y) and (math.isnan(x) or x == y)
    return x is y if x is None or y is None else x == y


@pytest.fixture(scope="module")
def database() -> Any:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for setting in ("ieee_floating_point_ops", "error_on_division_by_zero"):  # as versions call it
        with suppress(duckdb.Error):
            connection.execute(f"SET {setting} = false")
    yield connection
    connection.close()


def test_random_expressions(database: Any) -> None:
    choose = Random(11)
    for _ in range(6):
        rows = table(choose, 60)
        pairs = [(truth if choose.random() < 0.5 else number)(choose, 3) for _ in range(40)]
        database.register("rows", rows)
        parts = {f"c{i}": ours for i, (ours, _) in enumerate(pairs)}
        answers = evaluate_all(parts, lambda leaf, of=rows: of.column(leaf.name), len(rows))
        query = ", ".join(f"{sql} AS c{i}" for i, (_, sql) in enumerate(pairs))
        theirs = database.sql(f"SELECT {query} FROM rows").to_arrow_table()
        for name, (ours, sql) in zip(parts, pairs, strict=True):
            for i, (x, y) in enumerate(zip(answers[name].to_pylist(), theirs.column(name).to_pylist(), strict=True)):
                assert same(x, y), f"{ours} is {x!r} here and {y!r} as {sql}, of {rows.slice(i, 1).to_pylist()}"


@pytest.mark.parametrize("sign", "+-*")
def test_overflows(database: Any, sign: str) -> None:
    extremes = [0, 1, -1, 2, 3, 2**31, -(2**32), 2**62, -(2**62), 2**63 - 1, -(2**63), -(2**63) + 1, 3_037_000_500]
    for x in extremes:
        for y in extremes:
            arrays = {"x": pa.array([x]), "y": pa.array([y])}
            try:
                part = call(sign, sw.col("x"), sw.col("y"))
                ours = evaluate_all({"z": part}, lambda leaf, of=arrays: of[leaf.name], 1)["z"][0].as_py()
            except NumberOverflowError:
                ours = "overflow"
            try:
                theirs = database.execute(f"SELECT $1::BIGINT {sign} $2::BIGINT", [x, y]).fetchone()[0]
            except duckdb.OutOfRangeException:
                theirs = "overflow"
            assert ours == theirs, (x, sign, y)
