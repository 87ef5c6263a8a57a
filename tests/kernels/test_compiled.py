"""The compiled algorithms take the steps of the interpreted ones: pointers, partials, cases, answers and failures."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import slidewise as sw
from slidewise.compiled.build import compiled
from slidewise.errors import OperatorFailedError
from slidewise.operators.values.equality import same
from slidewise.swag import Swag
from slidewise.swag.structures.pointers import Pointers, cases
from slidewise.swag.structures.queues import walk

PAPER = [sw.TwoStacks, sw.TwoStacksLite, sw.Daba, sw.DabaLite, sw.FlatFit]
PRIME = 1_000_003

# Composition of the maps x -> a * x + b modulo a prime: no operands may change places.
affine = sw.operator(
    name="affine",
    identity=(1, 0),
    lift=lambda x: (x * x % PRIME + 1, x),
    combine=lambda f, g: (f[0] * g[0] % PRIME, (f[1] * g[0] + g[1]) % PRIME),
    lower=lambda f: f[0] * 7 + f[1],
)


def _fragile_lift(x: int) -> int:
    if x == 7:
        raise ValueError("no sevens")
    return x


def _fragile_combine(a: int, b: int) -> int:
    if a == 13:
        raise ValueError("an unlucky number")
    return a + b


def _fragile_lower(s: int) -> int:
    if s % 5 == 0:
        raise ValueError("no fives")
    return s


fragile = sw.operator(name="fragile", identity=1, lift=_fragile_lift, combine=_fragile_combine, lower=_fragile_lower)


def _itself(state: Any) -> Any:
    return state


# Operator, type, how a row is made of an integer, and how a compiled state reads as an interpreted one.
OPERATORS: dict[str, tuple[sw.Operator, str, Callable[[int], Any], Callable[[Any], Any]]] = {
    "max": (sw.max, "float64", lambda x: [float("nan"), -0.0, 0.0, float(x)][min(x % 40, 3)], _itself),
    "maxcount": (sw.maxcount, "int64", lambda x: x % 4, _itself),
    "sum": (sw.sum, "int64", lambda x: (x - 50) << 40, lambda s: (s[0] << 32) + s[1]),
    "affine": (affine, "int64", _itself, _itself),
    "fragile": (fragile, "int64", lambda x: x % 16, _itself),
}


def pointers_of(window: Any) -> tuple[int, ...]:
    """The pointers from the window's oldest row on; the sizes of two stacks."""
    if isinstance(window, sw.TwoStacks):
        return len(window.F), len(window.B)
    if isinstance(window, sw.FlatFit):
        return 0, len(window)
    names = [name for name in ("F", "L", "R", "A", "B", "E", "start", "stop") if hasattr(window, name)]
    pointers = [getattr(window, name) for name in names]
    return tuple(pointers) if len(names) == 2 and "B" in names else tuple(p - pointers[0] for p in pointers)


def partials_of(window: Swag) -> dict[str, Any]:
    """What the interpreted structure stores, under the names that the compiled one uses."""
    if isinstance(window, sw.TwoStacks):
        pairs = [*window.F, *list(window.B)[::-1]]
        return {"val": [val for val, _ in pairs], "agg": [agg for _, agg in pairs]}
    if isinstance(window, sw.FlatFit):
        positions = range(window._aggs.start, window._aggs.stop)
        return {
            "agg": [window._aggs[p] for p in positions],
            "stops": [window._stops[p] - window._aggs.start for p in positions],
        }
    assert isinstance(window, (sw.TwoStacksLite, sw.Daba, sw.DabaLite))
    F, E = window.F, window.E
    if isinstance(window, sw.Daba):
        return {"val": list(walk(window._cF, F, E)), "agg": list(walk(window._cF, F, E, field=1))}
    found: dict[str, Any] = {"slots": list(walk(window._cF, F, E))}
    if E != window.B:
        found["aggB"] = window.aggB
    if isinstance(window, sw.DabaLite) and window.L != window.R:
        found["aggRA"] = window.aggRA
    return found


