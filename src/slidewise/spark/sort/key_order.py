"""Spark's order of keys: nulls first, all NaN equal and last, -0.0 equal to 0.0, text by its bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.arrays import Array


def first_descent(columns: Sequence[pa.ChunkedArray], at: Array) -> int | None:
    """The first of these rows whose key is greater than that of the row after it, or None.

    Keys are compared column by column.
    """
    undecided = np.ones(len(at), np.bool_)
    backwards = np.zeros(len(at), np.bool_)
    for column in columns:
        if not undecided.any():
            break
        less, more = _compare(column.take(pa.array(at)), column.take(pa.array(at + 1)))
        backwards |= undecided & more
        undecided &= ~(less | more)
    return int(at[backwards.argmax()]) if backwards.any() else None


def ranks(column: pa.Array | pa.ChunkedArray) -> tuple[Array, int]:
    """Each value's rank, nulls before all; and a bound on ranks."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    whole = pa.types.is_integer(column.type)
    if whole and column.null_count < len(column):
        ends = pc.min_max(column)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        if high - low <= 2 * len(column) + 1_000:
            codes = column.cast(pa.int64()).fill_null(low).to_numpy() - low + 1
            if column.null_count:
                codes[column.is_null().to_numpy(zero_copy_only=False)] = 0
            return codes, high - low + 2
    elif pa.types.is_floating(column.type):
        nan = pa.scalar(float("nan"), column.type)  # one bit pattern for all
        column = pc.if_else(pc.is_nan(column), nan, pc.add(column, pa.scalar(0.0, column.type)))  # -0.0 becomes 0.0
    coded = column.dictionary_encode()
    values = coded.dictionary
    if whole or pa.types.is_floating(column.type):
        order = np.argsort(values.to_numpy(), kind="stable")
    else:
        order = pc.array_sort_indices(values).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    rank[-1] = 0  # that of nulls, whose index is -1
    return rank[coded.indices.fill_null(-1).to_numpy()], len(order) + 1


def _compare(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[Array, Array]:
    """Where the left value is less, and where it is greater."""
    has_left, has_right = np.asarray(left.is_valid()), np.asarray(right.is_valid())
    both = has_left & has_right
    if pa.types.is_floating(left.type):
        a = left.fill_null(0).to_numpy(zero_copy_only=False)
        b = right.fill_null(0).to_numpy(zero_copy_only=False)
        less, more = (a < b) | (np.isnan(b) & ~np.isnan(a)), (a > b) | (np.isnan(a) & ~np.isnan(b))
    else:
        less, more = (
            np.asarray(test(left, right).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
            for test in (pc.less, pc.greater)
        )
    return (both & less) | (~has_left & has_right), (both & more) | (has_left & ~has_right)
