"""The rows of all keys that may be revised, in arrays: a home for each key, beside the windows as of its newest row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.keyed import history_layout as layout
from slidewise.kernels.keyed import placing, revisions
from slidewise.kernels.keyed import rows as row_passes
from slidewise.kernels.keyed.memory import AddressBlock, Field, Room
from slidewise.live.native.push_many import cut_floats
from slidewise.live.native.store import NativeStore
from slidewise.live.native.whole_keys import WholeKeys
from slidewise.live.types import Key, Time

_HOMES, _ROWS, _ARENA, _POWERS = 64, 64, 256, 64
_MOST = np.iinfo(np.int64).max
_LEAST = np.iinfo(np.int64).min
_NEW_HOME = {layout.POWER: -1, layout.SLOT: -1, layout.FIRST_NEW: -1}


class HistoryStore:
    """Retained rows, sorted in their keys; `homes` has each key's number.

    A batch lies in `staged`, a row beside the other; `others` are columns that only order rows of equal time, and their
    types. `take` lets it in and runs what it changes; then `keep` makes it stay, or `undo` ends it. Between them
    `answers` and `answered` have the answers of the rows that ran: `entry` says which of them is a row of the batch,
    `changed` which are older rows that are to be given again, and their homes.
    """

    def __init__(
        self, windows: NativeStore, retention: Time | None, ordering: Sequence[str], others: dict[str, str]
    ) -> None:
        self.windows = windows
        self.floats = windows.kind == row_passes.FLOATS
        self.homes: dict[Key, int] = {}
        self.whole_keys = WholeKeys()
        self.columns = {name: column.dtype for name, column in windows.inputs.items()} | others  # in a row's order
        self.inputs = list(windows.inputs)
        self.ordering = list(ordering)
        self.members = [(at, member) for at, spec in enumerate(windows.specs) for member in spec.members]
        self.dtypes = [
            member.outputs[0].data.dtype if member.outputs else np.dtype(np.int64) for _, member in self.members
        ]
        self.first_answer = layout.INPUTS + len(self.columns)
        self.words = self.first_answer + len(self.members)
        self.size = 0  # homes that have been given
        self._free_homes: list[int] = []
        self._make_fields()
        self._set_numbers(retention)
        self._set_rows(_ROWS)

    def _make_fields(self) -> None:
        self.home_room, self.batch, self.runs = Room(_HOMES), Room(_ROWS), Room(_ROWS)
        self.arena_room, self.pruned_room = Room(_ARENA), Room(4 * _ROWS)
        self.heads = self.home_room.field("int64", layout.HOME)
        batch = self.batch
        self.staged, self.homes_of_rows = batch.field("int64", self.words), batch.field("int64")
        self.late, self.touched = batch.field("bool"), batch.field("int64", 3)
        self.pieces, self.entry, self.fresh = (
            batch.field("int64", layout.PIECE),
            batch.field("int64"),
            batch.field("int64"),
        )
        self.row_at, self.answers = self.runs.field("int64"), self.runs.field("int64", len(self.members))
        self.answered, self.changed = self.runs.field("int64"), self.runs.field("int64", 2)
        self.arena = self.arena_room.field("int64", self.words)
        self.pruned = self.pruned_room.field("int64")
        self.free = Field("int64", 1, _POWERS)
        self.free.data[:] = -1
        specs = self.windows.specs
        self._order = Field("int64", 2, len(self.ordering))
        self._specs = Field("int64", layout.SPEC, len(specs))
        self._members = Field("int64", layout.MEMBER, len(self.members))
        self._lasts = Field("int64", 1, 8 + len(specs))
        self._addresses = Field("int64", 1, 3 + len(self.inputs) + len(self.windows.counted))
        fields = [
            self.staged,
            self.homes_of_rows,
            self.late,
            self.heads,
            self.arena,
            self.touched,
            self.pruned,
            self.free,
        ]
        fields += [
            self._order,
            self.pieces,
            self.entry,
            self.fresh,
            self.row_at,
            self.answers,
            self.answered,
            self.changed,
        ]
        self.block = AddressBlock(layout.NUMBERS, [*fields, self._specs, self._members, self._lasts, self._addresses])

    def _set_numbers(self, retention: Time | None) -> None:
        numbers, specs = self.block.numbers, self.windows.specs
        numbers[layout.WORDS], numbers[layout.N_INPUTS] = self.words, len(self.inputs)
        numbers[layout.FIRST_ANSWER] = self.first_answer
        numbers[layout.N_ANSWERS], numbers[layout.N_READERS] = len(self.members), len(self.windows.counted)
        numbers[layout.KIND] = self.windows.kind
        numbers[layout.RETAINS] = retention is not None
        timed = [spec.spec for spec in specs if not spec.numbered]
        numbers[layout.TIMED] = bool(timed)
        numbers[layout.NUMBERED_REACH] = max((min(s.spec.whole, _MOST) for s in specs if s.numbered), default=-1)
        self.numbered_reach: int = numbers[layout.NUMBERED_REACH]
        self.reach: Any
        if self.floats:
            self.reach = max((float(spec.width) for spec in timed), default=0.0)
            lengths = self.block.values.view(np.float64)
            lengths[layout.REACH] = self.reach
            if retention is not None:
                lengths[layout.LATE_REACH] = lengths[layout.PRUNE_REACH] = float(retention)
        else:
            self.reach = max((min(spec.whole, _MOST) for spec in timed), default=0)
            numbers[layout.REACH] = self.reach
            if retention is not None:
                numbers[layout.LATE_REACH] = min(math.floor(retention), _MOST)
                numbers[layout.PRUNE_REACH] = min(math.ceil(retention), _MOST)
        numbers[layout.N_SPECS], numbers[layout.N_ORDER] = len(specs), len(self.ordering)
        for c, name in enumerate(self.ordering):
            word = layout.INPUTS + list(self.columns).index(name)
            self._order.data[2 * c : 2 * c + 2] = word, self.columns[name] == "float64"
        numbers[layout.PRUNED_ROOM] = self.pruned_room.size
        numbers[layout.ARENA] = self.arena_room.size

    def bind(self) -> None:
        """Find all fields anew, where rooms have grown."""
        windows = self.windows
        for s, spec in enumerate(windows.specs):
            reach = min(spec.spec.whole, _MOST)
            self._specs.data[layout.SPEC * s :][: layout.SPEC] = spec.numbered, reach, spec.reader, spec.cuts.address
        for c, (at, member) in enumerate(self.members):
            outputs = member.outputs[0].address if member.outputs else 0
            valid = 0 if member.valid is None else member.valid.address
            held = windows.specs[at].held.address
            of_floats = self.dtypes[c] == np.float64
            self._members.data[layout.MEMBER * c :][: layout.MEMBER] = (
                at, outputs, valid, member.member.least, held, of_floats,
            )  # fmt: skip
        fixed = [windows.slots_of_rows, windows.times, windows.numbers]
        fields = [*fixed, *(column.rows for column in windows.inputs.values()), *windows.counted]
        self._addresses.data[:] = [field.address for field in fields]
        self.block.bind()
        self.one_row: Any = memoryview(self.staged.data)  # type: ignore[arg-type]
        floats: Any = self.staged.data.view(np.float64)
        self.one_row_floats: Any = memoryview(floats)
        self.one_home: Any = memoryview(self.homes_of_rows.data)  # type: ignore[arg-type]
        self.words_of_heads: Any = memoryview(self.heads.data)  # type: ignore[arg-type]
        self.whole_answers: Any = memoryview(self.answers.data)  # type: ignore[arg-type]
        floats = self.answers.data.view(np.float64)
        self.float_answers: Any = memoryview(floats)

    def _set_rows(self, m: int) -> None:
        """Have fields for a batch of m rows."""
        self.batch.renew(m)
        self.pruned_room.grow(4 * m)
        self.block.numbers[layout.PRUNED_ROOM] = self.pruned_room.size
        self.bind()

    def make_room(self, m: int) -> None:
        """Have room for a batch of m rows at least."""
        if m > self.batch.size:
            self._set_rows(m)

    def release_rows(self) -> None:
        """Let go of the fields of a large batch."""
        self.windows.release_rows()
        self.runs.renew(_ROWS)
        self._set_rows(_ROWS)

    def rows(self, m: int) -> Array:
        """The rows of a batch of m, which are to be filled."""
        rows: Array = self.staged.data[: m * self.words].reshape(m, self.words)
        return rows

    def take(self, m: int, first: int) -> int:
        """Let m rows in that lie in `staged`, whose homes are known, and that have the numbers from `first` on; gives
        how many older rows have changed. Where this raises, nothing has changed."""
        numbers, block = self.block.numbers, self.block
        numbers[layout.FIRST], numbers[layout.N_TOUCHED] = first, 0
        done = placing.place(block.address, 0, m)
        try:
            while done < m:
                power = self.words_of_heads[layout.HOME * self.one_home[done] + layout.POWER] + 1
                try:
                    self.arena_room.grow(numbers[layout.TAIL] + (4 << power))
                finally:
                    self.bind()
                numbers[layout.ARENA] = self.arena_room.size
                done = placing.place(block.address, done, m)
            self._run()
        except BaseException:
            placing.take_back(block.address)
            raise
        return int(revisions.compare(block.address))

    def _run(self) -> None:
        """Run the rows that the new ones make run; where this raises, all windows are as they were."""
        numbers, windows = self.block.numbers, self.windows
        m = revisions.plan(self.block.address)
        grows = m > windows.row_room.size
        if grows:
            windows.set_rows(2 * m)
        if m + numbers[layout.N_EXTRAS] > self.runs.size:
            self.runs.renew(2 * (m + numbers[layout.N_EXTRAS]))
            grows = True
        if grows:
            self.bind()
        self._fresh: list[int] = []
        if numbers[layout.N_FRESH]:
            self._fresh = windows.take_slots(numbers[layout.N_FRESH])
            self.fresh.data[: len(self._fresh)] = self._fresh
        try:
            revisions.read_rows(self.block.address)
            if self.floats:
                for spec in windows.specs:
                    if spec.floats:
                        cut_floats(spec, windows.times.data[:m].view(np.float64))
            if m:
                windows.run(m)
        except BaseException:
            self._give_fresh()
            raise

    def _give_fresh(self) -> None:
        for slot in self._fresh:
            self.windows.give_slot(slot)

    def keep(self) -> None:
        """Let what `take` has done stay."""
        for slot in self.fresh.data[: revisions.keep(self.block.address)].tolist():
            self.windows.give_slot(slot)

    def undo(self) -> None:
        """Take back what `take` has done."""
        m = self.block.numbers[layout.N_ROWS]
        if m:
            self.windows.undo(m, len(self.windows.specs))
        self._give_fresh()
        placing.take_back(self.block.address)

    def take_pruned(self) -> Array:
        """The numbers of rows that cannot be revised any more, each once."""
        numbers = self.block.numbers
        pruned: Array = self.pruned.data[: numbers[layout.N_PRUNED]]
        numbers[layout.N_PRUNED] = 0
        return pruned

    def answers_of(self, row: int) -> list[Any]:
        """The answers of a row that ran."""
        bits, base = int(self.answered.data[row]), row * len(self.members)
        return [
            (self.float_answers if dtype == np.float64 else self.whole_answers)[base + c] if bits >> c & 1 else None
            for c, dtype in enumerate(self.dtypes)
        ]

    def number_of(self, row: int) -> int:
        """The number of arrival of a row that ran."""
        return int(self.arena.data[int(self.row_at.data[row]) * self.words + layout.NUMBER])

    def numbers_of(self, rows: Array) -> Array:
        """The numbers of arrival of rows that ran."""
        numbers: Array = self.arena.data[self.row_at.data[rows] * self.words + layout.NUMBER]
        return numbers

    def new_homes(self, keys: list[Key]) -> None:
        """Give homes to keys that have none."""
        reused = [self._free_homes.pop() for _ in range(min(len(keys), len(self._free_homes)))]
        fresh = len(keys) - len(reused)
        if self.size + fresh > self.home_room.size:
            try:
                self.home_room.grow(self.size + fresh)
            finally:
                self.bind()
        numbers = [*reused, *range(self.size, self.size + fresh)]
        self.size += fresh
        heads = self.heads.data.reshape(-1, layout.HOME)
        homes = np.array(numbers, np.int64)
        heads[homes] = 0
        for word, value in _NEW_HOME.items():
            heads[homes, word] = value
        heads[homes, layout.HORIZON] = _LEAST if not self.floats else np.array([-np.inf]).view(np.int64)[0]
        self.homes.update(zip(keys, numbers, strict=True))

    def release(self, key: Key) -> None:
        """Forget a key."""
        home = self.homes.pop(key)
        self.whole_keys.forget()
        head = self.head(home)
        if head[layout.ROOM]:
            start, power = int(head[layout.START]), int(head[layout.POWER])
            self.arena.data[start * self.words] = self.free.data[power]
            self.free.data[power] = start
        if head[layout.SLOT] >= 0:
            self.windows.give_slot(int(head[layout.SLOT]))
        self._free_homes.append(home)

    def head(self, home: int) -> Array:
        """The words of a home."""
        words: Array = self.heads.data[layout.HOME * home : layout.HOME * (home + 1)]
        return words

    def rows_of(self, home: int) -> Array:
        """The rows of a home, oldest first."""
        head = self.head(home)
        start, n = int(head[layout.START]), int(head[layout.ROWS])
        rows: Array = self.arena.data[start * self.words : (start + n) * self.words].reshape(n, self.words)
        return rows

    def put_rows(self, home: int, rows: Array) -> None:
        """Let a home that is empty have rows."""
        power = max(0, math.ceil(math.log2((len(rows) + 1) / 4))) if len(rows) > 3 else 0
        start = int(self.free.data[power])
        if start >= 0:
            self.free.data[power] = self.arena.data[start * self.words]
        else:
            numbers = self.block.numbers
            start = numbers[layout.TAIL]
            if start + (4 << power) > self.arena_room.size:
                try:
                    self.arena_room.grow(start + (4 << power))
                finally:
                    self.bind()
                numbers[layout.ARENA] = self.arena_room.size
            numbers[layout.TAIL] = start + (4 << power)
        self.arena.data[start * self.words : (start + len(rows)) * self.words] = rows.ravel()
        head = self.head(home)
        head[layout.START], head[layout.ROOM], head[layout.POWER] = start, 4 << power, power
        head[layout.ROWS] = len(rows)

    def now_of(self, home: int) -> Any:
        """The newest time of a home."""
        word = self.head(home)[layout.NOW : layout.NOW + 1]
        return (word.view(np.float64) if self.floats else word).tolist()[0]

    def nbytes(self) -> int:
        """The size of all arrays."""
        rooms = [self.home_room, self.batch, self.runs, self.arena_room, self.pruned_room]
        return self.windows.nbytes() + sum(room.nbytes() for room in rooms)
