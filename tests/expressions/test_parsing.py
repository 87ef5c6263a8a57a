"""Expressions from text: what is read as what, and errors that point at their place."""

from __future__ import annotations

import ast
import inspect
from datetime import UTC, date, datetime
from typing import Any

import pytest

import slidewise as sw
from slidewise.definition_files import expression_of, stand_in
from slidewise.expressions import parsing, token_reader, tokens
from slidewise.expressions.expression import Expression, call
from slidewise.expressions.functions.catalogue import BY_NAME as FUNCTIONS
from slidewise.expressions.parsing import OperatorCall, parse
from slidewise.operators import BY_NAME as OPERATORS

c = sw.col
x, y, a, b = c("x"), c("y"), c("a"), c("b")


def read(text: str) -> Expression:
    return expression_of(text, stand_in)


def refused(text: str) -> str:
    with pytest.raises(sw.ExpressionError) as caught:
        read(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("amount > 100 and country in ('DE', 'FR')", (c("amount") > 100) & c("country").is_in(["DE", "FR"])),
        ("x = 1 OR y <> 2", (x == 1) | (y != 2)),
        ("x == 1 or y != 2 And a", (x == 1) | ((y != 2) & a)),
        ("Amount", c("Amount")),
        ("`price in €` * `a``b`", c("price in €") * c("a`b")),
        ("größe + 1", c("größe") + 1),
        ("x\n  not\tin (1)", ~x.is_in([1])),
        ("x in ()", x.is_in([])),
        ("x not between 1 and 2 and a", ~x.between(1, 2) & a),
        ("x between y + 1 and 2 * y or a", x.between(y + 1, 2 * y) | a),
        ("x is not null", ~x.is_null()),
        ("not x is null", ~x.is_null()),
        ("not not a or b", ~~a | b),
        ("x - y - 1", (x - y) - 1),
        ("x - (y - 1)", x - (y - 1)),
        ("x + y * 2 // 3 % 4", x + (y * 2 // 3 % 4)),
        ("2 ** 3 ** x", sw.lit(2) ** (sw.lit(3) ** x)),
        ("-2 ** 2", -(sw.lit(2) ** 2)),
        ("(-2) ** 2", sw.lit(-2) ** 2),
        ("2 ** -2", sw.lit(2) ** -2),
        ("2 ** -x ** 2", sw.lit(2) ** -(x**2)),
        ("-x * y", (-x) * y),
        ("--x", call("neg", -x)),
        ("-(5)", -sw.lit(5)),
        ("- 5", sw.lit(-5)),
        ("-9223372036854775808", sw.lit(-(2**63))),
        (".5 + 1.5 + 1e3 + 2E-3 + 1.", sw.lit(0.5) + 1.5 + 1e3 + 2e-3 + 1.0),
        ("-0.0", sw.lit(-0.0)),
        ("-inf", sw.lit(float("-inf"))),
        ("NaN", sw.lit(float("nan"))),
        ("'it''s' == x", sw.lit("it's") == x),
        ("'a\nb'", sw.lit("a\nb")),
        ("timestamp '2024-01-01T00:00:00+00:00' <= x", sw.lit(datetime(2024, 1, 1, tzinfo=UTC)) <= x),
        ("Date '2024-01-01' == x", sw.lit(date(2024, 1, 1)) == x),
        ("timestamp > date", c("timestamp") > c("date")),
        ("round(x) + ROUND(x, 2)", x.round() + x.round(2)),
        ("coalesce(x, null, 0)", sw.coalesce(x, None, 0)),
        ("contains(lower(x), 'pay')", x.lower().contains("pay")),
        ("hour(x, 'Europe/Berlin') + weekday(x)", x.hour("Europe/Berlin") + x.weekday()),
        ("int(x) + float(x) + length(text(x))", x.cast(int) + x.cast(float) + x.cast(str).length()),
        ("case when x > 0 then 'up' when x < 0 then 'down' end", sw.when(x > 0).then("up").when(x < 0).then("down")),
        ("case when a then 1 else case when b then 2 else 3 end end", sw.when(a).then(1)),
        ("true or false", sw.lit(True) | False),
    ],
)
def test_what_a_text_means(text: str, meant: Any) -> None:
    if not isinstance(meant, Expression):
        meant = meant.otherwise(sw.when(b).then(2).otherwise(3) if "else" in text else None)
    assert parse(text).key() == meant.key()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("sum(price * quantity) over 1 day", sw.sum(c("price") * c("quantity")).over("1 day")),
        ("count() over all", sw.count().over("all")),
        ("Count(x) OVER ALL", sw.count("x").over("all")),
        ("mean(x) over 100 rows closed left", sw.mean("x").over(rows=100, closed="left")),
        ("max(x) over 1h 30m", sw.max("x").over("90 minutes")),
        ("max(x) over 90s", sw.max("x").over("90 seconds")),
        ("max(x) over 1.5 hours", sw.max("x").over("90 minutes")),
        ("max(x) over 3600", sw.max("x").over(3600)),
        ("max(x) over 2.5 closed both", sw.max("x").over(2.5, closed="both")),
        (
            "sum(x) over 1 day grain 1 hour at_least 10 closed neither",
            sw.sum("x").over("1 day", closed="neither", at_least=10, grain="1 hour"),
        ),
        ("sum(x) over 100 grain 5", sw.sum("x").over(100, grain=5)),
        ("quantile(0.99)(x) over 1 day", sw.quantile(0.99)("x").over("1 day")),
        ("quantile(q=0.99)(x) over 1 day", sw.quantile(0.99)("x").over("1 day")),
        ("quantile(.9, approximate=0.01)(x) over all", sw.quantile(0.9, approximate=0.01)("x").over("all")),
        ("hyperloglog(p=9)(x) over all", sw.hyperloglog(p=9)("x").over("all")),
        ("hyperloglog(x) over all", sw.hyperloglog("x").over("all")),
        ("bloom(probe=x'00ff')(x) over all", sw.bloom(probe=b"\x00\xff")("x").over("all")),
        ("argmax(x, abs(y)) over all", sw.argmax("x", abs(y)).over("all")),
        ("count() where a over all", sw.count().where("a").over("all")),
        ("count() where not a or `is` over all", sw.count().where(~a | c("is")).over("all")),
        ("bool_or(x = 1) over all", sw.bool_or(x == 1).over("all")),
        (
            "(x - mean(x) over 7 days) / stddev(x) over 7 days",
            (x - sw.mean("x").over("7 days")) / sw.stddev("x").over("7 days"),
        ),
        ("-sum(x) over 5 ** 2", -(sw.sum("x").over(5) ** 2)),
        ("sum(x) over 5 - 3 > 0", (sw.sum("x").over(5) - 3) > 0),
        ("sum + count", c("sum") + c("count")),
    ],
)
def test_what_an_aggregate_means(text: str, meant: Expression) -> None:
    assert read(text).key() == meant.key()


