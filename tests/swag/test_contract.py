"""What every algorithm promises, whatever the operator: errors, nulls, failing operators, small memory."""

from __future__ import annotations

import copy
import gc
import random
import sys
import types
from typing import Any

import pytest
from support import Counter, Sabotage, concat, matrix, serving

import slidewise as sw
from slidewise.operators.values.equality import same
from slidewise.swag import ALGORITHMS, Swag
from slidewise.swag.structures.queues import CHUNK

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.__name__)


def suitable(algorithm: type[Swag]) -> sw.Operator:
    return sw.max if algorithm is sw.SlickDeque else sw.sum


@pytest.mark.rule(5)
@every_algorithm
def test_an_empty_window_answers_and_refuses_to_evict(algorithm: type[Swag]) -> None:
    operator = suitable(algorithm)
    window = algorithm(operator)
    for _ in range(2):
        assert len(window) == 0
        assert window.query() == operator.lower(operator.identity)
        assert window.partial() == operator.identity
        with pytest.raises(sw.EmptyWindowError, match="the window is empty"):
            window.evict()
        window.evict_many(0)
        window.insert(1)
        window.evict()


@every_algorithm
def test_evict_many_takes_all_or_nothing(algorithm: type[Swag]) -> None:
    window = algorithm(suitable(algorithm))
    for x in range(5):
        window.insert(x)
    answer = window.query()
    with pytest.raises(sw.EmptyWindowError, match="cannot evict 6 rows: the window holds 5"):
        window.evict_many(6)
    for nonsense in (-1, 2.0, "2"):
        with pytest.raises(sw.SlidewiseError, match="a number of rows"):
            window.evict_many(nonsense)  # type: ignore[arg-type]
    assert (len(window), window.query()) == (5, answer)
    window.evict_many(5)
    assert len(window) == 0
    window._check([])


@every_algorithm
def test_a_window_that_was_empty_starts_afresh(algorithm: type[Swag]) -> None:
    """A frame that became empty and then filled again kept stale state elsewhere (datafusion#24184)."""
    operator = suitable(algorithm)
    for emptied_by in ("evict", "evict_many", "clear"):
        for size in (1, 3, 40):
            window = algorithm(operator)
            for x in range(size):
                window.insert(1000 + x)
            if emptied_by == "clear":
                window.clear()
            elif emptied_by == "evict":
                for _ in range(size):
                    window.evict()
            else:
                window.evict_many(size)
            assert window.query() == operator.lower(operator.identity)
            window.insert(7)
            assert window.query() == 7
            window._check([7])


@pytest.mark.rule(4)
@every_algorithm
def test_nulls_count_as_rows_but_not_in_the_answer(algorithm: type[Swag]) -> None:
    window = algorithm(suitable(algorithm))
    for x in (None, 3, None, None):
        window.insert(x)
    assert len(window) == 4
    assert window.query() == 3
    window.evict_many(2)
    assert len(window) == 2
    assert window.query() == suitable(algorithm).lower(suitable(algorithm).identity)
    window._check([None, None])


@every_algorithm
def test_several_columns_are_several_arguments(algorithm: type[Swag]) -> None:
    if algorithm not in serving(sw.argmax):
        pytest.skip(f"{algorithm.__name__} cannot serve argmax")
    window = algorithm(sw.argmax)
    for row in [("a", 1), ("b", 5), (None, 9), ("c", 5), ("d", None)]:
        window.insert(*row)
    assert window.query() == "b"
    window._check([("a", 1), ("b", 5), (None, 9), ("c", 5), ("d", None)])
    window.evict_many(2)
    assert window.query() == "c"


