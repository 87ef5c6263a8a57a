"""Columns of categories: text as the places of its values in their order, without an object for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import pandas_array
from slidewise.columns.series import Column, Series, kind_of

if TYPE_CHECKING:
    import pyarrow as pa


def coded(values: Series) -> Column | None:
    """A column of text as codes that are in the order of the texts; None where it is no text of Arrow's."""
    import pyarrow as pa
    from pyarrow import compute

    array = _as_arrow(values)
    if array is None:
        return None
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if kind not in (pa.string(), pa.large_string()):
        return None
    if pa.types.is_dictionary(array.type):
        array = array.cast(kind)
    encoded = array.dictionary_encode()
    order = compute.sort_indices(encoded.dictionary)
    places = np.empty(len(order), np.int64)
    places[order.to_numpy()] = np.arange(len(order))
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    indices = encoded.indices.fill_null(0) if array.null_count else encoded.indices
    texts = encoded.dictionary.take(order)

    def restored(codes: Array) -> pa.Array:
        return texts.take(pa.array(codes))

    data = places[indices.to_numpy()] if len(places) else np.zeros(len(array), np.int64)
    return Column(data, valid, restored, arrow=kind)


def _as_arrow(values: Series) -> pa.Array | None:
    import pyarrow as pa

    kind = kind_of(values)
    if kind == "numpy":
        return None
    try:
        array = values.to_arrow() if kind == "polars" else pandas_array(values) if kind == "pandas" else values
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array.cast(pa.string()) if str(array.type) == "string_view" else array