def test_an_operator_of_a_users_own_stands_in_backticks() -> None:
    calls: list[OperatorCall] = []

    def make(written: OperatorCall) -> Any:
        calls.append(written)
        return sw.max("x")

    parse("`plant.ops:spread`(x, y + 1) over all + `p:q`(1, 'a', deep=[[1], -2.5, x'00', null])(x) over all", make)
    own, made = calls
    assert (own.name, own.own, own.positional, own.named) == ("plant.ops:spread", True, (), {})
    assert [argument.key() for argument in own.arguments] == [x.key(), (y + 1).key()]
    assert (made.positional, made.named) == ((1, "a"), {"deep": ((1,), -2.5, b"\x00", None)})


def test_no_name_is_a_function_and_an_operator() -> None:
    assert not FUNCTIONS.keys() & OPERATORS.keys()


def test_nothing_of_a_text_is_run() -> None:
    names = {"eval", "exec", "compile", "__import__", "getattr", "literal_eval"}
    for module in (parsing, token_reader, tokens):
        found = {node.id for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Name)}
        assert not found & names


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, ["expected a value", "the end of the text"]),
        ("   ", 1, ["expected a value"]),
        ("a +", 4, ["expected a value", "the end of the text"]),
        ("a + )", 5, ["expected a value", "found `)`"]),
        ("(a + b", 7, ["expected an operator or `)`", "the end of the text"]),
        ("a + b)", 6, ["expected an operator", "found `)`"]),
        ("a b", 3, ["expected an operator, such as + or and", "found `b`"]),
        ("a adn b", 3, ["found `adn`", "did you mean 'and'"]),
        ("nto a", 5, ["did you mean 'not'"]),
        ("x is nul", 6, ["expected null", "did you mean 'null'"]),
        ("x is 5", 6, ["expected null", "found `5`"]),
        ("x not like 5", 7, ["expected in or between", "found `like`"]),
        ("x between 1 or 2", 13, ["expected an operator or and", "found `or`"]),
        ("x in 5", 6, ["expected `(`"]),
        ("x in (1 2)", 9, ["expected an operator, `,` or `)`"]),
        ("x in (1, y)", 10, ["in takes a constant there", "`y` is none"]),
        ("x in (1, null)", 10, ["null equals nothing", "is null"]),
        ("x in (1, 'a')", 10, ["values of one kind", "`'a'` is text"]),
        ("in > 3", 1, ["expected a value", "`in`", "backticks"]),
        ("a == not b", 6, ["not binds less", "(not ...)"]),
        ("a < b < x", 7, ["comparisons are not chained", "a < b and b < c", "between"]),
        ("a == b is null", 8, ["comparisons are not chained"]),
        ("a & b", 3, ["'&'", "write and"]),
        ("a || b", 3, ["'|'", "write or"]),
        ("~a", 1, ["'~'", "write not"]),
        ("!a", 1, ["'!'", "write not"]),
        ("2 ^ 3", 3, ["'^'", "write **"]),
        ('a == "DE"', 6, ["single quotes", "backticks"]),
        ("a.b > 1", 2, ["'.'", "`a.b`"]),
        ("a;", 2, ["';'", "ends without it"]),
        ("'abc", 1, ["text", "no end", "close it with '"]),
        ("a + `abc", 5, ["name", "no end", "close it with `"]),
        ("``", 1, ["a name in backticks has at least one character"]),
        ("1_000", 1, ["without _"]),
        ("1 + 5x", 6, ["expected an operator", "found `x`"]),
        ("0x10", 2, ["found `x10`"]),
        ("1e999", 1, ["1e999", "too large for a float", "inf"]),
        ("9223372036854775808", 1, ["does not fit into 64 bits"]),
        ("1" * 401, 1, ["at most 400 characters", "401"]),
        ("timestamp '2024-13-01'", 11, ["timestamp", "ISO"]),
        ("date 'today'", 6, ["date", "ISO", "'today'"]),
        ("x'00'", 1, ["bytes", "parameters only"]),
        ("'a' + 1", 1, ["+ takes numbers", "`'a'` is text"]),
        ("x + 'b' * 2", 5, ["* takes numbers", "`'b'` is text"]),
        ("x and 5", 7, ["and takes conditions", "`5` is a whole number"]),
        ("not (x + 1)", 6, ["not takes conditions", "`x + 1` is a number"]),
        ("case when 5 then 1 end", 11, ["takes conditions", "`5`"]),
        ("case when a then 1 else 'b' end", 25, ["values of one kind", "text"]),
        ("case a when 1 then 2 end", 6, ["expected when", "found `a`"]),
        ("case when a than 1 end", 13, ["then", "did you mean 'then'"]),
        ("case when a then 1", 19, ["end"]),
        ("abs()", 1, ["abs takes 1 argument, and got 0"]),
        ("1 + abs(a, b)", 5, ["abs takes 1 argument, and got 2"]),
        ("hour(a, b, x)", 1, ["hour takes 1 to 2 arguments, and got 3"]),
        ("coalesce()", 1, ["coalesce takes 1 or more arguments"]),
        ("round(x, 20)", 10, ["digits from 0 to 15", "20"]),
        ("round(x, y)", 10, ["round takes a constant", "`y`"]),
        ("hour(a, 'Mars/City')", 9, ["Mars/City", "not known"]),
        ("abs(x)(y)", 7, ["expected an operator", "found `(`"]),
        ("sqt(x)", 1, ["no function or operator 'sqt'", "did you mean 'sqrt'"]),
        ("summ(x) over 1 day", 1, ["no function or operator 'summ'", "did you mean 'sum'", "`package.module:name`"]),
        ("1 + sum(x)", 11, ["expected over", "`sum` needs a window", "over 10 minutes"]),
        ("sum(x) > 5", 8, ["expected over", "`sum` needs a window", "found `>`"]),
        ("sum(x) ovr 1 day", 8, ["expected over", "did you mean 'over'"]),
        ("sum(x) were a over 1 day", 8, ["did you mean 'where'"]),
        ("sum(x) over", 12, ["expected a window", "100 rows", "10 minutes"]),
        ("sum(x) over -5", 13, ["expected a window", "found `-`"]),
        ("sum(x) over '1 day'", 13, ["without quotes"]),
        ("sum(x) over day", 13, ["expected a window", "found `day`"]),
        ("sum(x) over 1 fortnight", 13, ["unknown unit 'fortnight'"]),
        ("sum(x) over 1 month 3 days", 13, ["whole months"]),
        ("sum(x) over 1 month zone Europe", 26, ["a zone between quotes"]),
        ("sum(x) over 1 month zone 'Nowhere'", 21, ["is not known"]),
        ("sum(x) over 0", 13, ["must be positive"]),
        ("sum(x) over 1.5 rows", 13, ["a number of rows", "found `1.5`"]),
        ("sum(x) over 0 rows", 13, ["rows is a whole number from 1 on"]),
        ("sum(x) over 1 day closed lef", 19, ["'lef'", "did you mean 'left'"]),
        ("sum(x) over 1 day closed 5", 26, ["left, right, both or neither", "found `5`"]),
        ("sum(x) over 5 rows closed both", 20, ["closed 'right' or 'left'"]),
        ("sum(x) over 1 day close left", 19, ["did you mean 'closed'"]),
        ("sum(x) over 1 day closed left closed left", 31, ["closed is written twice"]),
        ("sum(x) over 5 rows at_least 10", 20, ["at_least=10"]),
        ("sum(x) over 5 rows at_least 1.5", 29, ["a number of rows", "found `1.5`"]),
        ("sum(x) over 1 day grain 2 days", 19, ["grain='2 days'", "longer than the window"]),
        ("sum(x) over all grain 5", 17, ["grain=5", "windows of time"]),
        ("sum(x) over 1 day grain fine", 25, ["expected a length", "found `fine`"]),
        ("median(x) over 1 day grain 1 hour", 22, ["an exact median", "grain"]),
        ("sum() over 1 day", 1, ["sum takes the columns (x)", "got 0"]),
        ("sum(x, y) over 1 day", 1, ["sum takes the columns (x)", "got 2"]),
        ("sum(1)(x) over 1 day", 1, ["sum has no parameters", "1"]),
        ("sum(q=1)(x) over 1 day", 1, ["sum has no parameters", "q"]),
        ("quantile(x) over 1 day", 1, ["quantile needs its parameters", "quantile(q=0.5)(x)"]),
        ("quantile(2)(x) over 1 day", 1, ["q is a share from 0 to 1"]),
        ("quantile(p=0.5)(x) over 1 day", 1, ["quantile", "p"]),
        ("quantile(0.5, q=0.5)(x) over 1 day", 1, ["quantile is made with (q, interpolation)", "q"]),
        ("quantile(q=0.5, q=0.6)(x) over 1 day", 17, ["the parameter 'q' is written twice"]),
        ("quantile(q=0.5, 0.6)(x) over 1 day", 17, ["a parameter with its name"]),
        ("quantile(y)(x) over 1 day", 10, ["a parameter, which is a constant", "found `y`"]),
        ("bloom(probe=x'0')(x) over all", 13, ["hexadecimal digits"]),
        ("bloom(probe=[1 2])(x) over all", 16, ["expected `,` or `]`"]),
        ("1 + `sum`(x) over 1 day", 5, ["`package.module:name`", "'sum'", "sum stands without backticks"]),
        ("`a b:c`(x) over 1 day", 1, ["'a b:c'", "no import path"]),
        ("`p:q`(5)(x) over 1 day", 1, ["'p:q'", "by their names"]),
        ("count() where x + 1 over 1 day", 15, ["where takes a condition", "`x + 1` is a number"]),
        ("sum(1 + sum(x) over 5) over 5", 5, ["sum reads the rows' own columns", "`sum(x) over 5`", "do not nest"]),
        ("count() where sum(x) over 5 > 3 over 5", 15, ["where reads the rows' own columns", "do not nest"]),
    ],
)
def test_an_error_says_what_and_where(text: str, column: int, words: list[str]) -> None:
    message, where, shown, caret = refused(text).split("\n")
    for word in words:
        assert word in message
    assert where == f"  at line 1, column {column}:"
    if len(text) <= 60:
        assert shown == f"    {text}"
        assert caret == " " * (3 + column) + "^"


