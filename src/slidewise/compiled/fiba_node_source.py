"""The nodes and spines of FiBA as text, from which `compiled_fiba_source` makes what Numba compiles."""

from __future__ import annotations

ORDER = """
def partial({A}):
    if I[0, HEIGHT] == 0:
        return V[0, M]
    skip = I[0, SKIP]
    return combine(V[0, skip], V[0, M])
"""

NODES = """
def save({A}, x):
    j = I[0, JOURNAL]
    if j >= 0:
        to = I.shape[0] - 1 - j
        I[0, JOURNAL] = j + 1
        for c in range(SAVED):
            I[to, c] = I[x, c]
        I[to, SAVED] = x
        for c in range(M + 1):
            V[to, c] = V[x, c]

def release({A}, x):
    save({A}, x)
    I[x, ROWS] = I[0, FREE]
    I[0, FREE] = x

def take({A}, level):
    x = I[0, FREE]
    save({A}, x)
    I[0, FREE] = I[x, ROWS]
    if I[x, LVL] > 0:
        for i in range(I[x, CNT] + 1):
            release({A}, I[x, K0 + i])
    I[x, LVL] = level
    return x

def sum_up({A}, x):
    n = I[x, CNT]
    rows = n
    if I[x, LVL] == 0:
        agg = V[x, 0]
        for i in range(1, n):
            agg = combine(agg, V[x, i])
    else:
        k = I[x, K0]
        agg = V[k, M]
        rows += I[k, ROWS]
        for i in range(n):
            k = I[x, K0 + 1 + i]
            agg = combine(combine(agg, V[x, i]), V[k, M])
            rows += I[k, ROWS]
    V[x, M] = agg
    I[x, ROWS] = rows

def move({A}, x, i, y, j, rows):
    # rows and the children behind them, towards the front where it is within one node
    for c in range(rows):
        I[y, T0 + j + c] = I[x, T0 + i + c]
        V[y, j + c] = V[x, i + c]
    if I[x, LVL] > 0:
        for c in range(rows):
            I[y, K0 + 1 + j + c] = I[x, K0 + 1 + i + c]

def make_place({A}, x, i):
    # for one row and the child behind it
    for c in range(I[x, CNT], i, -1):
        I[x, T0 + c] = I[x, T0 + c - 1]
        V[x, c] = V[x, c - 1]
    if I[x, LVL] > 0:
        for c in range(I[x, CNT], i, -1):
            I[x, K0 + 1 + c] = I[x, K0 + c]
    I[x, CNT] += 1

def split_first({A}, x):
    # a new node gets the first rows, and the row between the two in the slot behind them
    y = take({A}, I[x, LVL])
    I[y, K0] = I[x, K0]
    move({A}, x, 0, y, 0, MU + 1)
    I[y, CNT] = MU
    I[x, K0] = I[x, K0 + MU + 1]
    move({A}, x, MU + 1, x, 0, MU - 1)
    I[x, CNT] = MU - 1
    return y

def split_last({A}, x):
    # a new node gets the last rows; the row between the two stays in the slot behind those of the old one
    y = take({A}, I[x, LVL])
    I[y, K0] = I[x, K0 + MU + 1]
    move({A}, x, MU + 1, y, 0, MU - 1)
    I[y, CNT] = MU - 1
    I[x, CNT] = MU
    return y
"""

