"""The source of the paper's algorithms for one shape of state, written out so that Numba sees plain arrays.

A step takes the pointers and partials as plain values, with the arrays beside them, and returns the new ones: in a loop
they stay in registers. `slots[p]` is the state at position p; written out, it is one element of each field's array, at
p modulo the capacity, which is a power of two. Cases and pointers are those of the class of the same name in
`slidewise.swag`, and nothing is combined with the identity. No step stores over a state that is in use before every
combine has returned, except the flip of Two-Stacks Lite. Callers never evict from an empty window, nor query one.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from slidewise.operators.layout import Layout


@dataclass(frozen=True, slots=True)
class Steps:
    """One algorithm: the names of its pointers, of its lone partials, of its arrays of states and of positions."""

    pointers: tuple[str, ...]
    partials: tuple[str, ...]
    rings: tuple[str, ...]
    positions: tuple[str, ...]
    text: str


TWO_STACKS = """
def insert({state}, {arrays}, v):
    agg = v
    if B > 0:
        agg = combine(backAgg[B - 1], v)
    backVal[B] = v
    backAgg[B] = agg
    return F, B + 1

def evict({state}, {arrays}):
    if F == 0:  # Flip
        val = backVal[B - 1]
        agg = val
        frontVal[0] = val
        frontAgg[0] = agg
        for k in range(1, B):
            val = backVal[B - 1 - k]
            agg = combine(val, agg)
            frontVal[k] = val
            frontAgg[k] = agg
        F, B = B, 0
    return F - 1, B

def partial({state}, {arrays}):
    if F == 0:
        return backAgg[B - 1]
    if B == 0:
        return frontAgg[F - 1]
    return combine(frontAgg[F - 1], backAgg[B - 1])
"""

TWO_STACKS_LITE = """
def insert({state}, {arrays}, v):
    slots[E] = v
    if B != E:
        v = combine(aggB, v)
    return F, B, E + 1, v

def evict({state}, {arrays}):
    if F == B:  # Flip
        agg = slots[E - 1]
        for p in range(E - 2, F - 1, -1):
            agg = combine(slots[p], agg)
            slots[p] = agg
        B = E
    return F + 1, B, E, aggB

def partial({state}, {arrays}):
    if F == B:
        return aggB
    front = slots[F]
    return front if B == E else combine(front, aggB)
"""

DABA = """
def fixup({state}, {arrays}):
    if F == B:  # Singleton case
        return F, E, E, E, E, E
    if L == R != B:  # Shift
        return F, L + 1, R + 1, A + 1, B, E
    if L == B:  # Flip; R stays where the old B was
        L, A, B = F, E, E
    # Shrink
    front = combine(agg[L], agg[A - 1])
    back = val[A - 1]
    if A != B:
        aggA = agg[A]
        front = combine(front, aggA)
        back = combine(back, aggA)
    agg[L] = front
    agg[A - 1] = back
    return F, L + 1, R, A - 1, B, E

def insert({state}, {arrays}, v):
    val[E] = v
    if B != E:
        v = combine(agg[E - 1], v)
    agg[E] = v
    return fixup(F, L, R, A, B, E + 1, {arrays})

def evict({state}, {arrays}):
    return fixup(F + 1, L, R, A, B, E, {arrays})

def partial({state}, {arrays}):
    front = agg[F]
    return front if B == E else combine(front, agg[E - 1])
"""

DABA_LITE = """
def fixup({state}, {arrays}):
    if F == B:  # Singleton case
        return F, E, E, E, E, E, aggRA, aggB
    if L == R != B:  # Shift
        return F, L + 1, R + 1, A + 1, B, E, aggRA, aggB
    if L == B:  # Flip; R stays where the old B was
        L, A, B, aggRA = F, E, E, aggB
    # Shrink
    front = combine(slots[L], aggRA)
    back = slots[A - 1]
    if A != B:
        back = combine(back, slots[A])
    slots[L] = front
    slots[A - 1] = back
    return F, L + 1, R, A - 1, B, E, aggRA, aggB

def insert({state}, {arrays}, v):
    slots[E] = v
    if B != E:
        v = combine(aggB, v)
    return fixup(F, L, R, A, B, E + 1, aggRA, v, {arrays})

def evict({state}, {arrays}):
    return fixup(F + 1, L, R, A, B, E, aggRA, aggB, {arrays})

def partial({state}, {arrays}):
    front = slots[F]
    return front if B == E else combine(front, aggB)
"""

FLAT_FIT = """
def insert({state}, {arrays}, v):
    agg[stop] = v
    stops[stop] = stop + 1
    return start, stop + 1

def evict({state}, {arrays}):
    return start + 1, stop

def partial({state}, {arrays}):
    at = start
    count = 0
    while stops[at] != stop:
        met[count] = at
        count += 1
        at = stops[at]
    total = agg[at]
    while count > 0:
        count -= 1
        at = met[count]
        total = combine(agg[at], total)
        agg[at] = total
        stops[at] = stop
    return total
"""

LOOPS = """
def insert_row({state}, {arrays}, {x}):
    return insert({state}, {arrays}, lift({x}))

def query({state}, {arrays}):
    return lower(partial({state}, {arrays}))

def insert_many({state}, {arrays}, {x}):
    for i in range(x0.size):
        {state} = insert({state}, {arrays}, lift({x_i}))
    return {state}