@every_algorithm
@pytest.mark.parametrize("operation", ["insert", "evict", "evict_many", "query"])
def test_an_operator_that_raises_leaves_the_window_as_it_was(algorithm: type[Swag], operation: str) -> None:
    """The operator fails at its first, second, third ... call of an operation, in windows of many shapes."""
    base = sw.max if algorithm is sw.SlickDeque else matrix
    failures = 0
    for shape in range(60):
        choose = random.Random(shape)
        counter = Counter(base)
        window, rows = algorithm(counter.operator), []
        for _ in range(choose.randrange(2, 90)):
            if rows and choose.random() < 0.3:
                rows.pop(0)
                window.evict()
            else:
                rows.append(choose.randrange(7))
                window.insert(rows[-1])
            if choose.random() < 0.3:
                window.query()
        if not rows:
            continue
        expected = base.lower(window._fold(window._lifted(rows)))
        k = choose.randrange(len(rows)) if operation == "evict_many" else 0
        act = {
            "insert": lambda: window.insert(6),  # noqa: B023
            "evict": window.evict,
            "evict_many": lambda: window.evict_many(k),  # noqa: B023
            "query": window.query,
        }[operation]
        for call in range(50):
            counter.fail_after = counter.calls + call
            try:
                act()
            except Sabotage:
                failures += 1
                counter.fail_after = None
                assert len(window) == len(rows)
                window._check(rows)
                assert window.query() == expected
            else:
                break
        counter.fail_after = None
        if operation == "insert":
            rows.append(6)
        elif operation != "query":
            del rows[: k if operation == "evict_many" else 1]
        window._check(rows)
    silent = {
        "insert": (sw.Recalc, sw.FlatFit),
        "evict": (sw.Recalc, sw.FlatFit, sw.BInt, sw.SlickDeque),
        "evict_many": (sw.Recalc, sw.FlatFit, sw.BInt, sw.SlickDeque),
        "query": (sw.SubtractOnEvict, sw.SlickDeque),
    }
    assert (failures == 0) == (algorithm in silent[operation]), "the operator was made to fail"


@every_algorithm
def test_a_lift_that_raises_leaves_the_window_as_it_was(algorithm: type[Swag]) -> None:
    operator = sw.operator(
        name="reciprocals",
        identity=0.0,
        lift=lambda x: 1 / x,
        combine=max,
        selective=True,
        inverse=lambda total, oldest: total,
    )
    window = algorithm(operator)
    for x in (4, 2, 5):
        window.insert(x)
    with pytest.raises(ZeroDivisionError):
        window.insert(0)
    assert (len(window), window.query()) == (3, 0.5)
    window._check()


def test_an_unsuitable_operator_is_refused_with_a_remedy() -> None:
    with pytest.raises(
        sw.UnsuitableOperatorError, match=r"SubtractOnEvict cannot serve 'max'.*no exact inverse.*DabaLite"
    ):
        sw.SubtractOnEvict(sw.max)
    with pytest.raises(
        sw.UnsuitableOperatorError, match=r"SlickDeque cannot serve 'mean'.*not declared selective.*DabaLite"
    ):
        sw.SlickDeque(sw.mean)
    with pytest.raises(sw.UnsuitableOperatorError, match="SubtractOnEvict"):
        sw.SlickDeque(sw.sum)
    for algorithm in ALGORITHMS:
        with pytest.raises(sw.SlidewiseError, match="takes an operator, such as"):
            algorithm(max)  # type: ignore[arg-type]


def test_subtract_on_evict_refuses_the_first_float_of_a_sum() -> None:
    window = sw.SubtractOnEvict(sw.sum)
    window.insert(2)
    with pytest.raises(sw.UnsuitableOperatorError, match=r"0\.5.*DabaLite"):
        window.insert(0.5)
    assert (len(window), window.query()) == (1, 2)


@every_algorithm
def test_a_rare_key_is_cheap(algorithm: type[Swag]) -> None:
    """An empty window and one of three rows take well under 2 KB."""
    window = algorithm(suitable(algorithm))
    assert deep_size(window) < 1300
    for x in (1000, 2000, 3000):
        window.insert(x)
    assert deep_size(window) < 1700
    if algorithm in (sw.Daba, sw.DabaLite, sw.TwoStacksLite):
        assert deep_size(window) < 1300


def deep_size(thing: Any) -> int:
    """The bytes of an object and of all that only it refers to; the operator is shared by all windows."""
    shared = (type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, sw.Operator, types.ModuleType)
    seen: dict[int, Any] = {}
    ahead = [thing]
    while ahead:
        item = ahead.pop()
        if id(item) in seen or isinstance(item, shared) or item is None or isinstance(item, (bool, str)):
            continue
        seen[id(item)] = item
        ahead += gc.get_referents(item)
    return sum(map(sys.getsizeof, seen.values()))


