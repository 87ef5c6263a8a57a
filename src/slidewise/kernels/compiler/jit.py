"""How kernels are compiled: without Python's lock, by IEEE's rules for floats, and without shortcuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.extending import intrinsic

from slidewise.kernels.compiler.machine_code import keep_machine_code

F = TypeVar("F", bound=Callable[..., Any])


def njit(*, cache: bool = False, **options: Any) -> Callable[[F], F]:
    """Numba's decorator; what is compiled with `cache=True` is kept in Slidewise's own cache."""

    def compiling(function: F) -> F:
        compiled: F = numba.njit(**options)(function)
        if cache:
            keep_machine_code(compiled)
        return compiled

    return compiling


def jit(function: F) -> F:
    """Compile a function."""
    return njit(nogil=True, error_model="numpy")(function)


def cached_jit(function: F) -> F:
    """Compile a function of this package's own, and keep its machine code from one process to the next."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def borrowed(_typing: Any, array: Any) -> Any:
    """The same array without an owner: calls that pass it on count no references, which takes longer than small steps.

    Whoever calls compiled code holds the array itself, so it lives as long as the call.
    """

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        from numba.core import cgutils
        from numba.np.arrayobj import make_array

        view = make_array(array)(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), code
