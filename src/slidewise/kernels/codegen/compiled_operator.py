"""An operator's functions in compiled form, and woven texts made to call them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slidewise.kernels.compiler.cache import load_source
from slidewise.kernels.compiler.fingerprints import Fingerprint
from slidewise.kernels.compiler.user_functions import compiled_function
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator

# What a text finds beside lift, combine and lower. No text makes an array or gives one back, so none counts references
# to arrays (`_nrt=False`): their callers hold them, and counting took half of the time of a loop with small steps.
PRELUDE = """
from numba import uint64, uintp as u
from slidewise.kernels.compiler.jit import borrowed, njit
jit = njit(cache=True, nogil=True, error_model='numpy', _nrt=False)
inlined = njit(cache=True, nogil=True, error_model='numpy', forceinline=True, _nrt=False)
"""
_TIERED = PRELUDE.replace("jit = njit(cache=True,", "jit = njit(cache=True, later=True,", 1)


@dataclass(frozen=True, slots=True)
class CompiledOperator:
    """An operator for inputs of certain types: the name of a compiled form, or a user's compiled functions."""

    name: str
    dtypes: tuple[str, ...]
    layout: Layout
    form: str | None
    lift: Any = None
    combine: Any = None
    lower: Any = None

    def load(self, name: str, text: str, later: bool = False) -> dict[str, Any]:
        """The functions of a woven text. Machine code of forms is kept on disk; a user's is made anew.

        `later` ones run as plain Python while that is cheaper than compiling.
        """
        if self.form is not None:
            head = f"{_TIERED if later else PRELUDE}{form_source(self.form, self.dtypes)}\n"
            return vars(load_source(f"{name}_{self.name}_{'_'.join(self.dtypes)}", head + text))
        import numba

        from slidewise.kernels.compiler.jit import borrowed, not_none

        namespace: dict[str, Any] = {
            "jit": numba.njit(nogil=True),
            "inlined": numba.njit(nogil=True, forceinline=True),
            "borrowed": borrowed,
            "not_none": not_none,
            "u": numba.uintp,
            "uint64": numba.uint64,
            "lift": self.lift,
            "combine": self.combine,
            "lower": self.lower,
        }
        exec(compile(text, f"<{name} of {self.name}>", "exec"), namespace)
        return namespace


def form_source(form: str, dtypes: tuple[str, ...]) -> str:
    """The lines that import a form's lift, combine and lower for inputs of these types."""
    kinds = tuple("f" if dtype.startswith("float") else "i" for dtype in dtypes)
    return f"from slidewise.kernels.codegen.forms import forms\nlift, combine, lower = forms({form!r}, {kinds!r})"


def compiled_form(operator: Operator, dtypes: tuple[str, ...]) -> CompiledOperator | None:
    """An operator's compiled form, or None where there is none for these types."""
    layout, form = operator.layout(dtypes), operator.traits.form
    return None if layout is None or form is None else CompiledOperator(operator.name, dtypes, layout, form)


def compiled_by_user(
    operator: Operator, functions: tuple[Fingerprint, ...], dtypes: tuple[str, ...]
) -> CompiledOperator:
    """A user's operator, from the fingerprints of its functions; raises Numba's error where it cannot be compiled."""
    from slidewise.kernels.codegen.inference import infer

    lift, combine, lower = map(compiled_function, functions)
    inferred = infer(lift, combine, lower, dtypes)
    return CompiledOperator(
        operator.name, dtypes, inferred.layout, None, inferred.lift, inferred.combine, inferred.lower
    )
