"""Expressions over arrays and over single events: the same bits, the same overflows, and the types told beforehand."""

from __future__ import annotations

import struct
from datetime import date
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_expressions import Columns, columns, expression

import slidewise as sw
from slidewise.errors import ExpressionError
from slidewise.expressions import over_arrays
from slidewise.expressions.expression import Call, Expression, call, leaves_of, parts_of
from slidewise.expressions.functions import times
from slidewise.expressions.functions.function import ValueOverflow
from slidewise.expressions.functions.times import nanoseconds
from slidewise.expressions.kinds import FLOAT, INT, NULL, UNKNOWN, ValueKind
from slidewise.expressions.over_arrays import RowOverflowError, ShareOut, evaluate_all
from slidewise.expressions.over_rows import row_function
from slidewise.expressions.plan import plan_of
from slidewise.expressions.type_inference import kind_of, kind_of_type, type_of
from slidewise.kernels.compiler.threads import share_out

OVERFLOW = "overflow"


def bits(value: Any) -> Any:
    """A value to be compared: floats by their bits, NaN as one, times by the nanosecond."""
    if isinstance(value, float):
        return ("float", "nan") if value != value else ("float", struct.pack("d", value))
    if isinstance(value, date):
        return "time", nanoseconds(value)
    return type(value).__name__, value


def over_array(
    expression: Expression, data: Columns, share: ShareOut = over_arrays.in_turn
) -> tuple[list[Any], int | None, pa.DataType | None]:
    """The values up to the first row that overflows, that row, and their type."""
    try:
        array = evaluate_all({"x": expression}, lambda leaf: data.arrays[leaf.name], data.count, share)["x"]
    except RowOverflowError as error:
        row = error.row
        before = Columns({name: array.slice(0, row) for name, array in data.arrays.items()}, data.kinds, row, data.far)
        values, again, _ = over_array(expression, before)
        assert again is None, f"row {row} is not the first that overflows, {again} is"
        return values, row, None
    array.validate(full=True)
    return array.to_pylist(), None, array.type


def over_rows(expression: Expression, data: Columns, known: bool = True) -> tuple[list[Any], int | None]:
    """The same over single events, of columns whose kinds are known or not."""

    def kind(leaf: Expression) -> ValueKind:
        return kind_of_type(data.arrays[leaf.name].type) if known else UNKNOWN

    of = row_function(expression, lambda leaf: lambda row, _: row[leaf.name], kind)
    values = []
    for i, row in enumerate(data.rows()):
        try:
            values.append(of(row, ()))
        except ValueOverflow:
            return values, i
    return values, None


def difference(part: Expression, table: Columns) -> str:
    """What differs between the two ways, or nothing."""
    try:
        of = type_of(part, lambda leaf: table.arrays[leaf.name].type)
    except ExpressionError as error:
        return "" if "whatever the row" in str(error) else f"{part}: {error}"
    values, failing, kind = over_array(part, table)
    expected, failing_row = over_rows(part, table)
    if kind not in (None, of):
        return f"{part} is of the type {kind}, and not {of}"
    if failing != failing_row:
        return f"{part} overflows in row {failing} of the arrays, and in row {failing_row} of the events"
    for i, (ours, row) in enumerate(zip(values, table.rows(), strict=False)):
        if bits(ours) != bits(expected[i]):
            columns = {leaf.name: (row[leaf.name], table.arrays[leaf.name].type) for leaf in leaves_of(part)}
            return f"{part} is {ours!r} in arrays and {expected[i]!r} in events where {columns}"
    return ""


def check_both_ways(expression: Expression, table: Columns) -> None:
    """Check an expression; of one that differs, show its smallest part that does."""
    if difference(expression, table):
        part = expression
        while wrong := [inner for inner in parts_of(part) if difference(inner, table)]:
            part = wrong[0]
        pytest.fail(difference(part, table))


@given(st.integers(0, 2**32), st.sampled_from((0, 1, 5, 17)))
@settings(max_examples=400)
def test_arrays_and_events_give_the_same_bits(seed: int, count: int) -> None:
    choose = Random(seed)
    table = columns(choose, count)
    for _ in range(5):
        check_both_ways(expression(choose, table), table)


def chooses_floats(part: Expression, table: Columns) -> bool:
    """Whether a float is chosen among others somewhere: an event whose float is null does not tell of it."""
    chosen = isinstance(part, Call) and part.function in ("coalesce", "case")
    is_float = kind_of(part, lambda leaf: kind_of_type(table.arrays[leaf.name].type)) is FLOAT
    return (chosen and is_float) or any(chooses_floats(inner, table) for inner in parts_of(part))


