"""One event into the arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.kernels.keyed import rows as passes
from slidewise.live.native.conversion import adopt
from slidewise.live.native.plan import MOST_MISFITS, Misfit
from slidewise.live.native.states import KeyStates
from slidewise.live.native.store import NativeStore
from slidewise.live.types import EventRow, Key

if TYPE_CHECKING:
    from slidewise.live.live import Live

_TYPES: dict[str, type] = {"float64": float, "int64": int}


class NativeWindows:
    """What keeps a live definition's windows in arrays: its store, and how events are read into it."""

    def __init__(self, live: Live, store: NativeStore, states: KeyStates) -> None:
        self.live = live
        self.store = store
        self.states = states
        self.misfits = 0
        self.batch_plan: Any = None  # how tables of the newest schema are read
        self._readers = []
        for number, reader in enumerate(live.readers):
            columns = [(name, _TYPES[store.inputs[name].dtype]) for name in reader.columns]
            simple = reader.column is not None and reader.condition is None
            self._readers.append((number, reader, columns if not simple else columns[0], simple))
        self._all_count = True  # whether row 0 counts for every reader, as the arrays have it

    def push(self, row: EventRow) -> dict[str, Any] | None:
        """Take in one event; returns its answers, or what `Live.drop` does for a late one. A Misfit changes nothing."""
        live, store = self.live, self.store
        key, time, _ = live.read(row)
        extended = live.computed.extended(row)
        all_count = True
        for number, reader, columns, simple in self._readers:
            if simple:
                name, kind = columns
                value = extended.get(name)
                if type(value) is kind:
                    if kind is float and value != value and name in reader.others:
                        raise Misfit
                    store.one_input[name][0] = value
                    continue
            values = reader.arguments(extended)
            if values is None:
                store.one_counted[number][0] = all_count = False
                continue
            for value, (name, kind) in zip(values, [columns] if simple else columns, strict=False):
                if type(value) is not kind:
                    raise Misfit
                store.one_input[name][0] = value
            store.one_counted[number][0] = True
        if all_count and not self._all_count:
            for counted in store.one_counted:
                counted[0] = True
        self._all_count = all_count
        slot = store.slots.get(key)
        is_new = slot is None
        if slot is None:
            slot = self.slot_of(key)
            is_new = not store.counts.data[slot]
        try:
            return self._take(row, key, slot, time)
        except BaseException:
            if is_new and not store.counts.data[slot]:
                store.release(key)
            raise

    def _take(self, row: EventRow, key: Key, slot: int, time: Any) -> dict[str, Any] | None:
        live, store = self.live, self.store
        store.one_slot[0] = slot
        kind = store.kind
        if kind:
            if type(time) is not (float if kind == passes.FLOATS else int):
                raise Misfit
            store.one_tick[0] = time
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
                for valid, answer, least, _ in store.one_answer:
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

    def misfit(self) -> None:
        """Note that the panes took in what the arrays do not hold; after many such they are given up, key by key."""
        self.misfits += 1
        if self.misfits >= MOST_MISFITS:
            self.live.native = None
            self.live.may_be_native = False


def open_windows(live: Live, types: dict[str, str], floats: bool) -> None:
    """Let a live definition go over to arrays, unless its operators do not compile for columns of these types."""
    from slidewise.live.native.plan import store_of

    live.may_be_native = False
    store = store_of(live, types, floats)
    if store is None:
        return
    states = KeyStates(live.key_states, store, live.specs)  # type: ignore[arg-type]
    live.key_states = states
    live.native = NativeWindows(live, store, states)

