"""Python's arithmetic in compiled code: a result that does not fit into 64 bits, or has no value, is an error.

Where Python would go on with a larger integer or a complex number, which compiled code does not have, it is an error
too. Each function stands for one of Python's, for the types that its name says, and gives what that gives.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from numba import njit, uint64
from numba.core import types
from numba.core.extending import intrinsic

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value
    from numba.core.base import BaseContext
    from numba.core.typing import Context, Signature

_OVERFLOW = "an integer does not fit into 64 bits in compiled code; compute with floats, or in smaller units"
Order = Callable[[Any, Any], int]
_EXACT = 2**53  # integers up to here are floats without loss


def _overflowing(instruction: str) -> Any:
    """LLVM's operation on two int64 that raises where the result does not fit."""

    def operation(typing: Context, a: types.Type, b: types.Type) -> tuple[Signature, Callable[..., Value]]:
        def generate(context: BaseContext, builder: IRBuilder, signature: Signature, arguments: list[Value]) -> Value:
            pair = getattr(builder, f"{instruction}_with_overflow")(*arguments)
            with builder.if_then(builder.extract_value(pair, 1), likely=False):
                context.call_conv.return_user_exc(builder, OverflowError, (_OVERFLOW,))
            return builder.extract_value(pair, 0)

        return types.int64(types.int64, types.int64), generate

    return intrinsic(operation)


int_add, int_sub, int_mul = _overflowing("sadd"), _overflowing("ssub"), _overflowing("smul")


@njit
def itself(a):  # type: ignore[no-untyped-def]
    return a


@njit
def int_neg(a):  # type: ignore[no-untyped-def]
    return int_sub(0, a)


@njit
def int_abs(a):  # type: ignore[no-untyped-def]
    return int_sub(0, a) if a < 0 else a


@njit
def int_pow(a, b):  # type: ignore[no-untyped-def]
    if b < 0:
        if a == 0:
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        raise ValueError("an integer to a negative power is a float in Python; write float(a) ** b")
    result = 1
    while b > 0:
        if b & 1:
            result = int_mul(result, a)
        b >>= 1
        if b > 0:
            a = int_mul(a, a)
    return result


@njit
def int_lshift(a, b):  # type: ignore[no-untyped-def]
    if b < 0:
        raise ValueError("negative shift count")
    if a == 0:
        return 0
    if b > 63 or (a << b) >> b != a:
        raise OverflowError(_OVERFLOW)
    return a << b


@njit
def int_rshift(a, b):  # type: ignore[no-untyped-def]
    if b < 0:
        raise ValueError("negative shift count")
    return a >> min(b, 63)


@njit
def uint_lshift(a, b):  # type: ignore[no-untyped-def]
    if b < 0:
        raise ValueError("negative shift count")
    return a << b if b < 64 else a - a


@njit
def uint_rshift(a, b):  # type: ignore[no-untyped-def]
    if b < 0:
        raise ValueError("negative shift count")
    return a >> b if b < 64 else a - a


@njit
def int_floordiv(a, b):  # type: ignore[no-untyped-def]
    return int_sub(0, a) if b == -1 else a // b


@njit
def int_mod(a, b):  # type: ignore[no-untyped-def]
    return 0 if b == -1 else a % b


@njit
def int_divmod(a, b):  # type: ignore[no-untyped-def]
    return int_floordiv(a, b), int_mod(a, b)


@njit
def int_sum(values, start):  # type: ignore[no-untyped-def]
    total = start
    for value in values:
        total = int_add(total, value)
    return total


@njit
def float_pow(a, b):  # type: ignore[no-untyped-def]
    x, y = float(a), float(b)
    result = x**y
    if not math.isfinite(result) and math.isfinite(x) and math.isfinite(y):
        if x == 0.0:
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        if math.isnan(result):
            raise ValueError("a negative number to a fractional power is complex in Python")
        raise OverflowError("(34, 'Numerical result out of range')")
    return result


@njit
def math_pow(a, b):  # type: ignore[no-untyped-def]
    x, y = float(a), float(b)
    result = x**y
    if not math.isfinite(result) and math.isfinite(x) and math.isfinite(y):
        if math.isnan(result) or x == 0.0:
            raise ValueError("math domain error")
        raise OverflowError("math range error")
    return result


@njit
def math_ldexp(a, b):  # type: ignore[no-untyped-def]
    x = float(a)
    result = math.ldexp(x, max(min(b, 10_000), -10_000))
    if math.isinf(result) and math.isfinite(x):
        raise OverflowError("math range error")
    return result


@njit
def as_int(a):  # type: ignore[no-untyped-def]
    """A float that is a whole number as an integer."""
    if not -9223372036854775808.0 <= a < 9223372036854775808.0:
        if math.isnan(a):
            raise ValueError("cannot convert float NaN to integer")
        if math.isinf(a):
            raise OverflowError("cannot convert float infinity to integer")
        raise OverflowError(_OVERFLOW)
    return int(a)


@njit
def float_floor(a):  # type: ignore[no-untyped-def]
    whole = as_int(a)
    return whole - 1 if whole > a else whole


