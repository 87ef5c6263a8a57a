"""One event into the arrays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from slidewise.engine.computed.columns import like_column
from slidewise.errors import SlidewiseError
from slidewise.kernels.keyed import rows as passes
from slidewise.live.native.conversion import adopt
from slidewise.live.native.plan import MOST_MISFITS, Misfit, store_of
from slidewise.live.native.states import KeyStates
from slidewise.live.native.store import NativeStore
from slidewise.live.types import EventRow, Key

if TYPE_CHECKING:
    from slidewise.live.live import Live

T = TypeVar("T")
_TYPES: dict[str, type] = {"float64": float, "int64": int}


class NativeWindows:
    """What keeps a live definition's windows in arrays: its store, and how events are read into it."""

    def __init__(self, live: Live, store: NativeStore, states: KeyStates) -> None:
        self.live = live
        self.store = store
        self.states = states
        self.misfits = 0
        self.table_plan: Any = None  # how Arrow tables of the newest schema are read
        self.refused_schema: Any = None  # one that no plan reads
        definition = live.definition
        self.likes = {name: like_column(definition, name) for name in definition.columns}
        self._readers: list[Any] = []  # for each set of arguments its spec, its columns, and the only one of them
        for number, reader in enumerate(live.readers):
            columns = [(name, _TYPES[store.inputs[name].dtype]) for name in reader.columns]
            only = columns[0] if reader.column is not None and reader.condition is None else None
            self._readers.append((number, reader, columns, only))
        self._all_count = True  # whether row 0 counts for every reader, as the arrays have it

    def push(self, row: EventRow) -> dict[str, Any] | None:
        """Take in one event; returns its answers, or what `Live.drop` does for a late one. A Misfit changes nothing."""
        live, store = self.live, self.store
        key, time, _ = live.read(row)
        self._read(live.computed.extended(row))
        slot = store.slots.get(key)
        if slot is not None:
            return self._take(row, key, slot, time)
        slot = self.slot_of(key)
        try:
            return self._take(row, key, slot, time)
        except BaseException:
            if not store.counts.data[slot]:
                store.release(key)
            raise

    def _read(self, row: EventRow) -> None:
        """Write what aggregates read of an event into row 0."""
        store = self.store
        inputs = store.one_input
        all_count = True
        try:
            for number, reader, columns, only in self._readers:
                if only is not None:
                    name, kind = only
                    value = row.get(name)
                    if type(value) is kind:
                        if value != value and name in reader.others:
                            raise Misfit
                        inputs[name][0] = value
                        if not self._all_count:
                            store.one_counted[number][0] = True
                        continue
                values = reader.arguments(row)
                if values is None:
                    self._all_count = store.one_counted[number][0] = all_count = False
                    continue
                for value, (name, kind) in zip(values, columns, strict=False):
                    if type(value) is not kind:
                        raise Misfit
                    inputs[name][0] = value
                if not self._all_count:
                    store.one_counted[number][0] = True
        except (OverflowError, ValueError) as error:
            if isinstance(error, SlidewiseError):
                raise
            raise Misfit from error  # a number of more than 64 bits
        if all_count and not self._all_count:
            for counted in store.one_counted:
                counted[0] = True
            self._all_count = True

    def _take(self, row: EventRow, key: Key, slot: int, time: Any) -> dict[str, Any] | None:
        live, store = self.live, self.store
        store.one_slot[0] = slot
        kind = store.kind
        if kind:
            if type(time) is not (float if kind == passes.FLOATS else int):
                raise Misfit
            try:
                store.one_tick[0] = time
            except (OverflowError, ValueError) as error:
                raise Misfit from error
            store.block.numbers[passes.UNIT] = 1
            if kind == passes.FLOATS:
                for spec in store.specs:
                    if spec.floats:
                        spec.cuts.data.view("float64")[0] = spec.spec.cut(time)
        outcome = passes.arrive(store.block.address, 1)
        if outcome >= 0 or store.block.numbers[passes.LATE]:
            dropped: dict[str, Any] | None = live._late(row, key, time, self.states[key])
            return dropped
        try:
            store.run(1)
            try:
                values: list[Any] = []
                for valid, answer, least in store.one_answer:
                    if valid is not None:
                        values.append(answer[0] if valid[0] else None)
                    else:
                        values.append(answer[0] if answer[0] >= least else None)
                columns = live.computed.columns(values, row)
            except BaseException:
                store.undo(1, len(store.specs))
                raise
        except Exception as error:
            raise Misfit from error  # the panes raise it in their words
        if kind and (live.seen is None or time > live.seen):
            live.seen = time
        live.events += 1
        live.answers += 1
        return columns

    def takes_tables(self, table: Any) -> bool:
        """Whether this is an Arrow table, and nothing is to be done but to take it in."""
        aside, live = self.live.aside, self.live
        plain = aside.guard is None and aside.released is None and aside.late_to is None and not aside.rows
        return plain and not live.kinds.unknown and type(table).__module__ == "pyarrow.lib" and hasattr(table, "schema")

    def push_table(self, table: Any) -> Any:
        """Take in an Arrow table; None, and nothing has changed, where it is not plain or something is wrong."""
        from slidewise.live.native.table_plan import NotPlainTable, push_table

        try:
            return push_table(self, table)
        except (NotPlainTable, Misfit):
            return None

    def slot_of(self, key: Key) -> int:
        """The slot of a key that has none yet; where it has panes, these go over to it."""
        store, panes = self.store, self.states.panes
        key_state = panes.get(key)
        if key_state is None:
            store.new_slots([key])
        else:
            adopt(store, key, key_state)
            del panes[key]
        return store.slots[key]

    def misfit(self, result: T) -> T:
        """Note that the panes took in what the arrays do not hold, with this result; after many such the arrays are
        given up, key by key."""
        self.misfits += 1
        if self.misfits >= MOST_MISFITS:
            self.live.native = None
        return result


def open_windows(live: Live, types: dict[str, str], floats: bool) -> None:
    """Let a live definition go over to arrays, unless its operators do not compile for columns of these types."""
    live.opening = None
    store = store_of(live, types, floats)
    if store is not None:
        _begin(live, store)


def open_in_background(live: Live, types: dict[str, str], floats: bool) -> Callable[[], None]:
    """The same, compiled by a thread of its own; the function that is returned goes over once that is done."""
    stores: list[NativeStore] = []

    def make() -> None:
        with suppress(Exception):  # panes go on
            store = store_of(live, types, floats)
            if store is not None:
                warm(store)
                stores.append(store)

    thread = Thread(target=make, name="slidewise-compile")
    thread.start()

    def go_over() -> None:
        if not thread.is_alive():
            live.opening = None
            if stores:
                _begin(live, stores[0])

    return go_over


def warm(store: NativeStore) -> None:
    """Run every pass once over a row, which is forgotten again."""
    store.new_slots([None])
    store.one_slot[0] = store.slots[None]
    passes.arrive(store.block.address, 1)
    store.run(1)
    store.release(None)


def _begin(live: Live, store: NativeStore) -> None:
    states = KeyStates(live.key_states, store, live.specs)  # type: ignore[arg-type]
    live.key_states = states
    live.native = NativeWindows(live, store, states)
