"""Words sorted by some of their bits: in order, and equal ones as they stood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidewise.kernels.order.number_order import stable_order
from slidewise.kernels.order.radix import DIGIT, new_counts, sort_by_bits


def by_bits(words: Any, low: int, high: int) -> Any:
    """The same by Python's sort, which is stable."""
    mask = 2**high - 2**low
    return np.array(sorted(words.tolist(), key=lambda word: word & mask), np.uint64)


def sorted_here(words: Any, low: int, high: int) -> Any:
    found = words.copy()
    counts = new_counts()
    counts[:] = 7  # of the sort before
    sort_by_bits(found, np.full(len(words) + 3, 9, np.uint64), counts, low, high)
    return found


@given(st.data(), st.integers(0, 63), st.integers(0, 64))
def test_any_words_and_bits(data: Any, low: int, more: int) -> None:
    high = min(64, low + more)
    words = data.draw(st.lists(st.integers(0, 2**high - 1), max_size=40))
    given_words = np.array(words, np.uint64)
    assert sorted_here(given_words, low, high).tolist() == by_bits(given_words, low, high).tolist()


@pytest.mark.parametrize("digits", [1, 2, 3, 5])
def test_many_words_of_so_many_digits(digits: int) -> None:
    choose = np.random.default_rng(digits)
    low = 64 - digits * DIGIT
    order = choose.integers(0, 2 ** (digits * DIGIT), 5_000, dtype=np.uint64)
    order[::3] = order[7]  # equal ones
    words = order << np.uint64(low) | np.arange(5_000, dtype=np.uint64)[::-1] % np.uint64(2**low)
    assert sorted_here(words, low, 64).tolist() == by_bits(words, low, 64).tolist()
    assert sorted_here(words, low, 64).tolist() != np.sort(words).tolist()  # which looks at the other bits, too


def test_digits_that_all_share_are_passed_over() -> None:
    words = np.array([5, 3, 4], np.uint64) << np.uint64(2 * DIGIT) | np.uint64(77)
    assert sorted_here(words, 0, 64).tolist() == sorted(words.tolist())


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 2), (-(2**63), 2**63 - 1), (10**18, 10**18 + 10**15), (-5, 10**6)]
)
def test_places_of_numbers_in_their_stable_order(low: int, high: int) -> None:
    """Few and many bits, in one word with a place or in two; and rows that stand in long runs."""
    choose = np.random.default_rng(1)
    for count in (1, 2_047, 2_048, 5_000):
        x = choose.integers(low, high, count, endpoint=True)
        for numbers in (x, np.sort(x)[::-1], np.concatenate([np.sort(x), np.sort(x)])):
            assert (stable_order(numbers) == np.argsort(numbers, kind="stable")).all()
