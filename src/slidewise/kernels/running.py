"""Running aggregates over many keys, going on from states that are there already: one compiled pass.

A state goes in and out as the interpreted operator knows it. Between the two its numbers lie flat, one array per field.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from slidewise.errors import OperatorFailedError, SumOverflowError
from slidewise.kernels.functions import compiled_function
from slidewise.kernels.kernel import BUILTIN_OPTIONS, Answers, kernel_for, kernel_key, load_builtin
from slidewise.kernels.layouts import Layout, builtin_layout
from slidewise.operators.operator import Operator

Array = Any

_PASS = """
def running_pass({x}, offsets, started, {S}, {O}):
    for k in range(len(offsets) - 1):
        a = offsets[k]
        b = offsets[k + 1]
        if a < b:
            new = lift({x_a})
            if started[k]:
                {load}
                state = combine(state, new)
            else:
                state = new
            {answer_a}
            for i in range(a + 1, b):
                state = combine(state, lift({x_i}))
                {answer_i}
            {store}
"""


class _Running(NamedTuple):
    layout: Layout
    run: Any


_PASSES: dict[Hashable, _Running | None] = {}


def running(op: Operator, inputs: list[Array], offsets: Array, states: list[Any]) -> tuple[Answers, list[Any]] | None:
    """The answers of everything so far at every row, and each key's state after its last row.

    Key k has the rows from offsets[k] up to offsets[k + 1], all of which count, and comes with states[k], None where it
    has had no rows. Gives None where the operator cannot be compiled, or a state does not fit the rows' type.
    """
    compiled = _pass_for(op, tuple(str(x.dtype) for x in inputs))
    if compiled is None:
        return None
    layout = compiled.layout
    started = np.array([state is not None for state in states], np.bool_)
    fields = _spread(op, layout, states)
    if fields is None:
        return None
    m = len(inputs[0])
    outputs = [np.empty(m, dtype) for dtype in layout.outputs]
    valid = [np.ones(m, np.bool_)] if layout.optional else []
    try:
        compiled.run(*inputs, offsets, started, *fields, *outputs, *valid)
    except OverflowError as error:
        if op.builtin:
            raise SumOverflowError(f"{op.name}: {error}; use floats or larger units instead") from None
        raise OperatorFailedError(f"operator {op.name!r} raised {error!r} on these rows") from error
    except Exception as error:
        raise OperatorFailedError(f"operator {op.name!r} raised {error!r} on these rows") from error
    return Answers(outputs, valid[0] if valid else None), _gathered(op, inputs, offsets, states, fields)


def _pass_for(op: Operator, dtypes: tuple[str, ...]) -> _Running | None:
    if any(dtype not in ("int64", "float64", "bool") for dtype in dtypes) or kernel_for(op, dtypes) is None:
        return None
    key = kernel_key(op, dtypes)
    if key not in _PASSES:
        _PASSES[key] = _builtin(op, dtypes) if op.builtin else _users(op, dtypes)
    return _PASSES[key]


def _builtin(op: Operator, dtypes: tuple[str, ...]) -> _Running | None:
    layout = builtin_layout(op.name, dtypes)
    if layout is None:
        return None
    module = load_builtin(f"running_{op.name}", op.name, dtypes, _source(layout, len(dtypes), BUILTIN_OPTIONS))
    return _Running(layout, module.running_pass)


def _users(op: Operator, dtypes: tuple[str, ...]) -> _Running | None:
    import numba

    from slidewise.kernels.inference import infer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lift, combine, lower = [compiled_function(f) for f in (op.lift, op.combine, op.lower)]
        found = infer(lift, combine, lower, dtypes)
    if found.layout.array:
        return None
    namespace = {"njit": numba.njit, "lift": found.lift, "combine": found.combine, "lower": found.lower}
    exec(compile(_source(found.layout, len(dtypes), "nogil=True"), f"<running {op.name}>", "exec"), namespace)
    return _Running(found.layout, namespace["running_pass"])


def _source(layout: Layout, inputs: int, options: str) -> str:
    fields, outputs = range(len(layout.fields)), range(len(layout.outputs))

    def x(i: str) -> str:
        return ", ".join(f"x{c}[{i}]" for c in range(inputs))

    def answer(i: str) -> str:
        kept = f"O0[{i}] = answer" if layout.single else "; ".join(f"O{c}[{i}] = answer[{c}]" for c in outputs)
        kept = f"keep(answer, {i}, {', '.join(f'O{c}' for c in outputs)}, V)" if layout.optional else kept
        return f"answer = lower(state); {kept}"

    text = _PASS.format(
        x=", ".join(f"x{c}" for c in range(inputs)),
        S=", ".join(f"S{c}" for c in fields),
        O=", ".join(f"O{c}" for c in outputs) + (", V" if layout.optional else ""),
        x_a=x("a"),
        x_i=x("i"),
        load="state = S0[k]" if layout.scalar else f"state = ({', '.join(f'S{c}[k]' for c in fields)},)",
        store="S0[k] = state" if layout.scalar else "; ".join(f"S{c}[k] = state[{c}]" for c in fields),
        answer_a=answer("a"),
        answer_i=answer("i"),
    )
    keep = """
