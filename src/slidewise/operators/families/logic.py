"""The logical operators: whether all rows, or any row, are true."""

from __future__ import annotations

from collections.abc import Callable

from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Takes, Traits
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.inputs import truth


def _layout(dtypes: tuple[str, ...]) -> Layout | None:
    return Layout(("bool",), ("bool",), scalar=True) if dtypes[0] == "bool" else None


def _logic(name: str, identity: bool, combine: Callable[[bool, bool], bool]) -> Operator:
    return Operator(
        name=name,
        identity=identity,
        lift=lambda x: truth(x, name),
        combine=combine,
        commutative=True,
        selective=True,
        output="bool",
        state="a bool",
        is_state=checks.truth,
        traits=Traits(
            takes=Takes.BOOLS,
            answer=AnswerKind.BOOL,
            python_times=False,
            form=name,
            layout=_layout,
        ),
        builtin=True,
    )


bool_and = _logic("bool_and", True, lambda a, b: a and b)
bool_or = _logic("bool_or", False, lambda a, b: a or b)