def read_as(read: Callable[[Any], Any], window: Any) -> dict[str, Any]:
    """What the compiled structure stores, as the interpreted one would say it."""
    found = window.partials()
    stops = {"stops": [stop - window.start for stop in found.pop("stops")]} if "stops" in found else {}
    read_all = {name: [*map(read, x)] if isinstance(x, list) else read(x) for name, x in found.items()}
    return {**read_all, **stops}


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call returns, or that the operator failed."""
    try:
        return call(*arguments)
    except (ValueError, OperatorFailedError):
        return "failed"


class LockStep(RuleBasedStateMachine):
    """Each algorithm twice, interpreted and compiled."""

    @initialize(name=st.sampled_from(sorted(OPERATORS)))
    def start(self, name: str) -> None:
        operator, dtype, self.row, self.read = OPERATORS[name]
        self.pairs = [(algorithm(operator), compiled(algorithm, operator, dtype)) for algorithm in PAPER]

    def step(self, method: str, *arguments: Any) -> None:
        for plain, native in self.pairs:
            six = isinstance(plain, (sw.Daba, sw.DabaLite))
            before = [Pointers.of(w) for w in (plain, native)] if six else []
            done = [outcome(getattr(w, method), *arguments) for w in (plain, native)]
            assert done[0] == done[1], (plain, native)
            if six and done[0] != "failed":
                taken = [cases(b, Pointers.of(w)) for b, w in zip(before, (plain, native), strict=True)]
                assert taken[0] == taken[1], (plain, native)

    @rule(count=st.sampled_from([1, 1, 1, 2, 5, 17, 33]), seed=st.integers(0, 99))
    def insert(self, count: int, seed: int) -> None:
        for x in random.Random(seed).choices(range(100), k=count):
            self.step("insert", self.row(x))

    @rule(count=st.sampled_from([1, 1, 1, 2, 5, 17, 33]))
    def evict(self, count: int) -> None:
        for _ in range(min(count, *(len(plain) for plain, _ in self.pairs))):
            self.step("evict")

    @rule()
    def query(self) -> None:
        for plain, native in self.pairs:
            assert same(outcome(native.query), outcome(plain.query)), (plain, native)

    @rule()
    def clear(self) -> None:
        self.step("clear")

    @precondition(lambda self: not any(len(plain) for plain, _ in self.pairs))
    @rule()
    def evict_from_nothing(self) -> None:
        for _, native in self.pairs:
            with pytest.raises(sw.EmptyWindowError):
                native.evict()

    @invariant()
    def agree(self) -> None:
        for plain, native in getattr(self, "pairs", []):
            assert len(native) == len(plain)
            assert pointers_of(native) == pointers_of(plain), (plain, native)
            assert same(read_as(self.read, native), partials_of(plain)), (plain, native)
            if isinstance(plain, sw.FlatFit):
                continue  # A query changes what is stored: it is a step of its own.
            assert same(outcome(native.query), outcome(plain.query)), (plain, native)
            partial = outcome(native.partial)
            read = self.read if native and partial != "failed" else _itself
            assert same(read(partial), outcome(plain.partial)), (plain, native)


LockStep.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLockStep = LockStep.TestCase


@pytest.mark.parametrize("algorithm", PAPER, ids=lambda a: a.__name__)
def test_native_loops_equal_single_steps(algorithm: type[Swag]) -> None:
    plain, native = algorithm(affine), compiled(algorithm, affine, np.int64)
    rows = np.random.default_rng(7).integers(0, 1_000, 1_000)
    native.insert_many(rows[:300])
    for x in rows[:300].tolist():
        plain.insert(x)

    expected = []
    for x in rows.tolist():
        plain.evict()
        plain.insert(x)
        expected.append(plain.query())
    found = np.concatenate([native.rounds(rows[:1]), native.rounds(rows[1:400]), native.rounds(rows[400:])])
    assert found.tolist() == expected
    assert read_as(_itself, native) == partials_of(plain)

    for n in (1, 37, 700):
        plain.clear()
        native.clear()
        expected = []
        for x in rows.tolist():
            plain.insert(x)
            expected.append(plain.query())
            while len(plain) >= n:
                for _ in range(n):
                    plain.evict()
        found = np.concatenate([native.fill_and_drain(rows[:250], n), native.fill_and_drain(rows[250:], n)])
        assert found.tolist() == expected
        assert len(native) == len(plain) == 1_000 % n
        assert read_as(_itself, native) == partials_of(plain)


def test_a_window_longer_than_n_is_drained_after_one_row() -> None:
    window = compiled(sw.DabaLite, affine, "int64")
    window.insert_many(range(20))
    assert len(window.fill_and_drain([1, 2], 3)) == 2
    assert len(window) == 1


def test_several_inputs_and_answers_that_may_be_missing() -> None:
    window = compiled(sw.DabaLite, sw.argmax, ("int64", float))
    window.insert(1, 0.5)
    assert window.rounds(([7, 8], [1.5, 0.5])).tolist() == [7, 8]
    assert window.partial() == (0.5, 8)

    spread = compiled(sw.TwoStacksLite, sw.relative_variation, "int64")
    found = spread.fill_and_drain([0, 4, 2], 2)
    np.testing.assert_array_equal(found, [np.nan, 1.0, 0.0])
    spread.clear()
    spread.insert(0)
    assert spread.query() is None


def test_a_missing_answer_is_masked_where_answers_are_integers() -> None:
    even = sw.operator(name="even", identity=0, combine=lambda a, b: a + b, lower=lambda s: s if s % 2 == 0 else None)
    window = compiled(sw.TwoStacksLite, even, "int64")
    assert window.fill_and_drain([1, 1, 1], 5).tolist() == [None, 2, None]
    assert window.query() is None


def test_answers_of_several_fields_are_several_arrays() -> None:
    ends = sw.operator(name="ends", identity=(0, 0.0), lift=lambda x: (x, x * 0.5), combine=lambda a, b: (a[0], b[1]))
    window = compiled(sw.TwoStacksLite, ends, "int64")
    firsts, lasts = window.fill_and_drain([1, 2, 3], 3)
    assert (firsts.tolist(), lasts.tolist()) == ([1, 1, 1], [0.5, 1.0, 1.5])


def test_an_empty_window_answers_as_the_class_does() -> None:
    for operator, dtype in ((sw.max, "float64"), (sw.maxcount, "int64"), (sw.sum, "int64")):
        window = compiled(sw.DabaLite, operator, dtype)
        assert window.query() == sw.DabaLite(operator).query()
        assert window.partial() == operator.identity
        assert "DabaLite" in repr(window)


def test_a_sum_that_does_not_fit_is_an_error_and_the_window_stays() -> None:
    window = compiled(sw.DabaLite, sw.sum, "int64")
    window.insert(2**63 - 1)
    window.insert(2**63 - 1)
    with pytest.raises(sw.SumOverflowError, match="sum"):
        window.query()
    window.evict()
    assert window.query() == 2**63 - 1


def test_a_failure_in_a_loop_names_the_operator_and_empties_the_window() -> None:
    window = compiled(sw.DabaLite, fragile, "int64")
    window.insert(1)
    with pytest.raises(OperatorFailedError, match=r"'fragile' raised ValueError.*no sevens"):
        window.insert_many([1, 7])
    assert len(window) == 0
    window.insert(3)
    assert window.query() == 3


def test_the_same_functions_are_compiled_once() -> None:
    def make() -> sw.Operator:
        return sw.operator(name="affine", identity=(1, 0), lift=affine.lift, combine=affine.combine, lower=affine.lower)

    assert compiled(sw.Daba, make(), "int64")._program is compiled(sw.Daba, make(), "int64")._program


@pytest.mark.parametrize("row", [None, 1.5, "1", 2**63, [1]])
def test_rows_of_another_type_are_refused(row: Any) -> None:
    window = compiled(sw.DabaLite, sw.maxcount, "int64")
    with pytest.raises(sw.InputError, match="None" if row is None else "compiled for 64-bit integers"):
        window.insert(row)
    with pytest.raises(sw.InputError):
        window.insert_many([row, 1])
    assert len(window) == 0


def test_mistakes_are_named() -> None:
    window = compiled(sw.DabaLite, sw.maxcount, "int64")
    with pytest.raises(sw.EmptyWindowError):
        window.rounds([1])
    assert window.rounds([]).tolist() == []
    with pytest.raises(sw.InputError, match="None"):
        window.insert_many(np.ma.MaskedArray([1, 2], mask=[False, True]))
    with pytest.raises(sw.InputError, match="one-dimensional"):
        window.insert_many(np.zeros((2, 2), np.int64))
    with pytest.raises(sw.InputError, match="compiled for 1 input"):
        window.insert(1, 2)
    with pytest.raises(sw.InputError, match="from 1 on"):
        window.fill_and_drain([1], 0)
    with pytest.raises(AttributeError, match="start"):
        window.start  # noqa: B018
    with pytest.raises(sw.InputError, match=r"\[1, 2\] rows"):
        compiled(sw.DabaLite, sw.argmax, ("int64", "float64")).insert_many(([1], [1.0, 2.0]))
    with pytest.raises(sw.InputError, match="float32; take one of float64, int64, bool"):
        compiled(sw.DabaLite, sw.max, "float32")
    with pytest.raises(sw.InputError, match="nonsense"):
        compiled(sw.DabaLite, sw.max, "nonsense")
    with pytest.raises(sw.InputError, match="argmax takes"):
        compiled(sw.DabaLite, sw.argmax, "int64")
    with pytest.raises(sw.SlidewiseError, match="takes an operator"):
        compiled(sw.DabaLite, max, "int64")  # type: ignore[arg-type]


def test_what_cannot_be_compiled_is_said_with_what_can() -> None:
    with pytest.raises(
        sw.UnsuitableOperatorError, match=r"Recalc .* TwoStacks, TwoStacksLite, Daba, DabaLite, FlatFit"
    ):
        compiled(sw.Recalc, sw.max, "int64")
    with pytest.raises(sw.UnsuitableOperatorError, match=r"'collect' cannot be compiled(.|\n)* max, maxcount, mean"):
        compiled(sw.DabaLite, sw.collect, "int64")
    text = sw.operator(name="text", identity="", lift=lambda x: "a" * x, combine=lambda a, b: a + b)
    with pytest.raises(sw.UnsuitableOperatorError, match=r"'text' cannot be compiled.*unicode_type"):
        compiled(sw.DabaLite, text, "int64")
    array = sw.operator(
        name="array", identity=None, lift=lambda x: np.full(3, x), combine=lambda a, b: a + b, lower=lambda s: s[0]
    )
    with pytest.raises(sw.UnsuitableOperatorError, match="its state is an array"):
        compiled(sw.DabaLite, array, "int64")
