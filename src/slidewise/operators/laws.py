"""The laws of a monoid, and of what an operator claims beyond them, checked on samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from slidewise.errors import LawError, SlidewiseError
from slidewise.operators.operator import Operator
from slidewise.operators.types import State, Value
from slidewise.operators.values.equality import same, shown

_LONGEST_WORD = 3
_MOST_WORDS = 24  # states made by combining samples; the samples themselves are all used
_SAMPLES_IN_WORDS = 4
_MOST_IN_PAIRS = 64
_MOST_IN_TRIPLES = 10


class _SampleState(NamedTuple):
    """A state, with the rows that it was made of: the identity is made of none."""

    made_of: tuple[Value, ...]
    value: State

    def __str__(self) -> str:
        if not self.made_of:
            return f"identity = {shown(self.value)}"
        lifted = ", ".join(f"lift({_text(sample)})" for sample in self.made_of)
        return f"{lifted if len(self.made_of) == 1 else f'combine of {lifted}'} = {shown(self.value)}"


def check_laws(operator: Operator, samples: Iterable[Value], *, tolerance: float = 0.0) -> None:
    """Raise LawError with the smallest counter-example found if the operator breaks a law that it needs or claims.

    `samples` are arguments of `lift`: values, or tuples of values where it takes several. Checked are the identity on
    both sides, associativity, the inverse, selectivity and commutativity where they are claimed, that no function
    changes its arguments, and that `lower(identity)` is defined. Floats that add up with rounding errors are compared
    to a relative `tolerance`.

    Args:
        operator: The operator.
        samples: Arguments of `lift`: values, or tuples where it takes several.
        tolerance: The share by which floats may differ.

    Raises:
        LawError: A law that does not hold, with the counter-example.
        SlidewiseError: Something that is no operator, or a tolerance that makes no sense.

    >>> import slidewise as sw
    >>> sw.check_laws(sw.maxcount, samples=[3, 1, 3])
    >>> average = sw.operator(name="average", identity=0.0, combine=lambda a, b: (a + b) / 2)
    >>> sw.check_laws(average, samples=[4.0, 8.0])
    Traceback (most recent call last):
    ...
    slidewise.errors.LawError: 'average' has no identity: combine(identity, a) is 2.0 and should be 4.0
      a = lift(4.0) = 4.0
      identity = 0.0
    """
    if not isinstance(operator, Operator):
        raise SlidewiseError(
            f"check_laws takes an operator, such as sw.max or one made by sw.operator, not {operator!r}"
        )
    if not 0 <= tolerance < 1:
        raise SlidewiseError(f"tolerance is relative, from 0 to below 1, but is {tolerance!r}")
    rows = _rows(operator, samples)
    check = _Laws(operator, tolerance)
    check.lower_of_identity()
    states = check.states(rows)
    with_identity = [_SampleState((), operator.identity), *states]
    for a in with_identity:
        check.identity(a)
    check.lower_leaves_state(with_identity)
    for a, b in _by_size(_spread(with_identity, _MOST_IN_PAIRS), 2):
        check.pair(a, b)
    for a, b, c in _by_size(_spread(with_identity, _MOST_IN_TRIPLES), 3):
        check.associativity(a, b, c)


class _Laws:
    def __init__(self, operator: Operator, tolerance: float) -> None:
        self.operator = operator
        self.tolerance = tolerance

    def states(self, rows: list[tuple[Value, ...]]) -> list[_SampleState]:
        """The lifted samples, and products of them, since a law may hold for single rows only."""
        op = self.operator
        states = [_SampleState((row,), self.call("lift", op.lift, *row)) for row in rows]
        for length in range(2, _LONGEST_WORD + 1):
            for word in product(states[: min(len(rows), _SAMPLES_IN_WORDS)], repeat=length):
                if len(states) >= len(rows) + _MOST_WORDS:
                    return states
                value = word[0].value
                for state in word[1:]:
                    value = self.combine(value, state.value)
                states.append(_SampleState(tuple(state.made_of[0] for state in word), value))
        return states

    def lower_of_identity(self) -> None:
        try:
            self.operator.lower(self.operator.identity)
        except Exception as error:
            raise self.broken(
                "does not define lower(identity)", f"it raises {error!r}; an empty window needs an answer, such as None"
            ) from error

    def lower_leaves_state(self, states: list[_SampleState]) -> None:
        for state in states:
            self.call("lower", self.operator.lower, state.value)

    def identity(self, a: _SampleState) -> None:
        identity = self.operator.identity
        for text, result in (
            ("combine(identity, a)", self.combine(identity, a.value)),
            ("combine(a, identity)", self.combine(a.value, identity)),
        ):
            self.equal("has no identity", text, result, a.value, a=a, identity=_SampleState((), identity))

    def pair(self, a: _SampleState, b: _SampleState) -> None:
        op = self.operator
        ab = self.combine(a.value, b.value)
        if op.commutative:
            ba = self.combine(b.value, a.value)
            self.equal("is not commutative", "combine(a, b)", ab, ba, "combine(b, a) is", a=a, b=b)
        if op.selective and not (self.same(ab, a.value) or self.same(ab, b.value)):
            raise self.broken("is not selective", f"combine(a, b) is {shown(ab)}, neither a nor b", a=a, b=b)
        exact = op.invertible_if or (lambda _state: True)
        if op.inverse is not None and exact(a.value) and exact(b.value):
            rest = self.call("inverse", op.inverse, ab, a.value)
            self.equal("has no exact inverse", "inverse(combine(a, b), a)", rest, b.value, a=a, b=b)

    def associativity(self, a: _SampleState, b: _SampleState, c: _SampleState) -> None:
        combine = self.operator.combine
        first = combine(combine(a.value, b.value), c.value)
        last = combine(a.value, combine(b.value, c.value))
        self.equal(
            "is not associative",
            "combine(combine(a, b), c)",
            first,
            last,
            "combine(a, combine(b, c)) is",
            a=a,
            b=b,
            c=c,
        )

    def combine(self, a: State, b: State) -> State:
        return self.call("combine", self.operator.combine, a, b)

    def call(self, role: str, function: Callable[..., Any], *arguments: object) -> Any:
        """Call one of the operator's functions, and make sure that it leaves its arguments alone."""
        before = _copy(arguments)
        try:
            result = function(*arguments)
        except SlidewiseError:
            raise
        except Exception as error:
            arguments_text = ", ".join(map(shown, arguments))
            raise self.broken(
                f"cannot be computed: {role} raises",
                f"{role}({arguments_text}) raises {error!r}; it must take every state, and the identity",
            ) from error
        for old, new in zip(before, arguments, strict=True):
            if not same(old, new):
                raise self.broken(
                    f"changes the arguments of {role}",
                    f"{role} was given {shown(old)} and left {shown(new)}; return a new state",
                )
        return result

    def same(self, a: State, b: State) -> bool:
        return same(a, b, self.tolerance)

    def equal(
        self, law: str, text: str, result: State, expected: State, but: str = "should be", **states: _SampleState
    ) -> None:
        if not self.same(result, expected):
            joint = f"and {but}" if but == "should be" else f"but {but}"
            hint = ""
            if not self.tolerance and same(result, expected, 1e-9):
                hint = "\n  They differ by rounding; pass tolerance=1e-12 if that is good enough for you."
            raise self.broken(law, f"{text} is {shown(result)} {joint} {shown(expected)}", hint, **states)

    def broken(self, law: str, what: str, hint: str = "", **states: _SampleState) -> LawError:
        where = "".join(f"\n  {state if name == 'identity' else f'{name} = {state}'}" for name, state in states.items())
        return LawError(f"{self.operator.name!r} {law}: {what}{where}{hint}")


