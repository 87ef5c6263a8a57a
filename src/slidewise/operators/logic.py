"""Whether all rows, or any row, are true."""

from __future__ import annotations

from slidewise.operators.operator import Operator
from slidewise.operators.values import state_checks as layouts
from slidewise.operators.values.inputs import truth

bool_and = Operator(
    name="bool_and",
    identity=True,
    lift=lambda x: truth(x, "bool_and"),
    combine=lambda a, b: a and b,
    commutative=True,
    selective=True,
    output="bool",
    state="a bool",
    is_state=layouts.truth,
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
    is_state=layouts.truth,
    builtin=True,
)
