"""Runs of true rows, against `itertools.groupby`."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.operators.families.logic import current_run, longest_run


def runs(flags: list[bool]) -> list[tuple[bool, int]]:
    return [(flag, len(list(group))) for flag, group in groupby(flags)]


def longest(flags: list[bool]) -> int:
    return max((length for flag, length in runs(flags) if flag), default=0)


def current(flags: list[bool]) -> int:
    return runs(flags)[-1][1] if flags and flags[-1] else 0


@pytest.mark.parametrize(("op", "reference"), [(longest_run, longest), (current_run, current)])
@settings(max_examples=40)
@given(flags=st.lists(st.sampled_from([True, True, False, None]), max_size=40), n=st.integers(1, 12))
def test_runs_are_those_of_groupby(op: sw.Operator, reference: object, flags: list[bool | None], n: int) -> None:
    expected = []
    for i in range(len(flags)):
        window = [flag for flag in flags[max(0, i - n + 1) : i + 1] if flag is not None]
        expected.append(reference(window) if window else None)  # type: ignore[operator]
    answers = sw.rolling(pa.array(flags, pa.bool_()), op, rows=n)
    assert answers.type == pa.int64()
    assert answers.to_pylist() == expected
    window = sw.DabaLite(op)
    for i, flag in enumerate(flags):
        window.insert(flag)
        if i >= n:
            window.evict()
        assert window.query() == (expected[i] or 0)


def test_runs_of_long_windows_and_of_no_rows() -> None:
    flags = np.ones(10_000, np.bool_)
    assert sw.rolling(flags, sw.longest_run, rows=9_000)[-1] == 9_000
    assert sw.rolling(flags, sw.current_run, rows=10_000).tolist() == list(range(1, 10_001))
    assert sw.longest_run.lower(sw.longest_run.identity) == sw.current_run.lower(sw.current_run.identity) == 0
    empty = sw.rolling(pa.array([True, False]), sw.longest_run, rows=1, closed="left")
    assert empty.to_pylist() == [None, 1]


def test_only_bools_have_runs() -> None:
    with pytest.raises(sw.InputError, match="longest_run takes True and False"):
        sw.rolling(np.array([1, 0]), sw.longest_run, rows=2)
    with pytest.raises(sw.InputError, match="current_run takes True and False"):
        sw.DabaLite(sw.current_run).insert(1)


@pytest.mark.parametrize("state", [(2, 1, 1, 3), (0, 0, 3, 2), (1, 1, 1), (-1, 0, 0, 1), (2, 2, 3, 3), None])
def test_states_that_no_rows_have_are_refused(state: object) -> None:
    assert longest_run.is_state is not None
    assert not longest_run.is_state(state)


def test_states_of_current_runs() -> None:
    assert current_run.is_state is not None
    assert current_run.is_state((2, 3))
    assert not current_run.is_state((4, 3))
