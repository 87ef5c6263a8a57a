"""Operators per category: made from an operator, they answer with a map from each category to that operator's answer.

A state is a dict from category to how many rows it has and the state inside; it is never changed. So whatever serves
operators serves these: their states are combined, stored and read as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, time, timedelta
from functools import partial, reduce
from typing import Any

from slidewise.errors import InputError, SlidewiseError
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, PerCategory, Traits, Words
from slidewise.operators.types import Answer, Encoded, State, Value
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.hashing import is_finer, plain
from slidewise.operators.values.inputs import whole_number

ByCategory = dict[Value, tuple[int, State]]

MOST_CATEGORIES = 1_000_000
OTHERS = "other"
PASS = "per_category"
_CATEGORIES = (str, int, bytes, date, time, timedelta)
_PASS = "rows grouped by category, each category's windows answered together, and gathered into maps"
_TOP_PASS = "rows grouped by category, categories kept in order by their rows, and the rest's states in a tree"
_KINDS = "text, whole numbers, bools, dates or times"


def per_category(inner: Operator, top: int | None = None, rest: str | int = OTHERS) -> Operator:
    """The operator that answers with a map by category, its last argument, of what `inner` answers to the others.

    With `top`, only so many categories have an entry of their own, those with the most rows, and of equally many the
    least; the others are combined into one entry named `rest`, the last. Rows of the category `rest` are always in it.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.sum.per())
    >>> for amount, kind in [(3, "b"), (4, "a"), (5, "b")]:
    ...     w.insert(amount, kind)
    >>> w.query()
    {'a': 4, 'b': 8}
    """
    if inner.traits.per is not None:
        raise SlidewiseError(f"{inner!r} answers with a map already, and maps of maps there are none")
    if inner.traits.own_value is not None:
        raise SlidewiseError(
            f"{inner.name} is about the row's own value, which has no place among the rows of other categories; write "
            f"{inner.name} with the category in by=, in a definition of its own"
        )
    if inner.goes_by_time(len(inner.columns_named())):
        raise SlidewiseError(
            f"{inner.name} goes by the rows' times, and has no map by category; roll over the rows of each category by "
            "themselves"
        )
    if inner.unset:
        raise SlidewiseError(f"{inner.name} has to be made first; write {inner.unset}")
    _check_top(inner, top, rest)
    per = PerCategory(inner, top, rest)
    exact = inner.invertible_if
    name = f"{inner.name} per category"
    return Operator(
        name=name,
        identity={},
        lift=partial(_lift, name, per),
        combine=partial(_combine, inner),
        lower=partial(_lower, per),
        inverse=None if inner.inverse is None else partial(_inverse, inner.inverse),
        invertible_if=None if exact is None else partial(_is_invertible, exact),
        commutative=inner.commutative,
        inputs=(*inner.inputs, "category"),
        output=f"a map from category to {inner.output}",
        state=f"by category, a count and {inner.state}",
        error=inner.error,
        encode=partial(_encode, inner),
        decode=partial(_decode, inner),
        version=inner.version,
        is_state=partial(_is_state, per),
        parameters={**inner.parameters, **({} if top is None else {"top": top, "rest": rest})},
        builtin=inner.builtin,
        traits=Traits(
            answer=AnswerKind.MAP,
            answers_empty=True,
            python_times=inner.traits.python_times,
            instead=inner.traits.instead,
            per=per,
            grows=True,
            compiled=False,
            window_pass=PASS if top is None or inner.traits.compiled or inner.traits.counts_rows else None,
            words=Words(_PASS if top is None else _TOP_PASS),
        ),
    )


def make_count_by(top: int | None = None, rest: str | int = OTHERS) -> Operator:
    """The different values with their counts, as a map; with `top`, those with the most rows, and the `rest` together.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.count_by(top=1))
    >>> for x in "abbc":
    ...     w.insert(x)
    >>> w.query()
    {'b': 2, 'other': 2}
    """
    from slidewise.operators.families.sums import count

    op = per_category(count, top, rest)
    per = PerCategory(count, top, rest, named=True)
    return replace(
        op,
        name="count_by",
        lift=partial(_lift, "count_by", per),
        inputs=("x",),
        output="a map from value to int64",
        state="a count by value: it grows with the different values",
        make=make_count_by,
        traits=replace(op.traits, per=per, words=Words("a count per value, kept as rows come and go")),
    )


def _check_top(inner: Operator, top: int | None, rest: str | int) -> None:
    if not isinstance(rest, str | int) or isinstance(rest, bool) or rest == "":
        raise SlidewiseError(
            f"rest= is the name of the entry of all other categories: text, or a whole number where categories are "
            f"such, not {rest!r}"
        )
    if top is None:
        if rest != OTHERS:
            raise SlidewiseError(f"rest={rest!r} names the categories beyond top=, so it needs one: top=10, say")
        return
    whole_number(inner.name, "top", top, 1, MOST_CATEGORIES)
    if not inner.commutative:
        raise SlidewiseError(
            f"{inner.name} depends on the order of rows, and the rest of top= is combined category by category, not in "
            "the order of rows; leave out top="
        )


def _lift(name: str, per: PerCategory, *arguments: Value) -> ByCategory:
    *values, category = arguments
    category = category_of(name, per, category)
    return {category: (1, per.inner.lift(*(values or [category])))}


def category_of(name: str, per: PerCategory, x: Value) -> Value:
    """A value as a category; refuses what is none."""
    x = x if is_finer(x) else plain(x)
    if not isinstance(x, _CATEGORIES) and not is_finer(x):
        raise InputError(f"{name} takes categories of {_KINDS}, not {x!r} ({type(x).__name__})")
    if per.top is not None and not has_kind_of_rest(per.rest, x):
        raise rest_error(name, per, f"categories such as {x!r}")
    return x


def has_kind_of_rest(rest: str | int, category: Value) -> bool:
    """Whether a category and the rest's name are both text, or both whole numbers."""
    return isinstance(category, str if isinstance(rest, str) else int) and not isinstance(category, bool)


