"""All algorithms in lock step: whatever happens, each gives Recalc's answer and keeps its invariants."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support import PATTERNS, SCHEDULES, concat, longest_run, matrix, serving

import slidewise as sw
from slidewise.operators.values.equality import same
from slidewise.swag import ALGORITHMS, LastRows, Swag

OPERATORS = {
    "concat": (concat, lambda x: chr(97 + x % 26)),
    "matrix": (matrix, lambda x: x % 5),
    "max": (sw.max, lambda x: x),
    "longest run": (longest_run, lambda x: x % 3),
    "maxcount": (sw.maxcount, lambda x: x % 4),
    "first": (sw.first, lambda x: None if x % 3 else x),
}


class LockStep(RuleBasedStateMachine):
    """One window in every algorithm that can serve the operator, and a plain list beside them."""

    @initialize(name=st.sampled_from(sorted(OPERATORS)), pattern=st.sampled_from(sorted(PATTERNS)))
    def start(self, name: str, pattern: str) -> None:
        self.operator, self.value = OPERATORS[name]
        self.pattern = PATTERNS[pattern]
        self.windows = [algorithm(self.operator) for algorithm in serving(self.operator)]
        self.rows: list[object] = []
        self.inserted = 0

    @rule(count=st.sampled_from([1, 1, 1, 2, 5, 17, 33]))
    def insert(self, count: int) -> None:
        for _ in range(count if len(self.rows) < 70 else 1):
            row = self.value(self.pattern(self.inserted))
            self.inserted += 1
            self.rows.append(row)
            for window in self.windows:
                window.insert(row)

    @rule(count=st.sampled_from([1, 1, 1, 2, 5, 17, 33]))
    def evict(self, count: int) -> None:
        for _ in range(min(count, len(self.rows))):
            self.rows.pop(0)
            for window in self.windows:
                window.evict()

    @rule(data=st.data())
    def evict_many(self, data: st.DataObject) -> None:
        k = data.draw(st.integers(0, len(self.rows)))
        del self.rows[:k]
        for window in self.windows:
            window.evict_many(k)

    @precondition(lambda self: not self.rows)
    @rule()
    def evict_from_nothing(self) -> None:
        for window in self.windows:
            with pytest.raises(sw.EmptyWindowError):
                window.evict()
            with pytest.raises(sw.EmptyWindowError):
                window.evict_many(1)

    @rule()
    def clear(self) -> None:
        self.rows.clear()
        for window in self.windows:
            window.clear()

    @rule(data=st.data())
    def suffix(self, data: st.DataObject) -> None:
        k = data.draw(st.integers(0, len(self.rows)))
        sharing = [w for w in self.windows if isinstance(w, LastRows) and not isinstance(w, sw.SlideSide)]
        assert {sw.Recalc, sw.FlatFit, sw.BInt, sw.Fiba} <= {*map(type, sharing)}
        expected = sharing[0].suffix(k)
        for window in sharing[1:]:
            assert same(window.suffix(k), expected), window
            assert same(window.query_last(k), self.operator.lower(expected)), window

    @invariant()
    def agree(self) -> None:
        if not hasattr(self, "windows"):
            return
        oracle = self.windows[0]
        assert isinstance(oracle, sw.Recalc)
        for window in self.windows:
            assert len(window) == len(self.rows)
            assert same(window.partial(), oracle.partial()), window
            assert same(window.query(), oracle.query()), window
            window._check(self.rows)
            window._check()


class ManySizes(RuleBasedStateMachine):
    """One structure for several sizes, beside Recalc: whatever happens, each size has Recalc's answer."""

    @initialize(
        name=st.sampled_from(sorted(OPERATORS)),
        pattern=st.sampled_from(sorted(PATTERNS)),
        sizes=st.sets(st.integers(1, 40), min_size=1, max_size=6),
    )
    def start(self, name: str, pattern: str, sizes: set[int]) -> None:
        operator, self.value = OPERATORS[name]
        self.pattern = PATTERNS[pattern]
        self.sizes = sorted(sizes)
        self.oracle = sw.Recalc(operator)
        self.window = sw.SlideSide(operator, self.sizes)
        self.others: list[LastRows] = [sw.FlatFit(operator), sw.BInt(operator), sw.Fiba(operator)]
        self.rows: list[object] = []
        self.inserted = 0

    @rule(count=st.sampled_from([1, 1, 2, 5, 33]))
    def insert(self, count: int) -> None:
        for _ in range(count):
            row = self.value(self.pattern(self.inserted))
            self.inserted += 1
            self.rows.append(row)
            for window in (self.oracle, *self.others):
                window.insert(row)
                if len(window) > self.sizes[-1]:
                    window.evict()
            del self.rows[: -self.sizes[-1]]
            self.window.insert(row)  # what is older than the largest size leaves by itself

    @rule(data=st.data())
    def evict(self, data: st.DataObject) -> None:
        k = data.draw(st.integers(0, len(self.rows)))
        del self.rows[:k]
        for window in (self.oracle, self.window, *self.others):
            window.evict() if k == 1 else window.evict_many(k)

    @rule(data=st.data())
    def ask_in_any_order(self, data: st.DataObject) -> None:
        for k in data.draw(st.permutations(self.sizes)):
            expected = self.oracle.query_last(k)
            for window in (self.window, *self.others):
                assert same(window.query_last(k), expected), (window, k)

    @invariant()
    def agree(self) -> None:
        if not hasattr(self, "window"):
            return
        for window in (self.window, *self.others):
            assert len(window) == len(self.rows)
            window._check(self.rows)
            assert same(window.query(), self.oracle.query()), window
        for k in self.sizes:
            assert same(self.window.query_last(k), self.oracle.query_last(k)), k


