"""Mistakes that other engines shipped, each as a test by name. Those about laws are in operators/test_laws.py."""

from __future__ import annotations

import math
import random

import pytest
from support import PATTERNS, serving

import slidewise as sw
from slidewise.swag import LastRows, Swag


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("algorithm", serving(sw.max), ids=lambda a: a.__name__)
def test_max_has_to_fall_again(algorithm: type[Swag], pattern: str) -> None:
    """Tests that feed rising values only never see max fall."""
    values = [PATTERNS[pattern](i) for i in range(200)]
    window = algorithm(sw.max)
    for i, value in enumerate(values):
        window.insert(value)
        if len(window) > 9:
            window.evict()
        assert window.query() == max(values[max(0, i - 8) : i + 1])


@pytest.mark.parametrize("algorithm", serving(sw.sum), ids=lambda a: a.__name__)
def test_floats_do_not_drift(algorithm: type[Swag]) -> None:
    """Subtracting on evict drifts (doris#68113); it is refused for floats, and all others are exact."""
    window = algorithm(sw.sum)
    if algorithm is sw.SubtractOnEvict:
        with pytest.raises(sw.UnsuitableOperatorError):
            window.insert(0.1)
        return
    values = [((i * 7919) % 1000) / 7 + (1e16 if i == 500 else 0) for i in range(1500)]
    for i, value in enumerate(values):
        window.insert(value)
        if len(window) > 20:
            window.evict()
        if i % 100 == 99:
            assert window.query() == math.fsum(values[max(0, i - 19) : i + 1])


@pytest.mark.parametrize("algorithm", serving(sw.sum), ids=lambda a: a.__name__)
def test_a_late_event_is_never_folded_in(algorithm: type[Swag]) -> None:
    """A peer's time window gave 1002 for a true 2 when a late event arrived; here it is an error."""
    window = sw.Timed(algorithm(sw.sum), last=10)
    window.insert(0, 1000)
    window.insert(100, 1)
    with pytest.raises(sw.TimeOrderError, match=r"5 came after 100"):
        window.insert(5, 1000)
    window.insert(101, 1)
    assert window.query() == 2
    assert len(window) == 2


@pytest.mark.parametrize("min_arity", [2, 4, 8])
def test_a_tree_that_rebalances_refreshes_its_aggregates(min_arity: int) -> None:
    """The FiBA of its authors left some aggregates stale when an evict moved rows between nodes, and was never tested
    with the arity of its paper. `swag/test_fiba.py` breaks ours on purpose, and shows that its models see it."""
    choose = random.Random(min_arity)
    window = sw.Fiba(sw.sum, min_arity)
    held: list[tuple[int, int]] = []
    for i in range(60 * min_arity):
        held.append((choose.randrange(1000), i))
        window.insert(*held[-1])
    held.sort()
    while held:
        held.pop(0)
        window.evict()
        window._check()
        assert window.query() == sum(e for _, e in held)
        assert window.range_query(300, 800) == sum(e for t, e in held if 300 <= t <= 800)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_max_has_to_fall_again_in_every_size(pattern: str) -> None:
    """Tests that feed rising values only never see max fall; nor do they in a structure that several sizes share."""
    values = [PATTERNS[pattern](i) for i in range(200)]
    sizes = [1, 2, 9, 10, 30]
    shared: list[LastRows] = [sw.SlideSide(sw.max, sizes), sw.FlatFit(sw.max), sw.BInt(sw.max), sw.Fiba(sw.max)]
    for i, value in enumerate(values):
        for window in shared:
            window.insert(value)
            if len(window) > 30:
                window.evict()
            for k in sizes:
                assert window.query_last(k) == max(values[max(0, i + 1 - k) : i + 1]), (window, k)


def test_a_late_input_is_counted_and_never_folded_in() -> None:
    """Rows that are too late for the window are lost or folded in elsewhere; here they are left out and counted."""
    window = sw.Merged(sw.sum, ["fast", "slow"], last=10)
    window.insert("fast", 100, 1)
    window.insert("slow", 5, 1000)
    assert (window.query(), window.late) == (1, 1)
    window.insert("slow", 95, 1)
    assert (window.query(), window.late) == (2, 1)


def test_a_merged_window_that_was_empty_starts_afresh() -> None:
    """A frame that became empty and then filled again kept stale state elsewhere (datafusion#24184)."""
    window = sw.Merged(sw.max, 2, last=10)
    for start in (0, 1_000, 2_000):
        window.insert(0, start, 1000 - start)
        window.insert(1, start + 1, -start)
        assert window.query() == 1000 - start
        window.advance(start + 500)
        assert (window.query(), len(window)) == (sw.max.lower(sw.max.identity), 0)
