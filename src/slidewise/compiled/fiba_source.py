"""FiBA as text, for one shape of state: nodes are rows of arrays, and numbers of rows stand for pointers.

`I` holds a record of integers for each node: how many rows it has (CNT), its level (LVL), the number of rows at and
below it (ROWS), their times from T0 on and its children from K0 on. `V` holds their states, and in column M the node's
aggregate. The first records are the spines': LEFT and RIGHT are the nodes at a level, `V[level, i]` are the suffixes
and `V[level, M]` is the prefix. Record 0 has the window's own numbers, too: height, size, rows skipped, free nodes.

The steps are those of the class, with the same products in the same order, but for two things. An evict only counts
that a row of the oldest leaf is to be SKIPped, and `settle` moves the others up. A subtree that is dropped goes to the
free list whole, and its nodes are found when they are needed. While JOURNAL is not negative, records are copied to the
end of the arrays before they change, so that a step whose operator raised can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping

from slidewise.compiled.fiba_tree_source import NODES, ROW_STEPS, SPINES
from slidewise.kernels.codegen.weave import Gap, rows_and_answers, states, weave
from slidewise.operators.layout import Layout

CNT, LVL, ROWS, T0 = 0, 1, 2, 3
LEFT, RIGHT, HEIGHT, SIZE, SKIP, FREE, JOURNAL, PLACE, STOP, PATH = range(10)

_NUMBERS = """
# Woven in: min_arity.
from slidewise.compiled.fiba_source import CNT, FREE, HEIGHT, JOURNAL, LEFT, LVL, PATH, PLACE, RIGHT, ROWS
from slidewise.compiled.fiba_source import SIZE, SKIP, STOP, T0
MU = {min_arity}
M = 2 * MU
K0 = T0 + M
SAVED = T0 + 2 * M + 1
"""

BULK = """
# Woven in: arrays, the nodes' numbers and the states' fields; V, the states; combine.
@jit
def place_of({arrays}, level, t, behind, column):
    x = I[level, LEFT]
    for at in range(level, -1, -1):
        i = bisect({arrays}, x, t, behind)
        I[at, column] = i
        if at > 0:
            x = I[x, K0 + i]

@jit
def rows_but_first({arrays}, x):
    rows = I[x, CNT]
    if I[x, LVL] > 0:
        for i in range(I[x, CNT]):
            rows += I[I[x, K0 + 1 + i], ROWS]
    return rows

@jit
def place_at({arrays}, level, k, column):
    first = 0
    for at in range(level):
        first += rows_but_first({arrays}, I[at, LEFT])
    x = I[level, LEFT]
    for at in range(level, 0, -1):
        i = 0
        size = first if x == I[at, LEFT] else I[I[x, K0], ROWS]
        while k > size:
            k -= size + 1
            i += 1
            if i == I[x, CNT]:
                break
            size = I[I[x, K0 + i], ROWS]
        first -= rows_but_first({arrays}, I[at - 1, LEFT])
        I[at, column] = i
        x = I[x, K0 + i]
    I[0, column] = k

@jit
def rows_before({arrays}, level):
    rows = 0
    for at in range(level):
        rows += rows_but_first({arrays}, I[at, LEFT])
    x = I[level, LEFT]
    for at in range(level, -1, -1):
        i = I[at, PLACE]
        rows += i
        if at > 0:
            for c in range(1 if at == level else 0, i):
                rows += I[I[x, K0 + c], ROWS]
            x = I[x, K0 + i]
    return rows

@jit
def drop({arrays}, level, rows):
    x = I[level, LEFT]
    for at in range(level, -1, -1):
        if I[0, JOURNAL] >= 0:
            save({arrays}, x)
        i = I[at, PLACE]
        if i > 0:
            if at > 0:
                for c in range(i):
                    release({arrays}, I[x, K0 + c])
            I[x, K0] = I[x, K0 + i]
            move({arrays}, x, i, x, 0, I[x, CNT] - i)
            I[x, CNT] -= i
        I[at, LEFT] = x
        x = I[x, K0]
    I[0, SIZE] -= rows
    if level == I[0, HEIGHT]:
        changed = True
        lower_root({arrays})
    else:
        i = I[level, PLACE]
        for c in range(I[I[level, LEFT], CNT]):
            {V[level, c] = {V[level, c + i]}}
        changed = refill({arrays}, level, MU if level > 0 else MU - 1)
    level = min(level, I[0, HEIGHT])
    for at in range(level - 1, -1, -1):
        if I[I[at, LEFT], CNT] < (MU if at > 0 else MU - 1):
            p = I[at + 1, LEFT]
            join({arrays}, p, at + 1 < I[0, HEIGHT] or I[p, CNT] > 1)
            if at + 1 == I[0, HEIGHT]:
                changed = True
                lower_root({arrays})
    if level > 0:
        refresh_suffix({arrays}, level, 0)
    if changed:
        refresh_prefix({arrays}, I[0, HEIGHT])

@jit
def evict_until({arrays}, t):
    level = 0
    while level < I[0, HEIGHT] and I[I[level + 1, LEFT], T0] <= t:
        level += 1
    place_of({arrays}, level, t, True, PLACE)
    rows = rows_before({arrays}, level)
    if rows > 0:
        drop({arrays}, level, rows)

