"""The source of a kernel for one shape of state: written out, so that Numba compiles straight loops over plain arrays.

A state of several fields is stored as one array per field; a kernel's text names them. `lift`, `combine` and `lower`
are the operator's functions, compiled. No kernel combines with the identity. `u` makes an index unsigned, which spares
Numba the question whether it counts from the end.
"""

from __future__ import annotations

ROWS = """
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
        back = lift({x_a})
        if stop == n:
            front = lift({x_end})
            for j in range(n - 1):
                if j:
                    back = combine(back, lift({x_j}))
                    front = combine(lift({x_k}), front)
                if a:
                    {load_old}
                    {both_j}
                else:
                    {only_j}
                {store_new}
                place += step
            if n > 1:
                back = combine(back, lift({x_end}))
            {only_end}
            step = -step
            place += step
        else:
            for j in range(stop):
                if j:
                    back = combine(back, lift({x_j}))
                if a:
                    {load_old}
                    {both_j}
                    place += step
                else:
                    {only_j}
"""

KEYS = """
def keys_pass({x}, offsets, n, {S}, {O}):
    \"\"\"The same for many keys: key k has the rows from offsets[k] up to offsets[k + 1].\"\"\"
    for k in range(len(offsets) - 1):
        a = offsets[k]
        b = offsets[k + 1]
        if a < b:
            rows_pass({x_of_key}, min(n, b - a), {S}, {O_of_key})
"""

BOUNDS = """
def bounds_pass({x}, starts, ends, {S}, {O}):
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
            front = lift({x_e})
            {store_flip_first}
            for k in range(e - 2, s - 1, -1):
                front = combine(lift({x_k}), front)
                {store_flip_k}
            base = s
            B = e
            E = e
        else:
            if E == B and E < e:
                back = lift({x_E})
                E += 1
            while E < e:
                back = combine(back, lift({x_E}))
                E += 1
            {load_s}
            if E > B:
                front = combine(front, back)
        {store_front_i}
"""


def kernel_source(inputs: int, fields: int, outputs: int, optional: bool, array: bool = False) -> dict[str, str]:
    """The passes' texts by name, in order, for an operator of so many inputs, fields of state and fields of answer.

    No fields mean that the state is one scalar, or one array; no outputs that the answer is one scalar.
    """

    def x(i: str) -> str:
        return ", ".join(f"x{c}[u({i})]" for c in range(inputs))

    def names(letter: str, count: int) -> str:
        return ", ".join(f"{letter}{c}" for c in range(max(count, 1)))

    def store(i: str, state: str = "front") -> str:
        if array:
            return f"S0[{i}, :] = {state}"
        if not fields:
            return f"S0[u({i})] = {state}"
        return "; ".join(f"S{c}[u({i})] = {state}[{c}]" for c in range(fields))

    def load(i: str, state: str = "front") -> str:
        if not fields:
            return f"{state} = S0[u({i})]"
        return f"{state} = ({', '.join(f'S{c}[u({i})]' for c in range(fields))},)"

    def answer(i: str, state: str) -> str:
        if optional:
            return f"keep(lower({state}), {i}, {O})"
        if not outputs:
            return f"O0[u({i})] = lower({state})"
        return f"answer = lower({state}); " + "; ".join(f"O{c}[u({i})] = answer[{c}]" for c in range(outputs))

    O = names("O", outputs) + (", V" if optional else "")  # noqa: E741
    shared = {"x": names("x", inputs), "S": names("S", fields), "O": O}
    rows = ROWS.format(
        **shared,
        x_a=x("a"),
        x_j=x("a + j"),
        x_k=x("a + n - 1 - j"),
        x_end=x("a + n - 1"),
        store_new=store("place"),
        load_old=load("place", "older"),
        both_j=answer("a + j", "combine(older, back)"),
        only_j=answer("a + j", "back"),
        only_end=answer("a + n - 1", "back"),
    )
    bounds = BOUNDS.format(
        **shared,
        x_e=x("e - 1"),
        x_k=x("k"),
        x_E=x("E"),
        store_flip_first=store("e - 1 - s"),
        store_flip_k=store("k - s"),
        load_s=load("s - base"),
        store_front_i=answer("i", "front"),
    )
    keys = KEYS.format(**shared, x_of_key=_slices(shared["x"]), O_of_key=_slices(O))
    return {"rows_pass": (_keep(outputs, O) if optional else "") + rows, "keys_pass": keys, "bounds_pass": bounds}


def _slices(names: str) -> str:
    return ", ".join(f"{name}[a:b]" for name in names.split(", "))


def _keep(outputs: int, O: str) -> str:  # noqa: E741
    """A function that stores an answer, or marks that there is none."""
    kept = "; ".join(f"O{c}[i] = answer[{c}]" for c in range(outputs)) if outputs else "O0[i] = answer"
    return f"""
@njit(nogil=True)
def keep(answer, i, {O}):
    if answer is None:
        V[i] = False
    else:
        {kept}
"""
