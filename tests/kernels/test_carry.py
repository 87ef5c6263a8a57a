"""A stream of batches gives the answers of one array, wherever it is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.kernels.carry import Carry
from slidewise.windows import CLOSED

OPERATORS = [sw.sum, sw.max, sw.first, sw.count, sw.stddev]


def in_batches(carry: Carry, cuts: list[int], x: Any, times: Any, keys: Any) -> dict[int, Any]:
    answers: dict[int, Any] = {}
    for a, b in zip([0, *cuts], [*cuts, len(x)], strict=True):
        part = slice(a, b)
        got = carry.push(x[part], times=None if times is None else times[part], by=None if keys is None else keys[part])
        answers.update(zip(got.positions.tolist(), np.ma.filled(got.answers.astype(object), None), strict=True))
    got = carry.finish()
    if len(got.positions):
        answers.update(zip(got.positions.tolist(), np.ma.filled(got.answers.astype(object), None), strict=True))
    return answers


@settings(max_examples=60)
@given(data=st.data())
def test_answers_do_not_depend_on_the_cuts(data: st.DataObject) -> None:
    m = data.draw(st.integers(1, 60))
    seed = data.draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    x = rng.integers(-50, 50, m).astype(float)
    x[rng.random(m) < 0.1] = np.nan
    keys = rng.integers(0, 3, m) if data.draw(st.booleans()) else None
    by_time = data.draw(st.booleans())
    times = np.cumsum(rng.integers(0, 3, m)) if by_time else None
    closed = data.draw(st.sampled_from(CLOSED if by_time else ("right", "left")))
    window = {"last": data.draw(st.integers(1, 9))} if by_time else {"rows": data.draw(st.integers(1, 9))}
    cuts = sorted(data.draw(st.lists(st.integers(0, m), max_size=6)))
    op = data.draw(st.sampled_from(OPERATORS))
    whole = sw.rolling(x, op, times=times, by=keys, closed=closed, **window)
    expected = np.ma.filled(whole.astype(object), None).tolist()
    found = in_batches(Carry(op, closed=closed, **window), cuts, x, times, keys)
    assert sorted(found) == list(range(m))
    assert repr([found[i] for i in range(m)]) == repr(expected)


def test_rows_of_the_newest_time_wait_for_their_peers() -> None:
    carry = Carry(sw.sum, last=10)
    first = carry.push(np.array([1, 2]), times=np.array([0, 5]))
    assert (first.positions.tolist(), first.answers.tolist()) == ([0], [1])
    second = carry.push(np.array([3]), times=np.array([5]))
    assert second.positions.tolist() == []
    third = carry.push(np.array([4]), times=np.array([6]))
    assert (third.positions.tolist(), third.answers.tolist()) == ([1, 2], [6, 6])
    assert carry.finish().answers.tolist() == [10]


def test_an_error_leaves_the_stream_as_it_was() -> None:
    carry = Carry(sw.sum, last=10)
    carry.push(np.array([1, 2]), times=np.array([0, 5]))
    with pytest.raises(sw.TimeOrderError, match="position 2: 3 comes after 5 at position 1"):
        carry.push(np.array([3]), times=np.array([3]))
    assert carry.push(np.array([3]), times=np.array([6])).answers.tolist() == [3]


def test_only_rows_that_matter_are_kept() -> None:
    carry = Carry(sw.max, rows=5)
    for _ in range(20):
        carry.push(np.arange(100), by=np.arange(100) % 4)
    assert carry._kept is not None
    assert len(carry._kept.positions) <= 4 * 5
