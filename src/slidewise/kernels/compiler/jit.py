"""The decorators that compile kernels: without the GIL, by IEEE's rules for floats, and without fast-math shortcuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numba
from numba.extending import intrinsic

from slidewise.kernels.compiler.machine_code import keep_machine_code
from slidewise.kernels.compiler.plain import plain_form
from slidewise.kernels.compiler.tiers import compile_later

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value
    from numba.core import types
    from numba.core.base import BaseContext
    from numba.core.typing import Context, Signature

F = TypeVar("F", bound=Callable[..., Any])


def njit(*, cache: bool = False, later: bool = False, **options: Any) -> Callable[[F], F]:
    """Numba's decorator, which with `cache=True` caches machine code in Slidewise's own cache.

    With `later=True` calls over few rows run as plain Python before that takes longer than compiling would.
    """

    def decorate(function: F) -> F:
        compiled: F = numba.njit(**options)(function)
        if cache:
            keep_machine_code(compiled)
        if later:
            compile_later(compiled)
        return compiled

    return decorate


def jit(function: F) -> F:
    """Compile a function."""
    return njit(nogil=True, error_model="numpy")(function)


def cached_jit(function: F) -> F:
    """Compile a function of this package's own, and cache its machine code from one process to the next."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


def tiered_jit(function: F) -> F:
    """The same for a function that may also run as plain Python: it takes time in proportion to its arrays at most."""
    return njit(cache=True, later=True, nogil=True, error_model="numpy")(function)


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def not_none(_typing: Context, value: types.Type) -> tuple[Signature, Callable[..., Value]]:
    """A value that may be None by its type, and is not."""
    from numba.core import types

    inner = value.type if isinstance(value, types.Optional) else value

    def generate(context: BaseContext, builder: IRBuilder, _signature: Signature, arguments: list[Value]) -> Value:
        return context.cast(builder, arguments[0], value, inner)

    return inner(value), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def borrowed(_typing: Context, array: types.Array) -> tuple[Signature, Callable[..., Value]]:
    """A view of an array without an owner: passing it on counts no references, which takes longer than small steps.

    Whoever calls compiled code holds the array itself, so it lives as long as the call.
    """

    def generate(context: BaseContext, builder: IRBuilder, _signature: Signature, arguments: list[Value]) -> Value:
        from numba.core import cgutils
        from numba.np.arrayobj import make_array

        view = make_array(array)(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def copy_eight(
    _typing: Context, x: types.Array, i: types.Type, out: types.Array, to: types.Type
) -> tuple[Signature, Callable[..., Value]]:
    """Copy eight values at once, from place i on to places of an array of the same type."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: BaseContext, builder: IRBuilder, _signature: Signature, arguments: list[Value]) -> Value:
        from numba.np.arrayobj import make_array

        sources, place, targets, target = arguments
        data = make_array(x)(context, builder, sources).data
        room = make_array(out)(context, builder, targets).data
        eight = ir.VectorType(data.type.pointee, 8).as_pointer()
        size = context.get_abi_sizeof(data.type.pointee)
        values = builder.load(builder.bitcast(builder.gep(data, [place]), eight), align=size)
        builder.store(values, builder.bitcast(builder.gep(room, [target]), eight), align=size)
        return context.get_dummy_value()

    return types.void(x, i, out, to), generate


@plain_form(not_none)
@plain_form(borrowed)
def _itself(value: Any) -> Any:
    return value


@plain_form(copy_eight)
def _copy_eight(x: Any, i: int, out: Any, to: int) -> None:
    out[to : to + 8] = x[i : i + 8]
