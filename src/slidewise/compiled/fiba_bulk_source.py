"""The steps of FiBA over many rows, as text: dropping them, asking for some of them, and loops over arrays."""

from __future__ import annotations

BULK = """
def place_of({A}, level, t, behind, column):
    x = I[level, LEFT]
    for at in range(level, -1, -1):
        i = bisect({A}, x, t, behind)
        I[at, column] = i
        if at > 0:
            x = I[x, K0 + i]

def rows_but_first({A}, x):
    rows = I[x, CNT]
    if I[x, LVL] > 0:
        for i in range(I[x, CNT]):
            rows += I[I[x, K0 + 1 + i], ROWS]
    return rows

def place_at({A}, level, k, column):
    first = 0
    for at in range(level):
        first += rows_but_first({A}, I[at, LEFT])
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
        first -= rows_but_first({A}, I[at - 1, LEFT])
        I[at, column] = i
        x = I[x, K0 + i]
    I[0, column] = k

def rows_before({A}, level):
    rows = 0
    for at in range(level):
        rows += rows_but_first({A}, I[at, LEFT])
    x = I[level, LEFT]
    for at in range(level, -1, -1):
        i = I[at, PLACE]
        rows += i
        if at > 0:
            for c in range(1 if at == level else 0, i):
                rows += I[I[x, K0 + c], ROWS]
            x = I[x, K0 + i]
    return rows

def drop({A}, level, rows):
    x = I[level, LEFT]
    for at in range(level, -1, -1):
        save({A}, x)
        i = I[at, PLACE]
        if i > 0:
            if at > 0:
                for c in range(i):
                    release({A}, I[x, K0 + c])
            I[x, K0] = I[x, K0 + i]
            move({A}, x, i, x, 0, I[x, CNT] - i)
            I[x, CNT] -= i
        I[at, LEFT] = x
        x = I[x, K0]
    I[0, SIZE] -= rows
    if level == I[0, HEIGHT]:
        changed = True
        lower_root({A})
    else:
        i = I[level, PLACE]
        for c in range(I[I[level, LEFT], CNT]):
            V[level, c] = V[level, c + i]
        changed = refill({A}, level, MU if level > 0 else MU - 1)
    level = min(level, I[0, HEIGHT])
    for at in range(level - 1, -1, -1):
        if I[I[at, LEFT], CNT] < (MU if at > 0 else MU - 1):
            p = I[at + 1, LEFT]
            join({A}, p, at + 1 < I[0, HEIGHT] or I[p, CNT] > 1)
            if at + 1 == I[0, HEIGHT]:
                changed = True
                lower_root({A})
    if level > 0:
        refresh_suffix({A}, level, 0)
    if changed:
        refresh_prefix({A}, I[0, HEIGHT])

def evict_until({A}, t):
    level = 0
    while level < I[0, HEIGHT] and I[I[level + 1, LEFT], T0] <= t:
        level += 1
    place_of({A}, level, t, True, PLACE)
    rows = rows_before({A}, level)
    if rows > 0:
        drop({A}, level, rows)

def evict_many({A}, rows):
    level = 0
    k = rows
    while level < I[0, HEIGHT]:
        k -= rows_but_first({A}, I[level, LEFT])
        if k <= 0:
            break
        level += 1
    place_at({A}, level, rows, PLACE)
    drop({A}, level, rows)

def step({A}, kind, a, b):
    # all that changes no row's value in one function, which halves the time to compile
    if kind == 0:
        evict({A})
        return
    settle({A})
    if kind == 1:
        evict_until({A}, a)
    elif kind == 2:
        evict_many({A}, a)
    elif kind == 3:
        place_of({A}, I[0, HEIGHT], a, False, PLACE)
        place_of({A}, I[0, HEIGHT], b, True, STOP)
    elif kind == 4:
        place_at({A}, I[0, HEIGHT], a, PLACE)
        place_at({A}, I[0, HEIGHT], b, STOP)

def between({A}):
    level = I[0, HEIGHT]
    x = I[level, LEFT]
    while level > 0 and I[level, PLACE] == I[level, STOP]:
        x = I[x, K0 + I[level, PLACE]]
        level -= 1
    i = I[level, PLACE]
    j = I[level, STOP]
    some = False
    agg = V[x, 0]
    y = x
    for at in range(level, 0, -1):
        y = I[y, K0 + I[at, PLACE]]
        I[at - 1, PATH] = y
    for at in range(level):
        y = I[at, PATH]
        for c in range(I[at, PLACE], I[y, CNT]):
            agg = combine(agg, V[y, c]) if some else V[y, c]
            some = True
            if at > 0:
                k = I[y, K0 + c + 1]
                agg = combine(agg, V[k, M])
    for c in range(i, j):
        agg = combine(agg, V[x, c]) if some else V[x, c]
        some = True
        if level > 0 and c < j - 1:
            k = I[x, K0 + c + 1]
            agg = combine(agg, V[k, M])
    for at in range(level - 1, -1, -1):
        x = I[x, K0 + I[at + 1, STOP]]
        for c in range(I[at, STOP]):
            if at > 0:
                k = I[x, K0 + c]
                agg = combine(agg, V[k, M])
            agg = combine(agg, V[x, c])
    return agg
"""

LOOPS = """
def query({A}):
    return lower(partial({A}))

def query_between({A}):
    return lower(between({A}))

def insert_many({A}, {x}, times, timed):
    for i in range(x0.size):
        if timed:
            insert_at({A}, times[i], lift({x_i}))
        else:
            append({A}, times[0], lift({x_i}))

def rounds({A}, {x}, {O}, times, n):
    # with n, the window fills up to n rows and is drained; without, each row that comes makes one leave
    for i in range(x0.size):
        if n == 0:
            evict({A})
        append({A}, times[0], lift({x_i}))
        answer = lower(partial({A}))
        {keep}
        if n > 0 and I[0, SIZE] >= n:
            while I[0, SIZE] > 0:
                evict({A})

def timed_rounds({A}, {x}, {O}, times):
    for i in range(x0.size):
        evict({A})
        insert_at({A}, times[i], lift({x_i}))
        answer = lower(partial({A}))
        {keep}
"""
