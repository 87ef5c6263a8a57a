"""Naive Bayes as an operator: train on the window by counting, and untrain by subtracting what leaves it."""

from __future__ import annotations

import math
from collections.abc import Hashable, ItemsView, Mapping
from functools import cached_property, partial
from operator import add, sub
from typing import Any

from slidewise.errors import InputError, SlidewiseError
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Takes, Traits
from slidewise.operators.types import Value
from slidewise.operators.values.hashing import plain


class Tally:
    """An immutable multiset: how often each key occurs, with exact counts, all above zero.

    >>> Tally({"a": 2}) + Tally({"a": 1, "b": 1})
    Tally({'a': 3, 'b': 1})
    >>> Tally({"a": 2, "b": 1}) - Tally({"b": 1})
    Tally({'a': 2})
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[Hashable, int] | None = None) -> None:
        self._counts: dict[Hashable, int] = dict(counts or {})
        for key, count in self._counts.items():
            if not isinstance(count, int) or count < 1:
                raise SlidewiseError(f"a Tally holds counts of 1 and more, but {key!r} has {count!r}")

    def __getitem__(self, key: Hashable) -> int:
        """The key's count, 0 where it does not occur."""
        return self._counts.get(key, 0)

    def items(self) -> ItemsView[Any, int]:
        return self._counts.items()

    def __len__(self) -> int:
        """The number of different keys."""
        return len(self._counts)

    def __add__(self, other: Tally) -> Tally:
        few, many = sorted((self._counts, other._counts), key=len)
        counts = many.copy()
        for key, count in few.items():
            counts[key] = counts.get(key, 0) + count
        return _tally(counts)

    def __sub__(self, other: Tally) -> Tally:
        counts = self._counts.copy()
        for key, count in other._counts.items():
            left = counts.pop(key, 0) - count
            if left < 0:
                raise SlidewiseError(f"cannot take {count} of {key!r} from a Tally that holds {left + count}")
            if left:
                counts[key] = left
        return _tally(counts)

    def __eq__(self, other: object) -> bool:
        return self._counts == other._counts if isinstance(other, Tally) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._counts.items()))

    def __repr__(self) -> str:
        return f"Tally({self._counts!r})"


def _tally(counts: dict[Hashable, int]) -> Tally:
    tally = Tally.__new__(Tally)
    tally._counts = counts
    return tally


def make_naive_bayes(smoothing: float = 1.0) -> Operator:
    """A classifier trained on the window: the first column is the label, the others are categorical features.

    The counts are exact. The answer assumes that features are independent given the label, and adds `smoothing` to
    the count of every value, one unseen value included, so that nothing is impossible.

    >>> import slidewise as sw
    >>> w = sw.SubtractOnEvict(sw.naive_bayes)
    >>> for weather, wind, label in [("sun", "calm", "play"), ("sun", "storm", "stay"), ("rain", "storm", "stay")]:
    ...     w.insert(label, weather, wind)
    >>> w.query().predict("rain", "storm"), w.query().predict("sun", "calm")
    ('stay', 'play')
    """
    smoothing = plain(smoothing)
    if isinstance(smoothing, bool) or not isinstance(smoothing, (int, float)) or not 0 < smoothing < math.inf:
        raise SlidewiseError(f"naive_bayes: smoothing is a finite number above 0, not {smoothing!r}")
    return Operator(
        name="naive_bayes",
        identity=Tally(),
        lift=_lift,
        combine=add,
        lower=partial(Classifier, smoothing=float(smoothing)),
        inverse=sub,
        commutative=True,
        inputs=("label", "feature..."),
        output="Classifier",
        state="Tally of labels, and of values by label and feature",
        error="exact counts; probabilities to float rounding",
        encode=_encode,
        decode=_decode,
        parameters={"smoothing": float(smoothing)},
        make=make_naive_bayes,
        is_state=_is_tally,
        traits=Traits(
            takes=Takes.HASHABLE,
            answer=AnswerKind.OBJECT,
            python_times=False,
            compiled=False,
        ),
        builtin=True,
    )


