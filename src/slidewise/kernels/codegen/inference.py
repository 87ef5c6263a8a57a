"""Type inference: the types of the state and the answer of an operator made of plain functions, by compiling them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError

from slidewise.kernels.codegen.weave import numbered, weave
from slidewise.operators.layout import Layout


class Inferred(NamedTuple):
    """An operator's compiled functions, with states of one type throughout, and how to store them."""

    lift: Dispatcher
    combine: Dispatcher
    lower: Dispatcher
    layout: Layout


def infer(lift: Dispatcher, combine: Dispatcher, lower: Dispatcher, dtypes: tuple[str, ...]) -> Inferred:
    """Compile the functions for inputs of these types; raises Numba's error where that cannot be done."""
    arguments = tuple(numba.typeof(_ONE[dtype]) for dtype in dtypes)
    lift = _exact(lift, len(dtypes))
    state = _returned(lift, arguments)
    for _ in range(4):
        joined = _unified(state, _returned(combine, (state, state)))
        if joined == state:
            break
        state = joined
    array = isinstance(state, types.Array) and state.ndim == 1
    if array:
        fields, scalar = [_number(state.dtype, state.dtype, "an item of the state")], True
    else:
        fields, scalar = _leaves(state, state), not isinstance(state, types.BaseTuple)
    answer = _returned(lower, (state,))
    if not array:
        shape = _Shape(state)
        lift, combine, lower = shape.stored(lift), shape.stored(shape.taking(combine, 2)), shape.taking(lower, 1)
    return Inferred(lift, combine, lower, _layout(_names(fields), scalar, array, answer))


def _layout(fields: tuple[str, ...], scalar: bool, array: bool, answer: types.Type) -> Layout:
    """The layout of states of these fields, and of the answers of such a type."""
    optional = isinstance(answer, types.Optional)
    if optional:
        answer = answer.type
    if not isinstance(answer, types.BaseTuple):
        output = _widened(_number(answer, answer, "the answer of lower"))
        return Layout(fields, _names([output]), scalar, True, optional, array)
    parts = [part.type if isinstance(part, types.Optional) else part for part in answer]
    outputs = [_widened(_number(part, answer, "the answer of lower")) for part in parts]
    nullable = tuple(c for c, part in enumerate(answer) if isinstance(part, types.Optional))
    named = isinstance(answer, types.BaseNamedTuple)
    names = tuple(answer.instance_class._fields) if named else ()
    return Layout(fields, _names(outputs), scalar, False, optional, array, nullable, names)


_ONE: dict[str, Any] = {"float64": 1.0, "int64": 1, "bool": True}


_EXACT = """
# Woven in: x, the inputs; function.
def exact({x}):
    return function({x})
"""


def _exact(function: Dispatcher, count: int) -> Dispatcher:
    """The function with so many arguments and no defaults."""
    namespace = {"function": function}
    exec(weave(_EXACT, {"x": ", ".join(numbered("x", count))}), namespace)
    return numba.njit(nogil=True)(namespace["exact"])


def _returned(function: Dispatcher, arguments: tuple[types.Type, ...]) -> types.Type:
    function.compile(arguments)
    return function.overloads[arguments].signature.return_type


def _unified(a: types.Type, b: types.Type) -> types.Type:
    """The type that holds values of both: (1, 0.5) and (0.5, 1) make a pair of floats."""
    if a == b:
        return a
    if isinstance(a, types.BaseTuple) and isinstance(b, types.BaseTuple) and len(a) == len(b):
        classes = [side.instance_class if isinstance(side, types.BaseNamedTuple) else tuple for side in (a, b)]
        if classes[0] is classes[1]:
            return types.BaseTuple.from_types([_unified(x, y) for x, y in zip(a, b, strict=True)], classes[0])
    if isinstance(a, _KINDS) and isinstance(b, _KINDS) and types.uint64 not in (a, b):
        return types.float64 if isinstance(a, types.Float) or isinstance(b, types.Float) else types.int64
    raise TypingError(f"lift gives {a} but combine gives {b}; both must give the same kind of state")