@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_events_of_unknown_kinds_give_the_same_bits(seed: int) -> None:
    choose = Random(seed)
    table = columns(choose, 9)
    for _ in range(3):
        part = expression(choose, table)
        if not chooses_floats(part, table):
            known, unknown = over_rows(part, table), over_rows(part, table, known=False)
            assert [*map(bits, known[0])] == [*map(bits, unknown[0])], str(part)
            assert known[1] == unknown[1], str(part)


@pytest.mark.parametrize("block", [3, 8, 24])
def test_blocks_and_threads_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIDEWISE_THREADS", "3")
    choose = Random(block)
    table = columns(choose, 100)
    for _ in range(60):
        part = call("is null", expression(choose, table)) if choose.random() < 0.1 else expression(choose, table)
        if kind_of(part, lambda leaf: kind_of_type(table.arrays[leaf.name].type)) is NULL:
            continue
        values, failing, kind = over_array(part, table)
        with monkeypatch.context() as patch:
            patch.setattr(over_arrays, "BLOCK", block)
            for share in (over_arrays.in_turn, share_out):
                values_in_blocks, failing_in_blocks, kind_in_blocks = over_array(part, table, share)
                assert [*map(bits, values)] == [*map(bits, values_in_blocks)], str(part)
                assert (failing, kind) == (failing_in_blocks, kind_in_blocks), str(part)


def test_a_float_column_makes_floats_of_whole_numbers_in_events() -> None:
    kinds = {"f": FLOAT, "i": INT}
    for part, event in (
        (sw.coalesce(sw.col("f"), sw.col("i")) // 2, {"f": None, "i": 5}),
        (sw.col("f") // 2, {"f": 5}),
    ):
        of = row_function(part, lambda leaf: lambda row, _: row[leaf.name], lambda leaf: kinds[leaf.name])
        assert bits(of(event, ())) == bits(2.0)


def test_columns_that_begin_within_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that is a column's own memory, of bits, in blocks."""
    monkeypatch.setattr(over_arrays, "BLOCK", 8)
    choose = Random(3)
    for nulls in (0, 0.3):
        values = [None if choose.random() < nulls else choose.random() < 0.5 for _ in range(53)]
        arrays = {
            "b": pa.array(values).slice(3),
            "i": pa.array([None if b is None else int(b) for b in values]).slice(3),
        }
        parts = {"b": sw.coalesce(sw.col("b")), "i": sw.coalesce(sw.col("i")), "n": sw.col("i") + 0}
        answers = evaluate_all(parts, lambda leaf, of=arrays: of[leaf.name], 50)
        assert answers["b"].to_pylist() == values[3:]
        assert answers["i"].to_pylist() == answers["n"].to_pylist() == arrays["i"].to_pylist()


def test_equal_parts_are_computed_once() -> None:
    part = (sw.col("x") + 1) * (sw.col("x") + 1)
    plan = plan_of([part, sw.col("x") + 1], {sw.col("x").key(): pa.int64()})
    assert len(plan.steps) == 2


def test_several_choices_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last choice is put where the result lies, and no other one before it."""
    monkeypatch.setattr(over_arrays, "BLOCK", 8)
    choose = Random(5)
    arrays = {name: pa.array([choose.choice((None, 1.5, 2.5, 3.5, 4.5, 5.5)) for _ in range(50)]) for name in "xyz"}
    rows = [
        dict(zip("xyz", row, strict=True)) for row in zip(*(arrays[name].to_pylist() for name in "xyz"), strict=True)
    ]
    x, y, z = map(sw.col, "xyz")
    for part in (
        sw.coalesce(x, y, z, 0.0),
        sw.when(x > 3).then(x).when(y > 3).then(y).otherwise(z),
        sw.coalesce(x, y, z) + sw.coalesce(x, y, z),
    ):
        of = row_function(part, lambda leaf: lambda event, _: event[leaf.name])
        answers = evaluate_all({"a": part, "b": part}, lambda leaf: arrays[leaf.name], 50)
        assert answers["a"].to_pylist() == answers["b"].to_pylist() == [of(row, ()) for row in rows], str(part)


def test_a_null_time_does_not_make_zones_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of a null lies anything, of pandas' the year 1677: no hours between are looked up."""
    looked_up: list[int] = []
    whole = times._offset
    monkeypatch.setattr(times, "_offset", lambda zone, second: looked_up.append(second) or whole(zone, second))
    moments = pa.array([2**62, -(2**63), 2**62 + 10**9], pa.int64())
    array = pa.Array.from_buffers(pa.timestamp("ns"), 3, [pa.py_buffer(bytes([0b101])), moments.buffers()[1]])
    hours = evaluate_all({"x": sw.col("x").hour("Asia/Tokyo")}, lambda _leaf: array, 3)["x"]
    assert hours.to_pylist()[1] is None
    assert len(looked_up) <= 2 * times._SPAN
