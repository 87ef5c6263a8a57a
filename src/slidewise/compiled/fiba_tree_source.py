"""The tree of FiBA as text: its nodes, its spines, and the steps that take one row."""

from __future__ import annotations

NODES = """
# Woven in: arrays, the nodes' numbers and the states' fields; V, the states; combine.
@inlined
def partial({arrays}):
    if I[0, HEIGHT] == 0:
        return {V[0, M]}
    skip = I[0, SKIP]
    return combine({V[0, skip]}, {V[0, M]})

@jit
def save({arrays}, x):
    # the copy of a record, while there is a journal
    j = I[0, JOURNAL]
    to = I.shape[0] - 1 - j
    I[0, JOURNAL] = j + 1
    for c in range(SAVED):
        I[to, c] = I[x, c]
    I[to, SAVED] = x
    for c in range(M + 1):
        {V[to, c] = {V[x, c]}}

@inlined
def release({arrays}, x):
    if I[0, JOURNAL] >= 0:
        save({arrays}, x)
    I[x, ROWS] = I[0, FREE]
    I[0, FREE] = x

@inlined
def take({arrays}, level):
    x = I[0, FREE]
    if I[0, JOURNAL] >= 0:
        save({arrays}, x)
    I[0, FREE] = I[x, ROWS]
    if I[x, LVL] > 0:
        for i in range(I[x, CNT] + 1):
            release({arrays}, I[x, K0 + i])
    I[x, LVL] = level
    return x

@inlined
def sum_up({arrays}, x):
    n = I[x, CNT]
    rows = n
    if I[x, LVL] == 0:
        agg = {V[x, 0]}
        for i in range(1, n):
            agg = combine(agg, {V[x, i]})
    else:
        k = I[x, K0]
        agg = {V[k, M]}
        rows += I[k, ROWS]
        for i in range(n):
            k = I[x, K0 + 1 + i]
            agg = combine(combine(agg, {V[x, i]}), {V[k, M]})
            rows += I[k, ROWS]
    {V[x, M] = agg}
    I[x, ROWS] = rows

@inlined
def move({arrays}, x, i, y, j, rows):
    # rows and the children behind them, towards the front where it is within one node
    for c in range(rows):
        I[y, T0 + j + c] = I[x, T0 + i + c]
        {V[y, j + c] = {V[x, i + c]}}
    if I[x, LVL] > 0:
        for c in range(rows):
            I[y, K0 + 1 + j + c] = I[x, K0 + 1 + i + c]

@inlined
def make_place({arrays}, x, i):
    # for one row and the child behind it
    for c in range(I[x, CNT], i, -1):
        I[x, T0 + c] = I[x, T0 + c - 1]
        {V[x, c] = {V[x, c - 1]}}
    if I[x, LVL] > 0:
        for c in range(I[x, CNT], i, -1):
            I[x, K0 + 1 + c] = I[x, K0 + c]
    I[x, CNT] += 1

@inlined
def split_first({arrays}, x):
    # a new node gets the first rows, and the row between the two in the slot behind them
    y = take({arrays}, I[x, LVL])
    I[y, K0] = I[x, K0]
    move({arrays}, x, 0, y, 0, MU + 1)
    I[y, CNT] = MU
    I[x, K0] = I[x, K0 + MU + 1]
    move({arrays}, x, MU + 1, x, 0, MU - 1)
    I[x, CNT] = MU - 1
    return y

@jit
def split_last({arrays}, x):
    # a new node gets the last rows; the row between the two stays in the slot behind those of the old one
    y = take({arrays}, I[x, LVL])
    I[y, K0] = I[x, K0 + MU + 1]
    move({arrays}, x, MU + 1, y, 0, MU - 1)
    I[y, CNT] = MU - 1
    I[x, CNT] = MU
    return y
"""

