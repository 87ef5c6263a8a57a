"""Examples of operators: a small series of events, and each operator bound to columns of it that show what it does."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from slidewise.operators.aggregate import Aggregate
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Takes

ROWS = 72  # in the series
WINDOW = 12  # rows that an example looks back
_START = datetime(2024, 3, 1)

# Examples that need a parameter, or a column that its inputs do not tell.
_BOUND: dict[str, Callable[[Operator], Any]] = {
    "quantile": lambda op: op(0.9)("x"),
    "bloom": lambda op: op(probe=3)("n"),
    "increase": lambda op: op("counter"),
    "rate": lambda op: op("counter"),
    "product": lambda op: op("ratio"),
    "weighted_mean": lambda op: op("x", "n"),
    "ewm_mean": lambda op: op(halflife="10 minutes")("x"),
    "ewm_sum": lambda op: op(halflife="10 minutes")("x"),
    "time_since_last": lambda op: op("x").where("flag"),
    "lag": lambda op: op(6)("x"),
    "first_k": lambda op: op(3)("x"),
    "last_k": lambda op: op(3)("x"),
    "top_k": lambda op: op(2)("n"),
    "histogram": lambda op: op(edges=[0.0, 4.0, 8.0])("x"),
    "mode": lambda op: op("n"),
    "maxcount": lambda op: op("n"),
    "mincount": lambda op: op("n"),
}


def series() -> dict[str, list[Any]]:
    """The events: a wave with a jump and an outlier `x`, a slower one `y`, small numbers `n`, a flag, a counter."""
    columns: dict[str, list[Any]] = {name: [] for name in ("ts", "x", "y", "n", "ratio", "flag", "counter")}
    total = 0
    for i in range(ROWS):
        noise = ((i * 7919) % 31 - 15) / 20
        x = 4 * math.sin(i / 7) + noise + (5 if i >= 48 else 0) + (7 if i == 30 else 0)
        total = 0 if i == 40 else total + (i * 5) % 9
        columns["ts"].append(_START + timedelta(minutes=i))
        columns["x"].append(round(x, 3))
        columns["y"].append(round(3 * math.sin(i / 7 + 0.6) - noise + i / 24, 3))
        columns["n"].append((i * i // 5 + i // 9) % 6)
        columns["ratio"].append(round(1 + noise / 2, 3))
        columns["flag"].append(x > 1)
        columns["counter"].append(total)
    return columns


def example(op: Operator) -> Aggregate | None:
    """The operator over columns of the series, without a window; None where no picture shows its answers."""
    if op.name in _BOUND:
        bound: Aggregate = _BOUND[op.name](op)
        return bound
    if op.traits.answer is AnswerKind.OBJECT:
        return None
    needed = sum(not name.endswith("?") for name in op.inputs)
    traits = op.traits
    if traits.takes is Takes.BOOLS:
        columns = ["flag"]
    elif needed > 1 or traits.computes or traits.keeps_type or traits.answer is AnswerKind.LIST:
        columns = ["x", "y"][: max(needed, 1)]
    else:
        columns = ["n"]
    counted: Aggregate = op(*columns)
    return counted