def test_an_error_in_a_long_text_shows_what_is_around_it() -> None:
    text = " + ".join(["amount"] * 30) + "\n  + 'x'\n" + " + ".join(["+ amount"] * 30)
    assert refused(text).split("\n")[1:] == ["  at line 2, column 5:", "      + 'x'", "        ^"]
    text = text.replace("\n", " ")
    _, where, shown, caret = refused(text).split("\n")
    assert where == "  at line 1, column 273:"
    assert (shown[:7], shown[-3:], len(shown)) == ("    ...", "...", 70)
    assert shown[caret.index("^") :].startswith("'x'")


def test_an_error_behind_a_tab_and_at_the_end_of_lines() -> None:
    assert refused("\ta +\n\n").split("\n")[1:] == ["  at line 1, column 5:", "     a +", "        ^"]


def test_aggregates_stand_only_where_somebody_makes_them() -> None:
    with pytest.raises(sw.ExpressionError, match=r"no function 'sum', and aggregates do not stand here"):
        parse("sum(x) over 5")
    with pytest.raises(sw.ExpressionError, match=r"no function 'sqt'.*did you mean 'sqrt'"):
        parse("sqt(x)")
    with pytest.raises(sw.ExpressionError, match="an expression is text here, such as 'price"):
        parse(5)  # type: ignore[arg-type]


