"""What each function means: cases written by hand, which hold over arrays, over constants and over single events."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.expressions import over_arrays
from slidewise.expressions.expression import Expression, call
from slidewise.expressions.functions.catalogue import BY_NAME
from slidewise.expressions.functions.function import ValueOverflow
from slidewise.expressions.over_arrays import RowOverflowError, evaluate_all
from slidewise.expressions.over_rows import row_function
from slidewise.expressions.type_inference import kind_of_type

LOW, HIGH = -(2**63), 2**63 - 1
NAN, INF = float("nan"), float("inf")
OVERFLOW = "overflow"
DAY = date(2024, 3, 31)  # a Sunday, on which Berlin's clocks go from 2 to 3 at 1:00 UTC
TIME = datetime(2024, 3, 31, 0, 59, 59, 999_999)
ZONED = datetime(2024, 3, 31, 1, tzinfo=UTC)

# By function: arguments and what comes out. Types of arguments are those that pyarrow gives them.
CASES: dict[str, list[tuple[Any, ...]]] = {
    "+": [
        *((1, 2, 3), (HIGH, 0, HIGH), (HIGH, 1, OVERFLOW), (LOW, -1, OVERFLOW), (LOW, HIGH, -1), (None, 1, None)),
        *((0.1, 0.2, 0.30000000000000004), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (INF, -INF, NAN), (NAN, 1.0, NAN)),
        *((1e308, 1e308, INF), (2**53 + 1, 0.0, 2.0**53), (1.5, None, None), (1.5, 2, 3.5)),
    ],
    "-": [
        *((1, 2, -1), (LOW, 1, OVERFLOW), (0, LOW, OVERFLOW), (-1, LOW, HIGH), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0)),
        *((INF, INF, NAN), (2**53 + 1, 1.0, 2.0**53 - 1), (None, 2, None), (DAY, DAY, 0.0)),
        *((TIME, DAY, 3599.999999), (DAY, TIME, -3599.999999), (ZONED, ZONED, 0.0), (ZONED, None, None)),
        *((datetime(9999, 1, 1), datetime(1, 1, 1), 315506361600.0), (DAY, date(2024, 3, 30), 86400.0)),
        (datetime(2024, 1, 1, 0, 0, 2, 300_000), datetime(2024, 1, 1), 2.3),
    ],
    "*": [
        *((3, -4, -12), (2**62, 2, OVERFLOW), (2**62, -2, LOW), (LOW, -1, OVERFLOW), (0, LOW, 0), (None, LOW, None)),
        *((3_037_000_500, 3_037_000_500, OVERFLOW), (0.0, -1.0, -0.0), (INF, 0.0, NAN), (0.1, 3, 0.30000000000000004)),
    ],
    "/": [
        *((1, 2, 0.5), (1, 0, None), (0, 0, None), (1.0, 0.0, None), (1.0, -0.0, None), (NAN, 0.0, None)),
        *((-0.0, 5.0, -0.0), (INF, INF, NAN), (1.0, INF, 0.0), (LOW, -1, 2.0**63), (None, 0, None), (1.0, NAN, NAN)),
        (2**53 + 1, 1, 2.0**53),
    ],
    "//": [
        *((7, 2, 3), (-7, 2, -4), (7, -2, -4), (-7, -2, 3), (7, 0, None), (LOW, -1, OVERFLOW), (LOW, 1, LOW)),
        *((None, -1, None), (LOW, None, None), (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (7.5, 0.0, None), (7, 2.5, 2.0)),
        *((INF, 2.0, NAN), (1.0, INF, 0.0), (-1.0, INF, -1.0), (-0.0, 3.0, -0.0), (NAN, 1.0, NAN), (1.0, 0.1, 9.0)),
    ],
    "%": [
        *((7, 3, 1), (-7, 3, 2), (7, -3, -2), (-7, -3, -1), (7, 0, None), (LOW, -1, 0), (HIGH, LOW, -1)),
        *((7.5, 2.0, 1.5), (-7.5, 2.0, 0.5), (7.5, -2.0, -0.5), (6.0, -2.0, -0.0), (-6.0, 2.0, 0.0)),
        *((1.0, INF, 1.0), (-1.0, INF, INF), (INF, 2.0, NAN), (5.5, 0.0, None), (None, 0.0, None), (7, 2.5, 2.0)),
    ],
    "**": [
        *((2, 10, 1024.0), (2, -1, 0.5), (0, 0, 1.0), (0.0, -1.0, INF), (-0.0, -1.0, -INF), (-8.0, 1 / 3, NAN)),
        *((1e200, 2.0, INF), (-1e200, 3.0, -INF), (NAN, 0.0, 1.0), (1.0, NAN, 1.0), (2.0, -INF, 0.0), (None, 0, None)),
    ],
    "neg": [(5, -5), (LOW, OVERFLOW), (HIGH, -HIGH), (0.0, -0.0), (-0.0, 0.0), (INF, -INF), (NAN, NAN), (None, None)],
    "abs": [(-5, 5), (LOW, OVERFLOW), (LOW + 1, HIGH), (-0.0, 0.0), (-INF, INF), (NAN, NAN), (-1.5, 1.5)],
    "sqrt": [(4, 2.0), (2.0, 1.4142135623730951), (-1, NAN), (-0.0, -0.0), (INF, INF), (0, 0.0), (NAN, NAN)],
    "log": [(1, 0.0), (0, -INF), (0.0, -INF), (-0.0, -INF), (-1, NAN), (INF, INF), (10, 2.302585092994046)],
    "exp": [(0, 1.0), (1, 2.718281828459045), (710, INF), (-746, 0.0), (-INF, 0.0), (INF, INF), (NAN, NAN)],
    "floor": [(1.5, 1.0), (-1.5, -2.0), (-0.0, -0.0), (0.9, 0.0), (7, 7), (LOW, LOW), (INF, INF), (1e300, 1e300)],
    "ceil": [(1.5, 2.0), (-1.5, -1.0), (-0.9, -0.0), (-0.0, -0.0), (7, 7), (NAN, NAN), (-INF, -INF)],
    "sign": [(-3, -1), (0, 0), (LOW, -1), (2.5, 1.0), (-0.0, 0.0), (0.0, 0.0), (-INF, -1.0), (NAN, NAN)],
    "==": [
        *((1, 1, True), (1, 2, False), (NAN, NAN, True), (NAN, 1.0, False), (0.0, -0.0, True), (None, 1, None)),
        *((2**53 + 1, 2.0**53, True), (2**53 + 1, 2**53, False), ("a", "a", True), ("a", "A", False)),
        *((True, True, True), (True, False, False), (DAY, datetime(2024, 3, 31), True), (TIME, ZONED, False)),
        *((datetime(2024, 3, 31, 1), ZONED, True), (INF, INF, True), ("é", "e\u0301", False)),
    ],
    "!=": [
        (1, 1, False),
        (NAN, NAN, False),
        (NAN, 1.0, True),
        (0.0, -0.0, False),
        (None, None, None),
        ("a", "b", True),
    ],
    "<": [
        *((1, 2, True), (2, 2, False), (NAN, 1.0, False), (1.0, NAN, True), (NAN, NAN, False), (INF, NAN, True)),
        *((-0.0, 0.0, False), (2**53, 2.0**53 + 2, True), ("Z", "a", True), ("\uffff", "𝒳", True), ("a", "aa", True)),
        *((DAY, TIME, True), (TIME, ZONED, True), (None, 2, None), (HIGH, 2.0**63, False), (LOW, HIGH, True)),
    ],
    "<=": [(2, 2, True), (NAN, NAN, True), (NAN, INF, False), (INF, NAN, True), (-0.0, 0.0, True), ("b", "a", False)],
    ">": [(2, 1, True), (NAN, INF, True), (NAN, NAN, False), (1.0, NAN, False), (0.0, -0.0, False), (ZONED, DAY, True)],
    ">=": [(2, 2, True), (NAN, NAN, True), (1.0, NAN, False), (NAN, 1.0, True), (HIGH, 2.0**63, True), (None, 1, None)],
    "between": [
        *((2, 1, 3, True), (1, 1, 1, True), (0, 1, 3, False), (2, 3, 1, False), (None, 1, 3, None), (2, None, 3, None)),
        *((4, None, 3, False), (0, 1, None, False), (NAN, 1.0, NAN, True), ("b", "a", "c", True), (2, 1.5, 3, True)),
        *((2**53 + 1, 0.0, 2**53, False), (TIME, DAY, ZONED, True)),
    ],
    "and": [
        *((True, True, True), (True, False, False), (False, False, False), (None, False, False), (False, None, False)),
        *((None, True, None), (True, None, None), (None, None, None)),
    ],
    "or": [
        *((True, False, True), (False, False, False), (None, True, True), (True, None, True), (None, False, None)),
        *((False, None, None), (None, None, None)),
    ],
    "not": [(True, False), (False, True), (None, None)],
    "is null": [(None, True), (1, False), (NAN, False), ("", False), (DAY, False), (False, False)],
    "coalesce": [
        *(
            (1, 2, 1),
            (None, 2, 2),
            (None, None, None),
            (None, 2.5, 2.5),
            (1, 2.5, 1.0),
            ("a", None, "a"),
            (NAN, 1.0, NAN),
        ),
        *((None, DAY, DAY), (False, True, False), (-0.0, 1, -0.0)),
    ],
    "case": [
        *((True, 1, 2, 1), (False, 1, 2, 2), (None, 1, 2, 2), (True, None, 2, None), (False, 1, None, None)),
        *((True, 1, 2.5, 1.0), (False, "a", "b", "b"), (None, TIME, TIME, TIME), (True, -0.0, 1, -0.0)),
    ],
    "int": [
        *((1.9, 1), (-1.9, -1), (NAN, None), (INF, None), (-INF, None), (2.0**63, OVERFLOW), (-(2.0**63), LOW)),
        *((-9.3e18, OVERFLOW), (-0.0, 0), (True, 1), (False, 0), (7, 7), ("12", 12), (" -7\t\n", -7), ("+3", 3)),
        *(("1.5", None), ("", None), (" ", None), ("1_000", None), ("1e3", None), ("\u00a05", None), ("٣", None)),
        *((str(HIGH), HIGH), (str(HIGH + 1), None), (str(LOW), LOW), ("1" * 5000, None), ("0" * 30 + "7", 7)),
        *(("0x10", None), ("- 1", None), (None, None), ("nan", None), ("\x1f5", None), ("true", None)),
    ],
    "float": [
        *((1, 1.0), (2**53 + 1, 2.0**53), (HIGH, 2.0**63), (True, 1.0), (2.5, 2.5), ("1.5", 1.5), (" 1e3 ", 1000.0)),
        *(("nan", NAN), ("-INF", -INF), ("Infinity", INF), ("+infinity", INF), (".5", 0.5), ("5.", 5.0), ("-0", -0.0)),
        *(("1_0", None), ("", None), ("abc", None), ("1e999", INF), ("infin", None), ("0x1p3", None), (".", None)),
        *(("1e", None), ("\u20035", None), ("1d", None)),
    ],
    "text": [
        *((1, "1"), (LOW, str(LOW)), (1.0, "1.0"), (1e16, "1e+16"), (1e22, "1e+22"), (0.1, "0.1"), (-0.0, "-0.0")),
        *((NAN, "nan"), (INF, "inf"), (-INF, "-inf"), (True, "true"), (False, "false"), ("a", "a"), (None, None)),
        (5e-324, "5e-324"),
    ],
    "length": [("", 0), ("straße", 6), ("𝒳y", 2), ("e\u0301", 2), (None, None)],
    "lower": [("ÄB", "äb"), ("İ", "i̇"), ("ΑΣ", "ας"), ("", ""), (None, None), ("ABC", "abc"), ("ẞ", "ß")],
    "upper": [("äb", "ÄB"), ("straße", "STRASSE"), ("ﬁ", "FI"), (None, None), ("abc", "ABC"), ("ŉ", "ʼN")],
    "hour": [(TIME, 0), (ZONED, 1), (DAY, 0), (datetime(1969, 12, 31, 23, 59), 23), (None, None)],
    "ticks of time": [
        *((TIME, 1711846799_999999_000), (DAY, 19_813 * 86_400 * 10**9), (datetime(1969, 12, 31, 23, 59), -60 * 10**9)),
        *((7, 7), (-0.5, -0.5), (None, None), (date(2262, 4, 12), OVERFLOW), (ZONED, 1711846800 * 10**9)),
    ],
    "ticks per second": [(TIME, 10**9), (DAY, 10**9), (7, 1), (0.5, 1), (None, None)],
    "weekday": [(DAY, 6), (date(1970, 1, 1), 3), (date(1969, 12, 29), 0), (datetime(1, 1, 1), 0), (None, None)],
    "day": [
        (DAY, 31),
        (date(2024, 2, 29), 29),
        (datetime(1969, 12, 31, 23), 31),
        (date(1, 1, 1), 1),
        (date(2100, 3, 1), 1),
    ],
}
# Functions with arguments that must be constants, which come last.
WITH_CONSTANTS: dict[str, list[tuple[Any, tuple[Any, ...], Any]]] = {
    "round": [
        *((0.5, (0,), 1.0), (-0.5, (0,), -1.0), (1.5, (0,), 2.0), (2.5, (0,), 3.0), (0.49999999999999994, (0,), 0.0)),
        *((-0.49999999999999994, (0,), -0.0), (-0.2, (0,), -0.0), (1.005, (2,), 1.0), (2.675, (2,), 2.68)),
        *((1e300, (15,), 1e300), (1e308, (1,), 1e308), (INF, (2,), INF), (NAN, (2,), NAN), (7, (2,), 7)),
        *((4503599627370497.5, (0,), 4503599627370498.0), (None, (0,), None), (-2.5, (0,), -3.0), (0.125, (2,), 0.13)),
    ],
    "in": [
        *((1, (1, 2), True), (3, (1, 2), False), (None, (1,), None), (1, (), False), (None, (), None)),
        *((NAN, (NAN,), True), (0.0, (-0.0,), True), (-0.0, (0.0, 5.0), True), (1.0, (1,), True), (1, (1.0, 2), True)),
        *((2**53 + 1, (2**53, 0.5), False), (2**53 + 1, (2.0**53,), True), ("a", ("a", "b", "c"), True)),
        *(("d", ("a", "b", "c"), False), (None, ("a", "b", "c"), None), (True, (True,), True), (True, (False,), False)),
        *((DAY, (datetime(2024, 3, 31),), True), (TIME, (DAY, ZONED), False), (NAN, (1, 2), False)),
    ],
    "half-lives": [
        *((7, (3,), 2), (-7, (3,), -3), (HIGH, (1,), HIGH), (7, (2.5,), 2), (-7.0, (2.5,), -3)),
        *(
            (2.0**60, (1.0,), OVERFLOW),
            (7.5, (2.5,), 3),
            (-1e-300, (1.0,), 0),
            (DAY, ("86400000000000 ns",), 19_813),
            (None, (3,), None),
        ),
        *((datetime(1969, 12, 31, 23, 59), ("7000000000 ns",), -9), (HIGH, (2.0,), HIGH // 2), (INF, (1.0,), OVERFLOW)),
    ],
    "half-life weight": [
        *((0, (3,), 0.5), (3, (2,), 0.7071067811865476), (-1, (2,), 0.7071067811865476)),
        *(
            (6.25, (2.5,), 0.7071067811865476),
            (DAY, ("172800000000000 ns",), 0.7071067811865476),
            (2, (3,), 0.7937005259840997),
            (None, (2.0,), None),
        ),
        *((-1e-300, (1.0,), 0.5), (HIGH, (2**62,), 1.0), (2.0**60, (1.0,), OVERFLOW)),
    ],
    "contains": [
        ("abc", ("b",), True),
        ("abc", ("",), True),
        ("", ("a",), False),
        ("a.c", (".",), True),
        ("straße", ("ß",), True),
    ],
    "starts_with": [("abc", ("ab",), True), ("abc", ("b",), False), ("", ("",), True), (None, ("a",), None)],
    "hour": [
        *((TIME, ("Europe/Berlin",), 1), (ZONED, ("Europe/Berlin",), 3), (DAY, ("America/New_York",), 20)),
        *(
            (datetime(2024, 10, 27, 0, 30), ("Europe/Berlin",), 2),
            (datetime(2024, 10, 27, 1, 30), ("Europe/Berlin",), 2),
        ),
        *((datetime(2024, 1, 1), ("Asia/Kolkata",), 5), (datetime(2024, 4, 6, 14, 59), ("Australia/Lord_Howe",), 1)),
        *((datetime(2024, 4, 6, 15, 15), ("Australia/Lord_Howe",), 1), (datetime(1, 1, 1), ("America/New_York",), 19)),
        (datetime(9999, 12, 31, 23), ("Asia/Tokyo",), 8),
        (datetime(2024, 3, 10, 5, 29, 59), ("America/St_Johns",), 1),  # within an hour of UTC clocks go forward
        (datetime(2024, 3, 10, 5, 30), ("America/St_Johns",), 3),
    ],
    "weekday": [(DAY, ("America/New_York",), 5), (datetime(2024, 3, 31, 23), ("Europe/Berlin",), 0)],
    "day": [
        (DAY, ("America/New_York",), 30),
        (datetime(2024, 3, 31, 23), ("Europe/Berlin",), 1),
        (None, ("UTC",), None),
    ],
}
ALL = [
    *((name, case[:-1], (), case[-1]) for name, cases in CASES.items() for case in cases),
    *((name, (of,), fixed, answer) for name, cases in WITH_CONSTANTS.items() for of, fixed, answer in cases),
]


def bits(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if value != value else struct.pack("d", value)
    return type(value), value


def columns_of_case(name: str, arguments: tuple[Any, ...], constants: tuple[Any, ...]) -> dict[str, pa.Array]:
    """The arguments as columns of one row; a null is of the type of the others, or of that in the first case."""
    values = [value for value in arguments[name == "case" :] if value is not None]
    values += constants if name == "in" else ()
    if not values:
        first = CASES[name][0][:-1] if name in CASES else WITH_CONSTANTS[name][0][:1]
        values = [value for value in first[name == "case" :] if value is not None] or [True]
    null = pa.array(values[:1]).type
    types = [pa.array([value]).type if value is not None else null for value in arguments]
    if name == "case":
        types[0] = pa.bool_()
    return {"abc"[i]: pa.array([value], types[i]) for i, value in enumerate(arguments)}


def over_columns(part: Expression, columns: dict[str, pa.Array], rows: int = 1) -> Any:
    """The value over a table of so many equal rows."""
    arrays = {name: pa.concat_arrays([column] * rows) for name, column in columns.items()}
    answers = evaluate_all({"x": part}, lambda leaf: arrays[leaf.name], rows)["x"].to_pylist()
    assert len(answers) == rows
    assert len({repr(bits(answer)) for answer in answers}) == 1
    return answers[0]


@pytest.mark.parametrize(("name", "arguments", "constants", "answer"), ALL)
def test_cases(
    name: str, arguments: tuple[Any, ...], constants: tuple[Any, ...], answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments as columns, as constants, and as an event; over one row, and over several blocks."""
    columns = columns_of_case(name, arguments, constants)
    of_columns = call(name, *map(sw.col, columns), *constants)
    of_constants = call(name, *arguments, *constants)
    kinds = {name: kind_of_type(column.type) for name, column in columns.items()}
    row = dict(zip(columns, arguments, strict=True))
    event = row_function(of_columns, lambda leaf: lambda row, _: row[leaf.name], lambda leaf: kinds[leaf.name])
    if answer is OVERFLOW:
        for part, of in ((of_columns, columns), (of_constants, {})):
            with pytest.raises(RowOverflowError) as error:
                over_columns(part, of, 5)
            assert error.value.row == 0
        with pytest.raises(ValueOverflow):
            event(row, ())
        return
    assert bits(event(row, ())) == bits(answer)
    if None not in arguments:
        unknown = row_function(of_columns, lambda leaf: lambda row, _: row[leaf.name])
        assert bits(unknown(row, ())) == bits(answer)
    for block in (over_arrays.BLOCK, 8, 3):
        monkeypatch.setattr(over_arrays, "BLOCK", block)
        assert bits(over_columns(of_columns, columns, 20)) == bits(answer)
        if any(value is not None for value in arguments):
            assert bits(over_columns(of_constants, {}, 20)) == bits(answer)
        mixed = call(name, *[sw.col("a"), *arguments[1:]], *constants)
        assert bits(over_columns(mixed, columns, 1)) == bits(answer)


