"""Windows whose middle is known as one state: rows before it and rows behind it, and compiled passes over both.

This is what windows look like that are too long to be gone through: their oldest rows, which leave one by one, the
aggregate of all that lies between, and their newest rows. States are flat: a tuple of numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np

from slidewise.errors import OperatorFailedError, SumOverflowError
from slidewise.kernels.functions import compiled_function
from slidewise.kernels.kernel import BUILTIN_OPTIONS, Answers, kernel_for, kernel_key, load_builtin
from slidewise.kernels.layouts import Layout, builtin_layout
from slidewise.operators.operator import Operator

Array = Any
State = tuple[Any, ...]

_PASSES = """
def fold_pass({x}, {S}):
    state = lift({x_0})
    for i in range(1, len(x0)):
        state = combine(state, lift({x_i}))
    {store_0}

def combine_pass({S}):
    {load_0}
    older = state
    {load_1}
    state = combine(older, state)
    {store_0}

def spanning_pass({x}, h, middle, starts, ends, enough, {S}, {O}):
    back = lift({x_0})
    state = back
    if middle:
        {load_h}
    for i in range(h - 1, -1, -1):
        state = combine(lift({x_i}), state) if middle or i < h - 1 else lift({x_i})
        {store_i}
    E = h
    for i in range(len(starts)):
        while E < ends[i]:
            back = lift({x_E}) if E == h else combine(back, lift({x_E}))
            E += 1
        if not enough[i]:
            continue
        s = starts[i]
        if middle or s < h:
            {load_s}
            if E > h:
                state = combine(state, back)
        else:
            state = back
        {answer_i}
"""


class Spanning:
    """The passes of one operator over inputs of certain types."""

    def __init__(self, op: Operator, layout: Layout, passes: Any) -> None:
        self._op = op
        self._layout = layout
        self._fold, self._combine, self._span = passes

    def fold(self, inputs: list[Array]) -> State:
        """The state of some rows, one at least."""
        fields = self._fields(1)
        self._run(self._fold, *inputs, *fields)
        return tuple(field[0].item() for field in fields)

    def combine(self, older: State, newer: State) -> State:
        fields = self._fields(2)
        for field, a, b in zip(fields, older, newer, strict=True):
            field[0], field[1] = a, b
        self._run(self._combine, *fields)
        return tuple(field[0].item() for field in fields)

    def answers(
        self, inputs: list[Array], h: int, middle: State | None, starts: Array, ends: Array, enough: Array
    ) -> Answers:
        """The answers over the rows [starts, h), the middle, and the rows [h, ends); those not `enough` are left out.

        No start lies behind h, and no end before it; ends never fall.
        """
        fields = self._fields(h + 1)
        if middle is not None:
            for field, number in zip(fields, middle, strict=True):
                field[h] = number
        m = len(starts)
        outputs = [np.zeros(m, dtype) for dtype in self._layout.outputs]
        valid = [np.ones(m, np.bool_)] if self._layout.optional else []
        if not len(inputs[0]):  # the passes look at the first row
            inputs = [np.zeros(1, x.dtype) for x in inputs]
        self._run(self._span, *inputs, h, middle is not None, starts, ends, enough, *fields, *outputs, *valid)
        return Answers(outputs, valid[0] if valid else None)

    def _fields(self, count: int) -> list[Array]:
        return [np.zeros(count, dtype) for dtype in self._layout.fields]

    def _run(self, run: Any, *arguments: Any) -> None:
        try:
            run(*arguments)
        except OverflowError as error:
            if self._op.builtin:
                raise SumOverflowError(f"{self._op.name}: {error}; use floats or larger units instead") from None
            raise OperatorFailedError(f"operator {self._op.name!r} raised {error!r} on these rows") from error
        except Exception as error:
            raise OperatorFailedError(f"operator {self._op.name!r} raised {error!r} on these rows") from error


_KNOWN: dict[Hashable, Spanning | None] = {}


def spanning(op: Operator, dtypes: tuple[str, ...]) -> Spanning | None:
    """The operator's passes for inputs of these types; None where its states are not a few numbers."""
    if any(dtype not in ("int64", "float64", "bool") for dtype in dtypes):
        return None
    key = kernel_key(op, dtypes)
    if key not in _KNOWN:
        _KNOWN[key] = _builtin(op, dtypes) if op.builtin else _users(op, dtypes)
    return _KNOWN[key]


def _builtin(op: Operator, dtypes: tuple[str, ...]) -> Spanning | None:
    layout = builtin_layout(op.name, dtypes)
    if layout is None:
        return None
    module = load_builtin(f"spanning_{op.name}", op.name, dtypes, _source(layout, len(dtypes), BUILTIN_OPTIONS))
    return Spanning(op, layout, (module.fold_pass, module.combine_pass, module.spanning_pass))


def _users(op: Operator, dtypes: tuple[str, ...]) -> Spanning | None:
    import numba

    from slidewise.kernels.inference import infer

    if kernel_for(op, dtypes) is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lift, combine, lower = [compiled_function(f) for f in (op.lift, op.combine, op.lower)]
        found = infer(lift, combine, lower, dtypes)
    if found.layout.array:
        return None
    names: dict[str, Any] = {"njit": numba.njit, "lift": found.lift, "combine": found.combine, "lower": found.lower}
    exec(compile(_source(found.layout, len(dtypes), "nogil=True"), f"<spanning {op.name}>", "exec"), names)
    return Spanning(op, found.layout, (names["fold_pass"], names["combine_pass"], names["spanning_pass"]))


def _source(layout: Layout, inputs: int, options: str) -> str:
    fields, outputs = range(len(layout.fields)), range(len(layout.outputs))
    O = ", ".join(f"O{c}" for c in outputs) + (", V" if layout.optional else "")  # noqa: E741

    def x(i: str) -> str:
        return ", ".join(f"x{c}[{i}]" for c in range(inputs))

    def load(i: str) -> str:
        return f"state = S0[{i}]" if layout.scalar else f"state = ({', '.join(f'S{c}[{i}]' for c in fields)},)"

    def store(i: str) -> str:
        return f"S0[{i}] = state" if layout.scalar else "; ".join(f"S{c}[{i}] = state[{c}]" for c in fields)

    kept = "O0[i] = answer" if layout.single else "; ".join(f"O{c}[i] = answer[{c}]" for c in outputs)
    kept = f"keep(answer, i, {O})" if layout.optional else kept
    text = _PASSES.format(
        x=", ".join(f"x{c}" for c in range(inputs)),
        S=", ".join(f"S{c}" for c in fields),
        O=O,
        **{f"x_{i}": x(i) for i in ("0", "i", "E")},
        **{f"load_{i}": load(i) for i in ("0", "1", "h", "s")},
        **{f"store_{i}": store(i) for i in ("0", "i")},
        answer_i=f"answer = lower(state); {kept}",
    )
    each = "O0[i] = answer" if layout.single else "; ".join(f"O{c}[i] = answer[{c}]" for c in outputs)
    keep = f"""
@njit(nogil=True)
def keep(answer, i, {O}):
    if answer is None:
        V[i] = False
    else:
        {each}
"""
    compiled = "".join(f"\n{name} = njit({options})({name})" for name in ("fold_pass", "combine_pass", "spanning_pass"))
    return (keep if layout.optional else "") + text + compiled + "\n"
