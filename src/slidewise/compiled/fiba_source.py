"""The source of FiBA for one shape of state: nodes are rows of arrays, and numbers of rows stand for pointers.

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

import re

from slidewise.compiled.fiba_bulk_source import BULK, LOOPS
from slidewise.compiled.fiba_node_source import NODES, ORDER, SPINES
from slidewise.compiled.fiba_row_source import LATE
from slidewise.compiled.source import keep
from slidewise.operators.layout import Layout

# Calls cost more than what these do, and so does counting references to the arrays in the loops.
INLINED = (
    *("partial", "append", "evict", "settle", "move", "make_place"),
    *("release", "take", "sum_up", "split_first", "suffixes"),
)
ENTRIES = ("insert_many", "rounds", "timed_rounds")
CNT, LVL, ROWS, T0 = 0, 1, 2, 3
LEFT, RIGHT, HEIGHT, SIZE, SKIP, FREE, JOURNAL, PLACE, STOP, PATH = range(10)


def levels(min_arity: int) -> int:
    """How many levels a tree may have: enough for 2 to the 40 rows."""
    return 2 + -(-40 // (min_arity.bit_length() - 1))


def fiba_source(layout: Layout, inputs: int, min_arity: int, loops: str = LOOPS) -> str:
    """The text of the functions; it needs jit, inlined, and the operator's functions.

    >>> import slidewise as sw
    >>> text = fiba_source(sw.maxcount.layout(("int64",)), 1, 4)
    >>> print(text[text.index("def partial"):text.index("@jit")])
    def partial(I, V0, V1):
        if I[0, HEIGHT] == 0:
            return (V0[0, M], V1[0, M])
        skip = I[0, SKIP]
        return combine((V0[0, skip], V1[0, skip]), (V0[0, M], V1[0, M]))
    <BLANKLINE>
    """
    names = [f"V{c}" for c in range(len(layout.fields))]
    outputs = [f"O{c}" for c in range(len(layout.outputs))]
    constants = {
        "MU": min_arity,
        "M": 2 * min_arity,
        "CNT": CNT,
        "LVL": LVL,
        "ROWS": ROWS,
        "T0": T0,
        "K0": T0 + 2 * min_arity,
        "SAVED": T0 + 4 * min_arity + 1,
        "NODES": levels(min_arity),
        "LEFT": LEFT,
        "RIGHT": RIGHT,
        "HEIGHT": HEIGHT,
        "SIZE": SIZE,
        "SKIP": SKIP,
        "FREE": FREE,
        "JOURNAL": JOURNAL,
        "PLACE": PLACE,
        "STOP": STOP,
        "PATH": PATH,
    }
    text = (ORDER + NODES + SPINES + LATE + BULK + loops).format(
        A=", ".join(["I", *names]),
        x=", ".join(f"x{c}" for c in range(inputs)),
        x_i=", ".join(f"x{c}[i]" for c in range(inputs)),
        O=", ".join([*outputs, "valid"] if layout.optional else outputs),
        keep=keep(layout),
    )
    text = "\n".join(_written_out(line, layout) for line in text.splitlines())
    text = re.sub(r"^( +)(save\(.*\))$", r"\1if I[0, JOURNAL] >= 0:\n\1    \2", text, flags=re.MULTILINE)
    text = re.sub(rf"^def ({'|'.join(INLINED)})\(", r"@inlined\n\g<0>", text, flags=re.MULTILINE)
    text = re.sub(r"(?<!@inlined\n)^def ", r"@jit\ndef ", text, flags=re.MULTILINE)
    views = "".join(f"    {name} = borrowed({name})\n" for name in ["I", *names])
    text = re.sub(rf"^def ({'|'.join(ENTRIES)})\(.*\n", rf"\g<0>{views}", text, flags=re.MULTILINE)
    return "\n".join(
        [
            "from slidewise.kernels.compiler.jit import borrowed",
            *(f"{name} = {value}" for name, value in constants.items()),
            text,
        ]
    )


def _written_out(line: str, layout: Layout) -> str:
    """A line with each `V[node, i]` replaced by the elements of its fields' arrays."""
    stored = re.fullmatch(r"( *)V\[([^\[\]]+)\] = (.+)", line)
    if not stored:
        return re.sub(r"\bV\[([^\[\]]+)\]", lambda found: _load(found[1], layout), line)
    indent, at, value = stored.groups()
    value = re.sub(r"\bV\[([^\[\]]+)\]", lambda found: _load(found[1], layout), value)
    if layout.scalar:
        return f"{indent}V0[{at}] = {value}"
    parts = "; ".join(f"V{c}[{at}] = stored[{c}]" for c in range(len(layout.fields)))
    return f"{indent}stored = {value}; {parts}"


def _load(at: str, layout: Layout) -> str:
    if layout.scalar:
        return f"V0[{at}]"
    fields = ", ".join(f"V{c}[{at}]" for c in range(len(layout.fields)))
    return f"({fields}{',' if len(layout.fields) == 1 else ''})"
