"""Which definitions that revise keep their rows in arrays, and from when on.

All windows must be over the last rows or the last stretch of time, closed on the right, by built-in operators that
compile and whose answers are single numbers of 64 bits, without expressions. Where rows of equal time have an order, it
must be one of numbers and bools. Definitions begin with trees, and go over to arrays as `live.native` does:
when they have had enough events, a key with its next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.kernels.keyed.history_layout import NUMBER
from slidewise.live.compiling_thread import CompilingThread
from slidewise.live.native import plan
from slidewise.live.native.plan import spec_fits, store_of, types_in_event

if TYPE_CHECKING:
    from slidewise.columns.frames import Frame
    from slidewise.live.history.store import HistoryStore
    from slidewise.live.revising import Revising
    from slidewise.live.types import EventRow

_MOST_ANSWERS, _MOST_ORDER = 60, 30
_OTHERS = {float: "float64", int: "int64", bool: "bool"}


def may_hold_history(live: Revising) -> bool:
    """Whether the rows of a live definition that revises are of the kinds that arrays hold, whatever their types."""
    stages = live.definition.stages
    answers = sum(len(spec.members) for spec in live.specs)
    if stages.results or stages.arguments or answers > _MOST_ANSWERS:
        return False
    if live.ordered and len(live.definition.ordering) > _MOST_ORDER:
        return False
    return bool(live.specs) and all(spec_fits(spec) and not spec.running for spec in live.specs)


class HistoryOpening:
    """What leads a live definition from trees to arrays: it looks at events until there have been enough of them."""

    def __init__(self, live: Revising) -> None:
        self._live = live
        self._compiling: CompilingThread[HistoryStore] | None = None
        self._attempts = 0

    def _tries(self) -> bool:
        self._attempts += 1
        if self._attempts > plan.MOST_MISFITS:
            self._live.opening = None
        return self._live.opening is not None

    def consider(self, row: EventRow) -> None:
        """Let rows lie in arrays once their passes are compiled, if they hold an event like this."""
        live = self._live
        if self._compiling is not None:
            if self._compiling.is_done():
                _begin(live, self._compiling.result)
            return
        if live.events < plan.FROM_EVENTS or not self._tries():
            return
        types = types_in_event(live, row)
        if types is None or live.kinds.unknown:
            return
        others = {name: _OTHERS.get(type(row.get(name)), "") for name in _only_ordering(live, types)}
        if not all(others.values()):
            return
        floats = live.time_reader.fractions
        if plan.IN_BACKGROUND:
            self._compiling = CompilingThread(lambda: _warm_history_of(live, types, floats, others))
        else:
            _begin(live, history_of(live, types, floats, others))

    def consider_batch(self, frame: Frame) -> None:
        """The same for a batch, which waits for what is to be compiled."""
        from slidewise.live.native.push_many import NativeBatch, types_in_frame

        live = self._live
        if not len(frame) or live.events + len(frame) < plan.FROM_EVENTS or not self._tries():
            return
        found = types_in_frame(live, frame)
        if found is None:
            return
        batch = NativeBatch(live, frame)
        columns = {name: batch.column(name) for name in _only_ordering(live, found[0])}
        others = {name: column.data.dtype.name for name, column in columns.items() if column.unit is None}
        if len(others) == len(columns) and set(others.values()) <= set(_OTHERS.values()):
            _begin(live, history_of(live, *found, others))


def _only_ordering(live: Revising, types: dict[str, str]) -> list[str]:
    """The columns that order rows of equal time and that no aggregate reads."""
    return [name for name in live.definition.ordering if name not in types] if live.ordered else []


def history_of(live: Revising, types: dict[str, str], floats: bool, others: dict[str, str]) -> HistoryStore | None:
    """An empty store for columns of these types, `others` being those that only order rows of equal time; None where
    an operator does not compile for them."""
    from slidewise.live.history.store import HistoryStore

    windows = store_of(live, types, floats)
    if windows is None:
        return None
    outputs = [field for spec in windows.specs for member in spec.members for field in member.outputs]
    if any(field.data.dtype.itemsize != 8 for field in outputs):
        return None
    ordering = live.definition.ordering if live.ordered else ()
    return HistoryStore(windows, live.retention, ordering, others)


def _begin(live: Revising, store: HistoryStore | None) -> None:
    live.opening = None
    if store is not None:
        from slidewise.live.history.push import HistoryWindows
        from slidewise.live.history.states import RevisableStates

        states = RevisableStates(live, dict(live.key_states), store)
        live.key_states = states
        live.history = HistoryWindows(live, store, states)


def _warm_history_of(
    live: Revising, types: dict[str, str], floats: bool, others: dict[str, str]
) -> HistoryStore | None:
    """The same with all passes compiled."""
    store = history_of(live, types, floats, others)
    if store is not None:
        store.windows.warm()
        _warm_passes(store)
    return store


def _warm_passes(store: HistoryStore) -> None:
    """Run every pass once over a row, which is forgotten again."""
    store.new_homes([None])
    store.one_home[0] = store.homes[None]
    store.one_row[NUMBER] = 1
    store.take(1, 1)
    store.undo()
    store.take(1, 1)
    store.keep()
    store.release(None)
