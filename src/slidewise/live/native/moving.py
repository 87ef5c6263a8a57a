"""A key's large windows on their way from panes into arrays: some rows go over with each event of the key.

To take a window of 100,000 rows over at once would be the slowest event by far. So panes go on answering, and the rows
that they hold are let into the windows of a hidden slot one after the other, `STEP` with an event. These windows hold
what the panes hold once the last row is in, and then the slot is the key's. The event that begins it copies the
pointers to the rows, no more. A pane that is frozen has its rows as arrays already, and they go over at once: to answer
it would have to build its SWAGs, in plain Python.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from slidewise.arrays import Array
from slidewise.kernels.keyed import rows as passes
from slidewise.kernels.keyed import source
from slidewise.live.native.conversion import Row, columns_of_rows, put_running, put_times, running_content
from slidewise.live.native.plan import Misfit
from slidewise.live.native.push_many import cut_floats
from slidewise.live.panes.row_pane import RowPane

if TYPE_CHECKING:
    from slidewise.live.key_state import KeyState
    from slidewise.live.native.store import NativeStore, SpecStore

LARGE = 512  # rows of a window that go over at once
STEP = 64


def is_large(key_state: KeyState) -> bool:
    """Whether windows hold so many rows that they go over step by step."""
    return any(type(pane) is RowPane and pane.held() > LARGE for pane in key_state.panes)


def is_frozen(key_state: KeyState) -> bool:
    """Whether a window holds its rows as arrays."""
    return any(type(pane) is RowPane and pane.frozen is not None for pane in key_state.panes)


class Move:
    """The rows of one key that go over, and how far that is."""

    def __init__(self, store: NativeStore, key_state: KeyState) -> None:
        self.store = store
        self.key_state = key_state
        (self.slot,) = store.take_slots(1)
        self._windows = [
            _WindowMove(spec, pane, self.slot)
            for spec, pane in zip(store.specs, key_state.panes, strict=True)
            if not spec.running
        ]

    def is_of(self, key_state: KeyState) -> bool:
        """Whether this moves the windows that a key has."""
        panes = [pane for spec, pane in zip(self.store.specs, key_state.panes, strict=True) if not spec.running]
        windows = zip(self._windows, panes, strict=True)
        return key_state is self.key_state and all(window.is_of(pane) for window, pane in windows)

    def step(self) -> bool:
        """Let some rows go over; whether all are there, and the slot is complete. A Misfit where arrays hold none."""
        store, key_state = self.store, self.key_state
        for window in self._windows:
            window.step()
        if any(window.waits for window in self._windows):
            return False
        content = running_content(store, key_state.panes)
        for window in self._windows:
            window.evict(key_state.count - 1 if window.spec.numbered else key_state.now)
        put_times(store, self.slot, key_state)
        put_running(store, self.slot, content)
        return True

    def finish(self) -> None:
        """Let all rows go over."""
        while not self.step():
            pass

    def give_up(self) -> None:
        """Free the slot."""
        self.store.give_slot(self.slot)


class _WindowMove:
    """The rows of one window that go over: those of its pane when that began, and those that have come since."""

    def __init__(self, spec: SpecStore, pane: Any, slot: int) -> None:
        if type(pane) is not RowPane:
            raise Misfit
        self.spec = spec
        self._slot = slot
        self._pane = pane
        self._deque: deque[Row] = pane.rows
        self._rows = list(pane.rows)
        self._last = self._rows[-1] if self._rows else None
        self._columns = None if pane.frozen is None else _of_types(spec, pane.frozen)
        self._count = len(self._rows) if self._columns is None else len(self._columns[0])
        self._at = 0

    def is_of(self, pane: Any) -> bool:
        """Whether the pane still holds its rows where it did."""
        return pane is self._pane and pane.rows is self._deque and (pane.frozen is None) == (self._columns is None)

    @property
    def waits(self) -> bool:
        """Whether rows have still to go over."""
        return self._at < self._count

    def step(self) -> None:
        """Let some rows go over, of those that the pane still holds."""
        if self._columns is None:
            self._note_new()
        if not self.waits:
            return
        some = slice(self._at, self._at + STEP)
        if self._columns is None:
            places, *arguments = columns_of_rows(self.spec, self._rows[some])
        else:
            places, *arguments = (column[some] for column in self._columns)
        m = len(places)
        self._at += m
        for column, values in zip(self.spec.inputs, arguments, strict=False):
            column.rows.data[:m] = values
        self._run(places, counts=True)

    def evict(self, place: Any) -> None:
        """Let the rows go that the pane has evicted since they went over."""
        places, *_ = columns_of_rows(self.spec, [(place,)])
        self._run(places, counts=False)

    def _run(self, places: Any, *, counts: bool) -> None:
        """Let rows into the window, or just time go on, without answers."""
        spec, store, m = self.spec, self.spec.store, len(places)
        store.slots_of_rows.data[:m] = self._slot
        store.counted[spec.reader].data[:m] = counts
        (store.numbers if spec.numbered else store.times).data[:m] = places.view("int64")
        if spec.floats:
            cut_floats(spec, places)
        spec.asked.data[:m] = False
        spec.make_room(m // passes.CHUNK + 2)
        members = [member for member in spec.members if member.kernel is not None]
        for member in members:
            member.block.numbers[source.ASKED] = 1
        try:
            spec.run(m)
        except BaseException as error:
            spec.undo(store.slots_of_rows.data[:m])
            if isinstance(error, Exception):
                raise Misfit from error
            raise
        finally:
            for member in members:
                member.block.numbers[source.ASKED] = 0

    def _note_new(self) -> None:
        """Note the rows that the pane has had since the last time."""
        new: list[Row] = []
        for row in reversed(self._deque):
            if row is self._last:
                break
            new.append(row)
        if new:
            self._last = new[0]
            self._rows += reversed(new)
            self._count = len(self._rows)


def _of_types(spec: SpecStore, columns: list[Array]) -> list[Array]:
    """The places and the arguments of a frozen pane; a Misfit where they are of other types than in the arrays."""
    dtypes = ["float64" if spec.floats else "int64", *(column.dtype for column in spec.inputs)]
    if any(column.dtype.name != dtype for column, dtype in zip(columns, dtypes, strict=False)):
        raise Misfit
    return columns
