"""The double-double functions, compiled from the very source that the interpreted operators use.

All but `remainder`, which is exact where `quotient` asks for it, and so has the same bits of one instruction.
"""

from __future__ import annotations

import math
import types
from typing import Any

from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.sums.fma import fma
from slidewise.operators.values import double_double


@jit
def remainder(a: float, q: float, n: float) -> float:
    """a - q * n for the float q next to a / n."""
    rest: float = fma(-q, n, a)
    return rest


def _compile() -> dict[str, Any]:
    names = ["two_sum", "_split", "two_product", "_normal", "add", "negate", "multiply", "divide", "quotient", "ratio"]
    namespace: dict[str, Any] = {"__name__": __name__, "isfinite": math.isfinite, "remainder": remainder}
    namespace |= {name: getattr(double_double, name) for name in ("_LARGE", "_SMALL", "_UP", "_DOWN", "_LEAST")}
    for name in names:
        source = getattr(double_double, name)
        function = types.FunctionType(source.__code__, namespace, name)
        namespace[name] = jit(function)
    return namespace


_compiled = _compile()
two_sum = _compiled["two_sum"]
add = _compiled["add"]
negate = _compiled["negate"]
multiply = _compiled["multiply"]
divide = _compiled["divide"]
quotient = _compiled["quotient"]
ratio = _compiled["ratio"]


@jit
def from_int(x: int) -> tuple[float, float]:
    """A 64-bit integer, exactly."""
    words: tuple[float, float] = two_sum(float((x >> 11) << 11), float(x & 2047))
    return words
