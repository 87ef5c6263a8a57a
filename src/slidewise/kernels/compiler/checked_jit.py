"""Numba's compiler with a pass that gives users' plain functions the arithmetic of Python.

Numba's integers wrap around, its `math` gives NaN where Python raises, and its NumPy scalars are promoted by rules of
its own. Once a function's types are known, a pass over it puts functions of `python_numbers` in the place of operations
that may differ, and refuses those that cannot be mended. What users compile themselves means what Numba makes of it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder, StateDict
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import NumbaError, TypingError
from numba.core.ir_utils import build_definitions, mk_unique_var
from numba.core.typed_passes import NopythonTypeInference
from numba.np.numpy_support import as_dtype

import slidewise.kernels.compiler.named_tuples  # noqa: F401 (which teaches Numba of them)
from slidewise.kernels.compiler import python_numbers as py

F = TypeVar("F", bound=Callable[..., Any])
Function = Callable[..., Any]
Refuse = Callable[[str], None]
INT, UINT, FLOAT = types.int64, types.uint64, types.float64

_BINARY: dict[Any, dict[tuple[Any, Any], Any]] = {
    operator.add: {(INT, INT): py.int_add},
    operator.sub: {(INT, INT): py.int_sub},
    operator.mul: {(INT, INT): py.int_mul},
    operator.floordiv: {(INT, INT): py.int_floordiv},
    operator.mod: {(INT, INT): py.int_mod},
    operator.truediv: {(INT, INT): py.int_truediv},
    operator.lshift: {(INT, INT): py.int_lshift, (UINT, INT): py.uint_lshift, (UINT, UINT): py.uint_lshift},
    operator.rshift: {(INT, INT): py.int_rshift, (UINT, INT): py.uint_rshift, (UINT, UINT): py.uint_rshift},
    operator.pow: {
        (INT, INT): py.int_pow,
        (FLOAT, FLOAT): py.float_pow,
        (FLOAT, INT): py.float_pow,
        (INT, FLOAT): py.float_pow,
    },
}
_FUNCTIONS: dict[Any, dict[tuple[Any, ...], Any]] = {
    abs: {(INT,): py.int_abs},
    int: {(FLOAT,): py.as_int},
    round: {(FLOAT,): py.float_round, (INT,): py.itself},
    pow: _BINARY[operator.pow],
    divmod: {(INT, INT): py.int_divmod},
    math.floor: {(FLOAT,): py.float_floor, (INT,): py.itself},
    math.ceil: {(FLOAT,): py.float_ceil, (INT,): py.itself},
    math.trunc: {(FLOAT,): py.as_int, (INT,): py.itself},
    math.ldexp: {(FLOAT, INT): py.math_ldexp},
    **{name: dict.fromkeys([(FLOAT,), (INT,)], function) for name, function in py.DEFINED.items()},
    math.pow: dict.fromkeys([(FLOAT, FLOAT), (FLOAT, INT), (INT, FLOAT), (INT, INT)], py.math_pow),
}
_REFUSED = {
    math.gamma: "math.gamma differs from Python's in the last digits",
    math.lgamma: "math.lgamma differs from Python's in the last digits",
    math.hypot: "math.hypot differs from Python's in the last digits; write math.sqrt(x * x + y * y)",
}
_MATH = frozenset(function for function in vars(math).values() if callable(function))
_OF_PYTHON_NUMBERS = (round, divmod, pow, math.floor, math.ceil, math.trunc, math.ldexp, math.pow)
_PLAIN = {types.boolean: True, INT: 1, FLOAT: 1.0, types.complex128: 1j}  # the types of Python's own numbers


def checked_jit(function: F) -> F:
    """Compile a user's plain function."""
    compiled: F = numba.njit(nogil=True, pipeline_class=_Compiler)(function)
    return compiled


class _Compiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_PythonNumbers, NopythonTypeInference)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=False)
class _PythonNumbers(FunctionPass):  # type: ignore[misc]
    """The pass over a function whose types are inferred."""

    _name = "slidewise_python_numbers"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: StateDict) -> bool:
        blocks = state.func_ir.blocks
        meetings = []  # integers that become floats where paths meet, and the blocks that they come from
        for block in blocks.values():
            body: list[ir.Stmt] = []
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    body += _replace_operation(state, block.scope, statement)
                    meetings += _becoming_floats(state, statement)
                body.append(statement)
            block.body = body
        for label, variable in meetings:
            block = blocks[label]
            block.body[-1:-1] = _exact(state, block.scope, variable, block.body[-1].loc)
        state.func_ir._definitions = build_definitions(blocks)
        return True