SPINES = """
def settle({A}):
    skip = I[0, SKIP]
    if skip > 0:
        x = I[0, LEFT]
        n = I[x, CNT] - skip
        move({A}, x, skip, x, 0, n)
        for i in range(n):
            V[0, i] = V[0, i + skip]
        I[x, CNT] = n
        I[0, SKIP] = 0

def refresh_prefix({A}, top):
    root = I[0, HEIGHT]
    for level in range(top, -1, -1):
        x = I[level, RIGHT]
        agg = V[x, 0]
        if level < root:
            before = V[level + 1, M]
            if level > 0:
                k = I[x, K0]
                before = combine(before, V[k, M])
            agg = combine(before, agg)
        for i in range(1, I[x, CNT]):
            if level > 0:
                k = I[x, K0 + i]
                agg = combine(agg, V[k, M])
            agg = combine(agg, V[x, i])
        V[level, M] = agg

def suffixes({A}, level, first, some, behind):
    x = I[level, LEFT]
    for i in range(I[x, CNT] - 1, first - 1, -1):
        if level > 0:
            k = I[x, K0 + 1 + i]
            behind = combine(V[k, M], behind) if some else V[k, M]
            some = True
        behind = combine(V[x, i], behind) if some else V[x, i]
        some = True
        V[level, i] = behind

def refresh_suffix({A}, top, bottom):
    root = I[0, HEIGHT]
    for level in range(min(top, root - 1), bottom - 1, -1):
        suffixes({A}, level, 0, level + 1 < root, V[level + 1, 0])

def grow_root({A}, x):
    settle({A})
    root = I[0, HEIGHT]
    y = split_first({A}, x)
    r = take({A}, root + 1)
    I[r, CNT] = 1
    I[r, T0] = I[y, T0 + MU]
    V[r, 0] = V[y, MU]
    I[r, K0] = y
    I[r, K0 + 1] = x
    I[root, LEFT] = y
    I[root + 1, LEFT] = r
    I[root + 1, RIGHT] = r
    I[0, HEIGHT] = root + 1
    refresh_prefix({A}, root + 1)
    refresh_suffix({A}, root, 0)

def lower_root({A}):
    root = I[0, HEIGHT]
    while root > 0 and I[I[root, LEFT], CNT] == 0:
        r = I[root, LEFT]
        save({A}, r)
        I[r, LVL] = 0
        release({A}, r)
        root -= 1
        I[root, LEFT] = I[r, K0]
        I[root, RIGHT] = I[r, K0]
    I[0, HEIGHT] = root

def join({A}, p, inside):
    a = I[p, K0]
    b = I[p, K0 + 1]
    save({A}, p)
    save({A}, a)
    save({A}, b)
    na = I[a, CNT]
    nb = I[b, CNT]
    total = na + 1 + nb
    I[a, T0 + na] = I[p, T0]
    V[a, na] = V[p, 0]
    I[a, K0 + 1 + na] = I[b, K0]
    if total < M:
        move({A}, b, 0, a, na + 1, nb)
        I[a, CNT] = total
        n = I[p, CNT] - 1
        move({A}, p, 1, p, 0, n)
        I[p, CNT] = n
        I[b, LVL] = 0
        release({A}, b)
        return True
    cut = total // 2
    moved = cut - na - 1
    move({A}, b, 0, a, na + 1, moved)
    I[a, CNT] = cut
    I[p, T0] = I[b, T0 + moved]
    V[p, 0] = V[b, moved]
    I[b, K0] = I[b, K0 + moved + 1]
    move({A}, b, moved + 1, b, 0, nb - moved - 1)
    I[b, CNT] = nb - moved - 1
    if inside:
        sum_up({A}, b)
    return False

def refill({A}, level, least):
    bottom = level
    while level < I[0, HEIGHT] and I[I[level, LEFT], CNT] < least:
        root = I[0, HEIGHT]
        p = I[level + 1, LEFT]
        had = I[I[level, LEFT], CNT]
        first = V[level + 1, 0]
        gone = join({A}, p, level + 1 < root or I[p, CNT] > 1)
        if level + 1 == root:
            lower_root({A})
            refresh_suffix({A}, level, bottom)
            return True
        n = I[p, CNT]
        if gone:
            for i in range(n):
                V[level + 1, i] = V[level + 1, i + 1]
            some = n > 0 or level + 2 < root
            behind = V[level + 1, 0] if n > 0 else V[level + 2, 0]
        else:
            k = I[p, K0 + 1]
            behind = V[k, M]
            if n > 1:
                behind = combine(behind, V[level + 1, 1])
            elif level + 2 < root:
                behind = combine(behind, V[level + 2, 0])
            behind = combine(V[p, 0], behind)
            V[level + 1, 0] = behind
            some = True
        V[level, had] = first
        suffixes({A}, level, had + 1, some, behind)
        level += 1
        least = MU - 1
    return False
"""
