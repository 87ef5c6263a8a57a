"""The paper's own traces and case sequences."""

from __future__ import annotations

import pytest
from support import concat, serving

import slidewise as sw
from slidewise.swag import ALGORITHMS, Swag
from slidewise.swag.structures.pointers import Pointers, cases

# Section 2.3: seven values go in, two leave, 2 and 6 come in.
TRACE = [*((("insert", x)) for x in (4, 5, 3, 4, 0, 4, 4)), ("evict",), ("evict",), ("insert", 2), ("insert", 6)]


@pytest.mark.parametrize("algorithm", serving(sw.maxcount), ids=lambda a: a.__name__)
def test_the_maxcount_trace(algorithm: type[Swag]) -> None:
    counts, greatest = algorithm(sw.maxcount), sw.DabaLite(sw.max)
    seen = []
    for name, *row in TRACE:
        for window in (counts, greatest):
            getattr(window, name)(*row)
        seen.append((greatest.query(), counts.query()))
    assert seen[6:] == [(5, 1), (5, 1), (4, 3), (4, 3), (6, 1)]


def trace_of_cases(window: sw.Daba | sw.DabaLite) -> list[str]:
    went: list[str] = []
    for name, *row in [*TRACE, ("insert", 1), ("insert", 1)]:
        before = Pointers.of(window)
        getattr(window, name)(*row)
        went += cases(before, Pointers.of(window))
    return went


@pytest.mark.parametrize("algorithm", [sw.Daba, sw.DabaLite], ids=lambda a: a.__name__)
def test_the_case_sequences_of_daba(algorithm: type[sw.Daba] | type[sw.DabaLite]) -> None:
    went = trace_of_cases(algorithm(sw.maxcount))
    assert went == [
        "singleton",
        *("flip", "shrink", "shift"),
        *("flip", "shrink", "shrink", "shift", "shift"),
        *("flip", "shrink", "shrink", "shrink", "shift", "shift", "shift"),
    ]


def test_daba_and_daba_lite_move_their_pointers_alike() -> None:
    one, other = sw.Daba(concat), sw.DabaLite(concat)
    for i in range(500):
        for window in (one, other):
            if i % 5 < 3 or i % 7 == 0:
                window.insert("abc"[i % 3])
            elif len(window):
                window.evict()
        assert Pointers.of(one) == Pointers.of(other)


@pytest.mark.parametrize("algorithm", [sw.TwoStacks, sw.TwoStacksLite], ids=lambda a: a.__name__)
def test_two_stacks_flips_seven_values_at_the_first_eviction(
    algorithm: type[sw.TwoStacks] | type[sw.TwoStacksLite],
) -> None:
    window = algorithm(concat)
    for letter in "abcdefg":
        window.insert(letter)

    def front() -> int:
        return len(window.F) if isinstance(window, sw.TwoStacks) else window.B - window.F

    assert front() == 0
    window.evict()
    assert (front(), len(window), window.query()) == (6, 6, "bcdefg")
    window.insert("h")
    assert (front(), len(window), window.query()) == (6, 7, "bcdefgh")


def test_the_partials_of_daba_lite_in_the_papers_notation() -> None:
    """After c..n with five rows in front, the slots hold what the paper's picture of the invariants says."""
    window = sw.DabaLite(concat)
    for letter in "abcdefg":
        window.insert(letter)
    window.evict()
    window.evict()
    assert window._show().splitlines()[1].split() == ["slot", "'cdefg'", "'d'", "'e'", "'fg'", "'g'"]
    window.insert("h")
    window.insert("i")
    window._check(list("cdefghi"))
    assert window.aggB == "hi"


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.__name__)
def test_every_class_states_its_bounds(algorithm: type[Swag]) -> None:
    assert algorithm.__doc__ is not None
    assert "Combine calls" in algorithm.__doc__
    assert "Space:" in algorithm.__doc__
