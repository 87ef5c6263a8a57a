"""The source of other people's algorithms, in the style of `compiled_source`: they are timed beside the paper's.

Calls of combine, and their order, are those of the class of the same name in `slidewise.swag`. Arrays are as large as
the window will be and filled with zeros before its first row: nothing here makes room. A combine that raises may leave
a window half changed, so these serve experiments only, and `sw.compiled` does not offer them. The names of an evict's
variables must be none of a loop's, into which its lines are copied.
"""

from __future__ import annotations

from typing import Any

from slidewise.compiled.source import Steps
from slidewise.kernels.compiler.jit import jit

RECALC = """
def insert({state}, {arrays}, v):
    val[E] = v
    return F, E + 1

def evict({state}, {arrays}):
    return F + 1, E

def partial({state}, {arrays}):
    agg = val[F]
    for p in range(F + 1, E):
        agg = combine(agg, val[p])
    return agg
"""

SUBTRACT_ON_EVICT = """
def insert({state}, {arrays}, v):
    val[E] = v
    if F != E:
        v = combine(running, v)
    return F, E + 1, v

def evict({state}, {arrays}):
    if E - F > 1:
        running = inverse(running, val[F])
    return F + 1, E, running

def partial({state}, {arrays}):
    return running
"""

# Node 1 is the root, node i has the children 2i and 2i + 1, and `held` says of which nodes a leaf has a row. Two trees,
# one with half as many leaves, have no leaf in common: a resize moves the rows, then joins what is above them.
FLAT_FAT = """
def join({arrays}, node):
    older, younger = held[2 * node], held[2 * node + 1]
    v = nodes[2 * node] if older > 0 else nodes[2 * node + 1]
    if older + younger > 1:
        v = combine(v, nodes[2 * node + 1])
    nodes[node] = v
    held[node] = older | younger

def climb({arrays}, node):
    while node > 1:
        node >>= 1
        join({arrays}, node)

def move({arrays}, start, rows, old, new):
    for k in range(new):
        held[new + k] = 0
    for k in range(rows):
        v = nodes[old + (start + k & old - 1)]
        nodes[new + k] = v
        held[new + k] = 1

def join_all({arrays}, capacity):
    for node in range(capacity - 1, 0, -1):
        join({arrays}, node)

def insert({state}, {arrays}, v):
    capacity = 4 << doublings
    if rows == capacity:
        move({arrays}, start, rows, capacity, 2 * capacity)
        nodes[3 * capacity] = v
        held[3 * capacity] = 1
        join_all({arrays}, 2 * capacity)
        return 0, rows + 1, doublings + 1
    node = capacity + (start + rows & capacity - 1)
    nodes[node] = v
    held[node] = 1
    climb({arrays}, node)
    return start, rows + 1, doublings

def evict({state}, {arrays}):
    capacity = 4 << doublings
    if doublings > 0 and 4 * (rows - 1) <= capacity:
        doublings -= 1
        move({arrays}, start + 1, rows - 1, capacity, capacity // 2)
        join_all({arrays}, capacity // 2)
        start = 0
    else:
        held[capacity + start] = 0
        climb({arrays}, capacity + start)
        start = start + 1 & capacity - 1
    return start, rows - 1, doublings

def partial({state}, {arrays}):
    capacity = 4 << doublings
    if start + rows <= capacity:
        return nodes[1]
    node = capacity + start
    older = nodes[node]
    while node > 1:
        if node & 1 == 0:
            older = combine(older, nodes[node + 1])
        node >>= 1
    node = capacity + (start + rows - 1 & capacity - 1)
    younger = nodes[node]
    while node > 1:
        if node & 1 == 1:
            younger = combine(nodes[node - 1], younger)
        node >>= 1
    return combine(older, younger)
"""