def _replace_operation(state: StateDict, scope: ir.Scope, statement: ir.Assign) -> list[ir.Stmt]:
    """Replace the right side of an assignment where it differs from Python; returns the statements to put before it."""

    def kind(variable: ir.Var) -> types.Type:
        return types.unliteral(state.typemap[variable.name])

    def operand(variable: ir.Var) -> types.Type:
        return _not_optional(kind(variable))

    def refuse(reason: str) -> None:
        raise TypingError(reason, loc=statement.loc)

    expr, target = statement.value, kind(statement.target)
    replacement, arguments, before = None, [], []
    match expr:
        case ir.Var() | ir.Expr(op="cast"):
            arguments = [expr.value if isinstance(expr, ir.Expr) else expr]
            _check_cast(kind(arguments[0]), target, refuse)
            replacement = py.exact_float if kind(arguments[0]) == INT and target == FLOAT else None
        case ir.Expr(op="phi"):
            for source in _sources(state, expr):
                _check_cast(kind(source), target, refuse)
        case ir.Expr(op="binop" | "inplace_binop"):
            arguments = [expr.lhs, expr.rhs]
            fn = expr.fn if expr.op == "binop" else expr.immutable_fn
            replacement = _for_operation(fn, [operand(a) for a in arguments], target, refuse)
        case ir.Expr(op="unary"):
            arguments = [expr.value]
            _check_promotion(expr.fn, [operand(expr.value)], target, refuse)
            if expr.fn is operator.invert and operand(expr.value) == types.boolean:
                refuse("~ of a bool is an integer in Python; write not")
            replacement = py.int_neg if expr.fn is operator.neg and _as_int(operand(expr.value)) == INT else None
        case ir.Expr(op="call"):
            arguments = list(expr.args)
            function, kinds = state.typemap[expr.func.name], [operand(a) for a in arguments]
            if isinstance(function, types.NamedTupleClass) and len(target) < len(function.instance_class._fields):
                refuse(
                    f"{function.instance_class.__name__} is made with fewer values than it has fields; give all of them"
                )
            replacement = _for_call(function, kinds, target, refuse)
            key = getattr(function, "typing_key", None)
            if (expr.kws or expr.vararg is not None) and (replacement is not None or key in (round, pow, sum)):
                refuse("its arguments are given by name; give them by their places")
            if key in (min, max) and target == FLOAT:
                integers = [a for a in arguments if kind(a) == INT]
                before = [part for a in integers for part in _exact(state, scope, a, statement.loc)]
    if replacement is None:
        return before
    before, statement.value = _call(state, scope, replacement, arguments, statement.loc)
    if state.calltypes[statement.value].return_type != target:
        refuse(f"its result is {target} in compiled code, and in Python of another type")
    return before


def _call(
    state: StateDict, scope: ir.Scope, function: Function, arguments: list[ir.Var], loc: ir.Loc
) -> tuple[list[ir.Stmt], ir.Expr]:
    """The call of a function, and the statements to put before it."""
    typing = state.typingctx
    kinds = tuple(_as_int(_not_optional(types.unliteral(state.typemap[a.name]))) for a in arguments)
    function_type = typing.resolve_value_type(function)
    signature = typing.resolve_function_type(function_type, kinds, {})
    name = ir.Var(scope, mk_unique_var("$checked"), loc)
    state.typemap[name.name] = function_type
    call = ir.Expr.call(name, arguments, (), loc)
    state.calltypes[call] = signature
    return [ir.Assign(ir.Global(name.name, function, loc), name, loc)], call


def _exact(state: StateDict, scope: ir.Scope, variable: ir.Var, loc: ir.Loc) -> list[ir.Stmt]:
    """Statements that raise where an integer is not a float without loss."""
    if isinstance(state.typemap[variable.name], types.Literal):
        return []
    before, call = _call(state, scope, py.exact_float, [variable], loc)
    unused = ir.Var(scope, mk_unique_var("$exact"), loc)
    state.typemap[unused.name] = FLOAT
    return [*before, ir.Assign(call, unused, loc)]


def _sources(state: StateDict, phi: ir.Expr) -> list[ir.Var]:
    return [v for v in phi.incoming_values if isinstance(v, ir.Var) and v.name in state.typemap]


def _becoming_floats(state: StateDict, statement: ir.Assign) -> list[tuple[int, ir.Var]]:
    """Integers that become floats where paths meet, with the block that each comes from."""
    phi = statement.value
    if not isinstance(phi, ir.Expr) or phi.op != "phi" or state.typemap[statement.target.name] != FLOAT:
        return []
    sources = _sources(state, phi)
    pairs = zip(phi.incoming_blocks, phi.incoming_values, strict=True)
    return [(label, v) for label, v in pairs if v in sources and types.unliteral(state.typemap[v.name]) == INT]