SPINES = """
# Woven in: arrays, the nodes' numbers and the states' fields; V, the states; combine.
@inlined
def settle({arrays}):
    skip = I[0, SKIP]
    if skip > 0:
        x = I[0, LEFT]
        n = I[x, CNT] - skip
        move({arrays}, x, skip, x, 0, n)
        for i in range(n):
            {V[0, i] = {V[0, i + skip]}}
        I[x, CNT] = n
        I[0, SKIP] = 0

@jit
def refresh_prefix({arrays}, top):
    root = I[0, HEIGHT]
    for level in range(top, -1, -1):
        x = I[level, RIGHT]
        agg = {V[x, 0]}
        if level < root:
            before = {V[level + 1, M]}
            if level > 0:
                k = I[x, K0]
                before = combine(before, {V[k, M]})
            agg = combine(before, agg)
        for i in range(1, I[x, CNT]):
            if level > 0:
                k = I[x, K0 + i]
                agg = combine(agg, {V[k, M]})
            agg = combine(agg, {V[x, i]})
        {V[level, M] = agg}

@inlined
def suffixes({arrays}, level, first, some, behind):
    x = I[level, LEFT]
    for i in range(I[x, CNT] - 1, first - 1, -1):
        if level > 0:
            k = I[x, K0 + 1 + i]
            behind = combine({V[k, M]}, behind) if some else {V[k, M]}
            some = True
        behind = combine({V[x, i]}, behind) if some else {V[x, i]}
        some = True
        {V[level, i] = behind}

@jit
def refresh_suffix({arrays}, top, bottom):
    root = I[0, HEIGHT]
    for level in range(min(top, root - 1), bottom - 1, -1):
        suffixes({arrays}, level, 0, level + 1 < root, {V[level + 1, 0]})

@jit
def grow_root({arrays}, x):
    settle({arrays})
    root = I[0, HEIGHT]
    y = split_first({arrays}, x)
    r = take({arrays}, root + 1)
    I[r, CNT] = 1
    I[r, T0] = I[y, T0 + MU]
    {V[r, 0] = {V[y, MU]}}
    I[r, K0] = y
    I[r, K0 + 1] = x
    I[root, LEFT] = y
    I[root + 1, LEFT] = r
    I[root + 1, RIGHT] = r
    I[0, HEIGHT] = root + 1
    refresh_prefix({arrays}, root + 1)
    refresh_suffix({arrays}, root, 0)

@jit
def lower_root({arrays}):
    root = I[0, HEIGHT]
    while root > 0 and I[I[root, LEFT], CNT] == 0:
        r = I[root, LEFT]
        if I[0, JOURNAL] >= 0:
            save({arrays}, r)
        I[r, LVL] = 0
        release({arrays}, r)
        root -= 1
        I[root, LEFT] = I[r, K0]
        I[root, RIGHT] = I[r, K0]
    I[0, HEIGHT] = root

@jit
def join({arrays}, p, inside):
    a = I[p, K0]
    b = I[p, K0 + 1]
    if I[0, JOURNAL] >= 0:
        save({arrays}, p)
    if I[0, JOURNAL] >= 0:
        save({arrays}, a)
    if I[0, JOURNAL] >= 0:
        save({arrays}, b)
    na = I[a, CNT]
    nb = I[b, CNT]
    total = na + 1 + nb
    I[a, T0 + na] = I[p, T0]
    {V[a, na] = {V[p, 0]}}
    I[a, K0 + 1 + na] = I[b, K0]
    if total < M:
        move({arrays}, b, 0, a, na + 1, nb)
        I[a, CNT] = total
        n = I[p, CNT] - 1
        move({arrays}, p, 1, p, 0, n)
        I[p, CNT] = n
        I[b, LVL] = 0
        release({arrays}, b)
        return True
    cut = total // 2
    moved = cut - na - 1
    move({arrays}, b, 0, a, na + 1, moved)
    I[a, CNT] = cut
    I[p, T0] = I[b, T0 + moved]
    {V[p, 0] = {V[b, moved]}}
    I[b, K0] = I[b, K0 + moved + 1]
    move({arrays}, b, moved + 1, b, 0, nb - moved - 1)
    I[b, CNT] = nb - moved - 1
    if inside:
        sum_up({arrays}, b)
    return False

@jit
def refill({arrays}, level, least):
    bottom = level
    while level < I[0, HEIGHT] and I[I[level, LEFT], CNT] < least:
        root = I[0, HEIGHT]
        p = I[level + 1, LEFT]
        had = I[I[level, LEFT], CNT]
        first = {V[level + 1, 0]}
        gone = join({arrays}, p, level + 1 < root or I[p, CNT] > 1)
        if level + 1 == root:
            lower_root({arrays})
            refresh_suffix({arrays}, level, bottom)
            return True
        n = I[p, CNT]
        if gone:
            for i in range(n):
                {V[level + 1, i] = {V[level + 1, i + 1]}}
            some = n > 0 or level + 2 < root
            behind = {V[level + 1, 0]} if n > 0 else {V[level + 2, 0]}
        else:
            k = I[p, K0 + 1]
            behind = {V[k, M]}
            if n > 1:
                behind = combine(behind, {V[level + 1, 1]})
            elif level + 2 < root:
                behind = combine(behind, {V[level + 2, 0]})
            behind = combine({V[p, 0]}, behind)
            {V[level + 1, 0] = behind}
            some = True
        {V[level, had] = first}
        suffixes({arrays}, level, had + 1, some, behind)
        level += 1
        least = MU - 1
    return False
"""

