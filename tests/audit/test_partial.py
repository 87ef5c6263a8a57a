"""Parts of a log merge into the whole, however it is cut: that is what makes Spark's audit the one of tables."""

from __future__ import annotations

from functools import cache, reduce
from itertools import pairwise
from typing import Any

import pyarrow as pa
from audit.test_audit import CARD, EVENTS, SERVED, replaced
from hypothesis import given
from hypothesis import strategies as st

from slidewise.audit.partial import compare_column, largest_of
from slidewise.audit.served_log import ServedLog
from slidewise.audit.times import BUCKETS, Stretches, ticks_of, times_of

LOG = ServedLog.of(CARD, SERVED.column_names, (), "served_at", {"card": "card_id"})
TICKS = ticks_of(SERVED["served_at"])
SPAN = Stretches.of(TICKS.min().item(), TICKS.max().item())
BAD = SERVED
for place in range(3, 400, 5):
    BAD = replaced(BAD, place, "spent", [None, 0.5, float("nan")][place % 3])


@cache
def answers() -> Any:
    """What was to be served; found when a test asks, since every process imports this file, and kernels compile."""
    return CARD.as_of(SERVED.select(["card_id", "served_at"]), EVENTS, on="served_at", by={"card": "card_id"})


def part(begin: int, end: int, limit: int) -> Any:
    rows, right = BAD.slice(begin, end - begin), answers().slice(begin, end - begin)
    return compare_column("spent", LOG, rows, right["spent"], SPAN, 0.0, limit)


def plain(of: Any) -> tuple[Any, ...]:
    listed = of.listed.drop_columns("row").to_pylist()
    counts = (of.differ, of.missing, of.extra, of.first, of.last, of.buckets.tolist())
    return (*counts, str(of.largest), str(listed))


@given(st.lists(st.integers(0, 400), max_size=6), st.randoms(), st.sampled_from([1, 7, 1_000]))
def test_parts_merge_in_any_order(cuts: list[int], order: Any, limit: int) -> None:
    places = [0, *sorted(cuts), 400]
    parts = [part(begin, end, limit) for begin, end in pairwise(places)]
    order.shuffle(parts)
    merged = reduce(lambda a, b: a.merged(b, "served_at", limit), parts)
    assert plain(merged) == plain(part(0, 400, limit))
    assert len(merged.listed) <= limit


def test_the_largest_difference() -> None:
    assert largest_of([]) is None
    assert largest_of([2.0, float("nan"), 1.0]) == 2.0
    assert str(largest_of([float("nan")])) == "nan"
    assert largest_of([float("inf"), 3.0]) == float("inf")


def test_stretches_hold_every_time() -> None:
    for kind, ticks in (
        (pa.timestamp("ns"), [-(2**62), 0, 2**62]),
        (pa.timestamp("s", "UTC"), [1_700_000_000, 1_700_000_001]),
        (pa.date32(), [0, 20_000]),
        (pa.int64(), [5, 5]),
        (pa.int16(), [-3, 300]),
        (pa.float64(), [0.5, 1e300]),
    ):
        times = times_of(list(ticks), kind)
        assert times.type == kind
        numbers = ticks_of(pa.chunked_array([times]))
        assert numbers.tolist() == ticks
        stretches = Stretches.of(ticks[0], ticks[-1])
        found = stretches.number_of(numbers)
        assert (found[0], found[-1]) == (0, stretches.count - 1)
        assert len(stretches.edges(kind)) == stretches.count + 1 == (2 if ticks[0] == ticks[-1] else BUCKETS + 1)
