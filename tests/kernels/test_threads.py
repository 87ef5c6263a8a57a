"""Work shared out among threads: the answers of one thread, and the first error of any."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import slidewise as sw
from slidewise.kernels.compiler import threads as threads_module
from slidewise.kernels.compiler.threads import VARIABLE, most_threads, parts_of, share_out, share_rows
from slidewise.kernels.order import time_order
from slidewise.kernels.order.grouping import Grouped
from slidewise.kernels.order.ranks import BATCH


@pytest.mark.parametrize("threads", ["1", "2", "3", "7"])
def test_parts_cover_all_once(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, threads)
    for count in (0, 1, 2, 10):
        done: list[int] = []
        share_out(count, 5, lambda a, b, done=done: done.extend(range(a, b)))  # type: ignore[misc]
        assert sorted(done) == list(range(count))
        parts: list[tuple[int, int]] = []
        share_out(count, 5, lambda a, b, parts=parts: parts.append((a, b)), pieces=9)  # type: ignore[misc]
        assert sorted(i for a, b in parts for i in range(a, b)) == list(range(count))
        assert len(parts) >= min(count, 5)


def test_an_error_of_another_thread_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")

    def work(a: int, _b: int) -> None:
        if a:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        share_out(10, 2, work)
    with pytest.raises(ZeroDivisionError):
        share_out(10, 2, work, pieces=10)


@pytest.mark.parametrize("said", ["0", "-1", "two", "1.5"])
def test_a_number_of_threads_that_is_none(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, said)
    with pytest.raises(sw.SlidewiseError, match=f"SLIDEWISE_THREADS='{said}' in the environment is no number"):
        most_threads()


def test_medians_do_not_depend_on_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(5).integers(0, 1_000, 5 * BATCH).astype(np.float64)
    keys = np.arange(len(x)) % 3
    found = []
    for threads in ("1", "4"):
        monkeypatch.setenv(VARIABLE, threads)
        found.append([sw.rolling(x, sw.median, rows=n, by=keys) for n in (1, 50, 4_001)])
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


def test_the_error_of_the_first_part_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where a later part fails sooner; and no part begins after that."""
    monkeypatch.setenv(VARIABLE, "2")
    second_failed = threading.Event()
    begun: list[int] = []

    def work(a: int, _b: int) -> None:
        begun.append(a)
        if a == 0:
            assert second_failed.wait(60)
        else:
            second_failed.set()
        raise SlidewiseProblem(a)

    with pytest.raises(SlidewiseProblem, match="0"):
        share_out(10, 2, work, pieces=10)
    assert sorted(begun) == [0, 1]


class SlidewiseProblem(Exception):
    pass


def test_an_interrupt_comes_before_errors_and_waits_for_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    main, begun, ended = threading.current_thread(), threading.Event(), threading.Event()

    def work(_a: int, _b: int) -> None:
        if threading.current_thread() is main:
            assert begun.wait(60)
            raise KeyboardInterrupt
        begun.set()
        ended.wait(0.05)
        ended.set()
        raise SlidewiseProblem

    with pytest.raises(KeyboardInterrupt):
        share_out(2, 2, work)
    assert ended.is_set()


def test_a_part_that_shares_out_does_all_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    inner: list[bool] = []

    def work(_a: int, _b: int) -> None:
        outer = threading.get_ident()
        share_out(9, 9, lambda _a, _b: inner.append(threading.get_ident() == outer), pieces=9)

    share_out(6, 6, work)
    assert inner == [True] * len(inner)
    assert len(inner) >= 6


def test_many_threads_of_a_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    x = np.random.default_rng(6).random(20_000)
    expected = sw.rolling(x, sw.max, rows=50)
    monkeypatch.setattr(threads_module.PartSize, "rows", 100)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: sw.rolling(x, sw.max, rows=50), range(40)))
    assert all(np.array_equal(one, expected) for one in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    share_out(3, 3, lambda _a, _b: None)
    child = os.fork()
    if not child:
        status = 1
        try:
            seen: set[int] = set()
            barrier = threading.Barrier(3)

            def work(_a: int, _b: int) -> None:
                seen.add(threading.get_ident())
                barrier.wait(60)

            share_out(3, 3, work)
            status = 0 if len(seen) == 3 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the one that is there does all."""

    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setenv(VARIABLE, "3")
    monkeypatch.setattr(threads_module.ThreadPoolExecutor, "submit", refused)
    done: list[int] = []
    share_out(10, 3, lambda a, b: done.extend(range(a, b)))
    assert sorted(done) == list(range(10))


def test_few_rows_are_one_part_and_cuts_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[tuple[int, int]] = []
    share_rows(2 * threads_module.PartSize.rows - 1, lambda a, b: parts.append((a, b)))
    assert parts == [(0, 2 * threads_module.PartSize.rows - 1)]
    found = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv(VARIABLE, count)
        found.append([parts_of(rows) for rows in (0, 131_071, 131_072, 10**6, 10**9)])
    assert found == [[1, 1, 2, 8, 64]] * 3


@pytest.fixture(params=["1", "2", "3"])
def small_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, request.param)
    monkeypatch.setattr(threads_module.PartSize, "rows", 100)


NUMBERS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "few": lambda choose: choose.integers(0, 10, 5_000),
    "one": lambda choose: np.zeros(5_000, np.int64),
    "all of int64": lambda choose: choose.integers(-(2**63), 2**63 - 1, 5_000),
    "the ends": lambda choose: choose.choice(np.array([-(2**63), -1, 0, 2**63 - 1]), 5_000),
    "nanoseconds of a year": lambda choose: 10**18 + choose.integers(0, 3 * 10**16, 5_000),
    "floats": lambda choose: choose.normal(size=5_000) * 10.0 ** choose.integers(-300, 300, 5_000),
    "zeros": lambda choose: choose.choice(np.array([-0.0, 0.0, -1.5, 5e-324]), 5_000),
    "rising but for a few": lambda choose: np.concatenate([np.arange(2_500), np.arange(2_500)]),
}


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("kind", NUMBERS)
def test_the_stable_order_of_numbers(kind: str) -> None:
    x = NUMBERS[kind](np.random.default_rng(4))
    assert np.array_equal(time_order.order_in_threads(x), np.argsort(x, kind="stable"))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("groups", [1, 7, 900, 6_000])
def test_rows_are_grouped_in_their_order(groups: int) -> None:
    codes = np.random.default_rng(5).integers(0, groups, 5_000)
    grouped = Grouped(codes, groups)
    order = np.argsort(codes, kind="stable")
    assert np.array_equal(grouped.places[order], np.arange(5_000))
    assert np.array_equal(grouped.offsets, np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=groups))]))
    assert np.array_equal(grouped.to_sorted(codes), codes[order])
    assert np.array_equal(grouped.to_input(codes[order]), codes)
