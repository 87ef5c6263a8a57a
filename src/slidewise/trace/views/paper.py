"""Views of the paper's four algorithms: Two-Stacks, Two-Stacks Lite, DABA and DABA Lite."""

from __future__ import annotations

from slidewise.swag import Daba, DabaLite, TwoStacks, TwoStacksLite
from slidewise.swag.structures.pointers import Pointers, cases
from slidewise.swag.structures.queues import walk
from slidewise.trace.views.traced_operator import TracedOperator
from slidewise.trace.views.view import AlgorithmView, Structure, cell, extra_partial, partial, queue

VAL = "val: v_i, the lifted row itself"
BACK_AGG = "back, [B, E): agg is v_(B-F) ⊗ … ⊗ v_i, from B up to its own row"
FRONT = "front, [F, {end}): {holds} v_i ⊗ … ⊗ v_(B-F-1), from its own row up to the one before B"
AGG_B = "aggB: v_(B-F) ⊗ … ⊗ v_(E-F-1), the product of the back, [B, E)"
BACK = "back, [B, E): holds v_i, its own row"

STACK_CASES = {
    "push": "the row goes onto the back, with one coin for its later flip",
    "flip": "the front is empty: the whole back is turned round, one call for each row, paid with the coins",
    "pop": "the oldest row leaves the front",
}
DABA_CASES = {
    "singleton": "the front was empty: the one row left, if any, becomes it",
    "flip": "front and back have the same size: they become the left and the right sublist, and B moves to E",
    "shrink": "left and right each give one row: one joins the front, one the accumulator",
    "shift": "left and right are empty: L, R and A move on by one, and no call is made",
}


def _two_stacks(swag: TwoStacks, traced: TracedOperator) -> Structure:
    front, back = list(swag.F), list(swag.B)[::-1]
    cells = []
    for i, (val, agg) in enumerate(front + back):
        part = "F" if i < len(front) else "B"
        fields = partial(traced, val, "val", "val"), partial(traced, agg, part, "agg")
        cells.append(cell(i, part, *fields, coin=part == "B"))
    return queue(cells, {"F": 0, "B": len(front), "E": len(cells)}, [])


def _two_stacks_lite(swag: TwoStacksLite, traced: TracedOperator) -> Structure:
    F, B, E = swag.F, swag.B, swag.E
    cells = []
    for p, slot in enumerate(walk(swag._cF, F, E), F):
        part = "F" if p < B else "B"
        cells.append(cell(p - F, part, partial(traced, slot, part), coin=part == "B"))
    return queue(cells, {"F": 0, "B": B - F, "E": E - F}, [extra_partial(traced, swag.aggB, "aggB", "aggB", "B")])


def part_of(p: int, pointers: Pointers) -> str:
    """The sublist that a position of DABA lies in, by the paper's letter; F is the leftmost portion of l_F."""
    _, L, R, A, B, _ = pointers
    return "F" if p < L else "L" if p < R else "R" if p < A else "A" if p < B else "B"


def _relative(pointers: Pointers) -> dict[str, int]:
    return {name: p - pointers.F for name, p in pointers._asdict().items()}


def _daba(swag: Daba, traced: TracedOperator) -> Structure:
    pointers = Pointers.of(swag)
    F, E = pointers.F, pointers.E
    pairs = zip(walk(swag._cF, F, E), walk(swag._cF, F, E, field=1), strict=True)
    cells = []
    for p, (val, agg) in enumerate(pairs, F):
        part = part_of(p, pointers)
        cells.append(cell(p - F, part, partial(traced, val, "val", "val"), partial(traced, agg, part, "agg")))
    return queue(cells, _relative(pointers), [])


def _daba_lite(swag: DabaLite, traced: TracedOperator) -> Structure:
    pointers = Pointers.of(swag)
    cells = []
    for p, slot in enumerate(walk(swag._cF, pointers.F, pointers.E), pointers.F):
        part = part_of(p, pointers)
        cells.append(cell(p - pointers.F, part, partial(traced, slot, part)))
    rule, part = ("aggRA", "R") if pointers.L != pointers.R else ("idle", "none")
    ra = extra_partial(traced, swag.aggRA, rule, "aggRA", part)
    return queue(cells, _relative(pointers), [ra, extra_partial(traced, swag.aggB, "aggB", "aggB", "B")])


def _stacks_cases(operation: str, before: int, after: int) -> tuple[str, ...]:
    if operation == "insert":
        return ("push",)
    return ("pop",) if before else ("flip", "pop")


TWO_STACKS = AlgorithmView(
    name="two-stacks",
    algorithm=TwoStacks,
    kind="queue",
    shape=_two_stacks,
    snapshot=lambda swag: len(swag.F),
    cases_of=_stacks_cases,
    rules={"val": VAL, "F": FRONT.format(end="B", holds="agg is"), "B": BACK_AGG},
    cases=STACK_CASES,
    schedule="+2 -2",
)
TWO_STACKS_LITE = AlgorithmView(
    name="two-stacks-lite",
    algorithm=TwoStacksLite,
    kind="queue",
    shape=_two_stacks_lite,
    snapshot=lambda swag: swag.B - swag.F,
    cases_of=_stacks_cases,
    rules={"F": FRONT.format(end="B", holds="holds"), "B": BACK, "aggB": AGG_B},
    cases=STACK_CASES,
    schedule="+2 -2",
)
DABA = AlgorithmView(
    name="daba",
    algorithm=Daba,
    kind="queue",
    shape=_daba,
    snapshot=Pointers.of,
    cases_of=lambda _, before, after: cases(before, after),
    rules={
        "val": VAL,
        "F": FRONT.format(end="L", holds="agg is"),
        "L": "left, [L, R): agg is v_i ⊗ … ⊗ v_(R-F-1), from its own row up to the one before R",
        "R": "right, [R, A): agg is v_(R-F) ⊗ … ⊗ v_i, from R up to its own row",
        "A": "accumulator, [A, B): agg is v_i ⊗ … ⊗ v_(B-F-1), from its own row up to the one before B",
        "B": BACK_AGG,
    },
    cases=DABA_CASES,
    schedule="+1 -1 +6 -3",
)
DABA_LITE = AlgorithmView(
    name="daba-lite",
    algorithm=DabaLite,
    kind="queue",
    shape=_daba_lite,
    snapshot=Pointers.of,
    cases_of=lambda _, before, after: cases(before, after),
    rules={
        "F": FRONT.format(end="L", holds="holds"),
        "L": "left, [L, R): holds v_i ⊗ … ⊗ v_(R-F-1), from its own row up to the one before R",
        "R": "right, [R, A): holds v_i, its own row",
        "A": "accumulator, [A, B): holds v_i ⊗ … ⊗ v_(B-F-1), from its own row up to the one before B",
        "B": BACK,
        "aggRA": "aggRA: v_(R-F) ⊗ … ⊗ v_(B-F-1), the product of right and accumulator, [R, B), while L ≠ R",
        "idle": "aggRA: not read before the next flip, since L = R",
        "aggB": AGG_B,
    },
    cases=DABA_CASES,
    schedule="+1 -1 +6 -3",
)
