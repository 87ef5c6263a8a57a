"""The passes over arrays as text, from which `weave` makes what Numba compiles for an operator.

`lift`, `combine` and `lower` are the operator's functions, compiled. No pass combines with the identity. A pass over
`each` goes over rows or over partials: it is woven for either.
"""

from __future__ import annotations

from slidewise.kernels.codegen.weave import (
    UNSIGNED,
    Gap,
    InputColumns,
    LiftedRows,
    numbered,
    rows_and_answers,
    states,
    weave,
)
from slidewise.operators.layout import Layout

_ROWS = """
# Woven in: x, the inputs; S, the states; O, the answers; lift, combine and lower.
@jit
def rows_pass({x}, n, {S}, {O}):
    \"\"\"Windows of n rows: suffix aggregates of one block, prefix aggregates of the next (van Herk, Gil, Werman).

    While a block's prefix is combined with the suffix of the block before it, its own suffix is built from its other
    end: two chains of calls that do not wait for each other. Each suffix takes the place that an older one has just
    left, so the places are walked to and fro, and one block's worth of them stays in the cache.
    \"\"\"
    m = len(x0)
    place = 0
    step = 1
    for a in range(0, m, n):
        stop = min(n, m - a)
        back = lift({x[a]})
        if stop == n:
            front = lift({x[a + n - 1]})
            for j in range(n - 1):
                if j:
                    back = combine(back, lift({x[a + j]}))
                    front = combine(lift({x[a + n - 1 - j]}), front)
                if a:
                    older = {S[place]}
                    {O[a + j] = lower(combine(older, back))}
                else:
                    {O[a + j] = lower(back)}
                {S[place] = front}
                place += step
            if n > 1:
                back = combine(back, lift({x[a + n - 1]}))
            {O[a + n - 1] = lower(back)}
            step = -step
            place += step
        else:
            for j in range(stop):
                if j:
                    back = combine(back, lift({x[a + j]}))
                if a:
                    older = {S[place]}
                    {O[a + j] = lower(combine(older, back))}
                    place += step
                else:
                    {O[a + j] = lower(back)}

@jit
def keys_pass({x}, offsets, n, {S}, {O}):
    \"\"\"The same for many keys: key k has the rows from offsets[k] up to offsets[k + 1].\"\"\"
    for k in range(len(offsets) - 1):
        a = offsets[k]
        b = offsets[k + 1]
        if a < b:
            rows_pass({x[a:b]}, min(n, b - a), {S}, {O[a:b]})
"""

_BOUNDS = """
# Woven in: each, rows or partials; S, the states; O, the answers; lift, combine and lower.
@jit
def bounds_pass({each}, starts, ends, {S}, {O}):
    \"\"\"Windows [starts, ends) that never move back: Two-Stacks Lite, its front in S and its back in one state.\"\"\"
    base = 0
    B = 0
    E = 0
    for i in range(len(starts)):
        s = starts[i]
        e = ends[i]
        if s >= e:
            continue
        if s >= B:
            front = {each[e - 1]}
            {S[e - 1 - s] = front}
            for k in range(e - 2, s - 1, -1):
                front = combine({each[k]}, front)
                {S[k - s] = front}
            base = s
            B = e
            E = e
        else:
            if E == B and E < e:
                back = {each[E]}
                E += 1
            while E < e:
                back = combine(back, {each[E]})
                E += 1
            front = {S[s - base]}
            if E > B:
                front = combine(front, back)
        {O[i] = lower(front)}
"""

_PARTIALS = """
# Woven in: each, rows or partials; S, the states; combine, and lift for rows.
@jit
def fold_pass({each}, offsets, {S}):
    \"\"\"The aggregate of each run: run k has the elements from offsets[k] up to offsets[k + 1].\"\"\"
    for k in range(len(offsets) - 1):
        a = offsets[k]
        state = {each[a]}
        for i in range(a + 1, offsets[k + 1]):
            state = combine(state, {each[i]})
        {S[k] = state}

@jit
def lift_pass({each}, m, {S}):
    \"\"\"The aggregate of each of m rows by itself.\"\"\"
    for i in range(m):
        state = {each[i]}
        {S[i] = state}
"""

