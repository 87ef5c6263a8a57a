"""SWAGs that answer without their oldest rows, the blocks below them, and the index of places."""

from __future__ import annotations

import gc
import math
import random
from bisect import bisect_left
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support import PATTERNS, SCHEDULES, Counter, Sabotage, concat, matrix

import slidewise as sw
from slidewise.swag.indexed.indexed_daba_lite import IndexedDabaLite
from slidewise.swag.indexed.indexed_subtract_on_evict import IndexedSubtractOnEvict
from slidewise.swag.interface import Swag
from slidewise.swag.structures.dyadic_blocks import BlockChunks
from slidewise.swag.structures.queues import CHUNK, PlaceIndex

SERVED: list[tuple[type[Swag], sw.Operator]] = [
    (IndexedDabaLite, concat),
    (IndexedSubtractOnEvict, matrix),
    (sw.DabaLite, concat),
    (sw.SubtractOnEvict, matrix),
    (sw.SubtractOnEvict, sw.count),
    (sw.SlickDeque, sw.max),
    (sw.OrderStatistics, sw.median),
    (sw.OrderStatistics, sw.quantile(0.3, interpolation="lower")),
]
INDEXED = [(IndexedDabaLite, sw.count), (IndexedSubtractOnEvict, sw.count)]


def fresh(algorithm: type[Swag], operator: sw.Operator, rows: list[Any]) -> Swag:
    window = algorithm(operator)
    for row in rows:
        window.insert(row)
    return window


def value(operator: sw.Operator, x: int) -> Any:
    return chr(97 + x % 26) if operator is concat else None if x % 7 == 3 and operator is sw.median else x % 9


@pytest.mark.parametrize(("algorithm", "operator"), SERVED)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_answers_without_the_oldest_rows(algorithm: type[Swag], operator: sw.Operator, data: st.DataObject) -> None:
    """After inserts, evicts of one and of many, steps taken back, and storing."""
    choose = random.Random(data.draw(st.integers(0, 10**6)))
    window, rows = algorithm(operator), []
    for _ in range(data.draw(st.integers(1, 25))):
        undoable, before = choose.random() < 0.4, rows[:]
        if undoable:
            window._savepoint()
        for _ in range(choose.choice([1, 2, 3, 90])):
            step = choose.random()
            if step < 0.6:
                rows.append(value(operator, choose.randrange(100)))
                window.insert(rows[-1])
            elif step < 0.95 and rows:
                window.evict()
                del rows[0]
            else:
                k = choose.randint(0, len(rows))
                window.evict_many(k)
                del rows[:k]
        if undoable and choose.random() < 0.5:
            window._rollback()
            rows = before
        if undoable:
            window._commit()
        if choose.random() < 0.2:
            numbers, states = window._dump()
            window = algorithm(operator)
            window._load(numbers, states)
        window._check(rows)
        for k in {0, len(rows), choose.randint(0, len(rows)), choose.randint(0, len(rows))}:
            assert window._query_without(k) == fresh(algorithm, operator, rows[k:]).query(), (k, rows)
        window._check(rows)


@pytest.mark.parametrize(("algorithm", "operator"), SERVED)
def test_rows_behind_the_window_are_answered_with_it(algorithm: type[Swag], operator: sw.Operator) -> None:
    rows = [value(operator, 3 * i + 1) for i in range(70)]
    window = fresh(algorithm, operator, rows)
    behind = [value(operator, 5), value(operator, 8)]
    newer = behind if operator.traits.order_statistic else [operator.combine(*map(operator.lift, behind))]
    for k in (0, 1, 35, 69, 70):
        assert window._query_without(k, newer) == fresh(algorithm, operator, [*rows[k:], *behind]).query()