LONG = tokens.LONGEST
HOSTILE = {
    "parentheses": "(" * LONG,
    "not": "not " * (LONG // 4),
    "minus": "-" * LONG,
    "powers": "2**" * (LONG // 3 - 1) + "2",
    "minus and powers": "2**-" * (LONG // 4 - 1) + "2",
    "cases": "case when " * (LONG // 10),
    "cases in else": "case when a then b else " * (LONG // 24),
    "functions": "abs(" * (LONG // 4),
    "aggregates": "sum(" * (LONG // 4),
    "conditions": "count() where " * (LONG // 14),
    "in": "x in (" * (LONG // 6),
    "between": "x between " * (LONG // 10),
    "right": "x-(" * (LONG // 3),
    "sums": "a+" * (LONG // 2 - 1) + "a",
    "ors": "a or " * (LONG // 5 - 1) + "a",
    "a long list": "x in (" + "1," * (LONG // 2 - 10) + "1)",
    "many arguments": "coalesce(" + "a," * (LONG // 2 - 10) + "a)",
    "lists": "sum(" + "[" * (LONG - 20) + ")(x)",
    "quotes": "'" * (LONG - 1),
    "backticks": "`" * (LONG - 1),
    "digits": "1" * LONG,
    "numbers": "1 " * (LONG // 2),
    "points": "." * LONG,
    "pairs": "()" * (LONG // 2),
    "a megabyte": "(" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused(name: str) -> None:
    """By their nesting, their length or their size, and not by Python's own stack."""
    message = refused(HOSTILE[name])
    assert len(message) < 1_000
    if name in ("parentheses", "not", "minus", "powers", "cases", "functions", "aggregates", "right", "sums", "ors"):
        assert "may be nested 200 levels deep" in message
    if name in ("a long list", "many arguments"):
        assert "may have 10,000 parts" in message
    if name == "a megabyte":
        assert message.startswith("an expression has at most 100,000 characters, and this one has 1,000,000")


def test_kinds_are_found_once_for_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of signs costs no more than its length."""
    count = 0
    kind_of_call = parsing.kind_of_call

    def counted(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return kind_of_call(*arguments)

    monkeypatch.setattr(parsing, "kind_of_call", counted)
    parse(" + ".join(["a"] * 150))
    assert count == 149


def test_parentheses_that_change_nothing_may_nest() -> None:
    assert parse("(" * 300 + "x" + ")" * 300).key() == x.key()


def test_a_constant_of_any_size_is_refused_in_words() -> None:
    with pytest.raises(sw.ExpressionError, match=r"18446744073709551616 does not fit into 64 bits.*1\.84"):
        sw.lit(2**64)
    with pytest.raises(sw.ExpressionError, match="does not fit into 64 bits"):
        sw.lit(10**5_000)
    with pytest.raises(sw.ExpressionError, match=r"in `abs\(x, y\)`|abs takes 1 argument, and got 2"):
        call("abs", x, y)
