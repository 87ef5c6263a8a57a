"""Counts of values over windows, against `collections.Counter`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.operators.values.equality import same

NAN = math.nan
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "floats": (pa.float64(), [0.5, -0.0, 0.0, NAN, math.inf]),
    "integers": (pa.int64(), [-1, 0, 7, 2**62]),
    "bools": (pa.bool_(), [True, False]),
    "text": (pa.string(), ["", "é", "b"]),
    "moments": (pa.timestamp("us"), [datetime(2024, 1, 1), datetime(2024, 1, 1) + timedelta(microseconds=1)]),
}
EDGES = [-0.5, 0, 7]


def ranked(window: list[Any]) -> list[tuple[Any, int]]:
    """Values and counts as they are asked for, each value as its place in the order of all."""
    counts = Counter("NaN" if x != x else x for x in window)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0] == "NaN", 0 if item[0] == "NaN" else item[0]))
    return [(NAN if value == "NaN" else value, count) for value, count in ordered]


def mode(window: list[Any]) -> Any:
    return ranked(window)[0][0] if window else None


def top(window: list[Any]) -> list[dict[str, Any]]:
    return [{"value": value, "count": count} for value, count in ranked(window)[:2]]


def entropy(window: list[Any]) -> float | None:
    shares = [Fraction(count, len(window)) for _, count in ranked(window)]
    return math.fsum(-float(share) * math.log2(share) for share in shares) if shares else None


def bins(window: list[Any]) -> list[int]:
    counts = [0] * (len(EDGES) + 1)
    for x in window:
        counts[len(EDGES) if x != x else sum(x >= edge for edge in EDGES)] += 1
    return counts


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data(), n=st.integers(1, 12))
def test_counts_are_those_of_a_counter(kind: str, data: st.DataObject, n: int) -> None:
    arrow, values = KINDS[kind]
    rows = data.draw(st.lists(st.sampled_from([None, *values]), max_size=30))
    cases: list[tuple[sw.Operator, Callable[[list[Any]], Any], pa.DataType]] = [
        (sw.mode, mode, arrow),
        (sw.top_k(2), top, pa.list_(pa.struct([("value", arrow), ("count", pa.int64())]))),
        (sw.entropy, entropy, pa.float64()),
    ]
    if kind not in ("text", "moments"):
        cases.append((sw.histogram(edges=EDGES), bins, pa.list_(pa.int64())))
    for op, reference, expected_type in cases:
        live = sw.SubtractOnEvict(op)
        windows = [[x for x in rows[max(0, i - n + 1) : i + 1] if x is not None] for i in range(len(rows))]
        answers = sw.rolling(pa.array(rows, arrow), op, rows=n)
        assert answers.type == expected_type
        expected = [reference(window) if window or op.traits.answers_empty else None for window in windows]
        assert same(answers.to_pylist(), expected, 1e-14), op
        for i, x in enumerate(rows):
            live.insert(x)
            if i >= n:
                live.evict()
            found = live.query()
            assert same(found, reference(windows[i]), 1e-14), op
            if windows[i]:
                assert same(found, answers[i].as_py()), op  # to the last bit


def test_windows_by_key_jump_and_answers_come_back_in_order() -> None:
    choose = np.random.default_rng(3)
    x, by = choose.integers(0, 5, 300), choose.integers(0, 4, 300)
    for n in (1, 3, 50):
        windows = [[int(v) for v in x[: i + 1][by[: i + 1] == by[i]][-n:]] for i in range(len(x))]
        assert sw.rolling(x, sw.mode, rows=n, by=by).tolist() == [mode(window) for window in windows]
        assert sw.rolling(x, sw.top_k(2), rows=n, by=by).tolist() == [top(window) for window in windows]
        assert sw.rolling(x, sw.histogram(EDGES), rows=n, by=by).tolist() == [bins(window) for window in windows]
        shares = sw.rolling(x, sw.entropy, rows=n, by=by)
        assert same(shares.tolist(), [entropy(window) for window in windows], 1e-14)


def test_entropies_are_known() -> None:
    answers = sw.rolling(np.array([1, 1, 2, 3, 4]), sw.entropy, rows=4).tolist()
    assert answers[:2] == [0.0, 0.0]
    assert answers[4] == 2.0
    assert answers[3] == 1.5


def test_edges_beyond_64_bits_and_integers_beside_edges() -> None:
    most, least = 2**63 - 1, -(2**63)
    x = pa.array([most, least, 2**53 + 1, 2**53, 0])
    edges = [-1e300, -(2.0**63), 2.0**53 + 2, 2.0**63, 1e300]
    expected = sw.histogram(edges=edges)
    window = sw.DabaLite(expected)
    for value in x.to_pylist():
        window.insert(value)
    assert window.query() == [0, 0, 4, 1, 0, 0]
    assert sw.rolling(x, expected, rows=5).to_pylist()[-1] == [0, 0, 4, 1, 0, 0]
    assert sw.rolling(np.array([NAN, math.inf, -math.inf]), sw.histogram([0]), rows=3).tolist()[-1] == [1, 2]


@pytest.mark.parametrize("edges", [[], [1, 1], [2, 1], [math.nan], [0, math.inf], 3, ["a"]])
def test_edges_are_checked(edges: Any) -> None:
    with pytest.raises(sw.SlidewiseError, match="histogram: edges are"):
        sw.histogram(edges=edges)


def test_what_has_to_be_made_first_and_what_is_refused() -> None:
    with pytest.raises(sw.SlidewiseError, match="top_k has to be made first"):
        sw.top_k("x")
    with pytest.raises(sw.SlidewiseError, match="top_k: k is a whole number from 1"):
        sw.top_k(0)
    with pytest.raises(sw.InputError, match="histogram takes numbers"):
        sw.rolling(pa.array(["a"]), sw.histogram([0]), rows=1)
    with pytest.raises(sw.InputError, match="which have no order"):
        sw.rolling(np.array([1, "a"], object), sw.mode, rows=2)


def test_frames_of_each_kind() -> None:
    definition = sw.Sliding(
        common=sw.mode("x").over(rows=3), top=sw.top_k(1)("x").over(rows=3), bins=sw.histogram([2])("x").over(rows=3)
    )
    x = [1, 1, 2, 2]
    pandas, polars = definition(pd.DataFrame({"x": x})), definition(pl.DataFrame({"x": x}))
    expected = [{"value": 1, "count": 1}], [{"value": 1, "count": 2}], [{"value": 1, "count": 2}]
    assert [*map(list, pandas["top"])][:3] == polars["top"].to_list()[:3] == [*expected]
    assert pandas["common"].tolist() == polars["common"].to_list() == [1, 1, 1, 2]
    assert [*map(list, pandas["bins"])] == polars["bins"].to_list() == [[1, 0], [2, 0], [2, 1], [1, 2]]


def test_no_rows_at_all() -> None:
    none = pa.array([None, None], pa.string())
    assert (
        sw.rolling(none, sw.mode, rows=2).to_pylist() == sw.rolling(none, sw.entropy, rows=2).to_pylist() == [None] * 2
    )
    assert sw.rolling(none, sw.top_k(2), rows=2).to_pylist() == [[], []]
    assert sw.rolling(pa.array([None], pa.float64()), sw.histogram([0]), rows=2).to_pylist() == [[0, 0]]


def test_states_that_cannot_be_are_refused() -> None:
    is_state, decode = sw.mode.is_state, sw.mode.decode
    assert is_state is not None
    assert decode is not None
    assert is_state(decode((("a", 2), (NAN, 1))))
    for pairs in ((("a", 2), ("a", 1)), ((NAN, 1), (NAN, 2)), (("a", 0),), ((None, 1),), (("a", True),)):
        assert not is_state(decode(pairs)), pairs
    bins_state = sw.histogram([0, 1]).is_state
    assert bins_state is not None
    assert bins_state((0, 1, 2))
    assert not bins_state((0, 1))
    assert not bins_state((0, 1, -2))


def test_definitions_with_edges_are_written_and_read() -> None:
    definition = sw.Sliding(bins=sw.histogram(edges=[0, 1.5])("x").over(rows=3), top=sw.top_k(2)("x").over(rows=3))
    assert sw.Sliding.from_dict(definition.to_dict()) == definition


def test_edges_that_no_float_is_are_compared_exactly() -> None:
    edge = 2**53 + 1
    op = sw.histogram(edges=[edge])
    assert sw.rolling(np.array([2**53, edge]), op, rows=1).tolist() == [[1, 0], [0, 1]]
    assert sw.rolling(np.array([2.0**53, 2.0**53 + 2]), op, rows=1).tolist() == [[1, 0], [0, 1]]
    assert [op.lower(op.lift(x)) for x in (2**53, edge, 2.0**53, 2.0**53 + 2)] == [[1, 0], [0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize("op", [sw.histogram, sw.top_k, sw.quantile, sw.ewm_mean])
def test_a_series_takes_no_made_up_parameters(op: sw.Operator) -> None:
    with pytest.raises(sw.SlidewiseError, match=rf"{op.name} has to be made first; write sw\.{op.name}\("):
        sw.rolling(np.array([1.0, 2.0]), op, rows=2, times=np.array([1, 2]) if op is sw.ewm_mean else None)
