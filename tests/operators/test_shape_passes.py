"""The passes of `skew` and `slope` over windows of rows give the bits of the interpreted operators, and nulls alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slidewise as sw

COLUMNS: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda choose: choose.gauss(0, 1),
    "offset": lambda choose: 1e9 + choose.random(),
    "few values": lambda choose: choose.choice([0.0, 1.0, 2.5]),
    "far off": lambda choose: 1e16 if choose.random() < 0.01 else choose.random(),
    "not finite": lambda choose: (
        choose.choice([float("nan"), float("inf")]) if choose.random() < 0.01 else choose.random()
    ),
    "tiny": lambda choose: choose.random() * 1e-120,
    "equal": lambda choose: 3.0 if choose.random() < 0.98 else 3.5,
}


def windows(op: sw.Operator, rows: list[tuple[Any, ...]], n: int, keys: list[int]) -> list[Any]:
    """The interpreted operator over the last n rows of each key."""
    answers: list[Any] = []
    held: dict[int, Any] = {}
    for row, key in zip(rows, keys, strict=True):
        window = held.setdefault(key, sw.DabaLite(op))
        window.insert(*row)
        if len(window) > n:
            window.evict()
        answers.append(window.query())
    return answers


@pytest.mark.parametrize("n", [2, 3, 10, 700])
@pytest.mark.parametrize("name", COLUMNS)
def test_bits_are_those_of_the_interpreted_operators(name: str, n: int) -> None:
    choose = random.Random(n)
    x, y = ([COLUMNS[name](choose) for _ in range(1_500)] for _ in range(2))
    keys = [int(i > 900) for i in range(1_500)]
    for op, columns in ((sw.skew, (x,)), (sw.slope, (y, x))):
        arrays = tuple(np.array(column) for column in columns)
        answers = sw.rolling(arrays, op, rows=n, by=np.array(keys))
        expected = windows(op, list(zip(*columns, strict=True)), n, keys)
        expected = np.array([np.nan if answer is None else answer for answer in expected])
        wrong = np.flatnonzero(~((answers == expected) | (np.isnan(answers) & np.isnan(expected))))
        assert not len(wrong), (op.name, wrong[:5], answers[wrong[:5]], expected[wrong[:5]])


def test_most_rows_are_sure() -> None:
    """Where the data is tame, next to nothing is left for the general kernel."""
    from slidewise.kernels.sums.row_shapes import skew_rows, slope_rows

    x, y = np.random.default_rng(1).normal(size=(2, 20_000)) + 1e6
    offsets = np.array([0, len(x)])
    for n in (10, 1_000):
        for _, sure in (skew_rows(x, offsets, n), slope_rows(y, x, offsets, n)):
            assert sure[2:].mean() > 0.99