@every_algorithm
def test_memory_shrinks_with_the_window(algorithm: type[Swag]) -> None:
    window = algorithm(suitable(algorithm))
    for x in range(20_000):
        window.insert(-x)
    large = deep_size(window)
    for _ in range(19_990):
        window.evict()
    assert deep_size(window) < max(large / 100, 4_000)


@every_algorithm
def test_evict_many_gives_memory_back_at_once(algorithm: type[Swag]) -> None:
    """Without waiting for Python to look for cycles: evicted states may be large."""

    class State:
        alive = 0

        def __init__(self, value: int) -> None:
            self.value = value
            State.alive += 1

        def __del__(self) -> None:
            State.alive -= 1

    operator = sw.operator(
        name="states",
        identity=None,
        lift=State,
        combine=lambda a, b: a if a.value > b.value else b,
        inverse=lambda total, oldest: total,
        selective=True,
    )
    gc.disable()
    try:
        for clear in (lambda w: w.evict_many(997), lambda w: w.clear(), lambda w: w.evict_many(1000)):
            window = algorithm(operator)
            for x in range(1000):
                window.insert(1000 - x)
            window.query()
            clear(window)
            assert State.alive <= 3 + 2 * CHUNK
            if len(window):
                assert deep_size(window) < 4_000
            del window
            assert State.alive == 0
        window = algorithm(operator)
        for x in range(3000):
            window.insert(3000 - x)
            if x >= 100:
                window.evict()
            window.query() if x % 50 == 0 else None
        assert State.alive <= 101 + 3 * CHUNK
    finally:
        gc.enable()


def test_windows_cannot_be_copied_by_accident() -> None:
    window = sw.DabaLite(sw.max)
    for copier in (copy.copy, copy.deepcopy):
        with pytest.raises(sw.SlidewiseError, match="cannot be copied"):
            copier(window)


@pytest.mark.parametrize(
    ("operator", "row", "message"),
    [
        (sw.argmax, (3,), r"argmax takes the columns \(x, y\), but got 1 values"),
        (sw.max, (1, 2), r"max takes the columns \(x\), but got 2"),
        (sw.collect, (1, 2), "collect takes"),
        (sw.count, (1, 2), "count takes"),
    ],
)
def test_a_wrong_number_of_columns(operator: sw.Operator, row: tuple[int, ...], message: str) -> None:
    window = sw.DabaLite(operator)
    with pytest.raises(sw.SlidewiseError, match=message):
        window.insert(*row)
    assert len(window) == 0


@every_algorithm
def test_a_sliding_window_does_not_grow(algorithm: type[Swag]) -> None:
    window = algorithm(suitable(algorithm))
    for x in range(500):
        window.insert(x * 7919 % 1000)
    sizes = []
    for x in range(6_000):
        window.evict()
        window.insert(x * 7919 % 1000)
        window.query() if x % 10 == 0 else None
        if x in (1_000, 5_900):
            sizes.append(deep_size(window))
    assert sizes[1] < 1.5 * sizes[0]


@every_algorithm
def test_any_python_object_can_be_a_state(algorithm: type[Swag]) -> None:
    if algorithm not in serving(concat):
        pytest.skip(f"{algorithm.__name__} cannot serve concatenation")
    window = algorithm(concat)
    for letter in "sliding":
        window.insert(letter)
    window.evict()
    assert window.query() == "liding"
    assert repr(window) == f"<{algorithm.__name__}(sw.operator(name='concat')) of 6 rows>"


@every_algorithm
def test_results_do_not_depend_on_when_one_asks(algorithm: type[Swag]) -> None:
    """FlatFIT works at queries: asking often or rarely must not change an answer."""
    operator = suitable(algorithm)
    often, rarely = algorithm(operator), algorithm(operator)
    for i in range(300):
        for window in (often, rarely):
            window.insert(i * 31 % 17)
            if i >= 40:
                window.evict()
        often.query()
        if i % 50 == 0:
            assert same(often.query(), rarely.query())


