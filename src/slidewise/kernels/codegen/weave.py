"""Weaving: the one way in which this package makes code out of text.

A loop that calls an operator's functions and stores its states cannot be one compiled function: a state of three fields
lies in three arrays. So such a loop is written once, as Python with gaps in braces, and woven for each layout:

- `{name}`: what a name stands for: parameters, an expression or whole lines;
- `{name[index]}`: the element there, one value made of each field's array; of a slice, the slices as parameters;
- `{name[index] = value}`: the statement that stores a value there.

A gap may hold other gaps, and so may what it stands for. What has several lines stands alone on its line, and all of
its lines get that line's indentation. A text begins with a comment that says what is woven in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from slidewise.operators.layout import Layout

_GAP = re.compile(r"\{(\w+)(?:\[([^{}]*?)\](?: = ([^{}]*))?)?\}")
UNSIGNED = "u({})"  # which spares Numba the question whether an index counts from the end


class Elements(Protocol):
    """A gap in a text that can be indexed: `str` of it gives its arrays as parameters."""

    def load(self, index: str) -> str:
        """The expression for the element at an index."""

    def store(self, index: str, value: str) -> str:
        """The statement that puts a value there."""


Gap = str | Elements


def weave(text: str, gaps: Mapping[str, Gap]) -> str:
    """The text with all of its gaps filled.

    >>> pairs = StateArrays(("S0", "S1"))
    >>> print(weave("def swap({S}, i, j):\\n    {S[i] = combine({S[j]}, v)}", {"S": pairs}))
    def swap(S0, S1, i, j):
        stored = combine((S0[j], S1[j],), v); S0[i] = stored[0]; S1[i] = stored[1]
    """

    def fill(match: re.Match[str]) -> str:
        name, index, value = match.groups()
        gap = gaps[name]
        if index is None:
            return _indented(str(gap), match)
        assert not isinstance(gap, str), f"{{{name}}} has no elements"
        return gap.load(index) if value is None else _indented(gap.store(index, value), match)

    while True:
        text, count = _GAP.subn(fill, text)
        if not count:
            assert "{" not in text, f"a gap that is not closed: {text[text.index('{') :][:60]!r}"
            return text


def _indented(filling: str, match: re.Match[str]) -> str:
    if "\n" not in filling:
        return filling
    line = match.string[match.string.rfind("\n", 0, match.start()) + 1 : match.start()]
    assert not line.strip(), f"several lines at the end of {line!r}"
    return filling.replace("\n", f"\n{line}")


@dataclass(frozen=True, slots=True)
class StateArrays:
    """States in arrays, one for each field; `scalar` states are bare values, and others tuples.

    `place` is how an index is written. With `rows`, states are arrays themselves: the rows of a matrix.
    """

    names: tuple[str, ...]
    scalar: bool = False
    place: str = "{}"
    rows: bool = False

    def __str__(self) -> str:
        return ", ".join(self.names)

    def load(self, index: str) -> str:
        parts = _elements(self.names, index, self.place)
        return parts[0] if self.scalar else f"({' '.join(f'{part},' for part in parts)})"

    def store(self, index: str, value: str) -> str:
        if self.rows:
            return f"{self.names[0]}[{index}, :] = {value}"
        parts = _elements(self.names, index, self.place)
        return f"{parts[0]} = {value}" if self.scalar else _spread(parts, value, "stored")


@dataclass(frozen=True, slots=True)
class InputColumns:
    """The columns of the rows; an element is the arguments of `lift`."""

    names: tuple[str, ...]
    place: str = "{}"

    def __str__(self) -> str:
        return ", ".join(self.names)

    def load(self, index: str) -> str:
        return ", ".join(_elements(self.names, index, self.place))

    def store(self, index: str, value: str) -> str:
        raise TypeError("inputs are only read")


@dataclass(frozen=True, slots=True)
class LiftedRows:
    """The rows' states, lifted when they are read."""

    inputs: InputColumns

    def __str__(self) -> str:
        return str(self.inputs)

    def load(self, index: str) -> str:
        return f"lift({self.inputs.load(index)})"

    def store(self, index: str, value: str) -> str:
        raise TypeError("inputs are only read")


@dataclass(frozen=True, slots=True)
class AnswerArrays:
    """The answers' arrays, and beside them arrays in which None is marked.

    That is `valid` where `lower` may answer None, and one for each field that may be None: `nullable` has the numbers.
    """

    names: tuple[str, ...]
    single: bool
    optional: bool
    place: str = "{}"
    nullable: tuple[int, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self._all())

    def load(self, index: str) -> str:
        return ", ".join(_elements(self._all(), index, self.place))

    def store(self, index: str, value: str) -> str:
        parts = _elements(self.names, index, self.place)
        if not self.optional and not self.nullable:
            return f"{parts[0]} = {value}" if self.single else _spread(parts, value, "answer")
        if self.single:
            stored = [f"{parts[0]} = answer"]
        else:
            marks = dict(zip(self.nullable, _elements(self._marks(), index, self.place), strict=True))
            stored = ["fields = not_none(answer)"]
            for c, part in enumerate(parts):
                stored += [f"{part} = fields[{c}]"] if c not in marks else _none_or_stored(c, part, marks[c])
        if not self.optional:
            return "\n".join([f"answer = {value}", *stored])
        (mark,) = _elements(("valid",), index, self.place)
        inside = "".join(f"\n    {line}" for line in stored)
        return f"answer = {value}\nif answer is None:\n    {mark} = False\nelse:{inside}"

    def _marks(self) -> tuple[str, ...]:
        return tuple(f"valid{c}" for c in self.nullable)

    def _all(self) -> tuple[str, ...]:
        return (*self.names, *self._marks(), "valid") if self.optional else (*self.names, *self._marks())


def _none_or_stored(c: int, part: str, mark: str) -> list[str]:
    """The lines that store a field, or mark that it is None."""
    return [
        f"field{c} = fields[{c}]",
        f"if field{c} is None:",
        f"    {mark} = False",
        "else:",
        f"    {part} = field{c}",
    ]


def _elements(names: tuple[str, ...], index: str, place: str) -> list[str]:
    at = index if ":" in index else place.format(index)
    return [f"{name}[{at}]" for name in names]


def _spread(parts: list[str], value: str, name: str) -> str:
    """A tuple's fields, each to its place; what is no variable yet becomes one of this name."""
    before = "" if value.isidentifier() else f"{name} = {value}; "
    name = value if value.isidentifier() else name
    return before + "; ".join(f"{part} = {name}[{c}]" for c, part in enumerate(parts))


def numbered(letter: str, count: int) -> tuple[str, ...]:
    """Names of so many arrays.

    >>> numbered("x", 2)
    ('x0', 'x1')
    """
    return tuple(f"{letter}{c}" for c in range(count))


def states(letter: str, layout: Layout, place: str = "{}") -> StateArrays:
    """StateArrays of an operator's states."""
    return StateArrays(numbered(letter, len(layout.fields)), layout.scalar or layout.array, place, layout.array)


def rows_and_answers(layout: Layout, inputs: int, place: str = "{}") -> dict[str, Gap]:
    """The gaps of every text: x, the inputs, and O, the answers."""
    outputs = numbered("O", len(layout.outputs))
    return {
        "x": InputColumns(numbered("x", inputs), place),
        "O": AnswerArrays(outputs, layout.single, layout.optional, place, layout.nullable),
    }