ROW_STEPS = """
# Woven in: arrays, the nodes' numbers and the states' fields; V, the states; combine.
@jit
def append_slow({arrays}, t, v):
    x = I[0, RIGHT]
    n = I[x, CNT]
    agg = v
    if I[0, SIZE] > 0:
        agg = combine({V[0, M]}, v)
    if I[0, JOURNAL] >= 0:
        save({arrays}, x)
    {V[0, M] = agg}
    I[x, T0 + n] = t
    {V[x, n] = v}
    I[x, CNT] = n + 1
    I[0, SIZE] += 1
    level = 0
    while I[x, CNT] == M:
        if level == I[0, HEIGHT]:
            grow_root({arrays}, x)
            return
        y = split_first({arrays}, x)
        sum_up({arrays}, y)
        level += 1
        p = I[level, RIGHT]
        if I[0, JOURNAL] >= 0:
            save({arrays}, p)
        {V[level, M] = combine(combine({V[level, M]}, {V[y, M]}), {V[y, MU]})}
        n = I[p, CNT]
        I[p, T0 + n] = I[y, T0 + MU]
        {V[p, n] = {V[y, MU]}}
        I[p, K0 + n] = y
        I[p, K0 + n + 1] = x
        I[p, CNT] = n + 1
        x = p

@inlined
def append({arrays}, t, v):
    x = I[0, RIGHT]
    n = I[x, CNT]
    if n == M - 1 or n == 0:
        append_slow({arrays}, t, v)
    else:
        {V[0, M] = combine({V[0, M]}, v)}
        I[x, T0 + n] = t
        {V[x, n] = v}
        I[x, CNT] = n + 1
        I[0, SIZE] += 1

@jit
def evict_slow({arrays}):
    x = I[0, LEFT]
    if I[0, JOURNAL] >= 0:
        save({arrays}, x)
    if I[0, HEIGHT] == 0:
        n = I[x, CNT] - 1
        if n > 0:
            agg = {V[x, 1]}
            for i in range(2, n + 1):
                agg = combine(agg, {V[x, i]})
            {V[0, M] = agg}
            move({arrays}, x, 1, x, 0, n)
        I[x, CNT] = n
        I[0, SIZE] = n
    else:
        I[0, SKIP] += 1
        I[0, SIZE] -= 1
        settle({arrays})
        if refill({arrays}, 0, MU - 1):
            refresh_prefix({arrays}, I[0, HEIGHT])

@inlined
def evict({arrays}):
    if I[0, HEIGHT] > 0 and I[I[0, LEFT], CNT] - I[0, SKIP] >= MU:
        I[0, SKIP] += 1
        I[0, SIZE] -= 1
    else:
        evict_slow({arrays})

@jit
def bisect({arrays}, x, t, behind):
    for i in range(I[x, CNT]):
        if I[x, T0 + i] > t or (I[x, T0 + i] == t and not behind):
            return i
    return I[x, CNT]

@jit
def insert_at({arrays}, t, v):
    settle({arrays})
    x = I[0, RIGHT]
    if I[0, SIZE] == 0 or t >= I[x, T0 + I[x, CNT] - 1]:
        append({arrays}, t, v)
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
        i = bisect({arrays}, x, t, True)
        I[level, PLACE] = i
        I[level, PATH] = x
        if level > 0:
            x = I[x, K0 + i]
    for level in range(start + 1, root + 1):
        p = I[level, side]
        I[level, PLACE] = I[p, CNT] if at_right else 0
        I[level, PATH] = p
    i = I[0, PLACE]
    if I[0, JOURNAL] >= 0:
        save({arrays}, x)
    make_place({arrays}, x, i)
    I[x, T0 + i] = t
    {V[x, i] = v}
    I[0, SIZE] += 1
    level = 0
    while True:
        x = I[level, PATH]
        full = I[x, CNT] == M
        if level == root and full:
            grow_root({arrays}, x)
            return
        if not full and level >= start:
            break
        if not full:
            sum_up({arrays}, x)
            if I[0, JOURNAL] >= 0:
                save({arrays}, I[level + 1, PATH])
        else:
            p = I[level + 1, PATH]
            i = I[level + 1, PLACE]
            if I[0, JOURNAL] >= 0:
                save({arrays}, p)
            make_place({arrays}, p, i)
            if level < start or at_right:
                y = split_first({arrays}, x)
                I[p, K0 + i + 1] = x
                I[p, K0 + i] = y
                I[p, T0 + i] = I[y, T0 + MU]
                {V[p, i] = {V[y, MU]}}
            else:
                y = split_last({arrays}, x)
                I[p, K0 + i + 1] = y
                I[p, T0 + i] = I[x, T0 + MU]
                {V[p, i] = {V[x, MU]}}
            sum_up({arrays}, y)
            if level < start:
                sum_up({arrays}, x)
        level += 1
    if at_right or level == root:
        refresh_prefix({arrays}, level)
    if not at_right:
        refresh_suffix({arrays}, level, 0)
"""
