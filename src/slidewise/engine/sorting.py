"""Sorts rows: by key, then by time, and rows of equal time by the columns that the definition says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import one_array, pandas_array
from slidewise.columns.series import Column, kind_of, read
from slidewise.definition import Definition
from slidewise.errors import InputError
from slidewise.kernels.bounds.key_ranges import clipped
from slidewise.kernels.compiler.jit import tiered_jit
from slidewise.kernels.compiler.threads import free_threads, share_parts, share_rows, worth
from slidewise.kernels.order.grouping import Grouped, dense_codes, dictionary_codes, gather, scatter
from slidewise.kernels.order.time_order import order_in_threads


class RowOrder:
    """Where each row of the input stands among the sorted ones, and where each key's rows begin and end."""

    def __init__(self, offsets: Array, places: Array | None) -> None:
        self.offsets = offsets
        self.places = places  # None: the rows stand as they came

    def to_sorted(self, x: Array) -> Array:
        """The values in the sorted order."""
        return x if self.places is None else Grouped.to_sorted(self, x)  # type: ignore[arg-type]

    def to_input(self, x: Array) -> Array:
        """The values in the order of the input."""
        return x if self.places is None else Grouped.to_input(self, x)  # type: ignore[arg-type]

    def rows(self) -> Array | None:
        """The row of the input that comes first, second and so on; None where they stand so already."""
        if self.places is None:
            return None
        rows = np.empty(len(self.places), np.int64)
        rows[self.places] = np.arange(len(self.places))
        return rows

    def moved(self, order: Array) -> RowOrder:
        """The same with the sorted row order[i] put at place i."""
        to = np.empty(len(order), order.dtype)
        to[order] = np.arange(len(order), dtype=order.dtype)
        return RowOrder(self.offsets, to if self.places is None else to[self.places])


def sort_rows(
    definition: Definition,
    codes: Array | None,
    groups: int,
    times: Array | None,
    count: int,
    column: Callable[[str], Column],
) -> RowOrder:
    """The definition's order of rows: by key, by time, and rows of equal time by its `ordering` where that matters.

    `column` reads a column by its name, and is called only for those that order rows of equal time.
    """
    order = by_key_and_time(codes, groups, times, count)
    if times is None or not count or not definition.ordered:
        return order
    return order_peers(order, order.to_sorted(times), definition.ordering, column)


def by_key_and_time(codes: Array | None, groups: int, times: Array | None, count: int) -> RowOrder:
    """Rows by key and time; rows of equal key and time stay in the order they came."""
    if codes is None:
        by_key = RowOrder(np.array([0, count]), None)
    else:
        grouped = Grouped(codes, groups)
        by_key = RowOrder(grouped.offsets, grouped.places)
    if times is None or is_sorted(by_key.to_sorted(times), by_key.offsets):
        return by_key
    by_time = order_in_threads(times)
    if codes is None:
        return by_key.moved(by_time)
    in_time_order = np.empty_like(codes)
    gather(codes, by_time, in_time_order)
    arranged = Grouped(in_time_order, groups)
    places = np.empty_like(arranged.places)
    scatter(arranged.places, by_time, places)
    return RowOrder(by_key.offsets, places)


def is_sorted(times: Array, offsets: Array) -> bool:
    """Whether times never run backwards within a key."""
    if worth(len(times)) < 2:
        return bool(_rises(times, offsets))
    backwards: list[bool] = []

    def work(a: int, b: int) -> None:
        a = max(a - 1, 0)  # times are compared across the cut, too
        backwards.append(not _rises(times[a:b], clipped(offsets, a, b)))

    share_rows(len(times), work)
    return not any(backwards)


@tiered_jit
def _rises(times: Any, offsets: Any) -> Any:
    """Whether times never run backwards within a key."""
    for k in range(len(offsets) - 1):
        for i in range(offsets[k] + 1, offsets[k + 1]):
            if times[i] < times[i - 1]:
                return False
    return True


@tiered_jit
def mark_peers(times: Any, offsets: Any, group: Any) -> Any:
    """Number the groups of rows with equal key and time; how many rows share theirs with another row."""
    number = -1
    shared = 0
    for k in range(len(offsets) - 1):
        for i in range(offsets[k], offsets[k + 1]):
            if i == offsets[k] or times[i] != times[i - 1]:
                number += 1
            else:
                shared += 1
            group[i] = number
    return shared


def _any_peers(times: Array, offsets: Array) -> bool:
    """Whether any rows have equal key and time."""
    if worth(len(times)) < 2:
        return bool(_has_peers(times, offsets))
    shared: list[bool] = []

    def work(a: int, b: int) -> None:
        a = max(a - 1, 0)
        shared.append(bool(_has_peers(times[a:b], clipped(offsets, a, b))))

    share_rows(len(times), work)
    return any(shared)


@tiered_jit
def _has_peers(times: Any, offsets: Any) -> Any:
    shared = 0
    for k in range(len(offsets) - 1):
        for i in range(offsets[k] + 1, offsets[k + 1]):
            shared += times[i] == times[i - 1]
    return shared


