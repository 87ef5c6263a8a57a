"""One spec over a batch, dispatched by what its windows keep of each key: rows, cells or a state; and keys so kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from slidewise.arrays import Array
from slidewise.engine.batch import Batch
from slidewise.engine.cells import CellBatch, Cells, StoredCells
from slidewise.engine.point_in_time.queries import Queries
from slidewise.engine.running import RunningBatch, StoredStates
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.sliding import SlidingBatch, StoredRows
from slidewise.engine.window_spec import WindowSpec
from slidewise.windows.kind import Keeps

if TYPE_CHECKING:
    import pyarrow as pa


class WindowBatch(Protocol):
    """A batch's answers, and what the rows to come need to know of each key."""

    def arrays(self) -> list[pa.Array]: ...

    def kept(self) -> Iterator[Any]: ...

    def kept_of_last(self) -> Any: ...


Stored = StoredRows | StoredCells | StoredStates

_BATCHES: dict[Keeps, Any] = {Keeps.ROWS: SlidingBatch, Keeps.CELLS: CellBatch, Keeps.STATE: RunningBatch}


class StoredKeys(NamedTuple):
    """Keys that one lane has stored, for another to go on from: a table of their columns, of each the newest time in
    nanoseconds, and how many rows it has had at least.

    `windows` has for each window spec a list with what it keeps of each key: arrays of rows, whose places are
    nanoseconds or numbers up to the key's count; `Cells`; or a `RunningPane`. On a beat it has one list, of each key's
    `BeatSlices`.
    """

    keys: pa.Table
    newest: list[int]
    counts: list[int]
    windows: list[list[Any]]


def window_batch(
    batch: Batch,
    spec: WindowSpec,
    places: Array,
    before: Stored,
    peers: bool,
    silent: Array | None = None,
    queries: Queries | None = None,
) -> WindowBatch:
    """A spec over a batch and what is stored of its keys, which is `StoredRows`, `StoredCells` or `StoredStates`.

    With `queries`, these are answered, and not the batch's rows.
    """
    evaluated: WindowBatch = _BATCHES[spec.keeps](batch, spec, places, before, peers, silent, queries)
    return evaluated


def stored_of_first(spec: WindowSpec, kept: list[Array] | Cells | RunningPane | None, keys: int) -> Any:
    """Stored rows, cells or a state of the first of so many keys, as `kept_of_last` gave them; None of the others."""
    return _BATCHES[spec.keeps].stored.of_first(kept, keys)
