"""What expressions refuse, and how: kinds, types that no expression takes, numbers beyond 64 bits, and overflows."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.errors import ExpressionError, InputError, NumberOverflowError
from slidewise.expressions import over_arrays
from slidewise.expressions.expression import Expression, call
from slidewise.expressions.functions.function import MistypedValue, ValueOverflow
from slidewise.expressions.over_arrays import RowOverflowError, evaluate_all
from slidewise.expressions.over_rows import explained, row_function
from slidewise.expressions.type_inference import type_of

c = sw.col
COLUMNS = {
    "i": pa.array([1, 2]),
    "f": pa.array([1.5, 2.5]),
    "t": pa.array(["a", "b"]),
    "b": pa.array([True, False]),
    "ts": pa.array([0, 1]).cast(pa.timestamp("us")),
}
OPAQUE = {
    "list": pa.array([[1], [2]]),
    "struct": pa.array([{"x": 1}, {"x": 2}]),
    "decimal": pa.array([Decimal("1.5"), Decimal(2)]),
    "duration": pa.array([1, 2]).cast(pa.duration("us")),
    "time": pa.array([1, 2]).cast(pa.time64("us")),
    "binary": pa.array([b"a", b"b"]),
    "dictionary": pa.array([b"a", b"b"]).dictionary_encode(),
}


def evaluate(part: Expression, columns: dict[str, pa.Array] = COLUMNS) -> list[Any]:
    count = len(next(iter(columns.values())))
    return evaluate_all({"x": part}, lambda leaf: columns[leaf.name], count)["x"].to_pylist()


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (c("t") + 1, "in `t + 1`: + takes numbers, and `t` is text"),
        (c("i") * c("b"), "in `i * b`: * takes numbers, and `b` is true or false"),
        (1 - c("ts"), "in `1 - ts`: - takes two times or two numbers, and `1` is a whole number"),
        (c("t") - c("i"), "in `t - i`: - takes two numbers or two times, and `t` is text"),
        (-c("t"), "in `-t`: - takes numbers, and `t` is text"),
        (c("ts").sqrt(), "in `sqrt(ts)`: sqrt takes numbers, and `ts` is a time"),
        (c("i") & c("b"), "in `i and b`: and takes conditions, which are true or false, and `i` is a whole number"),
        (~c("f"), "in `not f`: not takes conditions, which are true or false, and `f` is a float"),
        (c("t") < c("i"), "in `t < i`: < takes values of one kind, and text comes first, and `i` is a whole number"),
        (c("b") < c("b"), "in `b < b`: < takes numbers, texts or times, and `b` is true or false"),
        (c("i") == c("t"), "in `i == t`: == takes values of one kind, and a number comes first, and `t` is text"),
        (c("ts").is_in(["a"]), "in takes values of one kind, and a time comes first, and `'a'` is text"),
        (c("i").between("a", "b"), "a number comes first, and `'a'` is text"),
        (c("i").lower(), "in `lower(i)`: lower takes text, and `i` is a whole number"),
        (c("i").contains("a"), "in `contains(i, 'a')`: contains takes text, and `i` is a whole number"),
        (c("t").hour(), "in `hour(t)`: hour takes times, and `t` is text"),
        (c("ts").cast(int), "in `int(ts)`: int takes numbers, texts, true and false, and `ts` is a time"),
        (sw.coalesce(c("i"), c("t")), "coalesce takes values of one kind, and a number comes first, and `t` is text"),
        (sw.when(c("i")).then(1).otherwise(2), "takes conditions, which are true or false, and `i` is a whole number"),
        (sw.when(c("b")).then(1).otherwise(c("t")), "a number comes first, and `t` is text"),
        (c("i") + (c("t") * 2), "in `t * 2`: * takes numbers, and `t` is text"),
    ],
)
def test_kinds_that_a_function_does_not_take(part: Expression, message: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(message)):
        evaluate(part)
    with pytest.raises(ExpressionError, match=re.escape(message)):
        type_of(part, lambda leaf: COLUMNS[leaf.name].type)


@pytest.mark.parametrize("name", OPAQUE)
@pytest.mark.parametrize("function", ["+", "==", "<", "and", "coalesce", "case", "text", "lower", "hour", "in"])
def test_types_that_no_expression_takes(name: str, function: str) -> None:
    arguments = {"+": (c(name), c(name)), "and": (c(name), True), "case": (True, c(name), c(name)), "in": (c(name), 1)}
    part = call(
        function, *arguments.get(function, (c(name),) if function in ("text", "lower", "hour") else (c(name),) * 2)
    )
    with pytest.raises(ExpressionError, match=f"`{name}` is of a type that no expression takes, such as a decimal"):
        evaluate(part, OPAQUE)


@pytest.mark.parametrize("name", OPAQUE)
def test_types_that_no_expression_takes_may_be_null_and_stay_as_they_are(name: str) -> None:
    assert evaluate(c(name).is_null(), OPAQUE) == [False, False]
    assert evaluate(c(name), OPAQUE) == OPAQUE[name].to_pylist()


def test_whole_numbers_beyond_64_bits_with_a_sign() -> None:
    columns = {"u": pa.array([2**63 - 1, 2**63], pa.uint64())}
    with pytest.raises(InputError, match=r"`u` holds values that int64 cannot hold.*cast the column to float64 first"):
        evaluate(c("u") > 1, columns)
    assert evaluate(c("u"), columns) == [2**63 - 1, 2**63]
    assert evaluate(c("u") - 1, {"u": columns["u"].slice(0, 1)}) == [2**63 - 2]


@pytest.mark.parametrize("block", [8, 3, 64])
def test_an_overflow_names_the_first_row_of_all_expressions(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_arrays, "BLOCK", block)
    numbers = [1] * 40
    numbers[17], numbers[23], numbers[30] = 2**62, 2**63 - 1, -(2**63)
    arrays = {"n": pa.array(numbers)}
    parts = {"late": -c("n"), "early": c("n") * 4 + 1, "between": c("n") + 1}
    with pytest.raises(RowOverflowError) as error:
        evaluate_all(parts, lambda leaf: arrays[leaf.name], 40)
    assert error.value.row == 17
    assert str(error.value) == (
        f"`n * 4` does not fit into 64 bits where n={2**62}; compute with floats, such as .cast('float'), or leave "
        "such rows out"
    )
    with pytest.raises(RowOverflowError, match="`-n` does not fit") as error:
        evaluate_all({"late": -c("n"), "b": c("n") > 2}, lambda leaf: arrays[leaf.name], 40)
    assert error.value.row == 30


def test_parts_that_are_not_chosen_overflow_too() -> None:
    part = sw.when(c("i") > 0).then(c("i")).otherwise(c("i") + (2**63 - 1))
    with pytest.raises(RowOverflowError):
        evaluate(part)
    with pytest.raises(ValueOverflow):
        row_function(part, lambda leaf: lambda row, _: row[leaf.name])({"i": 1}, ())
    with pytest.raises(RowOverflowError):
        evaluate(sw.coalesce(c("i"), sw.lit(2**62) * 2))


def read(leaf: Expression) -> Any:
    return lambda row, _answers: row[leaf.name]


@pytest.mark.parametrize(
    ("part", "row", "error", "message"),
    [
        (c("x") + 1, {"x": "a"}, ExpressionError, "in `x + 1`: + takes numbers, and `x` is text; `x` is 'a', `1` is 1"),
        (c("x") * 2 > 1, {"x": 2**62}, NumberOverflowError, f"`x * 2` does not fit into 64 bits where x={2**62}"),
        (
            c("x") > c("y"),
            {"x": True, "y": False},
            ExpressionError,
            "> takes numbers, texts or times, and `x` is true",
        ),
        (
            c("x") & c("y"),
            {"x": 1, "y": False},
            ExpressionError,
            "and takes conditions, which are true or",
        ),
        (
            c("x").lower(),
            {"x": 5},
            ExpressionError,
            "lower takes text, and `x` is a whole number; `x` is 5",
        ),
        (
            c("x").hour(),
            {"x": 5},
            ExpressionError,
            "hour takes times, and `x` is a whole number; `x` is 5",
        ),
        (
            sw.coalesce(c("x"), c("y")),
            {"x": 5, "y": "a"},
            ExpressionError,
            "a number comes first, and `y` is text",
        ),
        (c("x").cast(float), {"x": [1]}, ExpressionError, "cast it in the table first; `x` is [1]"),
    ],
)
def test_events_of_other_kinds(part: Expression, row: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises((MistypedValue, ValueOverflow)) as raised:
        row_function(part, read)(row, ())
    explanation = explained(part, read, row, (), raised.value)
    assert isinstance(explanation, error)
    assert message in str(explanation)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: c("x").round(16), "round takes a number of digits from 0 to 15, not 16"),
        (lambda: c("x").round(True), "round takes a number of digits from 0 to 15, not True"),
        (lambda: call("round", c("x"), c("y")), "round takes a constant there, and `y` is none"),
        (lambda: c("x").hour("Mars/Base"), "the zone 'Mars/Base' is not known"),
        (lambda: call("hour", c("x"), 5), "a zone is a name such as 'Europe/Berlin', not 5"),
        (lambda: c("x").contains(5), "contains and starts_with look for a text, such as 'pay', not for 5"),
        (lambda: c("x").is_in([1, None]), "null equals nothing; leave it out of the list"),
        (lambda: call("sqrt", 1, 2), "sqrt takes 1 argument, and got 2"),
        (lambda: sw.lit(2**63), "the constant 9223372036854775808 does not fit into 64 bits"),
    ],
)
def test_constants_that_make_no_sense(make: Any, message: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(message)):
        make()


def test_nulls_alone_have_no_type() -> None:
    with pytest.raises(ExpressionError, match="is null, whatever the row, so its type cannot be told; cast it"):
        evaluate(sw.coalesce(None, None), {"n": pa.nulls(2)})


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        *((expression, pa.null()) for expression in (-c("n"), sw.coalesce(None, c("n")), c("n") - c("n"))),
        *((sw.when(c("n") > 1).then(c("n")).otherwise(None), pa.null()), (c("n") + 1.5, pa.float64())),
        *((c("n") > 3, pa.bool_()), (c("n").hour(), pa.int64()), (c("n").cast("text"), pa.string())),
    ],
    ids=str,
)
def test_columns_of_nulls_alone_may_be_anything(expression: Any, kind: pa.DataType) -> None:
    """A column that happens to be empty, in a batch of pandas' say, is no mistake: aggregates take it, too."""
    array = evaluate_all({"x": expression}, lambda _leaf: pa.nulls(2), 2)["x"]
    assert array.equals(pa.nulls(2, kind))