class Classifier:
    """A naive Bayes classifier, trained on a window's rows, that predicts the label of a row.

    >>> import slidewise as sw
    >>> seen = sw.naive_bayes.lower(Tally({("ham",): 1, ("ham", 0, "hello"): 1, ("spam",): 1, ("spam", 0, "win"): 1}))
    >>> seen
    Classifier(labels=('ham', 'spam'), rows=2)
    >>> seen.predict("win"), seen.probabilities("hello")["ham"]
    ('spam', 0.6666666666666666)
    """

    def __init__(self, tally: Tally, smoothing: float = 1.0) -> None:
        self._tally = tally
        self._smoothing = smoothing

    @cached_property
    def labels(self) -> tuple[Value, ...]:
        """The labels in the window, numbers first and text after them."""
        return tuple(sorted((key[0] for key, _ in self._tally.items() if len(key) == 1), key=_order))

    @cached_property
    def rows(self) -> int:
        """How many rows it was trained on."""
        return sum(self._tally[label,] for label in self.labels)

    def predict(self, *features: Value) -> Value:
        """The most probable label, the first in `labels` of equally probable ones; None for an empty window."""
        scores = self._scores(features)
        return max(scores, key=lambda label: scores[label], default=None)

    def probabilities(self, *features: Value) -> dict[Value, float]:
        """The probability of each label; they sum to 1."""
        scores = self._scores(features)
        best = max(scores.values(), default=0.0)
        weights = {label: math.exp(score - best) for label, score in scores.items()}
        total = math.fsum(weights.values())
        return {label: weight / total for label, weight in weights.items()}

    @cached_property
    def _kinds(self) -> list[int]:
        """For each feature, how many different values the window holds."""
        values: dict[int, set[Any]] = {}
        for key, _ in self._tally.items():
            if len(key) == 3:
                values.setdefault(key[1], set()).add(key[2])
        return [len(values[i]) for i in sorted(values)]

    def _scores(self, features: tuple[Value, ...]) -> dict[Value, float]:
        """The logarithm of each label's joint probability with the features."""
        if not self.labels:
            return {}
        if len(features) != len(self._kinds):
            raise SlidewiseError(f"the window was trained on {len(self._kinds)} features, but got {len(features)}")
        values = [_category(f"feature {i + 1}", value) for i, value in enumerate(features)]
        tally, smoothing = self._tally, self._smoothing
        scores = {}
        for label in self.labels:
            count = tally[label,]
            score = math.log(count / self.rows)
            for i, value in enumerate(values):
                score += math.log((tally[label, i, value] + smoothing) / (count + smoothing * (self._kinds[i] + 1)))
            scores[label] = score
        return scores

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Classifier):
            return NotImplemented
        return self._tally == other._tally and self._smoothing == other._smoothing

    def __hash__(self) -> int:
        return hash((self._tally, self._smoothing))

    def __repr__(self) -> str:
        return f"Classifier(labels={self.labels!r}, rows={self.rows})"


def _lift(label: Value, *features: Value) -> Tally:
    if not features:
        raise InputError("naive_bayes takes a label and at least one feature, but got the label only")
    label = _category("the label", label)
    counts: dict[Hashable, int] = {(label,): 1}
    for i, value in enumerate(features):
        counts[label, i, _category(f"feature {i + 1}", value)] = 1
    return _tally(counts)


def _category(where: str, value: Value) -> bool | int | str:
    value = plain(value)
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        raise InputError(
            f"naive_bayes counts categories, but {where} is the float {value!r}; bucket it first, "
            "for example into int(value // 10)"
        )
    raise InputError(
        f"naive_bayes takes text, bools and ints, but {where} is a {type(value).__name__}; "
        "turn it into text first, str(value)"
    )


def _order(value: Value) -> tuple[int, Value]:
    """A sort key for text, numbers and tuples of them together."""
    if isinstance(value, tuple):
        return 2, tuple(map(_order, value))
    return (1, value) if isinstance(value, str) else (0, value)


def _encode(tally: Tally) -> tuple[tuple[Any, int], ...]:
    return tuple(sorted(tally.items(), key=lambda item: _order(item[0])))


def _is_tally(state: object) -> bool:
    """Whether all keys are labels, or values by label and feature."""
    return isinstance(state, Tally) and all(
        isinstance(key, tuple)
        and (len(key) == 1 or (len(key) == 3 and type(key[1]) is int and key[1] >= 0))
        and all(isinstance(part, bool | int | str) for part in key)
        for key, _ in state.items()
    )


def _decode(pairs: tuple[tuple[Any, int], ...]) -> Tally:
    return Tally(dict(pairs))


naive_bayes = make_naive_bayes()
