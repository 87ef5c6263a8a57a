"""How compiled code stores an operator's states and answers: one array per field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """The types of a state's fields and of an answer's; `scalar` and `single` mean a bare value instead of a tuple.

    `array` means that a state is an array of a fixed length, `optional` that `lower` may answer None. `nullable` has
    the numbers of those fields of an answer that may be None, and `names` are theirs, where an answer is a NamedTuple.
    """

    fields: tuple[str, ...]
    outputs: tuple[str, ...]
    scalar: bool = False
    single: bool = True
    optional: bool = False
    array: bool = False
    nullable: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


# The layout over inputs of these types, or None where there is no compiled form for them.
LayoutRule = Callable[[tuple[str, ...]], Layout | None]
