"""A kernel: an operator compiled into passes over whole arrays."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from slidewise.arrays import Array
from slidewise.errors import OperatorFailedError, SumOverflowError, users_stack_level
from slidewise.kernels.bounds.rows_and_times import longest
from slidewise.kernels.codegen.source import kernel_source
from slidewise.kernels.compiler.cache import load_source
from slidewise.kernels.compiler.fingerprints import Fingerprint, fingerprint
from slidewise.kernels.compiler.user_functions import LruCache, compiled_function
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator

_KERNELS: LruCache[Kernel | None] = LruCache()


@dataclass(frozen=True, slots=True)
class Answers:
    """One array per field of the answer, and which rows have one; None means all.

    `struct` means that the answer is a tuple, which one field does not tell.
    """

    fields: list[Array]
    valid: npt.NDArray[np.bool_] | None
    struct: bool = False

    def moved(self, order: Callable[[Array], Array]) -> Answers:
        """The answers in another order: each array as `order` gives it."""
        fields = [order(field) for field in self.fields]
        return replace(self, fields=fields, valid=None if self.valid is None else order(self.valid))

    def limited(self, enough: Array) -> Answers:
        """The answers of those rows only that are valid and have enough to go by."""
        return replace(self, valid=enough if self.valid is None else self.valid & enough)


@dataclass(frozen=True, slots=True)
class Kernel:
    """The passes of one operator over inputs of certain types."""

    operator: str
    layout: Layout
    rows_pass: Any
    keys_pass: Any
    bounds_pass: Any
    lift: Any = None

    def rows(self, inputs: Sequence[Array], n: int) -> Answers:
        """The answer for the last n rows at every row; the first rows have fewer."""
        m = len(inputs[0])
        return self._run(self.rows_pass, inputs, (max(1, min(n, m)),), m, min(n, m))

    def rows_by_key(self, inputs: Sequence[Array], offsets: Array, n: int) -> Answers:
        """The same for many keys: key k has the rows from offsets[k] up to offsets[k + 1]."""
        m = len(inputs[0])
        return self._run(self.keys_pass, inputs, (offsets, n), m, min(n, m))

    def bounds(self, inputs: Sequence[Array], starts: Array, ends: Array) -> Answers:
        """The answer for the rows [starts[i], ends[i]), for every i; neither may ever fall. No rows, no answer."""
        return self._run(self.bounds_pass, inputs, (starts, ends), len(starts), int(longest(starts, ends)))

    def _run(self, run: Any, inputs: Sequence[Array], bounds: tuple[Any, ...], m: int, states: int) -> Answers:
        layout = self.layout
        outputs = _fields(m, layout.outputs)
        valid = [np.ones(m, np.bool_)] if layout.optional else []
        if states > 0 and len(inputs[0]):
            try:
                stored = self._storage(states, inputs)
                run(*inputs, *bounds, *stored, *outputs, *valid)
            except OverflowError as error:
                if self.lift is not None:
                    raise OperatorFailedError(f"operator {self.operator!r} raised {error!r} on these rows") from error
                raise SumOverflowError(f"{self.operator}: {error}; use floats or larger units instead") from None
            except Exception as error:
                raise OperatorFailedError(f"operator {self.operator!r} raised {error!r} on these rows") from error
        return Answers(outputs, valid[0] if valid else None, not layout.single)

    def _storage(self, states: int, inputs: Sequence[Array]) -> list[Array]:
        """Room for so many states: one array per field, or one row per state where states are arrays."""
        if self.layout.array:
            width = len(self.lift(*(x[0] for x in inputs)))
            return [np.empty((states, width), self.layout.fields[0])]
        return [np.empty(states, dtype) for dtype in self.layout.fields]


def _fields(m: int, dtypes: Sequence[str]) -> list[Array]:
    """Room for so many answers: several fields that fill whole words lie in one struct, as NumPy's users get them."""
    if len(dtypes) == 1 or "bool" in dtypes:
        return [np.empty(m, dtype) for dtype in dtypes]
    struct = np.empty(m, [(str(i), dtype) for i, dtype in enumerate(dtypes)])
    return [struct[name] for name in struct.dtype.names or ()]


