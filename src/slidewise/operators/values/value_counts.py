"""Counts by value: how often each value is in a window. Counts are added, and taken off again exactly.

A state is a dict that is never changed. Floats have one zero and one NaN, which is greater than all others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from slidewise.errors import InputError
from slidewise.operators.types import Value
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.hashing import is_finer, plain

Counts = dict[Value, int]


def lift(operator: str, x: Value) -> Counts:
    """One value, once."""
    x = x if is_finer(x) else plain(x)
    try:
        return {_canonical(x): 1}
    except TypeError as error:
        raise InputError(
            f"{operator} takes values that can be hashed and have an order, such as text and numbers, not {x!r}"
        ) from error


def _canonical(x: Value) -> Value:
    if isinstance(x, float):
        return math.nan if x != x else x + 0.0
    return x


def combine(a: Counts, b: Counts) -> Counts:
    """Counts added."""
    if len(a) < len(b):
        a, b = b, a
    counts = dict(a)
    for value, count in b.items():
        counts[value] = counts.get(value, 0) + count
    return counts


def inverse(total: Counts, oldest: Counts) -> Counts:
    """Counts taken off again."""
    counts = dict(total)
    for value, count in oldest.items():
        left = counts.get(value, 0) - count
        if left:
            counts[value] = left
        else:
            counts.pop(value, None)
    return counts


def encode(state: Counts) -> tuple[tuple[Value, int], ...]:
    """Values and counts in an order that is always the same."""
    return tuple(sorted(state.items(), key=lambda item: (type(item[0]).__name__, repr(item[0]))))


def decode(pairs: Iterable[tuple[Value, int]]) -> Counts:
    """The same as a state; what is no count of different values is left for `is_state` to find."""
    counts: Counts = {}
    for value, count in pairs:
        known = _canonical(value)
        counts[known] = -1 if known in counts else count
    return counts


def is_state(value: Any) -> bool:
    """Whether a value that was stored is counts of values, none of them null."""
    return isinstance(value, dict) and all(
        key is not None and checks.count(count) and count > 0 for key, count in value.items()
    )


def in_order(state: Counts) -> list[tuple[Value, int]]:
    """Values and counts, the least value first and NaN last."""
    try:
        return sorted(state.items(), key=lambda item: (item[0] != item[0], 0 if item[0] != item[0] else item[0]))
    except TypeError as error:
        kinds = " and ".join(sorted({type(value).__name__ for value in state}))
        raise InputError(
            f"the window holds values of {kinds}, which have no order; keep to values of one kind"
        ) from error


def most_frequent(state: Counts) -> list[tuple[Value, int]]:
    """Values and counts, the most frequent first, and of equally frequent ones the least."""
    return sorted(in_order(state), key=lambda item: -item[1])


def entropy(state: Counts) -> float | None:
    """Shannon's entropy of the values' shares in bits; None of no values.

    Equal counts are one term, and terms are added from the least count on: so the answer depends on counts alone.
    """
    if not state:
        return None
    rows = sum(state.values())
    alike: dict[int, int] = {}
    for count in state.values():
        alike[count] = alike.get(count, 0) + 1
    bits = 0.0
    for count in sorted(alike):
        bits += alike[count] * (count / rows * math.log2(rows / count))
    return bits