@jit
def evict_many({arrays}, rows):
    level = 0
    k = rows
    while level < I[0, HEIGHT]:
        k -= rows_but_first({arrays}, I[level, LEFT])
        if k <= 0:
            break
        level += 1
    place_at({arrays}, level, rows, PLACE)
    drop({arrays}, level, rows)

@jit
def step({arrays}, kind, a, b):
    # all that changes no row's value in one function, which halves the time to compile
    if kind == 0:
        evict({arrays})
        return
    settle({arrays})
    if kind == 1:
        evict_until({arrays}, a)
    elif kind == 2:
        evict_many({arrays}, a)
    elif kind == 3:
        place_of({arrays}, I[0, HEIGHT], a, False, PLACE)
        place_of({arrays}, I[0, HEIGHT], b, True, STOP)
    elif kind == 4:
        place_at({arrays}, I[0, HEIGHT], a, PLACE)
        place_at({arrays}, I[0, HEIGHT], b, STOP)

@jit
def between({arrays}):
    level = I[0, HEIGHT]
    x = I[level, LEFT]
    while level > 0 and I[level, PLACE] == I[level, STOP]:
        x = I[x, K0 + I[level, PLACE]]
        level -= 1
    i = I[level, PLACE]
    j = I[level, STOP]
    some = False
    agg = {V[x, 0]}
    y = x
    for at in range(level, 0, -1):
        y = I[y, K0 + I[at, PLACE]]
        I[at - 1, PATH] = y
    for at in range(level):
        y = I[at, PATH]
        for c in range(I[at, PLACE], I[y, CNT]):
            agg = combine(agg, {V[y, c]}) if some else {V[y, c]}
            some = True
            if at > 0:
                k = I[y, K0 + c + 1]
                agg = combine(agg, {V[k, M]})
    for c in range(i, j):
        agg = combine(agg, {V[x, c]}) if some else {V[x, c]}
        some = True
        if level > 0 and c < j - 1:
            k = I[x, K0 + c + 1]
            agg = combine(agg, {V[k, M]})
    for at in range(level - 1, -1, -1):
        x = I[x, K0 + I[at + 1, STOP]]
        for c in range(I[at, STOP]):
            if at > 0:
                k = I[x, K0 + c]
                agg = combine(agg, {V[k, M]})
            agg = combine(agg, {V[x, c]})
    return agg
"""

LOOPS = """
# Woven in: arrays, the nodes' numbers and the states' fields; borrow, lines that make views of them; x, the inputs;
# O, the answers; lift and lower.
@jit
def query({arrays}):
    return lower(partial({arrays}))

@jit
def query_between({arrays}):
    return lower(between({arrays}))

@jit
def insert_many({arrays}, {x}, times, timed):
    {borrow}
    for i in range(x0.size):
        if timed:
            insert_at({arrays}, times[i], lift({x[i]}))
        else:
            append({arrays}, times[0], lift({x[i]}))

@jit
def rounds({arrays}, {x}, {O}, times, n):
    {borrow}
    # with n, the window fills up to n rows and is drained; without, each row that comes makes one leave
    for i in range(x0.size):
        if n == 0:
            evict({arrays})
        append({arrays}, times[0], lift({x[i]}))
        {O[i] = lower(partial({arrays}))}
        if n > 0 and I[0, SIZE] >= n:
            while I[0, SIZE] > 0:
                evict({arrays})

@jit
def timed_rounds({arrays}, {x}, {O}, times):
    {borrow}
    for i in range(x0.size):
        evict({arrays})
        insert_at({arrays}, times[i], lift({x[i]}))
        {O[i] = lower(partial({arrays}))}
"""


def levels(min_arity: int) -> int:
    """How many levels a tree may have: enough for 2 to the 40 rows."""
    return 2 + -(-40 // (min_arity.bit_length() - 1))


def fiba_source(
    layout: Layout, inputs: int, min_arity: int, loops: str = LOOPS, more: Mapping[str, Gap] | None = None
) -> str:
    """The text of the functions; it needs jit, inlined, borrowed and the operator's functions.

    >>> import slidewise as sw
    >>> text = fiba_source(sw.maxcount.layout(("int64",)), 1, 4)
    >>> print(text[text.index("def partial"):text.index("@jit")])
    def partial(I, V0, V1):
        if I[0, HEIGHT] == 0:
            return (V0[0, M], V1[0, M],)
        skip = I[0, SKIP]
        return combine((V0[0, skip], V1[0, skip],), (V0[0, M], V1[0, M],))
    <BLANKLINE>
    """
    arrays = array_names(layout)
    gaps: dict[str, Gap] = {
        **rows_and_answers(layout, inputs),
        "V": states("V", layout),
        "arrays": ", ".join(arrays),
        "borrow": "\n".join(f"{name} = borrowed({name})" for name in arrays),
        "min_arity": str(min_arity),
        **(more or {}),
    }
    return weave(_NUMBERS + NODES + SPINES + ROW_STEPS + BULK + loops, gaps)


def array_names(layout: Layout) -> tuple[str, ...]:
    """The arrays that the functions take: the nodes' numbers, and the fields of their states."""
    return ("I", *states("V", layout).names)
