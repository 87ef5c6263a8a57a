"""The pass that takes in one event at a time: what `kernels.keyed.events` is told of a live definition.

The pass is the same for all definitions. It is made once a live definition's windows lie in arrays and its events are
of the plainest kind; it leaves what it does not read to `NativeWindows.push`, and nothing has changed then.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.kernels.compiler.tiers import compiles_always
from slidewise.kernels.keyed import events
from slidewise.kernels.keyed import rows as passes
from slidewise.kernels.keyed.memory import AddressBlock, Field
from slidewise.kernels.keyed.objects import OBJECT, address_of_function, entry_of
from slidewise.live.compiling_thread import CompilingThread
from slidewise.live.event_times import NAIVE, ZONED
from slidewise.live.native import plan

if TYPE_CHECKING:
    from slidewise.live.live import Live
    from slidewise.live.native.store import NativeStore

Entry = Callable[[int, Any], Any]
_TYPES: dict[str, type] = {"float64": float, "int64": int}
_ANSWERS = {"float64": 0, "int64": 1, "bool": 2}
_TIMES = {passes.NO_TIME: events.NO_TIMES, passes.WHOLE: events.WHOLE_TIMES, passes.FLOATS: events.FLOAT_TIMES}


class EventPass:
    """The pass over single events of one live definition."""

    def __init__(self, live: Live, store: NativeStore, entry: Entry) -> None:
        self.entry = entry
        self.is_whole = live.computed.is_empty  # whether its answers are the definition's columns
        self._store = store
        self._kept: list[Any] = []  # objects whose addresses the program has
        inputs = [column.rows for column in store.inputs.values()]
        answers: list[Field] = []
        for spec in store.specs:
            for member in spec.members:
                answers += [spec.held] if member.valid is None else [member.valid, member.outputs[0]]
        fields = [store.slots_of_rows, store.ticks, store.newest, store.counts, *store.counted, *inputs, *answers]
        self._places = {id(field): events.NUMBERS + i for i, field in enumerate(fields)}
        self.block = AddressBlock(events.NUMBERS, fields)
        self._program = np.array(self._program_of(live), np.int64)
        self._floats = memoryview(self.block.values.view(np.float64)) if store.kind == passes.FLOATS else None  # type: ignore[arg-type]
        self.block.numbers[events.PLAN] = self._program.ctypes.data
        self.address = self.block.address
        store.event_block = self.block

    def _program_of(self, live: Live) -> list[int]:
        store, definition = self._store, live.definition
        time = _TIMES[store.kind]
        if live.time_reader.kind in (NAIVE, ZONED):
            time = events.NAIVE_TIMES if live.time_reader.kind == NAIVE else events.ZONED_TIMES
        kinds = [dict, int, float, str, bytes, datetime, None, True, False, UTC]
        arrive, slide = address_of_function(passes.arrive), address_of_function(passes.slide)
        program = [*map(id, kinds), arrive, store.block.address, slide, self._of(store.slots), time]
        program += [0 if definition.on is None else self._of(definition.on), len(definition.by), len(live.readers)]
        names = [member.member.name for spec in store.specs for member in spec.members]
        if self.is_whole:
            names = list(definition.columns)
        program += [len(store.specs), len(names), *map(self._of, definition.by)]
        for number, reader in enumerate(live.readers):
            condition = 0 if reader.condition is None else self._of(reader.condition)
            program += [len(reader.columns), condition, self._place(store.counted[number])]
            for name in reader.columns:
                column = store.inputs[name]
                program += [self._of(name), id(_TYPES[column.dtype]), self._place(column.rows)]
        answers: dict[str, list[int]] = {}
        for spec in store.specs:
            width = float(spec.spec.width) if spec.floats else 0.0
            with_pass = [member for member in spec.members if member.kernel is not None]
            program += [spec.block.address, spec.running, _bits(width), spec.spec.edge, len(with_pass)]
            for member in with_pass:
                program += [address_of_function(member.run), member.block.address]
            for member in spec.members:
                if member.valid is None:
                    answers[member.member.name] = [1, 0, self._place(spec.held), member.member.least]
                else:
                    of_type = _ANSWERS[member.outputs[0].data.dtype.name]
                    places = self._place(member.valid), self._place(member.outputs[0])
                    answers[member.member.name] = [of_type, *places, 0]
        for name in names:
            program += [self._of(name), *answers[name]]
        return program

    def _of(self, thing: Any) -> int:
        """The address of an object, which is kept."""
        self._kept.append(thing)
        return id(thing)

    def _place(self, field: Field) -> int:
        """Where the block has a field's address."""
        return self._places[id(field)]

    def undo(self) -> None:
        """Take back an event at which an operator has raised."""
        self._store.undo(1, self.block.numbers[events.DONE])

    def undo_taken(self) -> None:
        """Take back the last event, which was taken in."""
        numbers = self.block.numbers
        self.undo()
        numbers[events.TAKEN] -= 1
        numbers[events.SEEN], numbers[events.HAS_SEEN] = numbers[events.SEEN_BEFORE], numbers[events.HAD_SEEN]

    @property
    def taken(self) -> int:
        """How many events it has taken in."""
        taken: int = self.block.numbers[events.TAKEN]
        return taken

    @property
    def seen(self) -> Any:
        """The newest time of these, None where there is none."""
        numbers = self.block.numbers
        if not numbers[events.HAS_SEEN]:
            return None
        return numbers[events.SEEN] if self._floats is None else self._floats[events.SEEN]

    def forget_seen(self) -> None:
        """Begin anew with the newest time."""
        self.block.numbers[events.HAS_SEEN] = 0


def _bits(x: float) -> int:
    return int(np.float64(x).view(np.int64))


def may_have_pass(live: Live, store: NativeStore) -> bool:
    """Whether the pass may take in events of a definition."""
    return live.buffer is None and all(len(member.outputs) <= 1 for spec in store.specs for member in spec.members)


def knows_columns(live: Live, store: NativeStore) -> bool:
    """Whether it is known by now what events hold, numbers and times of one kind."""
    read = {name for reader in live.readers for name in reader.columns}
    if live.kinds.unknown or read & live.kinds.others:
        return False
    kind = live.time_reader.kind
    return kind is not None or store.kind == passes.NO_TIME


class _Entry:
    """The compiled function of this process, and the thread that compiles it."""

    def __init__(self) -> None:
        self.thread: CompilingThread[Entry] | None = None


_entry = _Entry()


def event_entry() -> Entry | None:
    """The compiled function, or None as long as there is none."""
    if not plan.IN_BACKGROUND or compiles_always() or compile_entry.cache_info().currsize:
        with suppress(Exception):  # events go through Python then
            return compile_entry()
        return None
    if _entry.thread is None:
        _entry.thread = CompilingThread(compile_entry)
    return _entry.thread.result if _entry.thread.is_done() else None


@cache
def compile_entry() -> Entry | None:
    """The compiled function; None where this Python keeps its objects in another way than expected."""
    read = entry_of(events.read_moment, OBJECT)
    take = entry_of(events.take_event, *_KINDS)
    if read is None or take is None:
        return None
    start = datetime(1970, 1, 1)
    for moment in (datetime(1999, 12, 31, 23, 59, 59, 999_999), datetime(2024, 2, 29, 1, 2, 3, 4)):
        expected = (moment - start) // timedelta(microseconds=1) * 1_000
        if read(moment) != expected or read(moment.replace(tzinfo=UTC)) != expected + 1:
            return None
    return take


def _kinds() -> tuple[Any, ...]:
    from numba.core import types

    return types.int64, OBJECT


_KINDS = _kinds()