_RUNNING = """
# Woven in: x, the inputs; S, the keys' states; O, the answers; lift, combine and lower.
@jit
def running_pass({x}, offsets, started, {S}, {O}):
    \"\"\"Everything so far: key k has the rows from offsets[k] up to offsets[k + 1], and perhaps a state.\"\"\"
    for k in range(len(offsets) - 1):
        a = offsets[k]
        b = offsets[k + 1]
        if a < b:
            new = lift({x[a]})
            if started[k]:
                older = {S[k]}
                state = combine(older, new)
            else:
                state = new
            {O[a] = lower(state)}
            for i in range(a + 1, b):
                state = combine(state, lift({x[i]}))
                {O[i] = lower(state)}
            {S[k] = state}
"""

# Other than the front of Two-Stacks, the one here ends in a state that is given, and never moves: no window starts
# behind it.
_SPANNING = """
# Woven in: each, rows or partials; S, the states; O, the answers; lift, combine and lower.
@jit
def spanning_pass({each}, h, middle, starts, ends, enough, {S}, {O}):
    \"\"\"Windows over the elements [starts, h), the state S[h] if there is a middle, and the elements [h, ends).\"\"\"
    if h < 0:  # never: it tells the compiler what these are, and no row is lifted that is in no window
        back = {each[0]}
        state = back
    if middle:
        state = {S[h]}
    for i in range(h - 1, -1, -1):
        state = combine({each[i]}, state) if middle or i < h - 1 else {each[i]}
        {S[i] = state}
    E = h
    for i in range(len(starts)):
        while E < ends[i]:
            back = {each[E]} if E == h else combine(back, {each[E]})
            E += 1
        if not enough[i]:
            continue
        s = starts[i]
        if middle or s < h:
            state = {S[s]}
            if E > h:
                state = combine(state, back)
        else:
            state = back
        {O[i] = lower(state)}
"""

# The states of windows instead of their answers.
_STATES = _BOUNDS.replace("bounds_pass(", "states_pass(").replace("{O}", "{T}")
_STATES = _STATES.replace("{O[i] = lower(front)}", "{T[i] = front}").replace("O, the answers", "T, the windows' states")

_RESTS = """
# Woven in: P, states of which leaves are made; S, the tree's; O, the answers; combine and lower.
@jit
def rests_pass({P}, codes, leaves, stops, filled, {S}, {O}):
    \"\"\"What all leaves of a tree come to, after so many changes each: leaf codes[i] becomes the state leaves[i], or
    none where that is negative. Node j stands for the nodes 2 j and 2 j + 1; `filled` says which hold anything.\"\"\"
    width = len(filled) // 2
    change = 0
    for i in range(len(stops)):
        while change < stops[i]:
            node = width + codes[change]
            filled[node] = leaves[change] >= 0
            if filled[node]:
                state = {P[leaves[change]]}
                {S[node] = state}
            node //= 2
            while node > 0:
                left = 2 * node
                right = left + 1
                filled[node] = filled[left] or filled[right]
                if filled[left] and filled[right]:
                    state = combine({S[left]}, {S[right]})
                    {S[node] = state}
                elif filled[left]:
                    state = {S[left]}
                    {S[node] = state}
                elif filled[right]:
                    state = {S[right]}
                    {S[node] = state}
                node //= 2
            change += 1
        root = {S[1]}
        {O[i] = lower(root)}
"""

TEXTS = {
    "rows": _ROWS,
    "bounds": _BOUNDS,
    "states": _STATES,
    "rests": _RESTS,
    "partials": _PARTIALS,
    "running": _RUNNING,
    "spanning": _SPANNING,
}
TEXT_OF = {
    "rows_pass": "rows",
    "keys_pass": "rows",
    "bounds_pass": "bounds",
    "states_pass": "states",
    "rests_pass": "rests",
    "fold_pass": "partials",
    "lift_pass": "partials",
    "running_pass": "running",
    "spanning_pass": "spanning",
}


def pass_source(text: str, layout: Layout, inputs: int, partials: bool = False) -> str:
    """One of the texts, by its name, for an operator of so many inputs; over its rows, or over partials."""
    rows = InputColumns(numbered("x", inputs), UNSIGNED)
    held = {letter: states(letter, layout, UNSIGNED) for letter in "PST"}
    each: Gap = held["P"] if partials else LiftedRows(rows)
    return weave(TEXTS[text], {**rows_and_answers(layout, inputs, UNSIGNED), **held, "each": each})