_KINDS = (types.Integer, types.Float, types.Boolean)


def _leaves(kind: types.Type, state: types.Type) -> list[types.Type]:
    """The types of a state's numbers, in their order: those of its fields, and of tuples inside it."""
    if isinstance(kind, types.BaseTuple):
        return [leaf for part in kind for leaf in _leaves(part, state)]
    return [_number(kind, state, "the state")]


def _number(part: types.Type, whole: types.Type, what: str) -> types.Type:
    """The type of a number or a bool; refuses any other, which is part of a state or an answer."""
    if not isinstance(part, _KINDS) or part == types.float16:
        raise TypingError(f"{what} is {whole}; a kernel takes a number, a bool, a tuple of these, or an array")
    return types.unliteral(part)


def _widened(kind: types.Type) -> types.Type:
    """The type of a column of such answers: those that fit into int64 or float64 are that."""
    if kind == types.uint64 or isinstance(kind, types.Boolean):
        return kind
    return types.int64 if isinstance(kind, types.Integer) else types.float64


def _names(fields: list[types.Type]) -> tuple[str, ...]:
    return tuple("bool" if field == types.boolean else str(field) for field in fields)


_STORED = """
# Woven in: function; stored, what makes its result a state as kernels store it.
def stored(*arguments):
    state = function(*arguments)
    return {stored}
"""

_TAKING = """
# Woven in: function; states, what it takes; shaped, what makes them of states as kernels store them.
def taking({states}):
    return function({shaped})
"""


class _Shape:
    """The shape of a state: a number or a tuple, which may hold tuples and be a NamedTuple. Stored states are flat."""

    def __init__(self, state: types.Type) -> None:
        self._state = state
        self._space: dict[str, Any] = {}
        self._casts: list[str] = []
        self._shaped = self._part(state, "state")

    def stored(self, function: Dispatcher) -> Dispatcher:
        """The function with its result flat and of the state's types, which costs nothing where it is so already."""
        parts = " ".join(f"{cast}," for cast in self._casts)
        stored = f"({parts})" if isinstance(self._state, types.BaseTuple) else self._casts[0]
        namespace = {"function": function, **self._space}
        exec(weave(_STORED, {"stored": stored}), namespace)
        return numba.njit(nogil=True)(namespace["stored"])

    def taking(self, function: Dispatcher, count: int) -> Dispatcher:
        """The function of so many states, taking flat ones."""
        if self._is_flat():
            return function
        states = numbered("state", count)
        shaped = ", ".join(self._shaped.replace("state[", f"{state}[") for state in states)
        namespace = {"function": function, **self._space}
        exec(weave(_TAKING, {"states": ", ".join(states), "shaped": shaped}), namespace)
        return numba.njit(nogil=True)(namespace["taking"])

    def _is_flat(self) -> bool:
        state = self._state
        named = isinstance(state, types.BaseNamedTuple)
        return not named and not (
            isinstance(state, types.BaseTuple) and any(isinstance(p, types.BaseTuple) for p in state)
        )

    def _part(self, kind: types.Type, path: str) -> str:
        """The expression that makes this part of the state, at a path in it, of the flat state."""
        if not isinstance(kind, types.BaseTuple):
            number = len(self._casts)
            self._space[f"field{number}"] = types.unliteral(kind)
            self._casts.append(f"{'bool' if kind == types.boolean else f'field{number}'}({path})")
            return f"state[{number}]"
        parts = " ".join(f"{self._part(part, f'{path}[{i}]')}," for i, part in enumerate(kind))
        if not isinstance(kind, types.BaseNamedTuple):
            return f"({parts})"
        name = f"class{len(self._space)}"
        self._space[name] = kind.instance_class
        return f"{name}({parts})"
