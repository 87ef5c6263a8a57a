"""A function of expressions describes itself: its name, what it takes, and what it does to arrays and single values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slidewise.expressions.kinds import Rule, ValueKind

LOW, HIGH = -(2**63), 2**63 - 1


class ValueOverflow(ArithmeticError):
    """A whole number does not fit into 64 bits."""


class MistypedValue(TypeError):
    """A single value is of a kind that the function does not take."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of expressions.

    `rule` gives the kind of the result, or an error. `over_arrays(*arrays)` takes Arrow arrays and scalars of the
    kinds that the rule let pass, whole numbers as int64 and floats as float64, and never scalars alone, but for those
    that must be constants; `over_values(*values)` takes single values of Python. Both give the same bits. A `strict`
    function gives null where an argument is null, and sees no null among scalars and values; the others decide
    themselves. `promotes` turns whole numbers into floats where a float is beside them, and `as_floats` always.
    `fewest` and `most` bound the number of arguments, and those at `constants` must be constants. With `into`,
    `over_arrays` takes a vector `into` which its values may be put, and be left there.
    """

    name: str
    rule: Rule
    over_arrays: Callable[..., Any]
    over_values: Callable[..., Any]
    fewest: int = 2
    most: int | None = None
    strict: bool = True
    promotes: bool = False
    as_floats: bool = False
    constants: tuple[int, ...] | None = ()  # None: all but the first
    check: Callable[..., None] | None = None  # of the constants' values
    into: bool = False

    def is_constant(self, argument: int) -> bool:
        """Whether the argument at this place must be a constant."""
        return argument > 0 if self.constants is None else argument in self.constants


def is_number(value: object) -> bool:
    """Whether a single value is a whole number or a float."""
    return type(value) is int or type(value) is float


def promoted(kinds: list[ValueKind], function: Function) -> bool:
    """Whether whole numbers among arguments of these kinds become floats before the function sees them."""
    return function.as_floats or (function.promotes and ValueKind.FLOAT in kinds)