def _rows(operator: Operator, samples: Iterable[Value]) -> list[tuple[Value, ...]]:
    """The arguments of `lift` for each sample that is not null, the simplest first."""
    fewest, most = operator.arity()
    rows = [sample if most > 1 and isinstance(sample, tuple) else (sample,) for sample in samples]
    for row in rows:
        if not fewest <= len(row) <= most:
            raise SlidewiseError(
                f"{operator.name!r} takes the columns ({', '.join(operator.inputs)}); give samples as tuples of "
                f"{fewest} values, not {row[0]!r}"
            )
    rows = [row for row in rows if not any(argument is None for argument in row)]
    if not rows:
        raise SlidewiseError(f"check_laws needs at least one sample for {operator.name!r}")
    return sorted(rows, key=lambda row: (len(repr(row)), repr(row)))


def _spread(states: list[_SampleState], most: int) -> list[_SampleState]:
    """At most that many of the states: the simplest half, and the rest spread over the others."""
    if len(states) <= most:
        return states
    half = most // 2
    stride = (len(states) - half) / (most - half)
    return states[:half] + [states[half + int(i * stride)] for i in range(most - half)]


def _copy(arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """A copy to compare with afterwards; the arguments themselves where they cannot be copied or compared."""
    if _is_frozen(arguments):
        return arguments
    try:
        copied = copy.deepcopy(arguments)
    except Exception:
        return arguments
    return copied if same(copied, arguments) else arguments


def _is_frozen(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_frozen, value))
    return value is None or isinstance(value, (int, float, str, bytes, bool, frozenset))


def _by_size(states: list[_SampleState], count: int) -> Iterator[tuple[_SampleState, ...]]:
    """All tuples of states, those made of the fewest samples first."""
    return iter(sorted(product(states, repeat=count), key=lambda word: sum(len(state.made_of) for state in word)))


def _text(row: tuple[Value, ...]) -> str:
    return ", ".join(map(shown, row))
