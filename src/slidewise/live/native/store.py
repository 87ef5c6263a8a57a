"""The windows of all keys of a live definition, in arrays: a slot for each key, and an arena for each window spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.kernels.codegen.kernel import Kernel
from slidewise.kernels.keyed import rows as passes
from slidewise.kernels.keyed import source
from slidewise.kernels.keyed.memory import AddressBlock, Field, Room
from slidewise.live.native.plan import Misfit
from slidewise.live.native.whole_keys import WholeKeys
from slidewise.live.types import Key

_SLOTS, _CHUNKS, _ROWS = 64, 64, 64


class InputColumn(NamedTuple):
    """A column that aggregates read: its name, its type, and the rows of the batch."""

    name: str
    dtype: str
    rows: Field


class MemberStore:
    """A member of a spec: its operator's partials and pointers for all keys, and the passes over them.

    A count has none: it is the number of rows that the window holds.
    """

    def __init__(self, spec: SpecStore, member: Member, kernel: Kernel | None, inputs: list[Field]) -> None:
        store = spec.store
        self.member = member
        self.kernel = kernel
        self.valid: Field | None = None
        self.outputs: list[Field] = []
        if kernel is None:
            return
        layout, dtypes = kernel.layout, kernel.operator.dtypes
        name = "live_running" if spec.running else "live_daba_lite"
        functions = kernel.operator.load(name, source.member_source(layout, dtypes, spec.running))
        self.run: Any = functions["member_pass"]
        self.fold: Any = functions.get("fold_pass")
        self._enter: Any = functions.get("enter_pass")
        self.pointers = store.slot_room.field("int64", 6)
        self.pointers_before = store.row_room.field("int64", 6)
        self.touched = spec.touches.field("int64")
        self.valid = store.row_room.field("bool")
        rooms = {"RA": store.slot_room, "AB": store.slot_room, "P": store.slot_room, "S": spec.arena, "T": spec.touches}
        rooms |= {"C": spec.chunks, "J": spec.chunks}
        self.parts: dict[str, list[Field]] = {"x": inputs}
        stored = source.stored_fields(layout, dtypes, spec.running)
        for letter, fields in stored:
            if letter != "x":
                self.parts[letter] = [rooms.get(letter, store.row_room).field(dtype) for dtype in fields]
        self.outputs = self.parts["O"]
        fixed = [store.slots_of_rows, spec.at, spec.gone, spec.held, spec.asked, spec.nexts, spec.prevs, *spec.links]
        fixed += [self.pointers, self.pointers_before, self.touched, self.valid]
        self._before_parts = fixed
        self._letters = [letter for letter, _ in stored]
        self.block = self._block_of(inputs)
        self.block.numbers[source.LEAST] = member.least

    def _block_of(self, inputs: list[Field]) -> AddressBlock:
        """The addresses of all fields, with these as the inputs."""
        parts = {**self.parts, "x": inputs}
        return AddressBlock(
            source.NUMBERS, [*self._before_parts, *(field for letter in self._letters for field in parts[letter])]
        )

    def enter(self, slot: int, first: int, arguments: list[Array]) -> None:
        """Enter rows with these arguments, which lie from a place in the arena on, into the products of chunks."""
        block = self._block_of([Field.of(values) for values in arguments])  # which lives as long as the call
        self._enter(block.address, slot, first, len(arguments[0]))

    @cached_property
    def like(self) -> Any:
        """A state, by which others are put together from their fields."""
        assert self.kernel is not None
        return self.member.operator.lift(*(np.zeros(1, dtype).item() for dtype in self.kernel.operator.dtypes))

    def undo(self, slots: Array) -> None:
        """Put back what the pass over rows of these slots has changed."""
        if self.kernel is None:
            return
        parts = self.parts
        logged, done = self.block.numbers[source.LOGGED], self.block.numbers[source.DONE]
        rows = np.flatnonzero(slots[:done] >= 0)[::-1]  # of several rows of a slot the first is written last
        of_rows = slots[rows]
        for now, before in zip(parts["RA"], parts["RAs"], strict=True):
            now.data[of_rows] = before.data[rows]
        if "S" not in parts:
            return
        for field, log in (("AB", "ABs"), ("P", "Ps")):
            for now, before in zip(parts[field], parts[log], strict=True):
                now.data[of_rows] = before.data[rows]
        self.pointers.data.reshape(-1, 6)[of_rows] = self.pointers_before.data.reshape(-1, 6)[rows]
        touched = self.touched.data[:logged][::-1]
        for now, before in zip(parts["S"], parts["T"], strict=True):
            now.data[touched] = before.data[:logged][::-1]


class SpecStore:
    """One window spec: the rows of all keys' windows, in an arena of chunks, and its members."""

    def __init__(self, store: NativeStore, spec: WindowSpec, reader: int, kernels: list[Kernel | None]) -> None:
        self.store = store
        self.spec = spec
        self.reader = reader
        self.running = spec.running
        self.numbered = spec.numbered
        self.inputs = [store.input(name) for name in spec.columns]
        rows = store.row_room
        self.at, self.gone, self.held, self.cuts = (rows.field("int64") for _ in range(4))
        self.asked = rows.field("bool")
        self.heads, self.heads_before = store.slot_room.field("int64", 3), rows.field("int64", 3)
        self.new_chunks = rows.field("int64")
        self.chunks = Room(0 if self.running else _CHUNKS)
        self.nexts, self.prevs, self.frees = (self.chunks.field("int64") for _ in range(3))
        self.links = [self.chunks.field("int64") for _ in range(3)]  # of each chunk its depth, its jump and that depth
        self.arena = Room(self.chunks.size * passes.CHUNK)
        self.touches = Room(2 * _ROWS)
        self.places = self.arena.field("int64")
        self.arguments = [self.arena.field(column.dtype) for column in self.inputs]
        kind = passes.RUNNING if self.running else passes.NUMBERED if spec.numbered else store.kind
        pairs = [
            field
            for column, argument in zip(self.inputs, self.arguments, strict=True)
            for field in (column.rows, argument)
        ]
        fields = [store.slots_of_rows, store.times, store.numbers, store.counted[reader], self.cuts, self.at, self.gone]
        fields += [self.held, self.heads, self.heads_before, self.new_chunks, self.nexts, self.prevs, self.frees]
        self.block = AddressBlock(passes.SLIDE_NUMBERS, [*fields, self.places, *self.links, *pairs])
        numbers = self.block.numbers
        numbers[0], numbers[passes.COLUMNS] = kind, len(self.inputs) if not self.running else 0
        numbers[passes.REACH] = min(spec.whole, 2**63 - 1)
        self.floats = kind == passes.FLOATS
        inputs = [column.rows for column in self.inputs]
        pairs_of_members = zip(spec.members, kernels, strict=True)
        self.members = [MemberStore(self, member, kernel, inputs) for member, kernel in pairs_of_members]
        with_pass = [member for member in self.members if member.kernel is not None]
        self._passes = [(member.run, member.block.address, member.block.numbers) for member in with_pass]
        if not self.running:
            passes.free_chunks(self.block.address, 0, self.chunks.size)

    def bind(self) -> None:
        """Find all fields anew."""
        self.block.bind()
        for member in self.members:
            if member.kernel is not None:
                member.block.bind()

    def make_room(self, chunks: int) -> None:
        """Have so many chunks that are free."""
        numbers = self.block.numbers
        missing = chunks - numbers[passes.FREE_COUNT]
        if self.running or missing <= 0:
            return
        first = self.chunks.size
        try:
            self.chunks.grow(first + missing)
            self.arena.grow(self.chunks.size * passes.CHUNK)
        finally:
            self.bind()
        passes.free_chunks(self.block.address, first, self.chunks.size)

    def begin(self, slots: Array) -> None:
        """Give empty windows to slots that are new."""
        heads = self.heads.data.reshape(-1, 3)
        if self.running:
            heads[slots] = 0
            return
        self.make_room(len(slots))
        chunks = np.empty(len(slots), np.int64)
        passes.take_chunks(self.block.address, len(slots), chunks.ctypes.data)
        for field, values in zip(self.links, (0, chunks, 0), strict=True):
            field.data[chunks] = values
        places = chunks * passes.CHUNK
        heads = self.heads.data.reshape(-1, 3)
        heads[slots, 0] = heads[slots, 1] = places
        heads[slots, 2] = 0
        for member in self.members:
            if member.kernel is not None:
                member.pointers.data.reshape(-1, 6)[slots] = places[:, None]

    def release(self, slot: int) -> None:
        """Give up the windows of a slot."""
        if not self.running:
            passes.give_chunks(self.block.address, slot)

    def run(self, m: int) -> None:
        """Take in the m rows that lie in the store's arrays; see `undo` where this raises."""
        left = passes.slide(self.block.address, m)
        if 2 * (left + m) > self.touches.size:
            self.touches.grow(2 * (left + m))
            self.bind()
        for _, _, numbers in self._passes:
            numbers[source.DONE] = numbers[source.LOGGED] = 0
        for run, address, _ in self._passes:
            run(address, m)

    def undo(self, slots: Array) -> None:
        """Take back what `run` has done."""
        numbers = self.block.numbers
        for member in self.members:
            member.undo(slots)
        rows = np.flatnonzero(slots >= 0)[::-1]
        heads = self.heads.data.reshape(-1, 3)
        heads[slots[rows]] = self.heads_before.data.reshape(-1, 3)[rows]
        for chunk in self.new_chunks.data[: numbers[passes.NEW_COUNT]].tolist():
            passes.free_chunks(self.block.address, chunk, chunk + 1)
        numbers[passes.NEW_COUNT] = numbers[passes.LEFT_COUNT] = 0

    def rows_of(self, slot: int) -> Array:
        """The places in the arena of a slot's rows, oldest first, and of what comes behind them."""
        first, _, n = self.heads.data[3 * slot : 3 * slot + 3].tolist()
        places = np.empty(n + 1, np.int64)
        passes.walk(self.nexts.address, first, n, places.ctypes.data)
        return places

    def numbers_of(self, slot: int, places: tuple[int, ...]) -> list[int]:
        """How many rows of a slot's window come before each of those at some places in the arena."""
        first, depths = int(self.heads.data[3 * slot]), self.links[0].data
        before = int(depths[first // passes.CHUNK]) * passes.CHUNK + first % passes.CHUNK
        return [int(depths[at // passes.CHUNK]) * passes.CHUNK + at % passes.CHUNK - before for at in places]

    def count(self, slot: int) -> int:
        """How many rows a slot's window holds."""
        return int(self.heads.data[3 * slot + 2])


def _view(array: Any) -> Any:
    """A view whose elements are read and written fast, one by one."""
    return memoryview(array)


class NativeStore:
    """All windows of a live definition; `slots` has each key's number.

    A batch lies in fields of rows: `slots_of_rows`, `ticks`, the inputs, and for each reader which rows count.
    """

    def __init__(self, reads: list[int], readers: int, dtypes: dict[str, str]) -> None:
        self.slots: dict[Key, int] = {}
        self.whole_keys = WholeKeys()
        self.slot_room, self.row_room = Room(_SLOTS), Room(_ROWS)
        self.size = 0  # slots that have been given
        self.free_slots: list[int] = []
        self.newest, self.counts = self.slot_room.field("int64"), self.slot_room.field("int64")
        rows = self.row_room
        self.slots_of_rows, self.ticks, self.times, self.numbers, self.newest_before = (
            rows.field("int64") for _ in range(5)
        )
        self.late = rows.field("bool")
        self.counted = [rows.field("bool") for _ in range(readers)]
        self.inputs = {name: InputColumn(name, dtype, rows.field(dtype)) for name, dtype in dtypes.items()}
        self.reads = reads
        self.specs: list[SpecStore] = []
        self.event_block: AddressBlock | None = None  # of the pass over single events, once there is one
        self.kind = passes.NO_TIME
        fields = [self.slots_of_rows, self.ticks, self.times, self.numbers, self.newest, self.counts]
        self.block = AddressBlock(passes.ARRIVE_NUMBERS, [*fields, self.newest_before, self.late])
        self.block.numbers[passes.UNIT] = 1

    def fill(self, specs: Sequence[WindowSpec], kernels: list[list[Kernel | None]], kind: int, drops: bool) -> None:
        """Have these specs, whose members have these kernels, over times of this kind."""
        self.kind = kind
        self.block.numbers[passes.KIND], self.block.numbers[passes.DROPS] = kind, drops
        pairs = zip(specs, self.reads, kernels, strict=True)
        self.specs = [SpecStore(self, spec, reader, of_spec) for spec, reader, of_spec in pairs]
        self.set_rows(_ROWS)

    def input(self, name: str) -> InputColumn:
        """The input of this name."""
        return self.inputs[name]

    def bind(self) -> None:
        """Find all fields anew, where rooms have grown."""
        self.block.bind()
        for spec in self.specs:
            spec.bind()
        if self.event_block is not None:
            self.event_block.bind()
        floats = self.kind == passes.FLOATS
        self.one_slot = _view(self.slots_of_rows.data)
        self.one_tick = _view(self.ticks.data.view("float64") if floats else self.ticks.data)
        self.one_counted = [_view(field.data) for field in self.counted]
        self.one_input = {name: _view(column.rows.data) for name, column in self.inputs.items()}
        self.one_answer: list[tuple[Any, Any, int]] = []
        self.numbered: list[bool] = []  # of each answer, whether its window is of rows
        for spec in self.specs:
            for member in spec.members:
                self.numbered.append(spec.numbered)
                if member.valid is None:
                    self.one_answer.append((None, _view(spec.held.data), member.member.least))
                else:
                    self.one_answer.append((_view(member.valid.data), _view(member.outputs[0].data), 0))

    def answers_at(self, row: int, last: int) -> list[Any]:
        """The answers to a row whose peers end with the last: over rows its own, over times those behind the last."""
        values = []
        for (valid, answer, least), numbered in zip(self.one_answer, self.numbered, strict=True):
            at = row if numbered else last
            if valid is not None:
                values.append(answer[at] if valid[at] else None)
            else:
                values.append(answer[at] if answer[at] >= least else None)
        return values

    def moments(self, m: int) -> Array:
        """The times, as numbers, of m rows that were read and have not arrived; a Misfit where they are too far."""
        unit = int(self.block.numbers[passes.UNIT])
        ticks = self.ticks.data[:m]
        if unit == 1 or self.kind == passes.FLOATS:
            return ticks.copy()
        farthest = int(self.block.numbers[passes.FARTHEST])
        if m and not -farthest <= ticks.min() <= ticks.max() <= farthest:
            raise Misfit
        moments: Array = ticks * unit
        return moments

    def arrange_rows(self, order: Array) -> None:
        """Put the rows that were read into another order."""
        m = len(order)
        inputs = [column.rows for column in self.inputs.values()]
        for field in (self.slots_of_rows, self.ticks, *self.counted, *inputs):
            field.data[:m] = field.data[:m][order]

    def set_rows(self, m: int) -> None:
        """Have fields for m rows."""
        if m != self.row_room.size or not hasattr(self, "one_slot"):
            self.row_room.renew(m)
            for field in self.counted:
                field.data[:] = True
            self.bind()

    @contextmanager
    def kept_rows(self) -> Iterator[None]:
        """Leave the rows of a batch that have been read as they are, whatever else goes through their fields."""
        kept = self.row_room.copies()
        try:
            yield
        finally:
            self.row_room.put_back(kept)

    def warm(self) -> None:
        """Run every pass once over a row, which is forgotten again."""
        self.new_slots([None])
        self.one_slot[0] = self.slots[None]
        passes.arrive(self.block.address, 1)
        self.run(1)
        self.release(None)

    def release_rows(self) -> None:
        """Let go of the fields of a large batch."""
        for spec in self.specs:
            spec.touches.renew(2 * _ROWS)
            spec.block.numbers[passes.NEW_COUNT] = 0
        self.set_rows(_ROWS)

    def new_slots(self, keys: list[Key]) -> None:
        """Give slots to keys that have none."""
        if keys:
            self.slots.update(zip(keys, self.take_slots(len(keys)), strict=True))

    def take_slots(self, count: int) -> list[int]:
        """Begin empty windows, which the slots that are returned have."""
        reused = [self.free_slots.pop() for _ in range(min(count, len(self.free_slots)))]
        fresh = count - len(reused)
        if self.size + fresh > self.slot_room.size:
            try:
                self.slot_room.grow(self.size + fresh)
            finally:
                self.bind()
        numbers = [*reused, *range(self.size, self.size + fresh)]
        self.size += fresh
        slots = np.array(numbers, np.int64)
        self.counts.data[slots] = 0
        for spec in self.specs:
            spec.begin(slots)
        return numbers

    def release(self, key: Key) -> None:
        """Forget a key."""
        slot = self.slots.pop(key)
        self.whole_keys.forget()
        self.give_slot(slot)

    def give_slot(self, slot: int) -> None:
        """Give up the windows of a slot."""
        for spec in self.specs:
            spec.release(slot)
        self.free_slots.append(slot)

    def run(self, m: int) -> None:
        """Let m rows that have arrived into all windows; where an operator raises, nothing has changed."""
        done = 0
        try:
            for spec in self.specs:
                if not spec.running:
                    numbers = spec.block.numbers
                    if numbers[passes.FREE_COUNT] <= 0 or m > 1:
                        spec.make_room(min(m, m // passes.CHUNK + self.size - len(self.free_slots) + 1))
                done += 1
                spec.run(m)
        except BaseException:
            self.undo(m, done)
            raise

    def undo(self, m: int, specs: int) -> None:
        """Take back the last m rows, which the first specs have taken in."""
        slots = self.slots_of_rows.data[:m]
        for spec in self.specs[:specs]:
            spec.undo(slots)
        rows = np.flatnonzero(slots >= 0)[::-1]
        self.counts.data[slots[rows]] = self.numbers.data[rows]
        if self.kind != passes.NO_TIME:
            self.newest.data[slots[rows]] = self.newest_before.data[rows]

    def newest_of(self, slot: int) -> Any:
        """The newest time of a slot; None where events have none."""
        if self.kind == passes.NO_TIME:
            return None
        value = self.newest.data[slot : slot + 1]
        return (value.view("float64") if self.kind == passes.FLOATS else value).tolist()[0]

    def nbytes(self) -> int:
        """The size of all arrays."""
        rooms = [self.slot_room, self.row_room, *(room for s in self.specs for room in (s.chunks, s.arena, s.touches))]
        return sum(room.nbytes() for room in rooms)
