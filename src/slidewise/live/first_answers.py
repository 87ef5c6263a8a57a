"""Answers of the first row of a key's newest time, from windows of the rows before each row: `over(rows=n,
closed="left")`.

As of the newest time such a window holds the n rows before all of that time. Its peers push these out, so what the
first of them got is kept: one answer for each aggregate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from slidewise.engine.codec import NotPlainError, Writer
from slidewise.engine.window_spec import WindowSpec
from slidewise.operators.answer_types import named_answer

Firsts = list[list[Any]]  # the answers of each spec that has such a window


class SpecAnswers(NamedTuple):
    """A spec by its index, and where its answers lie among those of all specs."""

    at: int
    part: slice


def specs_of_rows_before(specs: Sequence[WindowSpec]) -> list[SpecAnswers]:
    """The specs over a number of rows before each row."""
    parts = []
    start = 0
    for at, spec in enumerate(specs):
        stop = start + len(spec.members)
        if spec.numbered and spec.is_open:
            parts.append(SpecAnswers(at, slice(start, stop)))
        start = stop
    return parts


def encoded(firsts: Firsts | None) -> list[Any] | None:
    """The answers as plain values; None where one is none, or they are not known."""
    if firsts is None:
        return None
    plain = [[tuple(answer) if isinstance(answer, tuple) else answer for answer in answers] for answers in firsts]
    try:
        Writer().value(plain)
    except NotPlainError:
        return None
    return plain


def decoded(stored: object, specs: Sequence[WindowSpec]) -> Firsts | None:
    """What `encoded` gave, for these specs; a ValueError where it is none."""
    if stored is None:
        return None
    if type(stored) is not list or len(stored) != len(specs):
        raise ValueError(f"windows of the rows before have the answers {stored!r}")
    firsts: Firsts = []
    for spec, answers in zip(specs, stored, strict=True):
        if type(answers) is not list or len(answers) != len(spec.members):
            raise ValueError(f"{spec.members[0].name!r} has the answers {answers!r}")
        operators = [member.operator for member in spec.members]
        firsts.append(
            [named_answer(op, x) if type(x) is tuple else x for op, x in zip(operators, answers, strict=True)]
        )
        if spec.declared:
            spec.check(firsts[-1])
    return firsts
