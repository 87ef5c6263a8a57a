"""Values at the ends of windows, against slices of Python lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.operators.values.equality import same

KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "floats": (pa.float32(), [0.5, -0.0, math.nan, math.inf]),
    "integers": (pa.int16(), [-1, 0, 7]),
    "bools": (pa.bool_(), [True, False]),
    "text": (pa.string(), ["", "é", "b"]),
    "moments": (pa.timestamp("us"), [datetime(2024, 1, 1), datetime(2024, 1, 1) + timedelta(microseconds=1)]),
}


def lagged(k: int, window: list[Any]) -> Any:
    return window[-1 - k] if len(window) > k else None


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(data=st.data(), n=st.integers(1, 9), k=st.integers(0, 5))
def test_values_at_the_ends_are_slices(kind: str, data: st.DataObject, n: int, k: int) -> None:
    arrow, values = KINDS[kind]
    rows = data.draw(st.lists(st.sampled_from([None, *values]), max_size=25))
    cases: list[tuple[sw.Operator, Callable[[list[Any]], Any], bool]] = [
        (sw.lag(k), lambda window: lagged(k, window), False),
        (sw.last_k(k + 1), lambda window: window[-k - 1 :], True),
        (sw.first_k(k + 1), lambda window: window[: k + 1], True),
    ]
    for op, reference, answers_empty in cases:
        for closed in ("right", "left"):
            expected = []
            for i in range(len(rows)):
                stop = i + (closed == "right")
                window = [x for x in rows[max(0, stop - n) : stop] if x is not None]
                expected.append(reference(window) if window or answers_empty else None)
            answers = sw.rolling(pa.array(rows, arrow), op, rows=n, closed=closed)
            assert answers.type == (pa.list_(arrow) if answers_empty else arrow)
            assert same(answers.to_pylist(), expected), (op, closed)
        live = sw.DabaLite(op)
        for i, x in enumerate(rows):
            live.insert(x)
            if i >= n:
                live.evict()
            assert same(live.query(), reference([x for x in rows[max(0, i - n + 1) : i + 1] if x is not None]))


def test_lists_by_key_and_in_other_series() -> None:
    x, by = np.array([1, 2, 3, 4, 5]), np.array([0, 1, 0, 1, 0])
    assert sw.rolling(x, sw.last_k(2), rows=3, by=by).tolist() == [[1], [2], [1, 3], [2, 4], [3, 5]]
    assert sw.rolling(pd.Series(x), sw.first_k(2), rows=3).tolist() == [[1], [1, 2], [1, 2], [2, 3], [3, 4]]
    assert sw.rolling(x, sw.lag(1), rows=2, by=by).tolist() == [None, None, 1, 2, 3]
    frame = sw.Sliding(by="k", last=sw.last_k(2)("x").over(rows=2))(pd.DataFrame({"x": x / 2, "k": by}))
    assert [list(value) for value in frame["last"]] == [[0.5], [1.0], [0.5, 1.5], [1.0, 2.0], [1.5, 2.5]]
    assert sw.rolling(np.array(["2024-01-01"], "M8[D]"), sw.last_k(1), rows=1).tolist() == [
        [datetime(2024, 1, 1).date()]
    ]


def test_no_rows_at_all() -> None:
    none = pa.array([], pa.float64())
    assert sw.rolling(none, sw.lag(1), rows=2).to_pylist() == sw.rolling(none, sw.last_k(1), rows=2).to_pylist() == []
    assert sw.rolling(pa.array([None, None], pa.int64()), sw.lag(0), rows=2).to_pylist() == [None, None]
    assert sw.rolling(pa.array([None, None], pa.string()), sw.lag(0), rows=2).to_pylist() == [None, None]
    assert sw.rolling(pa.array([None, None], pa.string()), sw.last_k(2), rows=2).to_pylist() == [[], []]


@pytest.mark.parametrize("k", [-1, 1.5, True, 10**9])
def test_how_many_is_checked(k: Any) -> None:
    with pytest.raises(sw.SlidewiseError, match="lag: k is a whole number from 0"):
        sw.lag(k)
    with pytest.raises(sw.SlidewiseError, match="last_k: k is a whole number from 1"):
        sw.last_k(k)
    with pytest.raises(sw.SlidewiseError, match="first_k has to be made first"):
        sw.first_k("x")


def test_states_that_cannot_be_are_refused() -> None:
    is_state = sw.last_k(2).is_state
    assert is_state is not None
    assert is_state(("a", 1))
    assert not is_state(("a", "b", "c"))
    assert not is_state((None,))
    assert not is_state(["a"])


def test_a_lag_that_its_window_never_reaches_is_told() -> None:
    short, enough, timed = sw.Sliding(
        on="t", a=sw.lag(3)("x").over(rows=3), b=sw.lag(3)("x").over(rows=4), c=sw.lag(3)("x").over(3)
    ).explain()
    assert short.suggestion is not None
    assert "no answer below 4 rows" in short.suggestion
    assert enough.suggestion is timed.suggestion is None
