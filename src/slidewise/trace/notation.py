"""Notation: states, rows and steps as texts that are short enough for a cell of a picture."""

from __future__ import annotations

from collections.abc import Callable

from slidewise.operators import BY_NAME
from slidewise.operators.operator import Operator
from slidewise.operators.types import State, Value

LONGEST = 9  # characters of a cell

# Letters in a row, oldest first: partials show which rows they cover, as in the paper's second column of figures.
concat = Operator(name="concat", identity="", combine=lambda a, b: a + b, output="text", state="text")

OPERATORS: dict[str, Operator] = BY_NAME | {concat.name: concat}


def notation(operator: Operator) -> Callable[[State], str]:
    """The way to write an operator's states: 4×3 for a maximum of 4 that occurs 3 times, cd..g for c to g.

    >>> notation(OPERATORS["maxcount"])((4, 3)), notation(concat)("cdefg"), notation(OPERATORS["mean"])((9.0, 0.0, 2))
    ('4×3', 'cd..g', '4.5')
    """
    if operator.traits.sign:
        return lambda state: operator.traits.sign.join(map(_number, state))
    if operator is concat:
        return _letters
    return lambda state: short_text(state if isinstance(state, (int, float, str)) else operator.lower(state))


def short_text(value: Value, longest: int = LONGEST) -> str:
    """A value, an answer or a state: numbers with six digits, anything long cut short.

    >>> short_text(1 / 3), short_text(None), short_text(list(range(9)))
    ('0.333333', '', '[0, 1, 2…')
    """
    if value is None:
        return ""
    text = _number(value) if isinstance(value, (int, float)) else str(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def letter(row: int) -> str:
    """The letter of a row in traces of concat: a to z, A to Z, then Greek and further ones.

    >>> letter(0), letter(27), letter(52)
    ('a', 'B', 'α')
    """
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZαβγδεζηθικλμνξοπρστυφχψω"
    return letters[row] if row < len(letters) else chr(0x4E00 + row - len(letters))


def label(step: int) -> str:
    """The paper's name of a step: (A) for the empty window, then (B) and so on; after (Z) comes (AA).

    >>> label(0), label(25), label(26)
    ('A', 'Z', 'AA')
    """
    name = ""
    step += 1
    while step:
        step, digit = divmod(step - 1, 26)
        name = chr(ord("A") + digit) + name
    return name


def _number(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _letters(state: State) -> str:
    return state if len(state) < 5 else f"{state[:2]}..{state[-1]}"