# Interval i of level j lies among the `half >> j` slots of its level, which begin at `half >> j`.
B_INT = """
def insert({state}, {arrays}, v):
    half = nodes0.size >> 1
    i = stop
    j = 0
    nodes[half + (i & half - 1)] = v
    while i & 1 and i - 1 << j >= start:
        v = combine(nodes[(half >> j) + (i - 1 & (half >> j) - 1)], v)
        i >>= 1
        j += 1
        nodes[(half >> j) + (i & (half >> j) - 1)] = v
    return start, stop + 1

def evict({state}, {arrays}):
    return start + 1, stop

def partial({state}, {arrays}):
    half = nodes0.size >> 1
    agg = nodes[0]
    some = False
    i = start
    j = 0
    while i < stop >> j:
        if i & 1:
            v = nodes[(half >> j) + (i & (half >> j) - 1)]
            agg = combine(agg, v) if some else v
            some = True
            i += 1
        i >>= 1
        j += 1
    while j > 0:
        j -= 1
        if stop >> j & 1:
            v = nodes[(half >> j) + ((stop >> j) - 1 & (half >> j) - 1)]
            agg = combine(agg, v) if some else v
            some = True
    return agg
"""

# The window is cut at M. The trees left of it have the sizes of the bits of M - F, the smallest first; those right of
# it the bits of E - M, the largest first. A tree of s rows from p on has its aggregate at p + s / 2 of `agg`, and so do
# all trees in it, each at another place; at p is that of the trees from it to the middle, itself included.
AMTA = """
def insert({state}, {arrays}, v):
    val[E] = v
    p = E
    s = 1
    while E - M & s:
        p -= s
        v = combine(val[p] if s == 1 else agg[p + (s >> 1)], v)
        agg[p + s] = v
        s *= 2
    if p > M:
        v = combine(agg[p - (p - M & M - p)], v)
    agg[p] = v
    return F, M, E + 1

def cut_anew({state}, {arrays}):
    s = 1
    while 2 * s <= E - M:
        s *= 2
    M += s
    p = q = M
    while p < E:
        while s > E - p:
            s >>= 1
        v = val[p] if s == 1 else agg[p + (s >> 1)]
        if p > M:
            v = combine(agg[q], v)
        agg[p] = v
        q = p
        p += s
    return M

def evict({state}, {arrays}):
    if E - F == 1:
        M = E
    else:
        if F == M:
            M = cut_anew({state}, {arrays})
        s = M - F & F - M
        while s > 1:  # Split
            s >>= 1
            p = F + s
            v = val[p] if s == 1 else agg[p + (s >> 1)]
            if p + s < M:
                v = combine(v, agg[p + s])
            agg[p] = v
    return F + 1, M, E

def partial({state}, {arrays}):
    if M == E:
        return agg[F]
    back = agg[E - (E - M & M - E)]
    return back if F == M else combine(agg[F], back)
"""

SLICK_DEQUE = """
def insert({state}, {arrays}, v):
    while T > H and combine(val[T - 1], v) != val[T - 1]:
        T -= 1
    val[T] = v
    places[T] = stop
    return start, stop + 1, H, T + 1

def evict({state}, {arrays}):
    if places[H] == start:
        H += 1
    return start + 1, stop, H, T

def partial({state}, {arrays}):
    return val[H]
"""

OTHERS = {
    "Recalc": Steps(("F", "E"), (), ("val",), (), RECALC),
    "SubtractOnEvict": Steps(("F", "E"), ("running",), ("val",), (), SUBTRACT_ON_EVICT),
    "FlatFat": Steps(("start", "rows", "doublings"), (), ("nodes",), ("held",), FLAT_FAT),
    "BInt": Steps(("start", "stop"), (), ("nodes",), (), B_INT),
    "Amta": Steps(("F", "M", "E"), (), ("val", "agg"), (), AMTA),
    "SlickDeque": Steps(("start", "stop", "H", "T"), (), ("val",), ("places",), SLICK_DEQUE),
}


def slots(algorithm: str, rows: int) -> int:
    """How long an algorithm's arrays are for so many rows: a power of two, from 8 on; trees take twice as many.

    >>> slots("Amta", 100), slots("BInt", 100)
    (128, 256)
    """
    capacity = 1 << max(rows - 1, 7).bit_length()
    return 2 * capacity if algorithm in ("FlatFat", "BInt") else capacity


@jit
def take_int_sum(a: Any, b: Any) -> Any:
    """A sum of integers without its oldest one, as `algebra` keeps it."""
    return a[0] - b[0], a[1] - b[1]
