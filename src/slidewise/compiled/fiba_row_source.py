"""The steps of FiBA that take one row, as text: at the ends, and at any time."""

from __future__ import annotations

LATE = """
def append_slow({A}, t, v):
    x = I[0, RIGHT]
    n = I[x, CNT]
    agg = v
    if I[0, SIZE] > 0:
        agg = combine(V[0, M], v)
    save({A}, x)
    V[0, M] = agg
    I[x, T0 + n] = t
    V[x, n] = v
    I[x, CNT] = n + 1
    I[0, SIZE] += 1
    level = 0
    while I[x, CNT] == M:
        if level == I[0, HEIGHT]:
            grow_root({A}, x)
            return
        y = split_first({A}, x)
        sum_up({A}, y)
        level += 1
        p = I[level, RIGHT]
        save({A}, p)
        V[level, M] = combine(combine(V[level, M], V[y, M]), V[y, MU])
        n = I[p, CNT]
        I[p, T0 + n] = I[y, T0 + MU]
        V[p, n] = V[y, MU]
        I[p, K0 + n] = y
        I[p, K0 + n + 1] = x
        I[p, CNT] = n + 1
        x = p

def append({A}, t, v):
    x = I[0, RIGHT]
    n = I[x, CNT]
    if n == M - 1 or n == 0:
        append_slow({A}, t, v)
    else:
        V[0, M] = combine(V[0, M], v)
        I[x, T0 + n] = t
        V[x, n] = v
        I[x, CNT] = n + 1
        I[0, SIZE] += 1

def evict_slow({A}):
    x = I[0, LEFT]
    save({A}, x)
    if I[0, HEIGHT] == 0:
        n = I[x, CNT] - 1
        if n > 0:
            agg = V[x, 1]
            for i in range(2, n + 1):
                agg = combine(agg, V[x, i])
            V[0, M] = agg
            move({A}, x, 1, x, 0, n)
        I[x, CNT] = n
        I[0, SIZE] = n
    else:
        I[0, SKIP] += 1
        I[0, SIZE] -= 1
        settle({A})
        if refill({A}, 0, MU - 1):
            refresh_prefix({A}, I[0, HEIGHT])

def evict({A}):
    if I[0, HEIGHT] > 0 and I[I[0, LEFT], CNT] - I[0, SKIP] >= MU:
        I[0, SKIP] += 1
        I[0, SIZE] -= 1
    else:
        evict_slow({A})

def bisect({A}, x, t, behind):
    for i in range(I[x, CNT]):
        if I[x, T0 + i] > t or (I[x, T0 + i] == t and not behind):
            return i
    return I[x, CNT]

def insert_at({A}, t, v):
    settle({A})
    x = I[0, RIGHT]
    if I[0, SIZE] == 0 or t >= I[x, T0 + I[x, CNT] - 1]:
        append({A}, t, v)
        return
    root = I[0, HEIGHT]
    start = 0
    at_right = True
    while start < root and t < I[I[start + 1, RIGHT], T0 + I[I[start + 1, RIGHT], CNT] - 1]:
        if t < I[I[start + 1, LEFT], T0]:
            at_right = False
            break
        start += 1
    side = RIGHT if at_right else LEFT
    x = I[start, side]
    for level in range(start, -1, -1):
        i = bisect({A}, x, t, True)
        I[level, PLACE] = i
        I[level, PATH] = x
        if level > 0:
            x = I[x, K0 + i]
    for level in range(start + 1, root + 1):
        p = I[level, side]
        I[level, PLACE] = I[p, CNT] if at_right else 0
        I[level, PATH] = p
    i = I[0, PLACE]
    save({A}, x)
    make_place({A}, x, i)
    I[x, T0 + i] = t
    V[x, i] = v
    I[0, SIZE] += 1
    level = 0
    while True:
        x = I[level, PATH]
        full = I[x, CNT] == M
        if level == root and full:
            grow_root({A}, x)
            return
        if not full and level >= start:
            break
        if not full:
            sum_up({A}, x)
            save({A}, I[level + 1, PATH])
        else:
            p = I[level + 1, PATH]
            i = I[level + 1, PLACE]
            save({A}, p)
            make_place({A}, p, i)
            if level < start or at_right:
                y = split_first({A}, x)
                I[p, K0 + i + 1] = x
                I[p, K0 + i] = y
                I[p, T0 + i] = I[y, T0 + MU]
                V[p, i] = V[y, MU]
            else:
                y = split_last({A}, x)
                I[p, K0 + i + 1] = y
                I[p, T0 + i] = I[x, T0 + MU]
                V[p, i] = V[x, MU]
            sum_up({A}, y)
            if level < start:
                sum_up({A}, x)
        level += 1
    if at_right or level == root:
        refresh_prefix({A}, level)
    if not at_right:
        refresh_suffix({A}, level, 0)
"""
