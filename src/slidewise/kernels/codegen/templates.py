"""Passes written as text with gaps, compiled for an operator.

Inputs, the fields of states and answers each have their arrays: x0, x1, ..., S0, S1, ... and O0, O1, ...
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from slidewise.errors import OperatorFailedError, SumOverflowError
from slidewise.kernels.codegen.kernel import BUILTIN_OPTIONS, functions_of, kernel_of, load_builtin
from slidewise.kernels.compiler.fingerprints import Fingerprint
from slidewise.kernels.compiler.user_functions import LruCache, compiled_function
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator


class Passes(NamedTuple):
    """How an operator's states lie, and its compiled passes by name."""

    layout: Layout
    run: dict[str, Callable[..., None]]


_KNOWN: LruCache[Passes | None] = LruCache()


def passes(what: str, text: str, op: Operator, dtypes: tuple[str, ...]) -> Passes | None:
    """The passes of a text for inputs of these types; None where the operator's states are not a few numbers.

    `what` names the text. Gaps: `{x}`, `{S}` and `{O}` are the arrays as parameters; with the name of a variable,
    `{x_i}` is the inputs of row i, `{load_i}` sets `state` from place i, `{store_i}` puts it there, and
    `{answer_i}` puts its answer into place i.
    """
    if not op.traits.compiled or any(dtype not in ("int64", "float64", "bool") for dtype in dtypes):
        return None
    functions = functions_of(op)
    return _KNOWN.get_or_make(
        (what, op.name, functions, dtypes),
        lambda: (
            _users(what, text, op, functions, dtypes) if op.traits.form is None else _builtin(what, text, op, dtypes)
        ),
    )


def run_pass(op: Operator, compiled: Callable[..., None], arguments: Sequence[Any]) -> None:
    """Run a pass; what an operator raises is said in its name."""
    try:
        compiled(*arguments)
    except OverflowError as error:
        if op.traits.form is not None:
            raise SumOverflowError(f"{op.name}: {error}; use floats or larger units instead") from None
        raise OperatorFailedError(f"operator {op.name!r} raised {error!r} on these rows") from error
    except Exception as error:
        raise OperatorFailedError(f"operator {op.name!r} raised {error!r} on these rows") from error


def _builtin(what: str, text: str, op: Operator, dtypes: tuple[str, ...]) -> Passes | None:
    layout, form = op.layout(dtypes), op.traits.form
    if layout is None or form is None:
        return None
    names, source = _source(text, layout, len(dtypes), BUILTIN_OPTIONS)
    module = load_builtin(f"{what}_{op.name}", form, dtypes, source)
    return Passes(layout, {name: getattr(module, name) for name in names})


def _users(
    what: str, text: str, op: Operator, functions: tuple[Fingerprint, ...], dtypes: tuple[str, ...]
) -> Passes | None:
    import numba

    from slidewise.kernels.codegen.inference import infer

    if kernel_of(op, functions, dtypes) is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lift, combine, lower = map(compiled_function, functions)
        found = infer(lift, combine, lower, dtypes)
    if found.layout.array:
        return None
    names, source = _source(text, found.layout, len(dtypes), "nogil=True")
    space: dict[str, Any] = {"njit": numba.njit, "lift": found.lift, "combine": found.combine, "lower": found.lower}
    exec(compile(source, f"<{what} {op.name}>", "exec"), space)
    return Passes(found.layout, {name: space[name] for name in names})


def _source(text: str, layout: Layout, inputs: int, options: str) -> tuple[list[str], str]:
    """The names of the passes, and the text with its gaps filled."""
    fields, outputs = range(len(layout.fields)), range(len(layout.outputs))
    out = ", ".join(f"O{c}" for c in outputs) + (", V" if layout.optional else "")

    def kept(i: str) -> str:
        return f"O0[{i}] = answer" if layout.single else "; ".join(f"O{c}[{i}] = answer[{c}]" for c in outputs)

    def gap(found: re.Match[str]) -> str:
        kind, i = found[1], found[2]
        match kind, i:
            case "x", None:
                return ", ".join(f"x{c}" for c in range(inputs))
            case "S", None:
                return ", ".join(f"S{c}" for c in fields)
            case "O", None:
                return out
            case "x", _:
                return ", ".join(f"x{c}[{i}]" for c in range(inputs))
            case "load", _:
                return f"state = S0[{i}]" if layout.scalar else f"state = ({', '.join(f'S{c}[{i}]' for c in fields)},)"
            case "store", _:
                return f"S0[{i}] = state" if layout.scalar else "; ".join(f"S{c}[{i}] = state[{c}]" for c in fields)
        return f"answer = lower(state); {f'keep(answer, {i}, {out})' if layout.optional else kept(i)}"

    keep = f"""
@njit(nogil=True)
def keep(answer, i, {out}):
    if answer is None:
        V[i] = False
    else:
        {kept("i")}
"""
    names = re.findall(r"^def (\w+)", text, re.MULTILINE)
    body = re.sub(r"\{(x|S|O|load|store|answer)(?:_(\w+))?\}", gap, text)
    compiled = "".join(f"\n{name} = njit({options})({name})" for name in names)
    return names, (keep if layout.optional else "") + body + compiled + "\n"
