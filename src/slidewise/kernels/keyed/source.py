"""DABA Lite for all keys in one loop, and running states, as text that is woven for an operator.

The cases are those of `swag.daba_lite`, and so is the number of calls of combine, which is counted. Positions are
places in an arena of linked chunks, see `rows`, and are only compared for being equal. What a call overwrites is logged
first: pointers and lone partials of each row's key, and each slot that a fixup changes. Where an operator raises, or
what comes after fails, all is put back by these.

For reads there is the product of the rows of each full chunk, and of all chunks behind the one that it jumps to, itself
included. That is 1 call for a row, and 2 more for one in eight, which are counted with the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from slidewise.kernels.codegen.weave import Gap, numbered, weave
from slidewise.operators.layout import Layout

# Numbers of a member's block.
LEAST, ASKED, LOGGED, DONE, CALLS = range(5)
NUMBERS = 5
FIXED_FIELDS = (
    13  # slots, at, gone, held, asked; of chunks nexts, prevs, depths, jumps and their depths; pointers, their
)
# log, and which slots were logged
VALID = NUMBERS + FIXED_FIELDS

_PRELUDE = """
from slidewise.kernels.compiler.jit import not_none
from slidewise.kernels.keyed.memory import (
    load_bool, load_float64, load_int64, store_bool, store_float64, store_int64
)
"""

_HEAD = """
    least, asks = load_int64(block, 0), load_int64(block, 1) != 0
    slots, at, gone = load_int64(block, 5), load_int64(block, 6), load_int64(block, 7)
    held, asked = load_int64(block, 8), load_int64(block, 9)
    nexts, prevs, depths = load_int64(block, 10), load_int64(block, 11), load_int64(block, 12)
    jumps, jump_depths = load_int64(block, 13), load_int64(block, 14)
    pointers, before, touched = load_int64(block, 15), load_int64(block, 16), load_int64(block, 17)
    valid = load_int64(block, 18)
    {addresses}
"""

_DABA_LITE = """
# Woven in: head, where fields lie; x, the inputs; S, the slots; RA and AB, aggRA and aggB of each key; P, the product
# of its newest chunk; T, RAs, ABs and Ps, what they were before; C and J, the products of chunks and of those that they
# jump over; enter, what takes a row into these; answer, what stores the answer; lift, combine and lower.
@jit
def member_pass(block, m):
    \"\"\"Insert, evict and answer for m rows of any keys, in their order.\"\"\"
{head}
    logged = 0
    calls = 0
    store_int64(block, 2, 0)
    for i in range(m):
        slot = load_int64(slots, i)
        if slot < 0:
            continue
        store_int64(block, 3, i + 1)
        p, q = slot * 6, i * 6
        F, L, R = load_int64(pointers, p), load_int64(pointers, p + 1), load_int64(pointers, p + 2)
        A, B, E = load_int64(pointers, p + 3), load_int64(pointers, p + 4), load_int64(pointers, p + 5)
        aggRA = {RA[slot]}
        aggB = {AB[slot]}
        product = {P[slot]}
        store_int64(before, q, F)
        store_int64(before, q + 1, L)
        store_int64(before, q + 2, R)
        store_int64(before, q + 3, A)
        store_int64(before, q + 4, B)
        store_int64(before, q + 5, E)
        {RAs[i] = aggRA}
        {ABs[i] = aggB}
        {Ps[i] = product}
        n = load_int64(held, i)
        steps = load_int64(gone, i)
        inserts = load_int64(at, i) >= 0
        if n == 0:
            if inserts:
                v = lift({x[i]})
                F = E
                {enter}
                E = {after(E)}
            F = L = R = A = B = E
            steps = 0
        elif inserts and steps > 1 and n == 1:  # nothing stays but the new row
            v = lift({x[i]})
            {S[E] = v}
            F = E
            {enter}
            E = {after(E)}
            L = R = A = B = E
            steps = 0
        else:
            if inserts:
                steps += 1
            while steps > 0:
                steps -= 1
                if inserts:
                    inserts = False
                    v = lift({x[i]})
                    {S[E] = v}
                    {enter}
                    if B != E:
                        v = combine(aggB, v)
                        calls += 1
                    aggB = v
                    E = {after(E)}
                else:
                    F = {after(F)}
                if F == B:  # Singleton case
                    L = R = A = B = E
                elif L == R and R != B:  # Shift
                    L = {after(L)}
                    R = A = L
                else:
                    if L == B:  # Flip; R stays where the old B was
                        L, A, B, aggRA = F, E, E, aggB
                    a = {before(A)}
                    front = {S[L]}
                    back = {S[a]}
                    store_int64(touched, logged, L)
                    {T[logged] = front}
                    store_int64(touched, logged + 1, a)
                    {T[logged + 1] = back}
                    logged += 2
                    store_int64(block, 2, logged)
                    front = combine(front, aggRA)
                    calls += 1
                    if A != B:
                        back = combine(back, {S[A]})
                        calls += 1
                    {S[L] = front}
                    {S[a] = back}
                    L = {after(L)}
                    A = a
        store_int64(pointers, p, F)
        store_int64(pointers, p + 1, L)
        store_int64(pointers, p + 2, R)
        store_int64(pointers, p + 3, A)
        store_int64(pointers, p + 4, B)
        store_int64(pointers, p + 5, E)
        {RA[slot] = aggRA}
        {AB[slot] = aggB}
        {P[slot] = product}
        store_bool(valid, i, n > 0 and n >= least)
        if n > 0 and n >= least and (not asks or load_bool(asked, i)):
            front = {S[F]}
            if B != E:
                front = combine(front, aggB)
                calls += 1
            {answer}
    store_int64(block, 4, load_int64(block, 4) + calls)
    return logged

