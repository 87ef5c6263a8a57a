"""The table of operators, made from what each of them says of itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import NamedTuple

from slidewise.operators import CATALOGUE
from slidewise.operators.operator import Operator


class OperatorRow(NamedTuple):
    """One operator in words: a row of `operators_table()`."""

    operator: str
    inputs: str
    output: str
    invertible: str
    commutative: str
    selective: str
    state: str
    stream: str
    error: str


def operators_table() -> list[OperatorRow]:
    """One row for each built-in operator: what it takes and gives, what it claims, and how exact it is.

    Returns:
        A list of named tuples, in the order of the documentation.

    >>> row = operators_table()[0]
    >>> row.operator, row.invertible, row.commutative
    ('sum', 'integers only', 'yes')
    """
    return [_row(operator) for operator in CATALOGUE]


def markdown_table() -> str:
    """The table as Markdown, as it stands in the documentation."""
    lines = [_line(OperatorRow._fields), _line("---" for _ in OperatorRow._fields)]
    return "\n".join([*lines, *(_line((f"`{row.operator}`", *row[1:])) for row in operators_table())]) + "\n"


def _row(op: Operator) -> OperatorRow:
    parameters = ", ".join(f"{name}={value!r}" for name, value in op.parameters.items())
    if op.unset and op.make is not None:  # the first has no default that anybody would mean
        parameters = ", ".join(inspect.signature(op.make).parameters)
    invertible = "no" if op.inverse is None else "yes" if op.invertible_if is None else "integers only"
    return OperatorRow(
        operator=f"{op.name}({parameters})" if parameters else op.name,
        inputs=", ".join(op.inputs),
        output=op.output,
        invertible=invertible,
        commutative="yes" if op.commutative else "no",
        selective="yes" if op.selective else "no",
        state=op.state,
        stream="constant" if _has_constant_io(op) else "whole window",
        error=op.error,
    )


def _has_constant_io(op: Operator) -> bool:
    """Whether a stream reads and writes as much for a key with many rows in its window as for one with few."""
    traits = op.traits
    sized = traits.compiled or traits.bounded or traits.counts_rows or traits.spanning is not None
    return sized and not traits.grows


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
