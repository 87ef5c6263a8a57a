"""The logical operators: whether all rows, or any row, are true, and for how many rows in a row they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from slidewise.operators.layout import Layout, LayoutRule
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Plot, Takes, Traits
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


Run = tuple[int, ...]  # lengths of runs of true rows, and behind them the number of rows


def _runs_layout(fields: int) -> LayoutRule:
    def layout(dtypes: tuple[str, ...]) -> Layout | None:
        return Layout(("int64",) * fields, ("int64",)) if dtypes[0] == "bool" else None

    return layout


def _join_longest(a: Run, b: Run) -> Run:
    old_head, old_tail, longest, old_rows = a
    head, tail, newer_longest, rows = b
    return (
        old_rows + head if old_head == old_rows else old_head,
        old_tail + rows if tail == rows else tail,
        max(longest, newer_longest, old_tail + head),
        old_rows + rows,
    )


def _join_current(a: Run, b: Run) -> Run:
    return (a[0] + b[1] if b[0] == b[1] else b[0]), a[1] + b[1]


def _is_longest(state: object) -> bool:
    if not checks.fields(*[checks.count] * 4)(state):
        return False
    head, tail, longest, rows = cast("Run", state)
    if longest == rows:
        return head == tail == rows
    return head <= longest and tail <= longest and longest < rows and head < rows


def _is_current(state: object) -> bool:
    return checks.fields(checks.count, checks.count)(state) and cast("Run", state)[0] <= cast("Run", state)[1]


def _runs(name: str, fields: int, combine: Callable[[Run, Run], Run], is_state: checks.IsState, state: str) -> Operator:
    answer = fields - 2  # the last length
    return Operator(
        name=name,
        identity=(0,) * fields,
        lift=lambda x: (int(truth(x, name)),) * (fields - 1) + (1,),
        combine=combine,
        lower=lambda lengths: lengths[answer],
        inputs=("flag",),
        output="int64",
        state=state,
        is_state=is_state,
        traits=Traits(
            takes=Takes.BOOLS,
            answer=AnswerKind.INT,
            python_times=False,
            never_raises=True,
            form=name,
            layout=_runs_layout(fields),
            plot=Plot(reduced="max"),
        ),
        builtin=True,
    )


longest_run = _runs(
    "longest_run", 4, _join_longest, _is_longest, "the runs at both ends, the longest run and the number of rows"
)
current_run = _runs("current_run", 2, _join_current, _is_current, "the run at the newest end and the number of rows")