def _for_operation(fn: Function, kinds: list[types.Type], target: types.Type, refuse: Refuse) -> Any:
    """The replacement of an operation on numbers of these types; None where it needs none."""
    if fn in py.COMPARED:
        if types.float32 in kinds and kinds[0] != kinds[1] and all(isinstance(k, types.Number) for k in kinds):
            refuse(f"{kinds[0]} is compared with {kinds[1]}, which NumPy does in float32 and compiled code in float64")
        if kinds == [INT, FLOAT]:
            return py.COMPARED[fn][0]
        if kinds == [FLOAT, INT]:
            return py.COMPARED[fn][1]
        signed = [isinstance(k, types.Integer) and k.signed for k in kinds]
        if kinds[0] == UINT and signed[1]:
            return py.COMPARED_UNSIGNED[fn][0]
        return py.COMPARED_UNSIGNED[fn][1] if signed[0] and kinds[1] == UINT else None
    _check_promotion(fn, kinds, target, refuse)
    if fn is operator.pow and any(map(_is_numpys, kinds)):
        refuse(f"** of {kinds[0]} and {kinds[1]} is not as in NumPy; convert by float(...) first")
    return _BINARY.get(fn, {}).get((_as_int(kinds[0]), _as_int(kinds[1])))


def _for_call(function: types.Type, kinds: list[types.Type], target: types.Type, refuse: Refuse) -> Any:
    """The replacement of a function that is called with numbers of these types; None where it needs none."""
    if isinstance(function, types.NumberClass) and kinds == [INT] and isinstance(target, types.Integer):
        return py.converted(target)
    if not isinstance(function, types.Function):
        return None
    key = function.typing_key
    try:
        reason = _REFUSED.get(key)
    except TypeError:
        return None
    if key is round and len(kinds) == 2:
        reason = "round to some digits differs from Python's in some cases; round in lower, outside, or to no digits"
    if reason is not None:
        refuse(reason)
    if any(map(_is_numpys, kinds)):
        narrow = types.float32 in kinds and key in _MATH
        mixed = key in (min, max) and len(set(kinds)) > 1
        if narrow or mixed or key in _OF_PYTHON_NUMBERS or (key is int and kinds[0] in (UINT, types.float32)):
            refuse(
                f"{key.__name__} of {' and '.join(map(str, kinds))} is not as in Python; convert by float(...) first"
            )
        if key in py.DEFINED:
            return py.DEFINED[key]
    if key is sum and isinstance(kinds[0], (types.UniTuple, types.List)) and kinds[0].dtype == INT:
        return py.int_sum_from_zero if len(kinds) == 1 else py.int_sum if kinds[1:] == [INT] else None
    if key is sum and isinstance(kinds[0], types.BaseTuple) and len({*kinds[0]}) > 1:
        refuse("sum of numbers of several types is not as in Python; add them by +")
    return _FUNCTIONS.get(key, {}).get(tuple(map(_as_int, kinds)))


def _as_int(kind: types.Type) -> types.Type:
    """The type of a number that Python computes with: a bool is an integer there."""
    return INT if isinstance(kind, types.Boolean) else kind


def _not_optional(kind: types.Type) -> types.Type:
    """The type that a value has where it is not None; where it is, Python's operations raise, and so does the cast."""
    return kind.type if isinstance(kind, types.Optional) else kind


def _is_numpys(kind: types.Type) -> bool:
    """Whether this is the type of a number that only NumPy has."""
    return isinstance(kind, types.Number) and kind not in _PLAIN


def _check_promotion(fn: Function, kinds: list[types.Type], target: types.Type, refuse: Refuse) -> None:
    """Refuse an operation whose result is of another type than NumPy gives it."""
    if not any(map(_is_numpys, kinds)) or not all(isinstance(k, (types.Number, types.Boolean)) for k in kinds):
        return
    ones = [_PLAIN[k] if k in _PLAIN else as_dtype(k).type(1) for k in kinds]
    try:
        with np.errstate(all="ignore"):
            result = np.dtype(type(fn(*ones)))
        if result == as_dtype(target):
            return
        meant = f"{result} in NumPy"
    except (TypeError, NumbaError):
        meant = "no number in NumPy"
    refuse(
        f"{fn.__name__} of {' and '.join(map(str, kinds))} is {target} in compiled code and {meant}; "
        "bring both sides to one type, np.uint64(...) or float(...), say"
    )


def _check_cast(source: types.Type, target: types.Type, refuse: Refuse) -> None:
    """Refuse that a NumPy number becomes one of another type where paths meet, which Python does not do."""
    pairs = [(source, target)]
    if isinstance(source, types.BaseTuple) and isinstance(target, types.BaseTuple) and len(source) == len(target):
        pairs = list(zip(source, target, strict=True))
    for before, after in pairs:
        a, b = types.unliteral(before), types.unliteral(after)
        b = b.type if isinstance(b, types.Optional) else b
        mixed = isinstance(a, types.Number) and isinstance(b, types.Number) and a != b
        if mixed and (_is_numpys(a) or _is_numpys(b)):
            refuse(f"a value is {a} on one path and becomes {b} where they meet; bring both to one type")