ManySizes.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestManySizes = ManySizes.TestCase

LockStep.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLockStep = LockStep.TestCase


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.__name__)
@pytest.mark.parametrize("n", [1, 2, 31, 33, 100])
def test_every_invariant_at_every_step(algorithm: type[Swag], schedule: str, n: int) -> None:
    """Windows longer than a chunk, which the state machine reaches only now and then."""
    selective = algorithm is sw.SlickDeque
    operator = sw.max if selective else matrix
    window, rows, inserted = algorithm(operator), [], 0
    for step in SCHEDULES[schedule](n, 4 * n):
        if step == "insert":
            rows.append(inserted * 5 % 13)
            window.insert(rows[-1])
            inserted += 1
        elif step == "evict":
            rows.pop(0)
            window.evict()
        else:
            window.query()
        if n < 100 or inserted % 7 == 0:
            window._check(rows)


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a is not sw.Recalc], ids=lambda a: a.__name__)
def test_check_finds_a_spoilt_structure_and_shows_it(algorithm: type[Swag]) -> None:
    """A check that cannot fail would prove nothing: give it rows that are not in the window."""
    operator = sw.max if algorithm is sw.SlickDeque else matrix
    window = algorithm(operator)
    for x in (9, 7, 5, 3, 1):
        window.insert(x)
    window._check([9, 7, 5, 3, 1])
    with pytest.raises(AssertionError, match=r"breaks the invariant(.|\n)*\n"):
        window._check([9, 7, 5, 3, 11])
    with pytest.raises(AssertionError):
        window._check([9, 7, 5, 3])


def test_check_finds_pointers_out_of_order() -> None:
    for algorithm in (sw.Daba, sw.DabaLite):
        window = algorithm(concat)
        for letter in "abcdefgh":
            window.insert(letter)
        window.R += 1
        with pytest.raises(AssertionError, match="F"):
            window._check()


def test_check_finds_a_spoilt_scan() -> None:
    for spoil in ("before", "behind", "boundary"):
        window = sw.SlideSide(concat, sizes=[3, 4])
        for letter in "abcdefgh":
            window.insert(letter)
        window._check()
        scan = window._scans[0]
        assert scan.boundary < window._E  # there are rows on both sides
        spoilt = {"before": ["x"] * len(scan.before), "behind": "x", "boundary": 99}[spoil]
        setattr(scan, spoil, spoilt)
        with pytest.raises(AssertionError, match="SlideSide breaks the invariant"):
            window._check()