def test_every_function_has_cases() -> None:
    assert CASES.keys() | WITH_CONSTANTS.keys() == BY_NAME.keys()
    for name in BY_NAME:
        answers = [case for case in ALL if case[0] == name]
        assert len(answers) >= 3, name


def test_empty_and_null_columns() -> None:
    """No rows give no rows, even of constants that overflow; and columns of nulls alone nulls, of the type told."""
    total = sw.col("x") * sw.col("y") + sw.lit(HIGH) * 2
    empty = {name: pa.array([], pa.int32()) for name in "xy"}
    assert evaluate_all({"x": total}, lambda leaf: empty[leaf.name], 0)["x"] == pa.array([], pa.int64())
    nulls = {"x": pa.nulls(3), "y": pa.nulls(3, pa.int8())}
    for part, kind in (
        (sw.col("x") + sw.col("y"), pa.int64()),
        (sw.col("x") / sw.col("x"), pa.float64()),
        (sw.col("x") > sw.col("y"), pa.bool_()),
        (sw.coalesce(sw.col("x"), sw.col("y")), pa.int64()),
        (sw.col("x").lower(), pa.string()),
        (sw.col("x").hour(), pa.int64()),
        (-sw.col("x") + sw.col("y"), pa.int64()),
        (sw.when(sw.col("x")).then(sw.col("y")).otherwise(None), pa.int64()),
    ):
        assert evaluate_all({"x": part}, lambda leaf: nulls[leaf.name], 3)["x"] == pa.nulls(3, kind), str(part)


