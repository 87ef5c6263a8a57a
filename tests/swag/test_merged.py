"""Several inputs that drift apart, as one window: against a direct evaluation over random drifts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Counter, Sabotage

import slidewise as sw
from slidewise.swag import ALGORITHMS, Swag
from slidewise.windows import CLOSED

bag = sw.operator(
    name="bag", identity=(), lift=lambda x: (x,), combine=lambda a, b: tuple(sorted(a + b)), commutative=True
)


def inside(t: float, now: float, last: float, closed: str) -> bool:
    after_start = t >= now - last if closed in ("both", "left") else t > now - last
    before_end = t <= now if closed in ("both", "right") else t < now
    return after_start and before_end


steps = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from([0, 0, 1, 1, 2, 3, 8, 30]), st.sampled_from(["row", "row", "row", "tick"])
    ),
    max_size=40,
)


@pytest.mark.parametrize("clock", ["newest", "slowest"])
@settings(max_examples=80, deadline=None)
@given(
    steps=steps,
    last=st.integers(1, 9),
    closed=st.sampled_from(CLOSED),
    algorithm=st.sampled_from([sw.DabaLite, sw.Amta]),
)
def test_against_a_direct_evaluation(
    clock: str, steps: list[Any], last: int, closed: str, algorithm: type[Swag]
) -> None:
    window = sw.Merged(bag, 3, last=last, closed=closed, clock=clock, algorithm=algorithm)
    newest: dict[int, int] = {}
    rows: list[tuple[int, int]] = []
    now: int | None = None
    late = 0
    for number, (one, gap, what) in enumerate(steps):
        t = newest.get(one, 0) + gap
        newest[one] = t
        if what == "tick":
            window.advance(t, one)
        else:
            window.insert(one, t, number)
        if what == "row":  # late, if it has left the window that ends where the clock was
            gone = (
                now is not None
                and not inside(t, now, last, "both" if closed in ("both", "left") else "right")
                and t <= now
            )
            late += gone
            if not gone:
                rows.append((t, number))
        all_there = len(newest) == 3
        now = max(newest.values()) if clock == "newest" else min(newest.values()) if all_there else None
        held = sorted(number for t, number in rows if now is not None and inside(t, now, last, closed))
        assert window.query() == window.partial() == tuple(held)
        assert (len(window), window.now, window.late) == (len(held), now, late)
        if now is not None:
            ahead = [t for t, _ in rows if t > now or (t == now and closed in ("left", "neither"))]
            assert window.waiting == len(ahead)
        window._check()
    assert late == 0 or clock == "newest"


@given(order=st.permutations([(i % 3, t) for i, t in enumerate(range(0, 36, 1))]))
@settings(max_examples=30, deadline=None)
def test_the_slowest_clock_gives_final_answers_whatever_the_drift(order: list[tuple[int, int]]) -> None:
    """The answer at each time of the clock is that of all rows up to it, however the inputs interleave."""
    queues = {one: sorted(t for o, t in order if o == one) for one in range(3)}
    window = sw.Merged(sw.sum, 3, last=7, clock="slowest")
    found = {}
    for one, _ in order:
        window.insert(one, (t := queues[one].pop(0)), t)
        if window.now is not None:
            found[window.now] = window.query()
    assert found == {now: sum(t for t in range(36) if now - 7 < t <= now) for now in found}


def test_results_do_not_depend_on_when_one_asks() -> None:
    often, rarely = sw.Merged(bag, 2, last=5), sw.Merged(bag, 2, last=5)
    for i in range(200):
        for window in (often, rarely):
            window.insert(i % 3 % 2, i // (1 + i % 3 % 2), i)
        often.query()
        if i % 40 == 39:
            assert often.query() == rarely.query()
            assert often.late == rarely.late


def test_memory_is_that_of_the_window_also_when_nobody_asks() -> None:
    window = sw.Merged(sw.max, 2, last=10)
    for t in range(5_000):
        window.insert(t % 2, t, t)
    assert sum(len(one.waiting) + len(one.times) for one in window._inputs.values()) <= 12
    assert window.query() == 4_999


def test_operators_without_an_order_only() -> None:
    for operator in (sw.first, sw.collect, sw.m4, sw.argmax):
        if operator.commutative:
            continue
        with pytest.raises(sw.UnsuitableOperatorError, match=r"not declared to be commutative; use sw\.Fiba"):
            sw.Merged(operator, 2, last=5)
    for operator in sw.operators.CATALOGUE:
        if operator.commutative:
            assert sw.Merged(operator, 2, last=5).query() is not Ellipsis


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a is not sw.SlickDeque], ids=lambda a: a.__name__)
def test_every_algorithm_can_keep_the_inputs(algorithm: type[Swag]) -> None:
    window = sw.Merged(sw.sum, ["a", "b"], last=4, algorithm=algorithm)
    for t in range(20):
        window.insert("a", t, 1)
        window.insert("b", t // 2, 100)
        assert window.query() == min(t + 1, 4) + 100 * sum(t - 4 < s // 2 <= t for s in range(t + 1))


def test_calls_of_a_query_do_not_grow_with_the_window() -> None:
    counter = Counter(sw.max)
    window = sw.Merged(counter.operator, 5, last=1_000)
    for t in range(4_000):
        window.insert(t % 5, t, t * 7 % 1_000)
        window.query()
    before = counter.calls
    for t in range(4_000, 5_000):
        window.insert(t % 5, t, t * 7 % 1_000)
        spent = counter.calls
        window.query()
        assert counter.calls - spent <= 2 * 5 + 3 + 2 * 2
    assert (counter.calls - before) / 1_000 <= 2 * 5 + 3 + 1


def test_an_operator_that_raises() -> None:
    counter = Counter(sw.sum)
    window = sw.Merged(counter.operator, 2, last=100)
    for t in range(20):
        window.insert(t % 2, t, t)
    window.query()
    with pytest.raises(sw.InputError):
        window.insert(0, 20, "text")
    assert (window.query(), len(window), window.newest(0)) == (190, 20, 18)
    window.insert(0, 20, 99)
    counter.fail_after = counter.calls
    with pytest.raises(Sabotage) as failed:
        window.query()
    assert "is left out of the window" in "".join(failed.value.__notes__)
    counter.fail_after = None
    assert (window.query(), len(window)) == (190, 20)


def test_what_is_asked_for_must_make_sense() -> None:
    noon = datetime(2024, 3, 1, 12)
    window = sw.Merged(sw.max, ["left", "right"], last="10 minutes")
    assert (window.query(), len(window), window.now, window.newest("left")) == (
        sw.max.lower(sw.max.identity),
        0,
        None,
        None,
    )
    window.insert("left", noon, 1)
    with pytest.raises(sw.TimeOrderError, match=r"the input 'left' ran backwards: .*11:59:00 came after .*12:00:00"):
        window.insert("left", noon - timedelta(minutes=1), 1)
    window.insert("right", noon - timedelta(minutes=1), 5)
    assert (window.query(), len(window)) == (5, 2)
    window.insert("right", noon - timedelta(minutes=1), 5)
    window.advance(noon + timedelta(minutes=9))
    assert (window.query(), window.newest("right")) == (1, noon - timedelta(minutes=1))
    window.insert("right", noon - timedelta(minutes=1), 9)  # ten minutes behind the clock
    assert (window.query(), window.late) == (1, 1)
    with pytest.raises(sw.SlidewiseError, match="there is no input 'lef'; there are left, right; did you mean 'left'"):
        window.insert("lef", noon, 1)
    with pytest.raises(sw.SlidewiseError, match="is no datetime"):
        window.insert("left", 5, 1)
    window.clear()
    assert (window.query(), window.now, window.late) == (sw.max.lower(sw.max.identity), None, 0)
    assert repr(window) == "<Merged(sw.max) of 2 inputs, 0 rows>"
    for inputs, message in [
        ([], "needs an input"),
        ("ab", "are names"),
        (["a", "a"], "named 2 times"),
        (True, "are names"),
    ]:
        with pytest.raises(sw.SlidewiseError, match=message):
            sw.Merged(sw.max, inputs, last=5)
    with pytest.raises(sw.SlidewiseError, match=r"clock='newst' is none of 'newest', 'slowest'.*did you mean 'newest'"):
        sw.Merged(sw.max, 2, last=5, clock="newst")
    with pytest.raises(sw.SlidewiseError, match=r"is a class such as sw\.DabaLite"):
        sw.Merged(sw.max, 2, last=5, algorithm=sw.DabaLite(sw.max))  # type: ignore[arg-type]
    with pytest.raises(sw.SlidewiseError, match="takes an operator"):
        sw.Merged("max", 2, last=5)  # type: ignore[arg-type]
