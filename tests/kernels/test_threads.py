"""Work shared out among threads: the answers of one thread, and the first error of any."""

from __future__ import annotations

import numpy as np
import pytest

import slidewise as sw
from slidewise.kernels.compiler.threads import VARIABLE, most_threads, share_out
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
