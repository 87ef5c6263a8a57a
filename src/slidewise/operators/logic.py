"""Whether all rows, or any row, are true."""

from __future__ import annotations

from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Takes, Traits
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.inputs import truth


def _layout(dtypes: tuple[str, ...]) -> Layout | None:
    return Layout(("bool",), ("bool",), scalar=True) if dtypes[0] == "bool" else None


bool_and = Operator(
    name="bool_and",
    identity=True,
    lift=lambda x: truth(x, "bool_and"),
    combine=lambda a, b: a and b,
    commutative=True,
    selective=True,
    output="bool",
    state="a bool",
    is_state=checks.truth,
    traits=Traits(
        takes=Takes.BOOLS,
        answer=AnswerKind.BOOL,
        python_times=False,
        form="bool_and",
        layout=_layout,
    ),
    builtin=True,
)

bool_or = Operator(
    name="bool_or",
    identity=False,
    lift=lambda x: truth(x, "bool_or"),
    combine=lambda a, b: a or b,
    commutative=True,
    selective=True,
    output="bool",
    state="a bool",
    is_state=checks.truth,
    traits=Traits(
        takes=Takes.BOOLS,
        answer=AnswerKind.BOOL,
        python_times=False,
        form="bool_or",
        layout=_layout,
    ),
    builtin=True,
)
