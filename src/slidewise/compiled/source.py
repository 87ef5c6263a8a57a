"""The paper's algorithms as text, from which `weave` makes what Numba compiles for one shape of state.

A step takes the pointers and partials as plain values, with the arrays beside them, and returns the new ones: in a loop
they stay in registers. `{slots[p]}` is the state at position p: one element of each field's array, at p modulo the
capacity, which is a power of two. Cases and pointers are those of the class of the same name in `slidewise.swag`, and
nothing is combined with the identity. No step stores over a state that is in use before every combine has returned,
except the flip of Two-Stacks Lite. Callers never evict from an empty window, nor query one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slidewise.kernels.codegen.weave import Gap, StateArrays, rows_and_answers, states, weave
from slidewise.operators.layout import Layout


@dataclass(frozen=True, slots=True)
class Steps:
    """One algorithm: the names of its pointers, of its lone partials, of its arrays of states and of positions.

    `text` has its functions `insert` and `partial`, which become part of the loops that call them: handing all arrays
    to a function takes longer than what it does. `evict` is lines of their own: they stand in the function of that
    name, and in the loops. With functions of a user's own, Numba counts references to the arrays at each call of a
    function that has a loop in it, as an evict that flips has; that took more time than all else.
    """

    pointers: tuple[str, ...]
    partials: tuple[str, ...]
    rings: tuple[str, ...]
    positions: tuple[str, ...]
    text: str
    evict: str = ""


TWO_STACKS = Steps(
    pointers=("F", "B"),
    partials=(),
    rings=("frontVal", "frontAgg", "backVal", "backAgg"),
    positions=(),
    text="""
# Woven in: state and arrays, the window; frontVal, frontAgg, backVal, backAgg, its states; combine.
@inlined
def insert({state}, {arrays}, v):
    {mask}
    agg = v
    if B > 0:
        agg = combine({backAgg[B - 1]}, v)
    {backVal[B] = v}
    {backAgg[B] = agg}
    return F, B + 1

@inlined
def partial({state}, {arrays}):
    {mask}
    if F == 0:
        return {backAgg[B - 1]}
    if B == 0:
        return {frontAgg[F - 1]}
    return combine({frontAgg[F - 1]}, {backAgg[B - 1]})
""",
    evict="""
if F == 0:  # Flip
    val = {backVal[B - 1]}
    agg = val
    {frontVal[0] = val}
    {frontAgg[0] = agg}
    for k in range(1, B):
        val = {backVal[B - 1 - k]}
        agg = combine(val, agg)
        {frontVal[k] = val}
        {frontAgg[k] = agg}
    F, B = B, 0
{state} = F - 1, B
""",
)

TWO_STACKS_LITE = Steps(
    pointers=("F", "B", "E"),
    partials=("aggB",),
    rings=("slots",),
    positions=(),
    text="""
# Woven in: state and arrays, the window; slots, its states; combine.
@inlined
def insert({state}, {arrays}, v):
    {mask}
    {slots[E] = v}
    if B != E:
        v = combine(aggB, v)
    return F, B, E + 1, v

@inlined
def partial({state}, {arrays}):
    {mask}
    if F == B:
        return aggB
    front = {slots[F]}
    return front if B == E else combine(front, aggB)
""",
    evict="""
if F == B:  # Flip
    agg = {slots[E - 1]}
    for p in range(E - 2, F - 1, -1):
        agg = combine({slots[p]}, agg)
        {slots[p] = agg}
    B = E
{state} = F + 1, B, E, aggB
""",
)

DABA = Steps(
    pointers=("F", "L", "R", "A", "B", "E"),
    partials=(),
    rings=("val", "agg"),
    positions=(),
    text="""
# Woven in: state and arrays, the window; val, agg, its states; combine.
@inlined
def fixup({state}, {arrays}):
    {mask}
    if F == B:  # Singleton case
        return F, E, E, E, E, E
    if L == R != B:  # Shift
        return F, L + 1, R + 1, A + 1, B, E
    if L == B:  # Flip; R stays where the old B was
        L, A, B = F, E, E
    # Shrink
    front = combine({agg[L]}, {agg[A - 1]})
    back = {val[A - 1]}
    if A != B:
        aggA = {agg[A]}
        front = combine(front, aggA)
        back = combine(back, aggA)
    {agg[L] = front}
    {agg[A - 1] = back}
    return F, L + 1, R, A - 1, B, E

@inlined
def insert({state}, {arrays}, v):
    {mask}
    {val[E] = v}
    if B != E:
        v = combine({agg[E - 1]}, v)
    {agg[E] = v}
    return fixup(F, L, R, A, B, E + 1, {arrays})

@inlined
def partial({state}, {arrays}):
    {mask}
    front = {agg[F]}
    return front if B == E else combine(front, {agg[E - 1]})
""",
    evict="""
{state} = fixup(F + 1, L, R, A, B, E, {arrays})
""",
)

DABA_LITE = Steps(
    pointers=("F", "L", "R", "A", "B", "E"),
    partials=("aggRA", "aggB"),
    rings=("slots",),
    positions=(),
    text="""
