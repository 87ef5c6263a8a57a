"""What is written can be read: every expression comes back from its text, and from the files of its definition."""

from __future__ import annotations

import sys
from contextlib import suppress

import pytest
from expressions.random_expressions import ODD_NAMES, aggregates, expressions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.definition_files import expression_of, stand_in
from slidewise.expressions.expression import MAX_DEPTH, Expression, call
from slidewise.expressions.parsing import parse

SLOW = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def read(text: str) -> Expression:
    return expression_of(text, stand_in)


@SLOW
@given(expressions)
def test_an_expression_comes_back_from_its_text(expression: Expression) -> None:
    text = str(expression)
    assert read(text).key() == expression.key(), text
    assert str(read(text)) == text


@SLOW
@given(st.lists(expressions, max_size=2), aggregates())
def test_a_definition_comes_back_from_its_files(more: list[Expression], aggregate: Expression) -> None:
    columns = {**{f"c{number}": column for number, column in enumerate(more)}, "last one": aggregate}
    definition = sw.Sliding(by="key", on="moment", columns=columns)
    for again in (sw.Sliding.from_dict(definition.to_dict()), sw.Sliding.from_toml(definition.to_toml())):
        assert again == definition
        assert list(again.columns) == list(columns)
        assert again.fingerprint() == definition.fingerprint()


PIECES = [
    "(",
    ")",
    "'",
    "`",
    "-",
    "**",
    "over",
    "where",
    "not",
    "1e",
    "1",
    "case when",
    "[",
    ",",
    "=",
    "null",
    "\0",
    "ß",
]


@SLOW
@given(expressions, st.data())
def test_a_changed_text_is_read_or_refused(expression: Expression, data: st.DataObject) -> None:
    text = str(expression)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        until = data.draw(st.integers(at, min(at + 5, len(text))))
        text = text[:at] + data.draw(st.sampled_from(["", " ", *PIECES, text[at:until] * 2])) + text[until:]
    try:
        found = read(text)
    except sw.SlidewiseError:
        return
    assert read(str(found)).key() == found.key() or "`" in text, "an operator of a user's own is another one each time"


@settings(max_examples=100)
@given(st.text(alphabet="abxX01.'`()[],=<>*/-+ \n_ecdnotivrul", max_size=40) | st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(sw.SlidewiseError):
        read(text)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_columns_of_any_name_stand_in_backticks(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    assert parse(quoted).key() == sw.col(name).key() == parse(str(sw.col(name))).key()
    assert read(f"sum({quoted}) where {quoted} over all").key() == sw.sum(name).where(name).over("all").key()


def deep(function: str) -> Expression:
    """An expression as deep as they may be."""
    expression: Expression = sw.col("x")
    while expression.depth < MAX_DEPTH:
        if function == "in turn":
            expression = call("-", 1, call("neg", expression)) if expression.depth < MAX_DEPTH - 1 else abs(expression)
        elif function == "case":
            expression = call("case", sw.col("a"), 1, expression)
        elif function in ("neg", "not", "abs", "is null"):
            expression = call(function, expression)
        else:
            expression = call(function, sw.col("y"), expression)
    return expression


@pytest.mark.parametrize("function", ["neg", "not", "abs", "is null", "-", "**", "and", "coalesce", "case", "in turn"])
def test_the_deepest_expressions_come_back(function: str) -> None:
    """And neither writing nor reading goes by Python's own stack."""
    expression = deep(function)
    limit = sys.getrecursionlimit()
    depth = 1
    while True:
        try:
            sys._getframe(depth)
        except ValueError:
            break
        depth += 1
    sys.setrecursionlimit(depth + 40)
    try:
        text = str(expression)
        size = len(repr(expression))
        again = parse(text)
    finally:
        sys.setrecursionlimit(limit)
    assert again.key() == expression.key()
    assert size > MAX_DEPTH


SIGNS = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "and", "or", "coalesce"]
SINGLE = ["neg", "not", "is null", "abs", "sign", "int", "text", "length", "hour"]


def made(function: str, a: Expression, b: Expression) -> list[Expression]:
    """The function over two expressions in all of its places, as far as it takes them."""
    calls = [(function, a, b)] if function in SIGNS else [(function, a)]
    if function == "between":
        calls = [(function, a, b, 1), (function, 1, a, b)]
    elif function == "case":
        calls = [(function, a, b, 1), (function, sw.col("x"), 1, a, b, 2), (function, sw.col("x"), a, b)]
    elif function == "in":
        calls = [(function, a), (function, a, -1, 2)]
    elif function == "round":
        calls = [(function, a, 0), (function, a, 3)]
    found = []
    for function_and_arguments in calls:
        with suppress(sw.SlidewiseError):  # kinds that do not go together
            found.append(call(*function_and_arguments))
    return found


FUNCTIONS = [*SIGNS, *SINGLE, "between", "case", "in", "round"]


def test_signs_beside_signs_come_back() -> None:
    """Every function within every other one, on either side: what binds how tightly is the same both ways."""
    plain = [sw.col("x"), sw.lit(2), sw.lit(-2), sw.sum("x").over(5)]
    inner = [
        e for function in FUNCTIONS for a in plain for b in plain if a is not b for e in made(function, a, b)
    ] + plain
    texts: dict[str, object] = {}
    for function in FUNCTIONS:
        for number, one in enumerate(inner):
            beside = plain[number % len(plain)]
            for expression in (*made(function, one, beside), *made(function, beside, one)):
                text = str(expression)
                assert texts.setdefault(text, expression.key()) == expression.key(), f"two expressions are {text}"
                assert read(text).key() == expression.key(), text
    assert len(texts) > 5_000
