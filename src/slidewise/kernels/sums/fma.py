"""A multiply and add with one rounding: the error of a product in one instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Context as TypingContext
    from numba.core.typing import Signature

Intrinsic: TypeAlias = tuple["Signature", Callable[..., ir.Value]]  # what Numba takes: a signature and its code


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def fma(_typing: TypingContext, a: types.Type, b: types.Type, c: types.Type) -> Intrinsic:
    """a * b + c, rounded once."""

    def code(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), code