def kernel_for(operator: Operator, dtypes: tuple[str, ...]) -> Kernel | None:
    """The operator's kernel for inputs of these types, or None where it cannot be compiled; then said once, and why."""
    if not operator.traits.compiled:
        return None
    return kernel_of(operator, functions_of(operator), dtypes)


def kernel_of(operator: Operator, functions: tuple[Fingerprint, ...], dtypes: tuple[str, ...]) -> Kernel | None:
    """The same for functions whose fingerprints have been taken."""
    return _KERNELS.get_or_make(
        (operator.name, functions, dtypes),
        lambda: _users(operator, functions, dtypes) if operator.traits.form is None else _builtin(operator, dtypes),
    )


def functions_of(operator: Operator) -> tuple[Fingerprint, ...]:
    """The fingerprints of lift, combine and lower as they are now; an operator with a form goes by its name."""
    if operator.traits.form is not None:
        return ()
    return tuple(fingerprint(function) for function in (operator.lift, operator.combine, operator.lower))


def load_builtin(name: str, form: str, dtypes: tuple[str, ...], passes: str) -> Any:
    """A module of passes, whose text names the lift, combine and lower of a compiled form."""
    kinds = tuple("f" if dtype.startswith("float") else "i" for dtype in dtypes)
    lines = [
        "from numba import uintp as u",
        "from slidewise.kernels.compiler.jit import njit",
        "from slidewise.kernels.codegen.forms import forms",
        f"lift, combine, lower = forms({form!r}, {kinds!r})",
        passes,
    ]
    return load_source(f"{name}_{'_'.join(dtypes)}", "\n".join(lines))


BUILTIN_OPTIONS = "cache=True, nogil=True, error_model='numpy'"


def _builtin(operator: Operator, dtypes: tuple[str, ...]) -> Kernel | None:
    layout, form = operator.layout(dtypes), operator.traits.form
    if layout is None or form is None:
        return None
    passes = _passes(layout, len(dtypes), BUILTIN_OPTIONS)
    module = load_builtin(operator.name, form, dtypes, passes)
    return Kernel(operator.name, layout, module.rows_pass, module.keys_pass, module.bounds_pass)


def _users(operator: Operator, functions: tuple[Fingerprint, ...], dtypes: tuple[str, ...]) -> Kernel | None:
    import numba

    from slidewise.kernels.codegen.inference import infer

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lift, combine, lower = map(compiled_function, functions)
            inferred = infer(lift, combine, lower, dtypes)
    except Exception as error:
        warnings.warn(
            f"operator {operator.name!r} cannot be compiled and runs interpreted, which is slower: {reason(error)}",
            stacklevel=users_stack_level(),
        )
        return None
    namespace: dict[str, Any] = {
        "njit": numba.njit,
        "u": numba.uintp,
        "lift": inferred.lift,
        "combine": inferred.combine,
        "lower": inferred.lower,
    }
    text = _passes(inferred.layout, len(dtypes), "nogil=True")
    exec(compile(text, f"<kernel of {operator.name}>", "exec"), namespace)
    rows_pass, keys_pass, bounds_pass = [namespace[name] for name in ("rows_pass", "keys_pass", "bounds_pass")]
    return Kernel(operator.name, inferred.layout, rows_pass, keys_pass, bounds_pass, inferred.lift)


def _passes(layout: Layout, inputs: int, options: str) -> str:
    fields = 0 if layout.scalar else len(layout.fields)
    outputs = 0 if layout.single else len(layout.outputs)
    passes = kernel_source(inputs, fields, outputs, layout.optional, layout.array)
    return "\n".join(f"{text}\n{name} = njit({options})({name})" for name, text in passes.items())


def reason(error: Exception) -> str:
    """The telling lines of Numba's long message: what failed, and in which line of the user's source."""
    lines = [
        re.sub(r"^(.*?) Raised from (.*) \((\d+)\)$", r"\1; File \2, line \3", s.strip())
        for s in str(error).splitlines()
    ]
    telling = [line for line in lines if line and not line.startswith(("Failed in", "- ", "During", "^", "<source"))]
    where = [line for line in lines if line.startswith("File ")]
    return "; ".join(dict.fromkeys([*telling[:1], *where[:1]])) or type(error).__name__
