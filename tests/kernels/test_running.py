"""Running aggregates by kernel: they go on from interpreted states, and leave states that are the interpreted ones."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.kernels.passes.running import KeySegments, running
from slidewise.operators.values.equality import same

peak_share = sw.operator(
    name="peak_share",
    identity=(-math.inf, 0),
    lift=lambda x: (x, 1),
    combine=lambda a, b: a if a[0] > b[0] else b if a[0] < b[0] else (a[0], a[1] + b[1]),
    lower=lambda s: None if s[1] > 6 else s[1] / 2,
)
two_answers = sw.operator(
    name="two_answers", identity=0.0, lift=lambda x: x * 1.0, combine=lambda a, b: a + b, lower=lambda s: (s, -s)
)
OPERATORS = [
    *(sw.max, sw.min, sw.first, sw.last, sw.sum, sw.mean, sw.geomean, sw.product, sw.variance, sw.stddev),
    *(sw.maxcount, sw.mincount, sw.value_range, sw.relative_variation, sw.m4, sw.covariance, sw.correlation),
    *(sw.argmax, sw.argmin, peak_share, two_answers),
]


@pytest.mark.parametrize("kind", ["float64", "int64"])
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_batch_after_batch_equals_one_event_after_the_other(op: sw.Operator, kind: str) -> None:
    choose = random.Random(7)
    states: list[Any] = [None] * 4
    expected: list[Any] = [None] * 4
    values = [0.5, -1.25, 3.0, -0.0, 1e16, math.nan] if kind == "float64" else [5, -2, 0, 3, 2**53 + 1]
    for _ in range(6):
        sizes = [choose.choice([0, 1, 5]) for _ in range(4)]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        inputs = [np.array([choose.choice(values) for _ in range(sum(sizes))], kind) for _ in range(int(op.arity()[0]))]
        went = running(op, inputs, KeySegments.whole(offsets), states)
        assert went is not None
        answers, states = went
        rows = list(zip(*(x.tolist() for x in inputs), strict=True))
        for k in range(4):
            for i in range(offsets[k], offsets[k + 1]):
                new = op.lift(*rows[i])
                expected[k] = new if expected[k] is None else op.combine(expected[k], new)
                right = op.lower(expected[k])
                found: Any = tuple(field[i].item() for field in answers.fields)
                if answers.valid is not None and not answers.valid[i]:
                    found = None
                elif len(found) == 1:
                    found = found[0]
                assert same(found, tuple(right) if isinstance(right, tuple) else right)
            assert same(states[k], expected[k])
            assert type(states[k]) is type(expected[k])


def test_what_does_not_fit_is_left_to_the_interpreter() -> None:
    offsets = KeySegments.whole(np.array([0, 2]))
    ints, floats = np.array([1, 2]), np.array([1.0, 2.0])
    assert running(sw.sum, [ints], offsets, [(0.5, 0.0)]) is None  # a sum of floats so far
    assert running(sw.sum, [floats], offsets, [7]) is None
    assert running(sw.max, [ints], offsets, [2**70]) is None
    assert running(sw.max, [ints], offsets, ["text"]) is None
    assert running(sw.count_distinct, [ints], offsets, [None]) is None
    assert running(sw.max, [np.array(["a", "b"], object)], offsets, [None]) is None


def test_a_sum_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(sw.SumOverflowError):
        running(sw.sum, [np.array([2**62, 2**62])], KeySegments.whole(np.array([0, 2])), [None])
    answers, states = running(sw.sum, [np.array([2**62])], KeySegments.whole(np.array([0, 1])), [-(2**63)]) or (
        None,
        None,
    )
    assert answers is not None
    assert answers.fields[0].tolist() == [2**62 - 2**63]
    assert states == [2**62 - 2**63]
