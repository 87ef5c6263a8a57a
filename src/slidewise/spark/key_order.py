"""Whether keys come in Spark's order: nulls first, NaN last and one, -0.0 equal to 0.0, text by its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any


def first_backwards(columns: Sequence[Any], at: Array) -> int | None:
    """The first of these rows whose key is greater than that of the row after it, or None.

    Keys are compared column by column.
    """
    import pyarrow as pa

    undecided = np.ones(len(at), np.bool_)
    backwards = np.zeros(len(at), np.bool_)
    for column in columns:
        if not undecided.any():
            break
        less, more = _compared(column.take(pa.array(at)), column.take(pa.array(at + 1)))
        backwards |= undecided & more
        undecided &= ~(less | more)
    return int(at[backwards.argmax()]) if backwards.any() else None


def _compared(one: Any, two: Any) -> tuple[Array, Array]:
    """Where the first is less, and where it is more."""
    import pyarrow as pa
    import pyarrow.compute as pc

    has_one, has_two = np.asarray(one.is_valid()), np.asarray(two.is_valid())
    both = has_one & has_two
    if pa.types.is_floating(one.type):
        a = one.fill_null(0).to_numpy(zero_copy_only=False)
        b = two.fill_null(0).to_numpy(zero_copy_only=False)
        less, more = (a < b) | (np.isnan(b) & ~np.isnan(a)), (a > b) | (np.isnan(a) & ~np.isnan(b))
    else:
        less, more = (
            np.asarray(test(one, two).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
            for test in (pc.less, pc.greater)
        )
    return (both & less) | (~has_one & has_two), (both & more) | (has_one & ~has_two)
