"""Arithmetic over Arrow arrays of int64 or float64: by NumPy where it is as exact, and by pyarrow elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slidewise.expressions.functions.function import LOW, ValueOverflow
from slidewise.expressions.functions.times import difference_of_arrays
from slidewise.expressions.functions.vectors import Bounds, Into, Side, array_of, bounds_of, fits, values_of

if TYPE_CHECKING:
    import pyarrow as pa


def _sums(x: Bounds, y: Bounds) -> bool:
    return fits(x[0] + y[0], x[1] + y[1])


def _differences(x: Bounds, y: Bounds) -> bool:
    return fits(x[0] - y[1], x[1] - y[0])


def _products(x: Bounds, y: Bounds) -> bool:
    return fits(*(a * b for a in x for b in y))


def _by_numpy(name: str, stays: Callable[[Bounds, Bounds], bool]) -> Callable[..., Any]:
    """A function of two numbers; whole ones go to pyarrow, which checks each, unless their bounds say that all fit."""

    def over_arrays(x: Side, y: Side, into: Into = None) -> Any:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        a, b = values_of(x), values_of(y)
        if pa.types.is_integer(x.type) and not stays(bounds_of(a), bounds_of(b)):
            return getattr(pc, f"{name}_checked")(x, y)
        return array_of(getattr(np, name)(a, b, out=into), x.type, x, y)

    return over_arrays


added = _by_numpy("add", _sums)
multiplied = _by_numpy("multiply", _products)
_subtracted = _by_numpy("subtract", _differences)


def subtracted(x: Side, y: Side, into: Into = None) -> Any:
    """The difference of numbers, or the seconds between times."""
    import pyarrow as pa

    return (difference_of_arrays if pa.types.is_temporal(x.type) else _subtracted)(x, y, into)


def _by_divisor(name: str) -> Callable[..., Any]:
    """A division, null where the divisor is 0."""

    def over_arrays(x: Side, y: Side, into: Into = None) -> Any:
        import numpy as np

        a, b = values_of(x), values_of(y)
        quotients = getattr(np, name)(a, b, out=into)
        nonzero = None if np.all(b) else np.broadcast_to(np.not_equal(b, 0), quotients.shape)
        return array_of(quotients, x.type, x, y, also=nonzero)

    return over_arrays


divided = _by_divisor("divide")
remainder = _by_divisor("remainder")
_floor_divided = _by_divisor("floor_divide")


def floor_divided(x: Side, y: Side) -> Any:
    """The quotient rounded towards minus infinity."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(x.type) and bounds_of(values_of(x))[0] == LOW:
        lowest = pc.and_(pc.equal(x, pa.scalar(LOW)), pc.equal(y, pa.scalar(-1)))
        if pc.any(lowest).as_py():
            raise ValueOverflow
    return _floor_divided(x, y)


def of_floats(name: str) -> Callable[..., pa.Array]:
    """A function of the C library, by the name that pyarrow calls it."""

    def over_arrays(*sides: Side) -> Any:
        import pyarrow.compute as pc

        return getattr(pc, name)(*sides)

    return over_arrays


def square_root(x: pa.Array, into: Into = None) -> Any:
    """The square root, which is exact in every library."""
    import numpy as np

    return array_of(np.sqrt(values_of(x), out=into), x.type, x)


def negated(x: pa.Array) -> Any:
    """The number with the other sign."""
    import pyarrow.compute as pc

    return pc.negate_checked(x)


def absolute(x: pa.Array) -> Any:
    """The number without its sign."""
    import pyarrow.compute as pc

    return pc.abs_checked(x)


def whole(name: str) -> Callable[[Any], Any]:
    """A rounding to whole numbers, `floor` or `ceil`."""

    def over_arrays(x: pa.Array) -> Any:
        import numpy as np
        import pyarrow as pa

        if pa.types.is_integer(x.type):
            return x
        return array_of(getattr(np, name)(values_of(x)), x.type, x)

    return over_arrays


def rounded_to(x: pa.Array, digits: pa.Scalar) -> Any:
    """The nearest number with so many digits, of two the one further from 0."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_integer(x.type):
        return x
    values = values_of(x)
    scale = 10.0 ** digits.as_py()
    scaled = values * scale
    size = np.abs(scaled)
    low = np.floor(size)
    nearest = np.copysign(np.where(size - low >= 0.5, low + 1.0, low), scaled) / scale
    return array_of(np.where(np.isfinite(scaled), nearest, values), x.type, x)


def signs(x: pa.Array) -> Any:
    """-1, 0 or 1, of the number's own type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.sign(x).cast(pa.int64()) if pa.types.is_integer(x.type) else pc.sign(x)
