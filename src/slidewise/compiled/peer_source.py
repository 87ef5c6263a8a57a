"""Other people's algorithms as text, in the form of `compiled.source`: they are timed beside the paper's.

Calls of combine, and their order, are those of the class of the same name in `slidewise.swag`. Arrays are as large as
the window will be and filled with zeros before its first row: nothing here makes room. A combine that raises may leave
a window half changed, so these serve experiments only, and `sw.compiled` does not offer them. The names of an evict's
variables must be none of a loop's, into which its lines are copied.
"""

from __future__ import annotations

from slidewise.compiled.source import Steps
from slidewise.kernels.compiler.jit import jit

RECALC = Steps(
    pointers=("F", "E"),
    partials=(),
    rings=("val",),
    positions=(),
    text="""
# Woven in: state and arrays, the window; val, its states; combine.
@jit
def insert({state}, {arrays}, v):
    {mask}
    {val[E] = v}
    return F, E + 1

@jit
def partial({state}, {arrays}):
    {mask}
    agg = {val[F]}
    for p in range(F + 1, E):
        agg = combine(agg, {val[p]})
    return agg
""",
    evict="""
{state} = F + 1, E
""",
)

SUBTRACT_ON_EVICT = Steps(
    pointers=("F", "E"),
    partials=("running",),
    rings=("val",),
    positions=(),
    text="""
# Woven in: state and arrays, the window; val, its states; combine.
@jit
def insert({state}, {arrays}, v):
    {mask}
    {val[E] = v}
    if F != E:
        v = combine(running, v)
    return F, E + 1, v

@jit
def partial({state}, {arrays}):
    return running
""",
    evict="""
if E - F > 1:
    running = inverse(running, {val[F]})
{state} = F + 1, E, running
""",
)

# Node 1 is the root, node i has the children 2i and 2i + 1, and `held` says of which nodes a leaf has a row. Two trees,
# one with half as many leaves, have no leaf in common: a resize moves the rows, then joins what is above them.
FLAT_FAT = Steps(
    pointers=("start", "rows", "doublings"),
    partials=(),
    rings=("nodes",),
    positions=("held",),
    text="""
# Woven in: state and arrays, the window; nodes, its states; held, positions; combine.
@jit
def join({arrays}, node):
    {mask}
    older, younger = {held[2 * node]}, {held[2 * node + 1]}
    v = {nodes[2 * node]} if older > 0 else {nodes[2 * node + 1]}
    if older + younger > 1:
        v = combine(v, {nodes[2 * node + 1]})
    {nodes[node] = v}
    {held[node] = older | younger}

@jit
def climb({arrays}, node):
    while node > 1:
        node >>= 1
        join({arrays}, node)

@jit
def move({arrays}, start, rows, old, new):
    {mask}
    for k in range(new):
        {held[new + k] = 0}
    for k in range(rows):
        v = {nodes[old + (start + k & old - 1)]}
        {nodes[new + k] = v}
        {held[new + k] = 1}

@jit
def join_all({arrays}, capacity):
    for node in range(capacity - 1, 0, -1):
        join({arrays}, node)

@jit
def insert({state}, {arrays}, v):
    {mask}
    capacity = 4 << doublings
    if rows == capacity:
        move({arrays}, start, rows, capacity, 2 * capacity)
        {nodes[3 * capacity] = v}
        {held[3 * capacity] = 1}
        join_all({arrays}, 2 * capacity)
        return 0, rows + 1, doublings + 1
    node = capacity + (start + rows & capacity - 1)
    {nodes[node] = v}
    {held[node] = 1}
    climb({arrays}, node)
    return start, rows + 1, doublings

@jit
def partial({state}, {arrays}):
    {mask}
    capacity = 4 << doublings
    if start + rows <= capacity:
        return {nodes[1]}
    node = capacity + start
    older = {nodes[node]}
    while node > 1:
        if node & 1 == 0:
            older = combine(older, {nodes[node + 1]})
        node >>= 1
    node = capacity + (start + rows - 1 & capacity - 1)
    younger = {nodes[node]}
    while node > 1:
        if node & 1 == 1:
            younger = combine({nodes[node - 1]}, younger)
        node >>= 1
    return combine(older, younger)
""",
    evict="""
capacity = 4 << doublings
if doublings > 0 and 4 * (rows - 1) <= capacity:
    doublings -= 1
    move({arrays}, start + 1, rows - 1, capacity, capacity // 2)
    join_all({arrays}, capacity // 2)
    start = 0
else:
    {held[capacity + start] = 0}
    climb({arrays}, capacity + start)
    start = start + 1 & capacity - 1
{state} = start, rows - 1, doublings
""",
)