@pytest.mark.parametrize("values", [[1, 2, 2], [2, 2, 1, 1, 1], [5], [math.nan, 1.0, 2.0], [None, 1, None, 4, 2, 3]])
def test_quantiles_with_ties_nans_and_nulls(values: list[Any]) -> None:
    """Of equal values some have left and some have not."""
    rows = values * 5
    for q in (0.0, 0.4, 1.0):
        window = fresh(sw.OrderStatistics, sw.quantile(q), rows)
        for k in range(len(rows) + 1):
            found, expected = window._query_without(k), fresh(sw.OrderStatistics, sw.quantile(q), rows[k:]).query()
            assert found == expected or (found != found and expected != expected), (q, k)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("algorithm", "operator"), INDEXED)
def test_calls_have_bounds(algorithm: type[Swag], operator: sw.Operator, schedule: str) -> None:
    """One call more for an insert than without the blocks, none for an evict, and O(log n) for any suffix."""
    most_insert = {IndexedDabaLite: 4, IndexedSubtractOnEvict: 2}[algorithm]
    for n in (1, 7, 64, 700):
        counter, plain = Counter(operator), Counter(operator)
        window, without_blocks = algorithm(counter.operator), algorithm.__base__(plain.operator)  # type: ignore[misc]
        for i, step in enumerate(SCHEDULES[schedule](n, 4 * n)):
            counter.calls = plain.calls = 0
            if step == "insert":
                window.insert(PATTERNS["random"](i))
                without_blocks.insert(PATTERNS["random"](i))
                assert counter.calls <= min(most_insert, plain.calls + 1)
            elif step == "evict":
                window.evict()
                without_blocks.evict()
                assert counter.calls == plain.calls <= 2
            elif len(window):
                size = len(window)
                for k in {0, size - 1, i % size, i * 7919 % size}:
                    counter.calls = 0
                    window._query_without(k)
                    assert counter.calls <= 3 * math.log2(size) + 3, (n, size, k)
            assert window.stored() <= 3 * len(window) + 2


def test_aggregated_rows_take_two_calls() -> None:
    counter = Counter(sw.count)
    window = IndexedDabaLite(counter.operator)
    for i in range(3_000):
        window.insert(i)
        if i >= 1_000:
            window.evict()
        if i % 97 == 0:
            for p in (*range(window.F, window.R), *range(window.A, window.B)):
                counter.calls = 0
                window._query_without(p - window.F)
                assert counter.calls <= 2


@pytest.mark.parametrize(("algorithm", "operator"), [(IndexedDabaLite, concat), (IndexedSubtractOnEvict, matrix)])
def test_an_operator_that_raises_leaves_the_window_as_it_was(algorithm: type[Swag], operator: sw.Operator) -> None:
    counter = Counter(operator)
    rows = [value(operator, i) for i in range(40)]
    for size in range(40):
        window = fresh(algorithm, counter.operator, rows[:size])
        for fail_after in range(4):
            counter.calls, counter.fail_after = 0, fail_after
            try:
                window.insert(rows[size])
            except Sabotage:
                counter.fail_after = None
                window._check(rows[:size])
                continue
            counter.fail_after = None
            window._check(rows[: size + 1])
            break
        for k in range(len(window)):
            counter.calls, counter.fail_after = 0, 0
            with suppress(Sabotage):
                window._query_without(k)
            counter.fail_after = None
        window._check(rows[: len(window)])
        assert window._query_without(0) == fresh(algorithm, operator, rows[: len(window)]).query()


def test_stored_windows_do_without_products_that_the_operator_refuses() -> None:
    counter = Counter(concat)
    rows = [value(concat, i) for i in range(200)]
    for algorithm in (IndexedDabaLite,):
        numbers, states = fresh(algorithm, concat, rows)._dump()
        window = algorithm(counter.operator)
        counter.fail_after = 5
        window._load(numbers, states)
        counter.fail_after = None
        for i in range(100):
            window.insert(value(concat, i))
            rows.append(value(concat, i))
        for k in range(0, len(rows), 11):
            assert window._query_without(k) == "".join(rows[k:])
        window._check(rows)


