"""The timed loops of the experiments, written once for all algorithms.

A loop runs from an empty window to its last round in one call of compiled code. It takes a window's arrays, made
beforehand, and gives back the ticks between its first and last timed round and the total of all answers, by which the
algorithms are compared. Arrays come in with owners, whose references would be counted at each call inside the loop, so
`run_...` makes views of them that have none.
"""

from __future__ import annotations

from typing import Any

from slidewise.compiled import fiba_source, source
from slidewise.compiled.peer_source import OTHERS
from slidewise.kernels.codegen.compiled_operator import PRELUDE, form_source
from slidewise.kernels.codegen.weave import Gap
from slidewise.kernels.compiler.cache import load_source
from slidewise.operators.layout import Layout

RINGS = source.STEPS | OTHERS  # all algorithms but Fiba

STATIC = """
# Woven in: arrays, the window, and views of them; begin, insert, evict and answer, an algorithm's lines; x, the input.
@jit
def run_rounds({arrays}, {x}, total, n, m, gaps, kept):
    return rounds({views}, {x}, total, n, m, gaps, kept)

@jit
def rounds({arrays}, {x}, total, n, m, gaps, kept):
    {begin}
    began = now()
    before = began
    each = gaps.size > 0
    last = uint64(x0.size - 1)
    for row in range(n + m):
        i = uint64(row) & last
        if row >= n:
            if row == n:
                began = now()
                before = began
            {evict}
        {insert}
        if row >= n:
            {answer}
            if each:
                kept[0] = total
                after = now()
                gaps[row - n] = after - before
                before = after
    return now() - began, total
"""

DYNAMIC = """
# Woven in: arrays, the window, and views of them; begin, insert, evict and answer, an algorithm's lines; x, the input.
@jit
def run_fill_and_drain({arrays}, {x}, total, n, m):
    return fill_and_drain({views}, {x}, total, n, m)

@jit
def fill_and_drain({arrays}, {x}, total, n, m):
    {begin}
    last = uint64(x0.size - 1)
    size = 0
    began = now()
    for row in range(m):
        i = uint64(row) & last
        {insert}
        {answer}
        size += 1
        if size >= n:
            while size > 0:
                {evict}
                size -= 1
    return now() - began, total
"""

# A window of time as `Timed` keeps it, closed on the right: a row comes in, those that are too old leave, one by one.
EVENTS = """
# Woven in: arrays, the window, and views of them; begin, insert, evict and answer, an algorithm's lines; x, the input.
@jit
def run_events({arrays}, {x}, total, times, width, begin, end, gaps, gone, kept):
    return events({views}, {x}, total, times, width, begin, end, gaps, gone, kept)

@jit
def events({arrays}, {x}, total, times, width, begin, end, gaps, gone, kept):
    {begin}
    first = 0
    began = now()
    before = began
    each = gaps.size > 0
    for row in range(end):
        i = uint64(row)
        if row == begin:
            began = now()
            before = began
        {insert}
        left = first
        while times[first] <= times[row] - width:
            {evict}
            first += 1
        if row >= begin:
            {answer}
            if each:
                kept[0] = total
                after = now()
                gaps[row - begin] = after - before
                gone[row - begin] = first - left
                before = after
    return now() - began, total
"""

_CLOCK = "from slidewise.evaluation.measure.clock import now\n"
_FILTERS = "from slidewise.evaluation.measure.bits import as_filters, combine, lift, lower"
_INVERSE = "\nfrom slidewise.compiled.peer_source import take_int_sum as inverse"


def loops_of(algorithm: str, operator: str, layout: Layout, dtype: str, min_arity: int = 4) -> dict[str, Any]:
    """The compiled loops `run_...` of an algorithm for an operator; `bloom` is the one of `measure.bits`."""
    functions = _FILTERS if operator == "bloom" else form_source(operator, (dtype,))
    if algorithm == "SubtractOnEvict":
        functions += _INVERSE
    text = f"{PRELUDE}{_CLOCK}{functions}\n{body_of(algorithm, operator, layout, min_arity)}"
    return vars(load_source(f"paper_{algorithm}_{operator}_{dtype}", text))


def body_of(algorithm: str, operator: str, layout: Layout, min_arity: int = 4) -> str:
    """The text of the loops; it needs jit, inlined, uint64, now, borrowed and the operator's functions."""
    loops = EVENTS if operator == "relative_variation" else STATIC + DYNAMIC
    answer = "if answer is not None:\n    total += answer" if layout.optional else "total += answer"
    if algorithm == "Fiba":
        names = fiba_source.array_names(layout)
        time = "times[row]" if loops is EVENTS else "0"
        gaps: dict[str, Gap] = {
            "begin": "",
            "insert": f"append({{arrays}}, {time}, lift({{x[i]}}))",
            "evict": "evict({arrays})",
            "answer": f"answer = lower(partial({{arrays}}))\n{answer}",
            "views": _views(operator, names),
        }
        return fiba_source.fiba_source(layout, 1, min_arity, loops, gaps)
    steps = RINGS[algorithm]
    names = source.array_names(steps, layout)
    begin = [*(f"{name} = 0" for name in steps.pointers), *(f"{name} = lift(x0[0])" for name in steps.partials)]
    gaps = {
        "begin": "\n".join(["{mask}", *begin]),
        "insert": "{state} = insert({state}, {arrays}, lift({x[i]}))",
        "answer": f"answer = lower(partial({{state}}, {{arrays}}))\n{answer}",
        "views": _views(operator, names),
    }
    return source.compiled_source(steps, layout, 1, loops, gaps)


def _views(operator: str, names: tuple[str, ...]) -> str:
    """The arrays without owners, and those of filters as arrays of filters."""
    states = {name for name in names if name[-1].isdigit()}
    return ", ".join(
        f"{'as_filters' if operator == 'bloom' and name in states else 'borrowed'}({name})" for name in names
    )
