"""What type of state and answer a user's operator has, found by compiling its functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
from numba.core import types
from numba.core.errors import TypingError

from slidewise.kernels.layouts import Layout


class Inferred(NamedTuple):
    """An operator's compiled functions, with states of one type throughout, and how to store them."""

    lift: Any
    combine: Any
    lower: Any
    layout: Layout


def infer(lift: Any, combine: Any, lower: Any, dtypes: tuple[str, ...]) -> Inferred:
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
    return Inferred(lift, combine, lower, Layout(_names(fields), _names(outputs), scalar, single, optional, array))


_ONE: dict[str, Any] = {"float64": 1.0, "int64": 1, "bool": True}


def _exact(function: Any, count: int) -> Any:
    """The function with so many arguments and no defaults."""
    names = ", ".join(f"x{i}" for i in range(count))
    namespace = {"function": function}
    exec(f"def exact({names}):\n    return function({names})", namespace)
    return numba.njit(nogil=True)(namespace["exact"])


def _returned(function: Any, arguments: tuple[Any, ...]) -> Any:
    function.compile(arguments)
    return function.overloads[arguments].signature.return_type


def _unified(a: Any, b: Any) -> Any:
    """The type that holds values of both: (1, 0.5) and (0.5, 1) make a pair of floats."""
    if a == b:
        return a
    if isinstance(a, types.BaseTuple) and isinstance(b, types.BaseTuple) and len(a) == len(b):
        return types.Tuple([_unified(x, y) for x, y in zip(a, b, strict=True)])
    if isinstance(a, (types.Number, types.Boolean)) and isinstance(b, (types.Number, types.Boolean)):
        return types.float64 if types.float64 in (a, b) else types.int64
    raise TypingError(f"lift gives {a} but combine gives {b}; both must give the same kind of state")


def _fields(kind: Any, what: str) -> tuple[list[Any], bool]:
    parts = list(kind) if isinstance(kind, types.BaseTuple) else [kind]
    for part in parts:
        if not isinstance(part, (types.Integer, types.Float, types.Boolean)):
            raise TypingError(f"{what} is {kind}; a kernel takes a number, a bool, a tuple of these, or an array")
    widened = [
        types.boolean
        if isinstance(p, types.Boolean)
        else types.int64
        if isinstance(p, types.Integer)
        else types.float64
        for p in parts
    ]
    return widened, not isinstance(kind, types.BaseTuple)


def _names(fields: list[Any]) -> tuple[str, ...]:
    return tuple("bool" if field == types.boolean else str(field) for field in fields)


def _cast(function: Any, fields: list[Any], scalar: bool) -> Any:
    """The function with its result cast to the state's type, which costs nothing where it has it already."""
    casts = {types.boolean: "bool", types.int64: "int64", types.float64: "float64"}
    if scalar:
        body = f"{casts[fields[0]]}(function(*arguments))"
    else:
        parts = ", ".join(f"{casts[field]}(state[{i}])" for i, field in enumerate(fields))
        body = f"({parts},)"
    lines = ["def cast(*arguments):"]
    lines += [f"    return {body}"] if scalar else ["    state = function(*arguments)", f"    return {body}"]
    namespace = {"function": function, "int64": numba.int64, "float64": numba.float64}
    exec("\n".join(lines), namespace)
    return numba.njit(nogil=True)(namespace["cast"])
