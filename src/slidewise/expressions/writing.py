"""Expressions as text: in the grammar of `parsing`, and as Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from slidewise.expressions.expression import Call, Constant, Expression, RowColumn

# Words that are no names of columns, unless they stand in backticks.
WORDS = frozenset(
    (
        *("and", "or", "not", "in", "is", "null", "true", "false", "nan", "inf", "between"),
        *("case", "when", "then", "else", "end", "over", "where"),
    )
)
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)

# How tightly signs bind: the higher, the tighter.
OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 10)
BINARY = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), COMPARISON),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
    "**": POWER,
}


def quoted_name(name: str) -> str:
    """A column's name as it is written: in backticks unless it is a plain word.

    >>> quoted_name("amount"), quoted_name("price in €"), quoted_name("in")
    ('amount', '`price in €`', '`in`')
    """
    if NAME.fullmatch(name) and name.lower() not in WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def quoted_text(text: str) -> str:
    """A text between single quotes, of which those inside are doubled."""
    return "'" + text.replace("'", "''") + "'"


def shortened(text: str, most: int = 60) -> str:
    """A text that is no longer than an error can show."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def as_text(expression: Expression) -> str:
    """The expression as text, which `parsing.parse` reads back."""
    return _folded(expression, _leaf_parts, _call_parts)[0]


# The text of an expression, and how tightly it binds; as Python, 1 where it may stand beside a sign, and else 0.
_Parts = tuple[str, int]


def _folded(
    expression: Expression,
    of_leaf: Callable[[Expression], _Parts],
    of_call: Callable[[Call, Sequence[_Parts]], _Parts],
) -> _Parts:
    """What is made of an expression from the innermost parts on; calls wait on a list, and not on Python's stack."""
    made: list[_Parts] = []
    waiting = [(expression, False)]
    while waiting:
        part, ready = waiting.pop()
        if not isinstance(part, Call):
            made.append(of_leaf(part))
        elif ready:
            first = len(made) - len(part.arguments)
            made[first:] = [of_call(part, made[first:])]
        else:
            waiting.append((part, True))
            waiting += [(argument, False) for argument in reversed(part.arguments)]
    return made[0]


def _within(parts: _Parts, least: int) -> str:
    """A text in parentheses where it binds less tightly than what is around it."""
    text, binds = parts
    return f"({text})" if binds < least else text


def _leaf_parts(expression: Expression) -> _Parts:
    if isinstance(expression, RowColumn):
        return quoted_name(expression.name), ATOM
    if isinstance(expression, Constant):
        return constant_text(expression.value)
    return expression.written(), ATOM


def constant_text(value: Any) -> tuple[str, int]:
    """The text of a constant, and how tightly it binds: a sign before it binds less."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value], ATOM
    if isinstance(value, int | float):
        text = repr(value)
        return text, SIGN if text.startswith("-") else ATOM
    if isinstance(value, str):
        return quoted_text(value), ATOM
    kind = "timestamp" if isinstance(value, datetime) else "date"
    return f"{kind} {quoted_text(value.isoformat())}", ATOM


def _call_parts(call: Call, of: Sequence[_Parts]) -> _Parts:
    name, first = call.function, call.arguments[:1]
    plain = [text for text, _ in of]
    if name in BINARY:
        binds = BINARY[name]
        left, right = binds, binds + 1
        if binds == COMPARISON:  # which are not chained
            left = COMPARISON + 1
        if binds == POWER:  # from the right to the left, and a sign may stand behind it
            left, right = POWER + 1, SIGN
        return f"{_within(of[0], left)} {name} {_within(of[1], right)}", binds
    if name == "neg":
        number = isinstance(first[0], Constant) and type(first[0].value) in (int, float)  # or the sign joins it
        return f"-({plain[0]})" if number else f"-{_within(of[0], SIGN)}", SIGN
    if name == "not":
        return f"not {_within(of[0], NOT)}", NOT
    if name == "is null":
        return f"{_within(of[0], COMPARISON + 1)} is null", COMPARISON
    if name == "in":
        return f"{_within(of[0], COMPARISON + 1)} in ({', '.join(plain[1:])})", COMPARISON
    if name == "between":
        value, low, high = (_within(side, COMPARISON + 1) for side in of)
        return f"{value} between {low} and {high}", COMPARISON
    if name == "case":
        pairs = zip(plain[:-1:2], plain[1::2], strict=True)
        inside = "".join(f"when {a} then {b} " for a, b in pairs)
        return f"case {inside}else {plain[-1]} end", ATOM
    if name == "round" and plain[1] == "0":
        plain = plain[:1]
    return f"{name}({', '.join(plain)})", ATOM


def as_python(expression: Expression) -> str:
    """The expression as Python: `sw.col('price') * sw.col('quantity')`."""
    return _folded(expression, _python_leaf, _python_call)[0]


def _python_leaf(expression: Expression) -> _Parts:
    if isinstance(expression, RowColumn):
        return f"sw.col({expression.name!r})", 1
    if isinstance(expression, Constant):
        return repr(expression.value), not repr(expression.value).startswith("-")
    return repr(expression), 1


def _receiver(expression: Expression, parts: _Parts) -> str:
    """The Python of an expression that is not to be taken for a plain value."""
    if isinstance(expression, Constant):
        return f"sw.lit({expression.value!r})"
    return _within(parts, 1)


def _python_call(call: Call, of: Sequence[_Parts]) -> _Parts:
    name, arguments = call.function, call.arguments
    plain = [text for text, _ in of]
    if name in BINARY:
        sign = {"and": "&", "or": "|"}.get(name, name)
        left = _receiver(arguments[0], of[0]) if isinstance(arguments[1], Constant) else _within(of[0], 1)
        return f"{left} {sign} {_within(of[1], 1)}", 0
    if name in ("neg", "not"):
        return f"{'-' if name == 'neg' else '~'}{_receiver(arguments[0], of[0])}", 0
    if name == "coalesce":
        return f"sw.coalesce({', '.join(plain)})", 1
    if name == "case":
        pairs = zip(plain[:-1:2], plain[1::2], strict=True)
        text = "".join(f".when({a}).then({b})" for a, b in pairs)
        return f"sw{text}.otherwise({plain[-1]})", 1
    method, more = name, plain[1:]
    if name == "in":
        method, more = "is_in", [f"[{', '.join(more)}]"]
    elif name in ("int", "float", "text"):
        method, more = "cast", [repr(name)]
    elif name == "is null":
        method = "is_null"
    elif name == "round" and more == ["0"]:
        more = []
    return f"{_receiver(arguments[0], of[0])}.{method}({', '.join(more)})", 1