def rest_error(name: str, per: PerCategory, found: str) -> InputError:
    """The error for categories that are not of the kind of the rest's name."""
    return InputError(
        f"{name}: top= names the rest {per.rest!r}, and there are {found}; give rest= a value of their kind that is no "
        "category, such as rest='other' for text and rest=-1 for whole numbers; other kinds have no top="
    )


def _combine(inner: Operator, a: ByCategory, b: ByCategory) -> ByCategory:
    large, small = (a, b) if len(a) >= len(b) else (b, a)
    joined = dict(large)
    combine = inner.combine
    for category, entry in small.items():
        other = large.get(category)
        if other is None:
            joined[category] = entry
        else:
            older, newer = (other, entry) if large is a else (entry, other)
            joined[category] = older[0] + newer[0], combine(older[1], newer[1])
    return joined


def _inverse(inverse: Callable[[State, State], State], total: ByCategory, oldest: ByCategory) -> ByCategory:
    left = dict(total)
    for category, (count, state) in oldest.items():
        rows, whole = left.pop(category, (0, None))
        if rows > count:
            left[category] = rows - count, inverse(whole, state)
    return left


def _is_invertible(exact: Callable[[State], bool], state: ByCategory) -> bool:
    return all(exact(inside) for _, inside in state.values())


def _lower(per: PerCategory, state: ByCategory) -> dict[Value, Answer]:
    lower = per.inner.lower
    if per.top is None:
        return {category: lower(state[category][1]) for category in in_order(state)}
    shown, others = chosen(state, per.top, per.rest)
    answer = {category: lower(state[category][1]) for category in shown}
    if others:
        answer[per.rest] = lower(reduce(per.inner.combine, [state[category][1] for category in others]))
    return answer


def in_order(categories: Iterable[Value]) -> list[Value]:
    """Categories, the least first."""
    try:
        return sorted(categories)
    except TypeError as error:
        kinds = " and ".join(sorted({type(category).__name__ for category in categories}))
        raise InputError(f"the window holds categories of {kinds}, which have no order; keep to one kind") from error


def chosen(state: ByCategory, top: int, rest: str | int) -> tuple[list[Value], list[Value]]:
    """The categories that have an entry of their own, and those that are together in the rest, each the least first."""
    categories = in_order(state)
    ranked = sorted((category for category in categories if category != rest), key=lambda c: -state[c][0])
    own = set(ranked[:top])
    return [c for c in categories if c in own], [c for c in categories if c not in own]


def _encode(inner: Operator, state: ByCategory) -> Encoded:
    inside = inner.encode or (lambda part: part)
    entries = [(category, count, inside(part)) for category, (count, part) in state.items()]
    return tuple(sorted(entries, key=lambda entry: (type(entry[0]).__name__, repr(entry[0]))))


def _decode(inner: Operator, entries: Iterable[tuple[Value, int, Encoded]]) -> ByCategory:
    """The same as a state; what is none is left for `is_state` to find."""
    inside = inner.decode or (lambda part: part)
    state: ByCategory = {}
    for category, count, part in entries:
        state[category] = (-1 if category in state else count), inside(part)
    return state


def _is_state(per: PerCategory, state: Any) -> bool:
    """Whether a value that was stored is counts and states by category."""
    if not isinstance(state, dict):
        return False
    inside = per.inner.is_state or checks.anything
    for category, (count, part) in state.items():
        if not isinstance(category, _CATEGORIES) or not checks.count(count) or not count or not inside(part):
            return False
        if per.top is not None and not has_kind_of_rest(per.rest, category):
            return False
    try:
        sorted(state)
    except TypeError:
        return False
    return True