# Woven in: state and arrays, the window; slots, its states; combine.
@inlined
def fixup({state}, {arrays}):
    {mask}
    if F == B:  # Singleton case
        return F, E, E, E, E, E, aggRA, aggB
    if L == R != B:  # Shift
        return F, L + 1, R + 1, A + 1, B, E, aggRA, aggB
    if L == B:  # Flip; R stays where the old B was
        L, A, B, aggRA = F, E, E, aggB
    # Shrink
    front = combine({slots[L]}, aggRA)
    back = {slots[A - 1]}
    if A != B:
        back = combine(back, {slots[A]})
    {slots[L] = front}
    {slots[A - 1] = back}
    return F, L + 1, R, A - 1, B, E, aggRA, aggB

@inlined
def insert({state}, {arrays}, v):
    {mask}
    {slots[E] = v}
    if B != E:
        v = combine(aggB, v)
    return fixup(F, L, R, A, B, E + 1, aggRA, v, {arrays})

@inlined
def partial({state}, {arrays}):
    {mask}
    front = {slots[F]}
    return front if B == E else combine(front, aggB)
""",
    evict="""
{state} = fixup(F + 1, L, R, A, B, E, aggRA, aggB, {arrays})
""",
)

FLAT_FIT = Steps(
    pointers=("start", "stop"),
    partials=(),
    rings=("agg",),
    positions=("stops", "met"),
    text="""
# Woven in: state and arrays, the window; agg, its states; stops, met, positions; combine.
@inlined
def insert({state}, {arrays}, v):
    {mask}
    {agg[stop] = v}
    {stops[stop] = stop + 1}
    return start, stop + 1

@inlined
def partial({state}, {arrays}):
    {mask}
    at = start
    last = {stops[at]}
    if last == stop:
        return {agg[at]}
    count = 0
    end = {stops[last]}
    while end != stop:
        {met[count] = at}
        count += 1
        at, last = last, end
        end = {stops[last]}
    total = combine({agg[at]}, {agg[last]})
    while True:
        {agg[at] = total}
        {stops[at] = stop}
        if count == 0:
            return total
        count -= 1
        at = {met[count]}
        total = combine({agg[at]}, total)
""",
    evict="""
{state} = start + 1, stop
""",
)

_EVICT = """
# Woven in: state and arrays, the window; evict, the algorithm's lines.
@jit
def evict({state}, {arrays}):
    {mask}
    {evict}
    return {state}
"""

LOOPS = """
# Woven in: state and arrays, the window; evict, the algorithm's lines; x, the inputs; O, the answers; lift and lower.
@jit
def insert_row({state}, {arrays}, {x}):
    return insert({state}, {arrays}, lift({x}))

@jit
def query({state}, {arrays}):
    return lower(partial({state}, {arrays}))

@jit
def insert_many({state}, {arrays}, {x}):
    for i in range(x0.size):
        {state} = insert({state}, {arrays}, lift({x[i]}))
    return {state}

@jit
def rounds({state}, {arrays}, {x}, {O}):
    {mask}
    for i in range(x0.size):
        {evict}
        {state} = insert({state}, {arrays}, lift({x[i]}))
        {O[i] = lower(partial({state}, {arrays}))}
    return {state}

@jit
def fill_and_drain({state}, {arrays}, {x}, {O}, size, n):
    {mask}
    for i in range(x0.size):
        {state} = insert({state}, {arrays}, lift({x[i]}))
        {O[i] = lower(partial({state}, {arrays}))}
        size += 1
        if size >= n:
            while size > 0:
                {evict}
                size -= 1
    return {state}
"""

STEPS = {
    "TwoStacks": TWO_STACKS,
    "TwoStacksLite": TWO_STACKS_LITE,
    "Daba": DABA,
    "DabaLite": DABA_LITE,
    "FlatFit": FLAT_FIT,
}


def compiled_source(
    steps: Steps, layout: Layout, inputs: int, loops: str = LOOPS, more: Mapping[str, Gap] | None = None
) -> str:
    """The text of an algorithm's functions for an operator of so many inputs; `more` gaps are those of other loops.

    >>> import slidewise as sw
    >>> text = compiled_source(STEPS["DabaLite"], sw.maxcount.layout(("int64",)), 1)
    >>> print(text[text.index("def partial"):text.index("# Woven in: state and arrays, the window; evict")])
    def partial(F, L, R, A, B, E, aggRA, aggB, slots0, slots1):
        mask = uint64(slots0.size - 1)
        front = (slots0[uint64(F) & mask], slots1[uint64(F) & mask],)
        return front if B == E else combine(front, aggB)
    <BLANKLINE>
    <BLANKLINE>
    """
    place = "uint64({}) & mask"
    arrays = array_names(steps, layout)
    gaps: dict[str, Gap] = {
        **rows_and_answers(layout, inputs),
        **{ring: states(ring, layout, place) for ring in steps.rings},
        **{positions: StateArrays((positions,), scalar=True, place=place) for positions in steps.positions},
        "state": ", ".join((*steps.pointers, *steps.partials)),
        "arrays": ", ".join(arrays),
        "mask": f"mask = uint64({arrays[0]}.size - 1)",
        "evict": steps.evict.strip("\n"),
        **(more or {}),
    }
    return weave(steps.text + _EVICT + loops, gaps)


def array_names(steps: Steps, layout: Layout) -> tuple[str, ...]:
    """The arrays that the functions take, in order: the fields of each array of states, then the positions."""
    return (*(name for ring in steps.rings for name in states(ring, layout).names), *steps.positions)