@njit
def float_ceil(a):  # type: ignore[no-untyped-def]
    whole = as_int(a)
    return whole + 1 if whole < a else whole


@njit
def float_round(a):  # type: ignore[no-untyped-def]
    as_int(a)
    return round(a)


@njit
def order(a, b):  # type: ignore[no-untyped-def]
    """-1, 0 or 1 as an integer lies before, at or behind a float, and 2 where that is NaN: exactly."""
    if -_EXACT <= a <= _EXACT or not abs(b) >= _EXACT:
        x = float(a)
        return -1 if x < b else 1 if x > b else 0 if x == b else 2
    if not -9223372036854775808.0 <= b < 9223372036854775808.0:
        return -1 if b > 0 else 1
    c = int(b)
    return -1 if a < c else 1 if a > c else 0


@njit
def unsigned_order(a, b):  # type: ignore[no-untyped-def]
    """-1, 0 or 1 as an unsigned integer lies before, at or behind a signed one."""
    if b < 0:
        return 1
    c = uint64(b)
    return -1 if a < c else 1 if a > c else 0


@njit
def exact_float(a):  # type: ignore[no-untyped-def]
    """An integer as the float that it becomes where it meets one in a variable; Python would leave it as it is."""
    if not -_EXACT <= a <= _EXACT and order(a, float(a)) != 0:
        raise OverflowError(
            "an integer beyond 2**53 becomes a float where it meets one; write float(...) if that is meant"
        )
    return float(a)


@njit
def int_truediv(a, b):  # type: ignore[no-untyped-def]
    if (-_EXACT <= a <= _EXACT and -_EXACT <= b <= _EXACT) or b == 0:
        return a / b
    magnitude = _ratio(uint64(a) if a >= 0 else uint64(0) - uint64(a), uint64(b) if b >= 0 else uint64(0) - uint64(b))
    return magnitude if (a < 0) == (b < 0) else -magnitude


@njit
def _ratio(a, b):  # type: ignore[no-untyped-def]
    """The float next to a / b: of 55 bits of the quotient, the last of which says whether more follow, rounded once."""
    bit = uint64(1)
    quotient, rest, scale = a // b, a % b, 0
    while quotient < uint64(2**54) and a > uint64(0):
        rest = rest << bit
        quotient = quotient << bit
        if rest >= b:
            rest -= b
            quotient |= bit
        scale -= 1
    if rest > uint64(0):
        quotient |= bit
    return math.ldexp(float(quotient), scale)


def _defined(function: Callable[[float], float], overflows: bool) -> Any:
    """A function of `math` with the errors that Python raises: where it has no value, and where that is too large."""

    @njit
    def defined(a):  # type: ignore[no-untyped-def]
        x = float(a)
        result = function(x)
        if not math.isfinite(result):
            if math.isnan(result) and not math.isnan(x):
                raise ValueError("math domain error")
            if math.isinf(result) and math.isfinite(x):
                if overflows:
                    raise OverflowError("math range error")
                raise ValueError("math domain error")
        return result

    return defined


DEFINED: dict[Any, Any] = {
    function: _defined(function, overflows)
    for overflows, functions in (
        (False, (math.log, math.log2, math.log10, math.log1p, math.sqrt, math.acos, math.asin, math.acosh)),
        (False, (math.atanh, math.sin, math.cos, math.tan)),
        (True, (math.exp, math.expm1, math.sinh, math.cosh)),
    )
    for function in functions
}


@cache
def converted(kind: types.Integer) -> Any:
    """A conversion of an integer to one of NumPy's narrower or unsigned ones, in which NumPy wants it to fit."""
    least, most = kind.minval, kind.maxval

    @njit
    def convert(a):  # type: ignore[no-untyped-def]
        if a < least or (most < 9223372036854775807 and a > most):
            raise OverflowError("a Python integer is out of bounds for the NumPy type that it is converted to")
        return kind(a)

    return convert


@njit
def int_sum_from_zero(values):  # type: ignore[no-untyped-def]
    return int_sum(values, 0)


def _compared(order_of: Order, test: Callable[[int], bool], swapped: bool) -> Any:
    """A comparison of numbers of two types, or of these types swapped, by their order."""
    holds = njit(test)
    if swapped:
        return njit(lambda a, b: holds(order_of(b, a)))
    return njit(lambda a, b: holds(order_of(a, b)))


def _comparisons(order_of: Order) -> dict[Any, tuple[Any, Any]]:
    """Each comparison for the types of an order, and for these types swapped."""
    return {
        name: (_compared(order_of, test, False), _compared(order_of, mirrored, True))
        for name, test, mirrored in (
            (operator.lt, lambda o: o == -1, lambda o: o == 1),
            (operator.le, lambda o: o <= 0, lambda o: o == 0 or o == 1),
            (operator.gt, lambda o: o == 1, lambda o: o == -1),
            (operator.ge, lambda o: o == 0 or o == 1, lambda o: o <= 0),
            (operator.eq, lambda o: o == 0, lambda o: o == 0),
            (operator.ne, lambda o: o != 0, lambda o: o != 0),
        )
    }


COMPARED = _comparisons(order)
COMPARED_UNSIGNED = _comparisons(unsigned_order)