def test_products_of_aggregates_are_never_made_after_a_restore() -> None:
    """A slot may hold the aggregate of many rows; a product of two such would be of rows that are counted twice, which
    an operator may refuse: a sum that no longer fits, say."""
    seen: list[int] = []

    def add(a: int, b: int) -> int:
        seen.append(a + b)
        return a + b

    rows_counted = sw.operator(name="rows", identity=0, lift=lambda _: 1, combine=add)
    for size in range(1, 150, 7):
        window = fresh(IndexedDabaLite, rows_counted, [0] * size)
        for _ in range(size // 3):
            window.evict()
        other = IndexedDabaLite(rows_counted)
        other._load(*window._dump())
        seen.clear()
        for _ in range(2 * size):
            other.insert(0)
        assert max(seen, default=0) <= len(other)
        assert [other._query_without(k) for k in range(len(other))] == list(range(len(other), 0, -1))


def test_chunks_that_have_left_are_let_go_of() -> None:
    for savepoints in (False, True):
        window = IndexedDabaLite(sw.count)
        gc.collect()
        for i in range(100 * CHUNK):
            if savepoints:
                window._savepoint()
            window.insert(i)
            if i >= 3 * CHUNK:
                window.evict()
            if savepoints:
                window._commit()
        held = [chunk for chunk in window._chunks._table if chunk is not None]
        assert len(held) <= 5
        assert len(window._chunks._table) <= 140


@given(sizes=st.lists(st.integers(1, 200), min_size=1, max_size=4))
def test_blocks_fold_any_range(sizes: list[int]) -> None:
    """Straight on the structure: every [start, stop), at several ends."""
    chunks, end = BlockChunks(), 0
    chunk: Any = None
    text = ""
    for size in sizes:
        for _ in range(size):
            at = end % CHUNK
            chunk = chunk if at else chunks.append(chunk, end)
            chunk[at] = chr(97 + end % 26)
            text += chunk[at]
            if end % 2:
                chunk[at + CHUNK] = chunk[at - 1] + chunk[at]
            else:
                chunks.make(concat.combine, chunk, end, 0)
            end += 1
        chunks._check(concat, 0, end, list(text))
        for start in range(0, end, 5):
            for stop in (start + 1, (start + end + 1) // 2, end):
                if start < stop:
                    assert chunks.fold(concat.combine, start, stop, end) == text[start:stop]


def test_places_of_rows_that_have_left_go_when_a_block_begins() -> None:
    index = PlaceIndex()
    for place in range(20 * PlaceIndex.BLOCK):
        index.append(place, size=min(place, 100))
    assert len(index) <= 100 + 2 * PlaceIndex.BLOCK


class PlaceIndexMachine(RuleBasedStateMachine):
    """An index of places against a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.index = PlaceIndex()
        self.places: list[int] = []
        self.newest = 0
        self.fresh = 0  # places that may be taken back

    @rule(count=st.integers(1, 300), step=st.integers(0, 3))
    def append(self, count: int, step: int) -> None:
        for _ in range(count):
            self.newest += step
            self.index.append(self.newest, len(self.places))
            self.places.append(self.newest)
        self.fresh = count

    @rule(share=st.floats(0, 1))
    def leave(self, share: float) -> None:
        del self.places[: int(share * len(self.places))]
        self.fresh = min(self.fresh, len(self.places))

    @precondition(lambda self: self.fresh)
    @rule(share=st.floats(0, 1))
    def take_back(self, share: float) -> None:
        count = int(share * self.fresh)
        self.index.drop_last(count)
        del self.places[len(self.places) - count :]
        self.fresh = 0
        self.newest = self.places[-1] if self.places else self.newest

    @rule()
    def fill(self) -> None:
        self.index.fill(self.places)

    @rule(place=st.integers(-5, 3_000))
    def count(self, place: int) -> None:
        assert self.index.count_before(place, len(self.places)) == bisect_left(self.places, place)
        for near in self.places[:: max(1, len(self.places) // 5)]:
            assert self.index.count_before(near, len(self.places)) == bisect_left(self.places, near)

    @invariant()
    def is_sound(self) -> None:
        self.index._check(self.places)


PlaceIndexMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestPlaceIndex = PlaceIndexMachine.TestCase
