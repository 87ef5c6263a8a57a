"""The paper's algorithms in compiled form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.operators.operator import Operator
from slidewise.swag.interface import Swag

if TYPE_CHECKING:
    from slidewise.compiled.inputs import TypeNames
    from slidewise.compiled.order_statistics import CompiledOrder
    from slidewise.compiled.window import Compiled


def compiled(
    algorithm: type[Swag], operator: Operator, dtype: TypeNames, min_arity: int | None = None
) -> Compiled | CompiledOrder:
    """An algorithm of the paper, compiled for an operator over numbers of a type.

    The algorithm is `TwoStacks`, `TwoStacksLite`, `Daba`, `DabaLite`, `FlatFit`, `Fiba` with a `min_arity`, or, for
    a median or quantile, `OrderStatistics`.

    Single steps do what the interpreted class does, with the same pointers and partials; loops over whole arrays run
    without Python in between: `insert_many`, `rounds` and `fill_and_drain`.

    Args:
        algorithm: The class.
        operator: A built-in operator, or one of your own that Numba compiles.
        dtype: The inputs' type, or a tuple of types.
        min_arity: The least number of children of a `Fiba`'s node.

    Returns:
        A window with the methods of the class, and loops over arrays.

    Raises:
        SlidewiseError: An algorithm, operator or type that cannot be compiled; the message says why.

    >>> import numpy as np, slidewise as sw
    >>> w = sw.compiled(sw.DabaLite, sw.max, "float64")
    >>> w.insert_many(np.array([4.0, 5.0, 3.0]))
    >>> w.rounds(np.array([4.0, 0.0, 4.0, 4.0]))
    array([5., 4., 4., 4.])
    """
    from slidewise.compiled.build import compiled as compile_window

    return compile_window(algorithm, operator, dtype, min_arity)
