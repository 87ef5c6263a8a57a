"""A multiply and add with one rounding: the error of a product in one instruction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from slidewise.kernels.compiler.plain import plain_form

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


@plain_form(fma)
def plain_fma(a: float, b: float, c: float) -> float:
    """The same in Python.

    >>> float(plain_fma(0.1, 10.0, -1.0))
    5.551115123125783e-17
    """
    rough = np.float64(a) * b + c
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return rough
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:  # the product is exact, then, and so is the zero's sign
        return rough
    try:
        return np.float64(exact.numerator / exact.denominator)
    except OverflowError:
        return np.float64(math.inf if exact > 0 else -math.inf)