def test_the_last_rows_are_those_there_are() -> None:
    for window in (sw.Recalc(sw.max), sw.FlatFit(sw.max), sw.BInt(sw.max), sw.SlideSide(sw.max, sizes=[2, 5])):
        assert window.query_last(5) == sw.max.lower(sw.max.identity)
        for x in (9, 4, 7):
            window.insert(x)
        assert (window.query_last(2), window.query_last(5), window.query_last(3)) == (7, 9, 9)
        assert window.query_last(0) == sw.max.lower(sw.max.identity)
        with pytest.raises(sw.EmptyWindowError, match="cannot aggregate the 5 youngest rows: the window holds 3"):
            window.suffix(5)
        for nonsense in (-1, 2.0, True, "2"):
            with pytest.raises(sw.SlidewiseError, match="query_last takes a number of rows from 0 on"):
                window.query_last(nonsense)  # type: ignore[arg-type]


def test_slide_side_answers_for_its_sizes_only() -> None:
    window = sw.SlideSide(sw.max, sizes=[8, 2, 2, 4])
    assert window.sizes == (2, 4, 8)
    for x in range(20):
        window.insert(-x)
    assert len(window) == 8
    assert [window.query_last(k) for k in (2, 4, 8)] == [-18, -16, -12]
    with pytest.raises(sw.SlidewiseError, match="answers for the last 2, 4, 8 rows, not for 3; name every size"):
        window.query_last(3)
    assert window.query_last(100) == -12  # the window holds no more
    plain = sw.SlideSide(sw.max)
    plain.insert(1)
    plain.insert(2)
    with pytest.raises(sw.SlidewiseError, match="answers for its whole window, not for 1"):
        plain.query_last(1)
    for nonsense in (0, -3, 2.5, True, "3"):
        with pytest.raises(sw.SlidewiseError, match=r"sizes= are numbers of rows from 1 on"):
            sw.SlideSide(sw.max, sizes=[nonsense])  # type: ignore[list-item]


def test_an_operator_that_raises_leaves_the_sizes_as_they_were() -> None:
    failures = 0
    for shape in range(80):
        counter = Counter(matrix)
        window = sw.SlideSide(counter.operator, sizes=[3, 5, 17, 40])
        rows = [x * 5 % 7 for x in range(shape)]
        for row in rows:
            window.insert(row)
        answers = [window.query_last(k) for k in window.sizes]
        for call in range(200):
            counter.fail_after = counter.calls + call
            try:
                window.insert(6)
            except Sabotage:
                failures += 1
                counter.fail_after = None
                window._check(rows[-40:])
                assert [window.query_last(k) for k in window.sizes] == answers
            else:
                break
        counter.fail_after = None
        window._check([*rows, 6][-40:])
    assert failures > 300


@pytest.mark.parametrize("algorithm", [sw.DabaLite, sw.SubtractOnEvict, sw.SlickDeque, sw.OrderStatistics])
def test_steps_since_a_mark_are_taken_back_without_a_call(algorithm: type[Swag]) -> None:
    """Whatever came, left or was cleared since then; windows reach over several chunks."""
    for shape in range(40):
        choose = random.Random(shape)
        counter = Counter(suitable(algorithm))
        window = algorithm(sw.median if algorithm is sw.OrderStatistics else counter.operator)
        rows: list[int] = []

        def step(rows: list[int], window: Swag = window, choose: random.Random = choose) -> None:
            what = choose.random()
            if rows and what < 0.3:
                del rows[0]
                window.evict()
            elif rows and what < 0.38:
                k = choose.randrange(len(rows) + 1)
                del rows[:k]
                window.evict_many(k)
            elif what < 0.4:
                rows.clear()
                window.clear()
            else:
                rows.append(choose.randrange(9))
                window.insert(rows[-1])

        for _ in range(12):
            for _ in range(choose.randrange(90)):
                step(rows)
            window._savepoint()
            stored, again = window._dump(), rows[:]
            for _ in range(choose.randrange(90)):
                step(again)
            calls = counter.calls
            if choose.random() < 0.7:
                window._rollback()
                assert counter.calls == calls
                assert repr(window._dump()) == repr(stored)
            else:
                rows = again
                window._commit()
            window._check(rows)
