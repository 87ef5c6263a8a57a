"""Max-like operators: extremes with their rows and counts, the window's ends, and what is made of them.

NaN is a value: it is greater than every other and equal to itself. Of equal values, 0.0 and -0.0 among them, the
earlier stays. No row at all is None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from slidewise.errors import InputError, SumOverflowError
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Plot, Takes, Traits, Words
from slidewise.operators.types import Answer, Combine, State, Value
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.inputs import number


def _greater(a: Value, b: Value) -> bool:
    """Whether a is greater than b, NaN being the greatest."""
    try:
        return bool(a > b or (a != a and b == b))
    except (TypeError, ValueError) as error:
        raise _no_order(a, b) from error


def _larger(a: Value, b: Value) -> Value:
    if a is None:
        return b
    try:
        if b is None or a >= b:
            return a
        return b if b > a or a == a else a
    except (TypeError, ValueError) as error:
        raise _no_order(a, b) from error


def _smaller(a: Value, b: Value) -> Value:
    if a is None:
        return b
    try:
        if b is None or a <= b:
            return a
        return b if b < a or b == b else a
    except (TypeError, ValueError) as error:
        raise _no_order(a, b) from error


def _no_order(a: object, b: object) -> InputError:
    return InputError(
        f"the window holds {a!r} ({type(a).__name__}) and {b!r} ({type(b).__name__}), which have no order; keep to "
        "values of one kind (a SWAG that holds both goes on after clear())"
    )


def _value_layout(dtypes: tuple[str, ...]) -> Layout:
    """A bare value of the input's type."""
    return Layout(dtypes, dtypes, scalar=True)


_SCANS = "block scans in the vector unit"
_TEXT = "DabaLite interpreted"


def _extreme(name: str, combine: Combine) -> Operator:
    return Operator(
        name=name,
        identity=None,
        combine=combine,
        commutative=True,
        selective=True,
        output="as the input",
        state="the value",
        traits=Traits(
            answer=AnswerKind.INPUT,
            python_times=False,
            bounded=True,
            never_raises=True,
            form=name,
            layout=_value_layout,
            rows_pass=name,
            words=Words(rows=_SCANS, text=_TEXT),
            plot=Plot(level=True, line=":", reduced=name),
        ),
        builtin=True,
    )


max_ = _extreme("max", _larger)
min_ = _extreme("min", _smaller)


def _argument(name: str, wins: Callable[[Value, Value], bool]) -> Operator:
    def combine(a: State, b: State) -> State:
        if a is None:
            return b
        return b if b is not None and wins(b[0], a[0]) else a

    return Operator(
        name=name,
        identity=None,
        lift=lambda x, y: (y, x),
        combine=combine,
        lower=lambda state: None if state is None else state[1],
        selective=True,
        inputs=("x", "y"),
        output="as x",
        state="the row's y and x",
        is_state=checks.or_none(checks.fields(checks.anything, checks.anything)),
        traits=Traits(
            answer=AnswerKind.INPUT,
            python_times=False,
            bounded=True,
            form=name,
            layout=lambda dtypes: Layout((dtypes[1], dtypes[0]), dtypes[:1]),
            words=Words(text=_TEXT),
        ),
        builtin=True,
    )


argmax = _argument("argmax", _greater)
argmin = _argument("argmin", lambda b, a: _greater(a, b))


def _counted(name: str, wins: Callable[[Value, Value], bool]) -> Operator:
    def combine(a: State, b: State) -> State:
        if a is None:
            return b
        if b is None or wins(a[0], b[0]):
            return a
        return b if wins(b[0], a[0]) else (a[0], a[1] + b[1])

    return Operator(
        name=name,
        identity=None,
        lift=lambda x: (x, 1),
        combine=combine,
        lower=lambda state: 0 if state is None else state[1],
        commutative=True,
        output="int64",
        state="the value and a count",
        is_state=checks.or_none(checks.fields(checks.anything, checks.count)),
        traits=Traits(
            answer=AnswerKind.INT,
            python_times=False,
            never_raises=True,
            bounded=True,
            sign="×",
            form=name,
            layout=lambda dtypes: Layout((dtypes[0], "int64"), ("int64",)),
            words=Words(text=_TEXT),
        ),
        builtin=True,
    )


