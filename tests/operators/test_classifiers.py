"""Naive Bayes against direct counting, and the laws of the Tally under it."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidewise.errors import InputError, SlidewiseError
from slidewise.operators.families.classifiers import Classifier, Tally, naive_bayes

TALLIES = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 5)).map(Tally)
CATEGORIES = st.one_of(st.integers(-2, 3), st.sampled_from(["x", "y", "", "3"]), st.booleans())
ROWS = st.lists(st.tuples(CATEGORIES, CATEGORIES, CATEGORIES), max_size=12)

WEATHER = [
    ("play", "sun", "calm"),
    ("play", "sun", "calm"),
    ("play", "rain", "calm"),
    ("stay", "rain", "storm"),
    ("stay", "sun", "storm"),
]


def trained(rows: Any) -> Tally:
    tally: Tally = reduce(naive_bayes.combine, (naive_bayes.lift(*row) for row in rows), naive_bayes.identity)
    return tally


@given(TALLIES, TALLIES, TALLIES)
def test_tally_laws(a: Tally, b: Tally, c: Tally) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert hash(a + b) == hash(b + a)
    assert a + Tally() == a == a - Tally()
    assert (a + b) - a == b
    assert a - a == Tally()
    for key in "abcdef":
        assert (a + b)[key] == a[key] + b[key]


@given(TALLIES, TALLIES)
def test_tally_arithmetic_changes_neither_side(a: Tally, b: Tally) -> None:
    before = dict(a.items()), dict(b.items())
    total = a + b
    _ = total - b
    assert (dict(a.items()), dict(b.items())) == before
    assert total == Tally(Counter(before[0]) + Counter(before[1]))


def test_tally_drops_what_reaches_zero_and_never_goes_below() -> None:
    assert len(Tally({"a": 2, "b": 1}) - Tally({"a": 2})) == 1
    with pytest.raises(SlidewiseError, match="cannot take 3 of 'a' from a Tally that holds 2"):
        Tally({"a": 2}) - Tally({"a": 3})
    with pytest.raises(SlidewiseError, match="counts of 1 and more"):
        Tally({"a": 0})
    assert Tally({"a": 1}) != {"a": 1}
    assert repr(Tally({"a": 1})) == "Tally({'a': 1})"


def test_the_state_counts_labels_and_values_by_label_and_feature() -> None:
    assert trained(WEATHER[:2]) == Tally({("play",): 2, ("play", 0, "sun"): 2, ("play", 1, "calm"): 2})


def test_an_example_by_hand() -> None:
    answer = naive_bayes.lower(trained(WEATHER))
    # Each feature has 2 values, so 3 with the unseen one: (count + 1) / (rows of the label + 3).
    play = Fraction(3, 5) * Fraction(1 + 1, 3 + 3) * Fraction(0 + 1, 3 + 3)
    stay = Fraction(2, 5) * Fraction(1 + 1, 2 + 3) * Fraction(2 + 1, 2 + 3)
    assert answer.predict("rain", "storm") == "stay"
    assert answer.probabilities("rain", "storm") == pytest.approx(
        {"play": float(play / (play + stay)), "stay": float(stay / (play + stay))}, rel=1e-12
    )
    assert answer.predict("sun", "calm") == "play"
    assert answer.labels == ("play", "stay")
    assert answer.rows == 5
    assert repr(answer) == "Classifier(labels=('play', 'stay'), rows=5)"


@given(ROWS.filter(bool), st.tuples(CATEGORIES, CATEGORIES), st.sampled_from([0.25, 1.0, 3.0]))
def test_probabilities_are_those_of_direct_counting(
    rows: list[tuple[Any, ...]], features: tuple[Any, ...], smoothing: float
) -> None:
    answer = naive_bayes(smoothing=smoothing).lower(trained(rows))
    joint = {}
    for label in {row[0] for row in rows}:
        mine = [row for row in rows if row[0] == label]
        joint[label] = Fraction(len(mine), len(rows))
        for i, value in enumerate(features):
            kinds = len({row[i + 1] for row in rows})
            hits = sum(row[i + 1] == value for row in mine)
            joint[label] *= (hits + Fraction(smoothing)) / (len(mine) + Fraction(smoothing) * (kinds + 1))
    total = sum(joint.values())
    probabilities = answer.probabilities(*features)
    assert probabilities == pytest.approx({label: float(p / total) for label, p in joint.items()}, rel=1e-9)
    assert math.isclose(sum(probabilities.values()), 1.0, rel_tol=1e-12)
    assert joint[answer.predict(*features)] >= max(joint.values()) * (1 - Fraction(1, 10**9))


def test_long_rows_do_not_underflow() -> None:
    rows = [("a", *["x"] * 2000), ("b", *["y"] * 2000)]
    answer = naive_bayes.lower(trained(rows * 50))
    assert answer.probabilities(*["x"] * 2000) == {"a": 1.0, "b": 0.0}
    assert answer.probabilities(*["never seen"] * 2000) == {"a": 0.5, "b": 0.5}


def test_ties_go_to_the_label_that_sorts_first() -> None:
    labels = ["b", "a", 10, 9, "10"]
    for order in (labels, labels[::-1]):
        answer = naive_bayes.lower(trained((label, "same") for label in order))
        assert answer.labels == (9, 10, "10", "a", "b")
        assert answer.predict("same") == 9
    assert naive_bayes.lower(trained([("b", 1), ("a", 1)])).predict(1) == "a"


def test_an_empty_window() -> None:
    answer = naive_bayes.lower(naive_bayes.identity)
    assert answer.predict("sun", "calm") is None
    assert answer.probabilities("sun", "calm") == {}
    assert (answer.labels, answer.rows) == ((), 0)
    assert naive_bayes.lift_row("play", None) == naive_bayes.identity


@given(ROWS, st.integers(0, 12))
def test_rows_that_leave_are_forgotten_exactly(rows: list[tuple[Any, ...]], cut: int) -> None:
    assert naive_bayes.inverse is not None
    state = trained(rows)
    for row in rows[:cut]:
        state = naive_bayes.inverse(state, naive_bayes.lift(*row))
    assert state == trained(rows[cut:])
    assert naive_bayes.lower(state) == naive_bayes.lower(trained(rows[cut:]))
    assert naive_bayes.lower(state).rows == len(rows[cut:])


@given(st.lists(st.tuples(*[st.one_of(st.integers(-2, 3), st.text(max_size=2))] * 3), max_size=12), st.randoms())
def test_states_are_stored_the_same_whatever_the_order(rows: list[tuple[Any, ...]], chance: random.Random) -> None:
    assert naive_bayes.encode is not None
    assert naive_bayes.decode is not None
    stored = naive_bayes.encode(trained(rows))
    assert naive_bayes.decode(stored) == trained(rows)
    assert naive_bayes.encode(naive_bayes.decode(stored)) == stored
    shuffled = chance.sample(rows, len(rows))
    assert repr(naive_bayes.encode(trained(shuffled))) == repr(stored)


def test_the_stored_form_is_plain() -> None:
    assert naive_bayes.encode is not None
    row = naive_bayes.lift(np.str_("play"), np.int64(3), True)
    stored = naive_bayes.encode(row)
    assert stored == ((("play",), 1), (("play", 0, 3), 1), (("play", 1, True), 1))
    assert [type(item) for key, _ in stored for item in key] == [str, str, int, int, str, int, bool]


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), math.nan])
def test_floats_are_refused_with_what_to_do(value: Any) -> None:
    with pytest.raises(InputError, match=r"the label is the float .*; bucket it first"):
        naive_bayes.lift(value, "sun")
    with pytest.raises(InputError, match=r"feature 2 is the float .*; bucket it first"):
        naive_bayes.lift("play", "sun", value)
    with pytest.raises(InputError, match="bucket it first"):
        naive_bayes.lower(trained(WEATHER)).predict("sun", value)


def test_other_mistakes_say_what_is_wrong() -> None:
    with pytest.raises(InputError, match=r"feature 1 is a list; turn it into text first"):
        naive_bayes.lift("play", ["sun"])
    with pytest.raises(InputError, match="at least one feature"):
        naive_bayes.lift("play")
    answer = naive_bayes.lower(trained(WEATHER))
    for features in [(), ("sun",), ("sun", "calm", 1)]:
        with pytest.raises(SlidewiseError, match=f"trained on 2 features, but got {len(features)}"):
            answer.predict(*features)


@pytest.mark.parametrize("smoothing", [0, -1.0, math.inf, math.nan, "1", True, None])
def test_wrong_smoothing_is_refused(smoothing: Any) -> None:
    with pytest.raises(SlidewiseError, match="smoothing is a finite number above 0"):
        naive_bayes(smoothing=smoothing)


def test_the_default_operator_makes_others() -> None:
    assert naive_bayes(smoothing=1) == naive_bayes != naive_bayes(smoothing=0.5)
    assert repr(naive_bayes(smoothing=0.5)) == "sw.naive_bayes(smoothing=0.5)"
    assert naive_bayes.arity() == (2, math.inf)
    assert naive_bayes.lower(trained(WEATHER)) != naive_bayes(smoothing=0.5).lower(trained(WEATHER))
    assert isinstance(naive_bayes.lower(Tally()), Classifier)
