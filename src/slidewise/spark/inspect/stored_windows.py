"""The keys of a shard as the engine has them: of each window its rows, cells, state or slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.engine.cells import Cells
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.sliding import SlidingBatch, StoredRows
from slidewise.engine.window_batch import StoredKeys
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import SlidewiseError
from slidewise.spark.inspect.opened_shard import OpenedShard
from slidewise.spark.sort.sorted_rows import SortedRows
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import KeyTable
from slidewise.spark.state.operator_states import panes_from_bytes
from slidewise.spark.state.shard_state import CellState
from slidewise.windows.kind import Keeps

_MICROSECOND = 1_000  # in nanoseconds, which times of other lanes are
_FARTHEST = np.iinfo(np.int64).max // _MICROSECOND


def stored_keys(
    opened: OpenedShard, released: int | None, chosen: Callable[[pa.Table], Array] | None = None
) -> Iterator[StoredKeys]:
    """The keys of a shard, a page at a time; of the keys' columns `chosen` says which are wanted, if not all.

    `released` is the time up to which the stream has answered, in microseconds. Keys that are forgotten by then, and
    still lie in a page that others keep in use, are left out.
    """
    check_times_in_states(opened)
    for page in opened.key_pages():
        keys = page
        if chosen is not None:
            keys = keys.taken(np.flatnonzero(chosen(keys.table.select(list(opened.definition.by)))))
        if opened.query.forget_after is not None and opened.lifetime is not None and opened.beats is None:
            assert released is not None
            keys = keys.taken(np.flatnonzero(keys.numbers(B.NEWEST) > released - opened.lifetime))
        if len(keys):
            yield _slices(opened, keys, released) if opened.beats is not None else _windows(opened, keys)


def check_times_in_states(opened: OpenedShard) -> None:
    """Refuse states of times: a stream's shards have them as numbers, and other lanes as the times themselves."""
    for name, aggregate in opened.definition.aggregates.items():
        window = aggregate.window
        assert window is not None
        if aggregate.operator.traits.counts_rows or (opened.beats is None and window.keeps is Keeps.ROWS):
            continue
        for column in aggregate.columns:
            kind = opened.schema.field(column).type if column in opened.schema.names else None
            if kind is not None and pa.types.is_temporal(kind) and (opened.beats is not None or window.grain):
                raise SlidewiseError(
                    f"{name!r} aggregates the times {column!r} into cells or slices, whose states a stream's shards "
                    "have as numbers, and a live definition as times: the one cannot be made of the other. Start the "
                    "live definition from the events"
                )


def _windows(opened: OpenedShard, keys: KeyTable) -> StoredKeys:
    """Keys whose windows keep rows, cells and states."""
    count = len(keys)
    rows, codes = _gathered(opened, keys, 0)
    offsets = np.searchsorted(codes, np.arange(count + 1))
    newest = _nanoseconds(keys.numbers(B.NEWEST)).tolist()
    running = [spec for spec in opened.specs if spec.running]
    data = keys.table.column(B.STATES).to_pylist()
    panes = [panes_from_bytes(running, states) for states in data] if running else [[] for _ in data]
    by_cells = [spec for spec in opened.specs if spec.keeps is Keeps.CELLS]
    cells = [_cells(opened, keys, number) for number in range(1, 1 + len(by_cells))]
    least = np.diff(offsets)
    for of_spec in cells:
        held = [int(each.parts[0].counts.sum()) for each in of_spec]
        least = np.maximum(least, np.array(held, np.int64))
    for k, of_key in enumerate(panes):
        least[k] = max(int(least[k]), 1, *(pane.count for pane in of_key))
    numbers = np.arange(len(codes)) - offsets[codes] + (least - np.diff(offsets))[codes]
    sorted_rows = SortedRows(rows, opened.definition, codes, None, count)
    windows: list[list[Any]] = []
    for spec in opened.specs:
        if spec.keeps is Keeps.ROWS:
            windows.append(_rows(spec, sorted_rows, numbers))
        elif spec.keeps is Keeps.CELLS:
            windows.append(cells[by_cells.index(spec)])
        else:
            at = running.index(spec)
            windows.append([_opened_pane(of_key[at], now) for of_key, now in zip(panes, newest, strict=True)])
    return StoredKeys(keys.table.select(list(opened.definition.by)), newest, least.tolist(), windows)


def _gathered(opened: OpenedShard, keys: KeyTable, part: int) -> tuple[pa.Table, Array]:
    """The rows, or cells, of all keys of a page, those with pages of their own included, and the keys they are of."""
    tables = [keys.parts[part]]
    owners = [np.repeat(np.arange(len(keys)), keys.numbers(B.part_column(B.COUNT, part)))]
    large = keys.numbers(B.part_column(B.LARGE, part))
    for k in np.flatnonzero(large).tolist():
        for _, chunk in opened.large_key(part, int(large[k])).chunks():
            tables.append(chunk)
            owners.append(np.full(len(chunk), k))
    table, codes = pa.concat_tables(tables).combine_chunks(), np.concatenate(owners)
    if len(tables) == 1:
        return table, codes
    order = np.argsort(codes, kind="stable")
    return table.take(pa.array(order)), codes[order]


def _rows(spec: WindowSpec, rows: SortedRows, numbers: Array) -> list[Any]:
    """Of each key the places and the arguments of the rows that later windows may hold."""
    assert rows.times is not None
    places = numbers if spec.numbered else rows.times.data
    kept = SlidingBatch(rows, spec, places, StoredRows.none(rows.keys), True).kept()
    if spec.numbered:
        return list(kept)
    return [[_nanoseconds(places), *arguments] for places, *arguments in kept]


def _cells(opened: OpenedShard, keys: KeyTable, number: int) -> list[Cells]:
    """Of each key the cells of a window with a grain."""
    part = opened.state.parts[number]
    assert isinstance(part, CellState)
    table, codes = _gathered(opened, keys, number)
    cells = part.tables.cells(table)
    cells = Cells(_nanoseconds(cells.places), cells.parts)
    ends = np.searchsorted(codes, np.arange(len(keys) + 1)).tolist()
    return [cells.taken(np.arange(a, b)) for a, b in pairwise(ends)]


def _opened_pane(pane: RunningPane, now: int) -> RunningPane:
    """A state of everything so far, with the newest time beside it where it is open on the right, or begins anew."""
    if pane.spec.is_open:
        pane.at = now
    if pane.spec.reset is not None:
        pane.newest = now
    return pane


def _slices(opened: OpenedShard, keys: KeyTable, released: int | None) -> StoredKeys:
    """Keys that are answered on a beat; time has come to what was released."""
    assert opened.beats is not None
    assert released is not None
    codes = np.repeat(np.arange(len(keys)), keys.numbers(B.COUNT))
    slices = opened.beats.layout(opened.schema).slices(keys.rows, codes)
    ends = np.searchsorted(codes, np.arange(len(keys) + 1)).tolist()
    of_keys = [slices.taken(np.arange(a, b)) for a, b in pairwise(ends)]
    counts = [max([1, *(int(part.counts.sum()) for part in each.parts)]) for each in of_keys]
    newest = [released * _MICROSECOND] * len(keys)
    return StoredKeys(keys.table.select(list(opened.definition.by)), newest, counts, [of_keys])


def _nanoseconds(times: Array) -> Array:
    """Microseconds as nanoseconds, as Python's numbers where no other hold them."""
    far = len(times) and (int(times.min()) < -_FARTHEST or int(times.max()) > _FARTHEST)
    return times.astype(object) * _MICROSECOND if far else times * _MICROSECOND
