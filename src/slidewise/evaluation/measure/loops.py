"""The timed loops of the experiments, written once for all algorithms.

A loop runs from an empty window to its last round in one call of compiled code. It takes a window's arrays, made
beforehand, and gives back the ticks between its first and last timed round and the total of all answers, by which the
algorithms are compared. In the text INSERT, EVICT and ANSWER are an algorithm's steps.
"""

from __future__ import annotations

import re
from typing import Any

from slidewise.compiled.fiba_source import fiba_source
from slidewise.compiled.peer_source import OTHERS
from slidewise.compiled.source import STEPS, array_names, compiled_source
from slidewise.kernels.compiler.cache import load_source
from slidewise.operators.layout import Layout

RINGS = STEPS | OTHERS  # all algorithms but Fiba

STATIC = """
def rounds(WINDOW, {x}, total, n, m, gaps, kept):
    BEGIN
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
            EVICT
        INSERT
        if row >= n:
            ANSWER
            if each:
                kept[0] = total
                after = now()
                gaps[row - n] = after - before
                before = after
    return now() - began, total
"""

DYNAMIC = """
def fill_and_drain(WINDOW, {x}, total, n, m):
    BEGIN
    last = uint64(x0.size - 1)
    size = 0
    began = now()
    for row in range(m):
        i = uint64(row) & last
        INSERT
        ANSWER
        size += 1
        if size >= n:
            while size > 0:
                EVICT
                size -= 1
    return now() - began, total
"""

# A window of time as `Timed` keeps it, closed on the right: a row comes in, those that are too old leave, one by one.
EVENTS = """
def events(WINDOW, {x}, total, times, width, begin, end, gaps, gone, kept):
    BEGIN
    first = 0
    began = now()
    before = began
    each = gaps.size > 0
    for row in range(end):
        i = uint64(row)
        if row == begin:
            began = now()
            before = began
        INSERT
        left = first
        while times[first] <= times[row] - width:
            EVICT
            first += 1
        if row >= begin:
            ANSWER
            if each:
                kept[0] = total
                after = now()
                gaps[row - begin] = after - before
                gone[row - begin] = first - left
                before = after
    return now() - began, total
"""

_HEAD = """
from numba import uint64
from slidewise.kernels.compiler.jit import njit
from slidewise.evaluation.measure.clock import now
from slidewise.kernels.compiler.jit import borrowed
{operator}
jit = njit(cache=True, nogil=True, error_model='numpy')
inlined = njit(cache=True, nogil=True, error_model='numpy', forceinline=True)
"""
# Arrays come in with owners, whose references would be counted at each call inside the loop.
_ENTRY = """
@jit
def run_{name}({arrays}, {rest}):
    return {name}({views}, {rest})
"""


def loops_of(algorithm: str, operator: str, layout: Layout, dtype: str, min_arity: int = 4) -> dict[str, Any]:
    """The compiled loops `run_...` of an algorithm for an operator; `bloom` is the one of `evaluation.measure.bits`."""
    kinds = ("f" if dtype == "float64" else "i",)
    said = (
        "from slidewise.evaluation.measure.bits import as_filters, combine, lift, lower"
        if operator == "bloom"
        else f"from slidewise.kernels.codegen.forms import forms\nlift, combine, lower = forms({operator!r}, {kinds!r})"
    )
    if algorithm == "SubtractOnEvict":
        said += "\nfrom slidewise.compiled.peer_source import take_int_sum as inverse"
    text = _HEAD.format(operator=said) + body_of(algorithm, operator, layout, min_arity)
    return vars(load_source(f"paper_{algorithm}_{operator}_{dtype}", text))


def body_of(algorithm: str, operator: str, layout: Layout, min_arity: int = 4) -> str:
    """The text of the loops; it needs jit, inlined, uint64, now, borrowed and the operator's functions."""
    loops = EVENTS if operator == "relative_variation" else STATIC + DYNAMIC
    if algorithm == "Fiba":
        names = ("I", *(f"V{c}" for c in range(len(layout.fields))))
        body = fiba_source(layout, 1, min_arity, _fiba(loops, layout))
    else:
        names = array_names(RINGS[algorithm], layout)
        body = compiled_source(RINGS[algorithm], layout, 1, _ring(algorithm, loops, layout))
    states = {name for name in names if name[-1].isdigit()}
    views = [f"{'as_filters' if operator == 'bloom' and name in states else 'borrowed'}({name})" for name in names]
    entries = ""
    for name, arguments in re.findall(r"^def (\w+)\(WINDOW, (.+)\):", loops, re.MULTILINE):
        rest = arguments.format(x="x0")
        entries += _ENTRY.format(name=name, arrays=", ".join(names), views=", ".join(views), rest=rest)
    return body + entries


def _answer(layout: Layout) -> str:
    if layout.optional:
        return "\nif answer is not None:\n    total += answer"
    return "\ntotal += answer"


def _ring(algorithm: str, loops: str, layout: Layout) -> str:
    steps = RINGS[algorithm]
    begin = "\n".join(f"{name} = 0" for name in steps.pointers)
    begin += "".join(f"\n{name} = lift(x0[0])" for name in steps.partials)
    return _filled(
        loops.replace("WINDOW", "{arrays}"),
        BEGIN=begin,
        INSERT="{state} = insert({state}, {arrays}, lift({x_i}))",
        ANSWER="answer = lower(partial({state}, {arrays}))" + _answer(layout),
    )


def _fiba(loops: str, layout: Layout) -> str:
    time = "times[row]" if "times" in loops else "0"
    return _filled(
        loops.replace("WINDOW", "{A}"),
        BEGIN="",
        INSERT=f"append({{A}}, {time}, lift({{x_i}}))",
        EVICT="evict({A})",
        ANSWER="answer = lower(partial({A}))" + _answer(layout),
    )


def _filled(loops: str, **steps: str) -> str:
    """The loops with a step's lines in place of its name."""
    for name, lines in steps.items():
        loops = re.sub(
            rf"^( +){name}\n",
            lambda place, lines=lines: "".join(f"{place[1]}{line}\n" for line in lines.splitlines()),  # type: ignore[misc]
            loops,
            flags=re.MULTILINE,
        )
    return loops