@njit(nogil=True)
def keep(answer, i, O0, V):
    if answer is None:
        V[i] = False
    else:
        O0[i] = answer
"""
    return (keep if layout.optional else "") + text + f"\nrunning_pass = njit({options})(running_pass)\n"


def _spread(op: Operator, layout: Layout, states: list[Any]) -> list[Array] | None:
    """The states' numbers as one array per field; None where one is of another type than the field."""
    fields = [np.zeros(len(states), dtype) for dtype in layout.fields]
    kinds: dict[str, Any] = {"int64": int, "float64": float, "bool": bool}
    for k, state in enumerate(states):
        if state is None:
            continue
        numbers = (
            [state >> 32, state & 0xFFFFFFFF] if _is_int_sum(op, layout) and isinstance(state, int) else flat(state)
        )
        if len(numbers) != len(fields):
            return None
        for field, number, dtype in zip(fields, numbers, layout.fields, strict=True):
            if type(number) is not kinds[dtype] or (dtype == "int64" and not -(2**63) <= number < 2**63):
                return None
            field[k] = number
    return fields


def _gathered(
    op: Operator, inputs: list[Array], offsets: Array, states: list[Any], fields: Sequence[Array]
) -> list[Any]:
    """The states again as the interpreted operator knows them."""
    found = list(states)
    columns = [field.tolist() for field in fields]
    starts, stops = offsets[:-1].tolist(), offsets[1:].tolist()
    for k, (a, b) in enumerate(zip(starts, stops, strict=True)):
        if a == b:
            continue
        numbers = [column[k] for column in columns]
        if op.builtin and op.name == "sum" and inputs[0].dtype != np.float64:
            found[k] = (numbers[0] << 32) + numbers[1]
            continue
        like = states[k] if states[k] is not None else op.lift(*(x[a].item() for x in inputs))
        found[k] = shaped(like, iter(numbers))
    return found


def _is_int_sum(op: Operator, layout: Layout) -> bool:
    return op.builtin and op.name == "sum" and layout.fields[0] == "int64"


def flat(state: Any) -> list[Any]:
    """A state's numbers in their order.

    >>> flat((1, (2.0, 3.0)))
    [1, 2.0, 3.0]
    """
    return [number for part in state for number in flat(part)] if isinstance(state, tuple) else [state]


def shaped(like: Any, numbers: Any) -> Any:
    """Numbers in their order as a state of the same shape.

    >>> shaped((1, (2.0, 3.0)), iter([4, 5.0, 6.0]))
    (4, (5.0, 6.0))
    """
    if not isinstance(like, tuple):
        return next(numbers)
    parts = [shaped(part, numbers) for part in like]
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)
