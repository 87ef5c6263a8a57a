"""Compiled statistics against their interpreted forms, to the last bit, over rows, times and keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.operators.values.equality import same

OPERATORS = [sw.weighted_mean, sw.skew, sw.kurtosis, sw.slope, sw.intercept, sw.r2, sw.residual]
KINDS = {
    "decimals": lambda rng, m: rng.integers(0, 1_000, m) / 10,
    "few values": lambda rng, m: rng.choice([0.1, 0.7], m),
    "strange": lambda rng, m: rng.choice([0.1, 1e16, -3.0, 70.5, 71.25, math.nan, math.inf, -math.inf], m),
    "huge": lambda rng, m: rng.choice([1e70, -1e69, 3e70, 0.0, 7e68], m),
    "tiny": lambda rng, m: rng.choice([1e-60, -1e-61, 3e-60, 0.0, 7e-62], m),
    "integers": lambda rng, m: rng.integers(-5, 5, m),
    "large integers": lambda rng, m: 2**60 + rng.integers(0, 2**40, m),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_compiled_is_interpreted(op: sw.Operator, kind: str) -> None:
    rng = np.random.default_rng(4)
    inputs = tuple(KINDS[kind](rng, 120) for _ in op.inputs)
    for n in (1, 2, 5, 40):
        window, expected = sw.DabaLite(op), []
        for row in zip(*(x.tolist() for x in inputs), strict=True):
            window.insert(*row)
            if len(window) > n:
                window.evict()
            expected.append(window.query())
        values: Any = inputs if len(inputs) > 1 else inputs[0]
        by_rows = sw.rolling(values, op, rows=n)
        by_time = sw.rolling(values, op, times=np.arange(120), last=n)
        for i, answer in enumerate(expected):
            right = math.nan if answer is None else answer
            assert same(by_rows[i].item(), right), (i, n)
            assert same(by_time[i].item(), right), (i, n)