def order_peers(order: RowOrder, times: Array, names: Iterable[str], column: Callable[[str], Column]) -> RowOrder:
    """Rows of equal key and time ordered by these columns, the first counting most: nulls first, NaN last.

    Only rows that have peers are looked at, which are few as a rule; where there are none, no column is read.
    """
    if not _any_peers(times, order.offsets):
        return order
    group = np.empty(len(times), np.int64)
    mark_peers(times, order.offsets, group)
    alone = np.bincount(group)[group] == 1
    rows = np.flatnonzero(~alone)
    keys: list[Array] = [group[rows]]
    for name in names:
        keys += _ranks(name, column(name), order, rows)
    moved = np.arange(len(times))
    moved[rows] = rows[np.lexsort(keys[::-1])]
    return order.moved(moved)


def _ranks(name: str, column: Column, order: RowOrder, rows: Array) -> list[Array]:
    """The sorted rows' values as arrays that NumPy orders: whether there is one, and which."""
    data = order.to_sorted(column.data)[rows]
    valid = None if column.valid is None else order.to_sorted(column.valid)[rows]
    if data.dtype == object:
        data = _rank_objects(name, data)
    if valid is None:
        return [data]
    return [valid, np.where(valid, data, data.dtype.type(0))]


def _rank_objects(name: str, data: Array) -> Array:
    try:
        different = sorted({value for value in data.tolist() if value is not None})
    except TypeError as error:
        kind = type(next(value for value in data.tolist() if value is not None)).__name__
        raise InputError(
            f"rows of equal time are ordered by {name!r}, whose values ({kind}) have no order; give the definition "
            "time windows only, or times that differ"
        ) from error
    rank = {value: i for i, value in enumerate(different)}
    return np.array([rank.get(value, 0) for value in data.tolist()], np.int64)


_MOST_BLOCKS = 8  # whose values are brought together one block after the other


def key_codes(series: Sequence[tuple[str, Any]]) -> tuple[Array | None, int]:
    """A small number for each different key, a null being a value like others; None where there are no key columns."""
    return together((_codes(name, keys) for name, keys in series), ordered=False)


def together(columns: Iterable[tuple[Array, int]], ordered: bool = True) -> tuple[Array | None, int]:
    """A number for each row from those of several columns, and a bound on them; None for none.

    Each column comes with a bound on its numbers. The first column counts most where numbers are to be `ordered`.
    """
    codes: Array | None = None
    groups = 1
    for more, count in columns:
        if codes is None:
            codes, groups = more, count
            continue
        codes = codes * count + more
        groups *= count
        if groups > 2 * len(codes) + 1_000:
            codes, groups = _renumbered(codes) if ordered else _hashed(codes)
    return codes, groups


def _codes(name: str, series: Any) -> tuple[Array, int]:
    import pyarrow as pa

    try:
        keys = as_arrow(series)
        if pa.types.is_dictionary(keys.type):
            keys = keys.dictionary_decode()
        plain = any(test(keys.type) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean))
        if not plain or keys.type == pa.uint64():
            return _hashed(keys)
    except pa.ArrowNotImplementedError as error:
        raise InputError(f"the key {name!r} has the type {keys.type}, which has no groups; make it text") from error
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # objects of several kinds, which Python can group
        pass
    column = read(series, f"the key {name!r}")
    if column.data.dtype == np.int64 and column.unit is None and len(column):
        return dense_codes(column.data, column.valid) or _hashed(series)
    codes, groups = dictionary_codes(column.data, column.valid)
    return codes, max(groups, 1)


def _renumbered(codes: Array) -> tuple[Array, int]:
    """A code for each different one, in their order, and how many there are."""
    different, numbers = np.unique(codes, return_inverse=True)
    return numbers, len(different)


def _hashed(values: Any) -> tuple[Array, int]:
    """A code for each different value of a series by its hash, and how many there are.

    Blocks of rows have codes of their own first, in threads, and then those of the blocks before them where they know
    the value.
    """
    import pyarrow as pa
    from pyarrow import compute

    keys = as_arrow(values)
    count = len(keys)
    blocks = min(free_threads(count), _MOST_BLOCKS)
    cuts = [count * i // blocks for i in range(blocks + 1)]
    coded: dict[int, Any] = {}

    def encode(a: int, b: int) -> None:
        coded[a] = keys.slice(a, b - a).dictionary_encode(null_encoding="encode")

    share_parts(cuts, encode)
    different = coded[0].dictionary
    own_codes = {0: np.arange(len(different))}
    for a in cuts[1:-1]:
        more = coded[a].dictionary
        found = compute.index_in(more, different)
        new = found.is_null().to_numpy(zero_copy_only=False)
        own_codes[a] = found.fill_null(0).to_numpy().astype(np.int64)
        own_codes[a][new] = len(different) + np.arange(np.count_nonzero(new))
        different = pa.concat_arrays([different, more.filter(pa.array(new))])
    codes = np.empty(count, np.int64)

    def recode(a: int, b: int) -> None:
        np.take(own_codes[a], coded[a].indices.to_numpy(zero_copy_only=False), out=codes[a:b], mode="clip")

    share_parts(cuts, recode)
    return codes, max(len(different), 1)


def as_arrow(series: Any) -> Any:
    """A series as one Arrow array."""
    import pyarrow as pa

    kind = kind_of(series)
    if kind == "pandas":
        series = pandas_array(series)
    elif kind == "polars":
        series = series.to_arrow()
    elif kind == "numpy":
        series = pa.array(series)
    if isinstance(series, pa.ChunkedArray):
        series = one_array(series)
    return series