@jit
def enter_pass(block, slot, first, m):
    \"\"\"Enter m rows, which lie in the slots from the first on, into the products of their chunks.\"\"\"
{head}
    calls = 0
    F = E = first
    product = {P[slot]}
    for i in range(m):
        v = lift({x[i]})
        {enter}
        E = {after(E)}
    {P[slot] = product}
    return calls

@jit
def fold_pass(block, first, stop):
    \"\"\"The product of plain slots from one up to another, put where the log has aggRA of row 0.\"\"\"
{head}
    newest = stop >> 3
    chunk = first >> 3
    depth = load_int64(depths, chunk)
    state = {S[first]}
    for row in range(first + 1, stop if chunk == newest else (chunk << 3) + 8):
        state = combine(state, {S[row]})
    if chunk != newest:
        later = state
        any_later = (stop & 7) != 0
        if any_later:
            row = newest << 3
            later = {S[row]}
            for row in range((newest << 3) + 1, stop):
                later = combine(later, {S[row]})
        chunk = load_int64(prevs, newest)
        while load_int64(depths, chunk) > depth:
            if load_int64(jump_depths, chunk) >= depth:
                part = {J[chunk]}
                chunk = load_int64(jumps, chunk)
            else:
                part = {C[chunk]}
                chunk = load_int64(prevs, chunk)
            later = combine(part, later) if any_later else part
            any_later = True
        if any_later:
            state = combine(state, later)
    {RAs[0] = state}
"""

# What takes the row that was put at E, whose state is v, into the product of its chunk. A chunk that is full has that,
# and the product of those from behind the one that it jumps to: what the chunk before it jumps over is a part of them.
_ENTER = """if (E & 7) == 0:
    product = v
else:
    product = combine(product, v)
    calls += 1