def test_chunked_columns() -> None:
    """Columns in chunks, of different lengths, are the columns in one."""
    chunks = {
        "x": pa.chunked_array([[1, 2], [], [3, None, 5]], pa.int32()),
        "t": pa.chunked_array(
            [pa.array(["a"]).dictionary_encode(), pa.array(["b", "a", "c", None]).dictionary_encode()]
        ),
        "n": pa.chunked_array([], pa.int32()),
    }
    parts = {"twice": sw.col("x") * 2, "big": sw.col("t").upper(), "x": sw.col("x"), "t": sw.col("t")}
    answers = evaluate_all(parts, lambda leaf: chunks[leaf.name], 5)
    assert answers["twice"].to_pylist() == [2, 4, 6, None, 10]
    assert answers["big"].to_pylist() == ["A", "B", "A", "C", None]
    assert answers["x"] == pa.array([1, 2, 3, None, 5], pa.int32())
    assert answers["t"].to_pylist() == ["a", "b", "a", "c", None]
    assert evaluate_all({"n": sw.col("n") + 1}, lambda leaf: chunks[leaf.name], 0)["n"] == pa.array([], pa.int64())


def test_far_times() -> None:
    """Times that no datetime holds, in all units: arithmetic on whole numbers judges them."""
    stored = {"s": 10**13 + 7, "ms": -(10**16) - 1, "us": 9 * 10**18 + 123_457, "ns": -(9 * 10**18) - 1}
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    arrays = {unit: pa.array([value, None]).cast(pa.timestamp(unit)) for unit, value in stored.items()}

    def value(part: Expression) -> Any:
        answers = evaluate_all({"x": part}, lambda leaf: arrays[leaf.name], 2)["x"].to_pylist()
        assert answers[1] is None
        return answers[0]

    for x, a in stored.items():
        second = a // per[x]
        assert value(sw.col(x).hour()) == second // 3_600 % 24
        assert value(sw.col(x).weekday()) == (second // 86_400 + 3) % 7
        assert value(sw.col(x).hour("Europe/Berlin")) in ((second // 3_600 + ahead) % 24 for ahead in (0, 1, 2))
        for y, b in stored.items():
            exact = Fraction(a, per[x]), Fraction(b, per[y])
            assert value(sw.col(x) - sw.col(y)) == float(exact[0] - exact[1]), (x, y)
            assert value(sw.col(x) < sw.col(y)) == (exact[0] < exact[1])
            assert value(sw.col(x) >= sw.col(y)) == (exact[0] >= exact[1])
            assert value(sw.col(x) == sw.col(y)) == (x == y)


def test_differences_of_times_are_the_nearest_floats() -> None:
    """In every unit, near and far: the bits do not depend on the unit."""
    choose = Random(7)
    micros = [
        choose.choice((choose.randint(-(10**10), 10**10), choose.randint(-9 * 10**15, 9 * 10**15))) for _ in range(4000)
    ]
    x, y = pa.array(micros[::2]), pa.array(micros[1::2])
    exact = [(a - b) / 10**6 for a, b in zip(micros[::2], micros[1::2], strict=True)]
    nanos = [pa.array([value * 1_000 for value in side.to_pylist()]).cast(pa.timestamp("ns")) for side in (x, y)]
    micro = [side.cast(pa.timestamp("us", "UTC")) for side in (x, y)]
    for arrays in (micro, nanos, [micro[0], nanos[1]], [nanos[0], micro[1]]):
        sides = dict(zip("ab", arrays, strict=True))
        answers = evaluate_all({"x": sw.col("a") - sw.col("b")}, lambda leaf, of=sides: of[leaf.name], len(x))["x"]
        assert answers.to_pylist() == exact
    near = [choose.randint(-(10**11), 10**11) for _ in range(4000)]
    times = [*near, 2**62 + 1]  # the far one sends all of them the long way
    sides = {"a": pa.array(times).cast(pa.timestamp("ns")), "b": pa.array([0] * len(times)).cast(pa.timestamp("s"))}
    answers = evaluate_all({"x": sw.col("a") - sw.col("b")}, lambda leaf: sides[leaf.name], len(times))["x"]
    assert answers.to_pylist() == [value / 10**9 for value in times]


def test_dates_of_64_bits_are_midnight() -> None:
    """A date64 that lies within a day, which Arrow forbids and lets pass, is that day."""
    arrays = {"d": pa.array([-1, 86_400_001, None]).cast(pa.date64())}
    for part, answers in (
        (sw.col("d").hour(), [0, 0, None]),
        (sw.col("d").day(), [31, 2, None]),
        (sw.col("d") - date(1970, 1, 1), [-86400.0, 86400.0, None]),
        (sw.col("d") == date(1970, 1, 2), [False, True, None]),
    ):
        assert evaluate_all({"x": part}, lambda leaf: arrays[leaf.name], 3)["x"].to_pylist() == answers