def rounds({state}, {arrays}, {x}, {O}):
    for i in range(x0.size):
        EVICT
        {state} = insert({state}, {arrays}, lift({x_i}))
        answer = lower(partial({state}, {arrays}))
        {keep}
    return {state}

def fill_and_drain({state}, {arrays}, {x}, {O}, size, n):
    for i in range(x0.size):
        {state} = insert({state}, {arrays}, lift({x_i}))
        answer = lower(partial({state}, {arrays}))
        {keep}
        size += 1
        if size >= n:
            while size > 0:
                EVICT
                size -= 1
    return {state}
"""

_SIX = ("F", "L", "R", "A", "B", "E")
STEPS = {
    "TwoStacks": Steps(("F", "B"), (), ("frontVal", "frontAgg", "backVal", "backAgg"), (), TWO_STACKS),
    "TwoStacksLite": Steps(("F", "B", "E"), ("aggB",), ("slots",), (), TWO_STACKS_LITE),
    "Daba": Steps(_SIX, (), ("val", "agg"), (), DABA),
    "DabaLite": Steps(_SIX, ("aggRA", "aggB"), ("slots",), (), DABA_LITE),
    "FlatFit": Steps(("start", "stop"), (), ("agg",), ("stops", "met"), FLAT_FIT),
}


def compiled_source(steps: Steps, layout: Layout, inputs: int, loops: str = LOOPS) -> str:
    """The text of an algorithm's functions for an operator of so many inputs; it needs jit, uint64 and the operator's.

    >>> import slidewise as sw
    >>> text = compiled_source(STEPS["DabaLite"], sw.maxcount.layout(("int64",)), 1)
    >>> print(text[text.index("def partial"):text.index("def insert_row")])
    def partial(F, L, R, A, B, E, aggRA, aggB, slots0, slots1):
        mask = uint64(slots0.size - 1)
        front = (slots0[uint64(F) & mask], slots1[uint64(F) & mask],)
        return front if B == E else combine(front, aggB)
    <BLANKLINE>
    @jit
    """
    arrays = array_names(steps, layout)
    outputs = [f"O{c}" for c in range(len(layout.outputs))]
    text = (steps.text + _with_evict(loops, steps.text)).format(
        state=", ".join((*steps.pointers, *steps.partials)),
        arrays=", ".join(arrays),
        x=", ".join(f"x{c}" for c in range(inputs)),
        x_i=", ".join(f"x{c}[i]" for c in range(inputs)),
        O=", ".join([*outputs, "valid"] if layout.optional else outputs),
        keep=keep(layout),
    )
    text = "\n".join(_written_out(line, steps, layout) for line in text.splitlines())
    return re.sub(r"^def .*$", rf"@jit\n\g<0>\n    mask = uint64({arrays[0]}.size - 1)", text, flags=re.MULTILINE)


def _with_evict(loops: str, steps: str) -> str:
    """The loops with the body of `evict` in place of its name.

    Numba counts references to the arrays at each call of a function that has a loop in it, as an evict that flips has;
    that took more time than all else.
    """
    found = re.search(r"^def evict.*\n((?:    .*\n)+)", steps, re.MULTILINE)
    assert found is not None
    body = textwrap.dedent(found[1]).replace("return ", "{state} = ")
    return re.sub(r"^( +)EVICT\n", lambda place: textwrap.indent(body, place[1]), loops, flags=re.MULTILINE)


def array_names(steps: Steps, layout: Layout) -> tuple[str, ...]:
    """The arrays that the functions take, in order: the fields of each array of states, then the positions."""
    fields = range(len(layout.fields))
    return (*(f"{ring}{c}" for ring in steps.rings for c in fields), *steps.positions)


def _written_out(line: str, steps: Steps, layout: Layout) -> str:
    """A line with each `slots[p]` replaced by the elements of its fields' arrays."""
    every = "|".join((*steps.rings, *steps.positions))
    stored = re.fullmatch(rf"( *)({every})\[(.+?)\] = (.+)", line)
    if not stored:
        return re.sub(rf"\b({every})\[(.+?)\]", lambda found: _load(found[1], found[2], steps, layout), line)
    indent, ring, p, value = stored.groups()
    if ring in steps.positions:
        return f"{indent}{ring}{_at(p)} = {value}"
    if layout.scalar:
        return f"{indent}{ring}0{_at(p)} = {value}"
    return indent + "; ".join(f"{ring}{c}{_at(p)} = {value}[{c}]" for c in range(len(layout.fields)))


def _load(ring: str, p: str, steps: Steps, layout: Layout) -> str:
    if ring in steps.positions:
        return f"{ring}{_at(p)}"
    if layout.scalar:
        return f"{ring}0{_at(p)}"
    return f"({' '.join(f'{ring}{c}{_at(p)},' for c in range(len(layout.fields)))})"


def _at(p: str) -> str:
    return f"[uint64({p}) & mask]"


def keep(layout: Layout) -> str:
    """The statement that stores an answer, or marks that there is none."""
    if not layout.single:
        stored = "; ".join(f"O{c}[i] = answer[{c}]" for c in range(len(layout.outputs)))
    else:
        stored = "O0[i] = answer"
    if not layout.optional:
        return stored
    return f"if answer is None:\n            valid[i] = False\n        else:\n            {stored}"