if (E & 7) == 7:
    chunk = E >> 3
    {C[chunk] = product}
    over = product
    if load_int64(jump_depths, chunk) + 1 < load_int64(depths, chunk):
        last = load_int64(prevs, chunk)
        if load_int64(jump_depths, last) >= load_int64(depths, F >> 3):
            far = load_int64(jumps, last)
            over = combine(combine({J[far]}, {J[last]}), product)
            calls += 2
    {J[chunk] = over}"""

_RUNNING = """
# Woven in: head, where fields lie; x, the inputs; RA, the state of each key; RAs, what it was before; answer, what
# stores the answer; lift, combine and lower.
@jit
def member_pass(block, m):
    \"\"\"Take m rows of any keys into their states, in their order, and answer.\"\"\"
{head}
    calls = 0
    for i in range(m):
        slot = load_int64(slots, i)
        if slot < 0:
            continue
        store_int64(block, 3, i + 1)
        state = {RA[slot]}
        {RAs[i] = state}
        n = load_int64(held, i)
        if load_int64(at, i) >= 0:
            v = lift({x[i]})
            if n > 1:
                v = combine(state, v)
                calls += 1
            {RA[slot] = v}
            state = v
        store_bool(valid, i, n > 0 and n >= least)
        if n > 0 and n >= least and (not asks or load_bool(asked, i)):
            front = state
            {answer}
    store_int64(block, 4, load_int64(block, 4) + calls)
    return calls
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """Values in memory, one address for each field; `scalar` ones are bare, and others tuples."""

    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    scalar: bool

    def __str__(self) -> str:
        return ", ".join(self.names)

    def load(self, index: str) -> str:
        parts = [f"load_{dtype}({name}, {index})" for name, dtype in zip(self.names, self.dtypes, strict=True)]
        return parts[0] if self.scalar else f"({' '.join(f'{part},' for part in parts)})"

    def store(self, index: str, value: str) -> str:
        names = zip(self.names, self.dtypes, strict=True)
        if self.scalar:
            return f"store_{self.dtypes[0]}({self.names[0]}, {index}, {value})"
        return "; ".join(f"store_{dtype}({name}, {index}, {value}[{c}])" for c, (name, dtype) in enumerate(names))


class _Inputs(Stored):
    """The inputs of a row as the arguments of lift."""

    def load(self, index: str) -> str:
        return ", ".join(f"load_{dtype}({name}, {index})" for name, dtype in zip(self.names, self.dtypes, strict=True))


_AFTER = "({0} + 1 if ({0} & 7) != 7 else load_int64(nexts, {0} >> 3) << 3)"
_BEFORE = "({0} - 1 if ({0} & 7) != 0 else (load_int64(prevs, {0} >> 3) << 3) + 7)"


def can_be_stored(layout: Layout) -> bool:
    """Whether states and answers of a layout are numbers that memory is read and written as."""
    known = {"int64", "float64", "bool"}
    return not layout.array and not layout.nullable and {*layout.fields, *layout.outputs} <= known


def stored_fields(layout: Layout, inputs: tuple[str, ...], running: bool) -> list[tuple[str, tuple[str, ...]]]:
    """The fields behind `valid` in a member's block, by what they are, and their types."""
    parts = [("x", inputs), ("RA", layout.fields), ("RAs", layout.fields), ("O", layout.outputs)]
    if not running:
        parts += [(letter, layout.fields) for letter in ("S", "AB", "T", "ABs", "P", "Ps", "C", "J")]
    return parts


def member_source(layout: Layout, inputs: tuple[str, ...], running: bool) -> str:
    """The text of an operator's passes."""
    text = _RUNNING if running else _DABA_LITE
    for name in ("E", "F", "L"):
        text = text.replace(f"{{after({name})}}", _AFTER.format(name))
    text = text.replace("{before(A)}", _BEFORE.format("A"))
    gaps: dict[str, Gap] = {}
    lines = []
    number = VALID + 1
    for letter, dtypes in stored_fields(layout, inputs, running):
        names = numbered(letter, len(dtypes))
        lines += [f"{name} = load_int64(block, {number + c})" for c, name in enumerate(names)]
        number += len(names)
        scalar = layout.single if letter == "O" else layout.scalar
        gaps[letter] = _Inputs(names, dtypes, True) if letter == "x" else Stored(names, dtypes, scalar)
    gaps["head"] = _HEAD.strip("\n").replace("\n    {addresses}", "".join(f"\n    {line}" for line in lines))
    gaps["answer"], gaps["enter"] = _answer(layout), _ENTER
    return _PRELUDE + weave(text, gaps)


def _answer(layout: Layout) -> str:
    """The lines that store the answer of the state `front`."""
    if not layout.optional:
        return "answer = lower(front)\n{O[i] = answer}"
    return (
        "answer = lower(front)\nif answer is None:\n    store_bool(valid, i, False)\nelse:\n"
        "    given = not_none(answer)\n    {O[i] = given}"
    )
