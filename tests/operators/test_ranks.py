"""`rank` and `percent_rank` against plain Python: arrays, SWAGs, peers, rows outside of their windows, stored state."""

from __future__ import annotations

import math
import random
from typing import Any

import lanes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import InputError, SlidewiseError, WindowError
from slidewise.kernels.order.few_ranks import MOST, few_codes

NAN, INF = math.nan, math.inf
OPERATORS = [*(sw.rank(method=method) for method in ("min", "average", "max")), sw.percent_rank]
MANY = 5_000


def columns() -> list[list[Any]]:
    """Floats with ties, both zeros, infinities and NaN; integers that no float holds; and the same of few values."""
    choose = random.Random(7)
    special = [0.0, -0.0, 1.0, 5e-324, -3.5, INF, -INF, NAN, NAN, 1.7e308]
    return [
        [choose.choice(special) if choose.random() < 0.4 else choose.gauss(0, 1) for _ in range(MANY)],
        [choose.choice([2**63 - 1, -(2**63), 2**53 + 1, 2**53, choose.randrange(500)]) for _ in range(MANY)],
        [choose.choice(special) for _ in range(MANY)],
        [choose.choice([2**63 - 1, -(2**63), 2**53 + 1, 2**53, choose.randrange(50)]) for _ in range(MANY)],
    ]


@pytest.mark.rule(16)
@pytest.mark.parametrize("n", [1, 3, 40, 129, 700])
@pytest.mark.parametrize("op", OPERATORS, ids=str)
def test_windows_of_rows_of_every_length(op: sw.Operator, n: int) -> None:
    """Short windows are counted through, long ones go by blocks of ranks, in several segments."""
    for column in columns():
        right, left = (sw.rolling(np.array(column), op, rows=n, closed=closed) for closed in ("right", "left"))
        for i in range(1, MANY, 41):
            assert right[i] == lanes.rank_of(op, column[max(i + 1 - n, 0) : i + 1], column[i]), i
            assert left[i] == lanes.rank_of(op, [*column[max(i - n, 0) : i], column[i]], column[i]), i
        assert left[:1] is np.ma.masked or np.ma.getmaskarray(left)[0] or left[0] != left[0]  # of an empty window


def test_few_different_values_are_numbered_in_their_order() -> None:
    values = np.random.default_rng(5).permutation(np.repeat(np.arange(MOST) * 2**56 - 2**62, 3))
    found = few_codes(values)
    assert found is not None
    codes, size = found
    assert size == MOST
    assert (codes == np.searchsorted(np.unique(values), values)).all()
    assert few_codes(np.append(values, 1)) is None


@pytest.mark.rule(16)
@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 6), st.none() | st.sampled_from([NAN, 0.0, -0.0, 1.5, -2.0, INF]), st.booleans()),
        min_size=1,
        max_size=20,
    ),
    op=st.sampled_from(OPERATORS),
    closed=st.sampled_from(["right", "both", "left", "neither"]),
    few=st.none() | st.integers(1, 3),
)
def test_peers_nulls_and_conditions_on_tables(rows: Any, op: sw.Operator, closed: str, few: int | None) -> None:
    import pyarrow as pa

    table = pa.table(
        {
            "t": pa.array([t for t, _, _ in rows], pa.int64()),
            "x": pa.array([x for _, x, _ in rows], pa.float64()),
            "ok": [ok for _, _, ok in rows],
        }
    )
    definition = sw.Sliding(on="t", place=op("x").where("ok").over(3, rows=few, closed=closed))
    case = lanes.Case("ranks", definition, table)
    for lane in ("pyarrow", "live", "revised"):
        lanes.assert_same(case, lanes.run(lane, [case])["ranks"], lanes.direct(definition, table))


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.none() | st.integers(0, 3) | st.just(NAN), max_size=12),
    gone=st.integers(0, 12),
    op=st.sampled_from(OPERATORS),
)
@example(values=[0, None, None], gone=1, op=OPERATORS[0])  # all values have gone, and rows without one stay
def test_a_swag_ranks_its_newest_value_and_any_other(values: list[Any], gone: int, op: sw.Operator) -> None:
    gone = min(gone, len(values))
    window, monoid = sw.OrderStatistics(op), sw.DabaLite(op)
    median, shared = sw.OrderStatistics.several([sw.median, op])
    for value in values:
        for swag in (window, monoid, median, shared):
            swag.insert(value)
    left = [value for value in values[gone:] if value is not None]
    expected = lanes.rank_of(op, left, left[-1]) if left else None
    assert window._query_without(gone) == expected
    assert window._query_without(gone, [1, 2]) == lanes.rank_of(op, [*left, 1, 2], 2)
    for _ in range(gone):
        for swag in (window, monoid, median, shared):
            swag.evict()
    assert window.query() == monoid.query() == shared.query() == expected
    assert window.query_own(2, False) == shared.query_own(2, False) == lanes.rank_of(op, [*left, 2], 2)
    restored = sw.OrderStatistics(op)
    restored._load(*window._dump())
    assert restored.query() == expected
    assert op.lower(shared.partial()) == op.lower(window.partial()) == expected


@pytest.mark.rule(16)
def test_as_of_reads_and_beats_rank_the_newest_value() -> None:
    import pyarrow as pa

    events = pa.table({"t": [1, 2, 3, 3], "x": [5.0, 1.0, 4.0, 2.0]})
    definition = sw.Sliding(on="t", place=sw.rank("x").over(10), before=sw.rank("x").over(rows=2, closed="left"))
    live = definition.live()
    live.push_many(events.slice(0, 2))
    for row in events.slice(2).to_pylist():
        live.push(row)
    labels = pa.table({"t": [0, 2, 3, 20]})
    answered = definition.as_of(labels, events).to_pydict()
    assert answered["place"] == [None, 1, 3, None]  # by rule 12, 4.0 comes behind 2.0
    assert answered["before"] == [None, 1, 1, 2]
    assert live.get(at=3) == {"place": 2, "before": 1}  # pushed one by one, 2.0 came last
    batches = definition.live()
    batches.push_many(events)
    assert batches.get(at=3)["before"] == live.get(at=3)["before"]
    beats = sw.Sliding(on="t", every=3, place=sw.rank("x").over(3))(events).to_pydict()
    assert beats["place"][0] == 3


def test_text_has_ranks() -> None:
    import pyarrow as pa

    assert sw.rolling(pa.array(["b", "a", None, "b", "c"]), sw.rank, rows=3).to_pylist() == [1, 1, None, 2, 2]
    with pytest.raises(InputError, match="rank takes values that have an order"):
        sw.rolling(np.array(["a", 1], object), sw.rank, rows=2)


def test_mistakes_say_what_to_do() -> None:
    with pytest.raises(SlidewiseError, match=r"method is one of min, average, max, not 'dense'"):
        sw.rank(method="dense")
    with pytest.raises(WindowError, match="rank is about the row's own value"):
        sw.rank("x").over("1 hour", grain="1s")
    assert "suggestion" not in str(sw.Sliding(on="t", place=sw.rank("x").over("7d")).explain())  # of a grain
    assert not sw.rank.is_state(sw.rank.decode((3, (1, 2))))  # the newest value is none of the values
    assert not sw.rank.is_state(sw.rank.decode((None, (1, 2))))
    assert sw.rank.is_state(sw.rank.lift(NAN))