# Interval i of level j lies among the `half >> j` slots of its level, which begin at `half >> j`.
B_INT = Steps(
    pointers=("start", "stop"),
    partials=(),
    rings=("nodes",),
    positions=(),
    text="""
# Woven in: state and arrays, the window; nodes, its states; combine.
@jit
def insert({state}, {arrays}, v):
    {mask}
    half = nodes0.size >> 1
    i = stop
    j = 0
    {nodes[half + (i & half - 1)] = v}
    while i & 1 and i - 1 << j >= start:
        v = combine({nodes[(half >> j) + (i - 1 & (half >> j) - 1)]}, v)
        i >>= 1
        j += 1
        {nodes[(half >> j) + (i & (half >> j) - 1)] = v}
    return start, stop + 1

@jit
def partial({state}, {arrays}):
    {mask}
    half = nodes0.size >> 1
    agg = {nodes[0]}
    some = False
    i = start
    j = 0
    while i < stop >> j:
        if i & 1:
            v = {nodes[(half >> j) + (i & (half >> j) - 1)]}
            agg = combine(agg, v) if some else v
            some = True
            i += 1
        i >>= 1
        j += 1
    while j > 0:
        j -= 1
        if stop >> j & 1:
            v = {nodes[(half >> j) + ((stop >> j) - 1 & (half >> j) - 1)]}
            agg = combine(agg, v) if some else v
            some = True
    return agg
""",
    evict="""
{state} = start + 1, stop
""",
)

# The window is cut at M. The trees left of it have the sizes of the bits of M - F, the smallest first; those right of
# it the bits of E - M, the largest first. A tree of s rows from p on has its aggregate at p + s / 2 of `agg`, and so do
# all trees in it, each at another place; at p is that of the trees from it to the middle, itself included.
AMTA = Steps(
    pointers=("F", "M", "E"),
    partials=(),
    rings=("val", "agg"),
    positions=(),
    text="""
# Woven in: state and arrays, the window; val, agg, its states; combine.
@jit
def insert({state}, {arrays}, v):
    {mask}
    {val[E] = v}
    p = E
    s = 1
    while E - M & s:
        p -= s
        v = combine({val[p]} if s == 1 else {agg[p + (s >> 1)]}, v)
        {agg[p + s] = v}
        s *= 2
    if p > M:
        v = combine({agg[p - (p - M & M - p)]}, v)
    {agg[p] = v}
    return F, M, E + 1

@jit
def cut_anew({state}, {arrays}):
    {mask}
    s = 1
    while 2 * s <= E - M:
        s *= 2
    M += s
    p = q = M
    while p < E:
        while s > E - p:
            s >>= 1
        v = {val[p]} if s == 1 else {agg[p + (s >> 1)]}
        if p > M:
            v = combine({agg[q]}, v)
        {agg[p] = v}
        q = p
        p += s
    return M

@jit
def partial({state}, {arrays}):
    {mask}
    if M == E:
        return {agg[F]}
    back = {agg[E - (E - M & M - E)]}
    return back if F == M else combine({agg[F]}, back)
""",
    evict="""
if E - F == 1:
    M = E
else:
    if F == M:
        M = cut_anew({state}, {arrays})
    s = M - F & F - M
    while s > 1:  # Split
        s >>= 1
        p = F + s
        v = {val[p]} if s == 1 else {agg[p + (s >> 1)]}
        if p + s < M:
            v = combine(v, {agg[p + s]})
        {agg[p] = v}
{state} = F + 1, M, E
""",
)

SLICK_DEQUE = Steps(
    pointers=("start", "stop", "H", "T"),
    partials=(),
    rings=("val",),
    positions=("places",),
    text="""
# Woven in: state and arrays, the window; val, its states; places, positions; combine.
@jit
def insert({state}, {arrays}, v):
    {mask}
    while T > H and combine({val[T - 1]}, v) != {val[T - 1]}:
        T -= 1
    {val[T] = v}
    {places[T] = stop}
    return start, stop + 1, H, T + 1

@jit
def partial({state}, {arrays}):
    {mask}
    return {val[H]}
""",
    evict="""
if {places[H]} == start:
    H += 1
{state} = start + 1, stop, H, T
""",
)

OTHERS = {
    "Recalc": RECALC,
    "SubtractOnEvict": SUBTRACT_ON_EVICT,
    "FlatFat": FLAT_FAT,
    "BInt": B_INT,
    "Amta": AMTA,
    "SlickDeque": SLICK_DEQUE,
}


def slots(algorithm: str, rows: int) -> int:
    """How long an algorithm's arrays are for so many rows: a power of two, from 8 on; trees take twice as many.

    >>> slots("Amta", 100), slots("BInt", 100)
    (128, 256)
    """
    capacity = 1 << max(rows - 1, 7).bit_length()
    return 2 * capacity if algorithm in ("FlatFat", "BInt") else capacity


@jit
def take_int_sum(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """A sum of integers without its oldest one, in the two words of the compiled form."""
    return a[0] - b[0], a[1] - b[1]
