"""The six pointers of DABA and DABA Lite, the invariants on their sublists, and the four cases of a step."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from slidewise.operators.types import State


class _HasPointers(Protocol):
    F: int
    L: int
    R: int
    A: int
    B: int
    E: int


class Pointers(NamedTuple):
    """The six pointers of DABA, in the order that the paper keeps them in.

    >>> Pointers(0, 1, 2, 3, 5, 6).sizes()
    {'l_F': 5, 'l_L': 1, 'l_R': 1, 'l_A': 2, 'l_B': 1}
    """

    F: int
    L: int
    R: int
    A: int
    B: int
    E: int

    @classmethod
    def of(cls, swag: _HasPointers) -> Pointers:
        return cls(swag.F, swag.L, swag.R, swag.A, swag.B, swag.E)

    def sizes(self) -> dict[str, int]:
        """The sizes of the sublists."""
        F, L, R, A, B, E = self
        return {"l_F": B - F, "l_L": R - L, "l_R": A - R, "l_A": B - A, "l_B": E - B}

    def ordered(self) -> bool:
        """F <= L <= R <= A <= B <= E."""
        return list(self) == sorted(self)

    def balanced(self) -> bool:
        """The size invariants: empty, or |l_L| + |l_R| + |l_A| + 1 = |l_F| - |l_B| and |l_L| = |l_R|."""
        F, L, R, A, B, E = self
        if F == B and B == E:
            return True
        return (R - L) + (A - R) + (B - A) + 1 == (B - F) - (E - B) and R - L == A - R


def cases(before: Pointers, after: Pointers) -> tuple[str, ...]:
    """The cases of `fixup` that one insert or evict went through, read off the pointers.

    >>> cases(Pointers(0, 1, 1, 1, 1, 1), Pointers(0, 1, 1, 1, 2, 2))
    ('flip', 'shrink')
    """
    if before.F == before.E or after.F == after.E:
        return ("singleton",)
    if after.B != before.B:
        return ("flip", "shrink")
    return ("shift",) if after.R != before.R else ("shrink",)


def show(pointers: Pointers, **rows: list[State]) -> str:
    """The pointers above the slots that they point to, one line per kind of slot."""
    marks = [
        "".join(name for name, p in zip(Pointers._fields, pointers, strict=True) if p == position)
        for position in range(pointers.F, pointers.E + 1)
    ]
    cells = {name: [repr(value) for value in values] for name, values in rows.items()}
    width = max(map(len, [*marks, *(cell for line in cells.values() for cell in line)]))
    lines = [" " * 6 + " ".join(mark.ljust(width) for mark in marks)]
    lines += [f"{name:>5} " + " ".join(cell.ljust(width) for cell in line) for name, line in cells.items()]
    return "\n".join(lines)
