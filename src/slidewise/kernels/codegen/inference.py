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
    if isinstance(state, types.BaseNamedTuple):
        raise TypingError(f"the state is a {state.instance_class.__name__}; a kernel takes plain tuples")
    for _ in range(4):
        joined = _unified(state, _returned(combine, (state, state)))
        if joined == state:
            break
        state = joined
    array = isinstance(state, types.Array) and state.ndim == 1
    if array:
        fields, scalar = _fields(state.dtype, "an item of the state")
    else:
        fields, scalar = _fields(state, "the state")
        lift, combine = _cast(lift, fields, scalar), _cast(combine, fields, scalar)
    answer = _returned(lower, (state,))
    optional = isinstance(answer, types.Optional)
    if optional:
        answer = answer.type
        if isinstance(answer, types.BaseTuple):
            raise TypingError("lower answers a tuple or None; a kernel takes None for single answers only")
    outputs, single = _fields(answer, "the answer of lower")
    answers = _names([_widened(output) for output in outputs])
    return Inferred(lift, combine, lower, Layout(_names(fields), answers, scalar, single, optional, array))


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
        return types.Tuple([_unified(x, y) for x, y in zip(a, b, strict=True)])
    if isinstance(a, _KINDS) and isinstance(b, _KINDS) and types.uint64 not in (a, b):
        return types.float64 if isinstance(a, types.Float) or isinstance(b, types.Float) else types.int64
    raise TypingError(f"lift gives {a} but combine gives {b}; both must give the same kind of state")


_KINDS = (types.Integer, types.Float, types.Boolean)


def _fields(kind: types.Type, what: str) -> tuple[list[types.Type], bool]:
    """The types of a state's or an answer's fields, and whether it is one bare value."""
    parts = list(kind) if isinstance(kind, types.BaseTuple) else [kind]
    for part in parts:
        if not isinstance(part, _KINDS) or part == types.float16:
            raise TypingError(f"{what} is {kind}; a kernel takes a number, a bool, a tuple of these, or an array")
    return [types.unliteral(part) for part in parts], not isinstance(kind, types.BaseTuple)


def _widened(kind: types.Type) -> types.Type:
    """The type of a column of such answers: those that fit into int64 or float64 are that."""
    if kind == types.uint64 or isinstance(kind, types.Boolean):
        return kind
    return types.int64 if isinstance(kind, types.Integer) else types.float64


def _names(fields: list[types.Type]) -> tuple[str, ...]:
    return tuple("bool" if field == types.boolean else str(field) for field in fields)


_CAST = """
# Woven in: function; cast, what makes its result one of the state's type.
def cast(*arguments):
    state = function(*arguments)
    return {cast}
"""


def _cast(function: Dispatcher, fields: list[types.Type], scalar: bool) -> Dispatcher:
    """The function with its result cast to the state's type, which costs nothing where it has it already."""
    namespace: dict[str, Any] = {"function": function}
    casts = []
    for i, field in enumerate(fields):
        casts.append("bool" if field == types.boolean else f"field{i}")
        namespace[f"field{i}"] = field
    parts = " ".join(f"{cast}(state[{i}])," for i, cast in enumerate(casts))
    exec(weave(_CAST, {"cast": f"{casts[0]}(state)" if scalar else f"({parts})"}), namespace)
    return numba.njit(nogil=True)(namespace["cast"])