maxcount = _counted("maxcount", _greater)
mincount = _counted("mincount", lambda a, b: _greater(b, a))


def _end(name: str, combine: Combine, words: str) -> Operator:
    return Operator(
        name=name,
        identity=None,
        combine=combine,
        selective=True,
        output="as the input",
        state="the value",
        traits=Traits(
            answer=AnswerKind.INPUT,
            python_times=False,
            bounded=True,
            never_raises=True,
            form=name,
            layout=_value_layout,
            bounds_pass=name,
            words=Words(words),
            plot=Plot(level=True, line="--"),
        ),
        builtin=True,
    )


first = _end("first", lambda a, b: b if a is None else a, "the row at the window's old end")
last = _end("last", lambda a, b: a if b is None else b, "the row at the window's young end")

Ends = tuple[Value, Value]  # the least and the greatest value


def _both_ends(a: Ends | None, b: Ends | None) -> Ends | None:
    if a is None:
        return b
    return a if b is None else (_smaller(a[0], b[0]), _larger(a[1], b[1]))


def _ends(operator: str) -> Callable[[Value], Ends]:
    def lift(x: Value) -> Ends:
        x = number(x, operator)
        return x, x

    return lift


def _width(state: Ends | None) -> Answer:
    if state is None:
        return None
    width = state[1] - state[0]
    if isinstance(width, int) and width >= 2**63:
        raise SumOverflowError(
            f"the range of the values is {width}, which does not fit into a 64-bit integer; use floats"
        )
    return width


value_range = Operator(
    name="value_range",
    identity=None,
    lift=_ends("value_range"),
    combine=_both_ends,
    lower=_width,
    commutative=True,
    output="as the input",
    state="the least and the greatest value",
    is_state=checks.or_none(checks.fields(checks.number, checks.number)),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.NUMBER,
        python_times=False,
        sign="–",
        form="value_range",
        layout=lambda dtypes: Layout(dtypes * 2, dtypes),
    ),
    builtin=True,
)

relative_variation = Operator(
    name="relative_variation",
    identity=None,
    lift=_ends("relative_variation"),
    combine=_both_ends,
    lower=lambda state: None if state is None or state[1] == 0 else (state[1] - state[0]) / state[1],
    commutative=True,
    output="float64, null where the greatest value is 0",
    state="the least and the greatest value",
    is_state=checks.or_none(checks.fields(checks.number, checks.number)),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.FLOAT,
        python_times=False,
        sign="–",
        form="relative_variation",
        layout=lambda dtypes: Layout(dtypes * 2, ("float64",), optional=True),
        plot=Plot(change=True, reduced="max"),
    ),
    builtin=True,
)


class M4(NamedTuple):
    """The four values of a window that a line chart needs: its first, least, greatest and last."""

    first: Value
    min: Value
    max: Value
    last: Value


def _join_m4(a: M4 | None, b: M4 | None) -> M4 | None:
    if a is None:
        return b
    return a if b is None else M4(a.first, _smaller(a.min, b.min), _larger(a.max, b.max), b.last)


m4 = Operator(
    name="m4",
    identity=None,
    lift=lambda x: M4(x, x, x, x),
    combine=_join_m4,
    output="a struct of first, min, max, last",
    state="four values",
    encode=lambda state: state if state is None else tuple(state),
    decode=lambda values: values if values is None else M4(*values),
    is_state=checks.or_none(checks.fields(*[checks.anything] * 4)),
    traits=Traits(
        answer=AnswerKind.INPUT,
        python_times=False,
        bounded=True,
        fields=M4._fields,
        form="m4",
        layout=lambda dtypes: Layout(dtypes * 4, dtypes * 4, single=False),
        words=Words(text=_TEXT),
    ),
    builtin=True,
)
