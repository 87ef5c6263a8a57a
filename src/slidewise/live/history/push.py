"""One event into the arrays, and the answers that it changes out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from slidewise.engine.computed.columns import like_column
from slidewise.engine.event_values import PLAIN, plain_value
from slidewise.errors import SlidewiseError
from slidewise.kernels.keyed import history_layout as layout
from slidewise.live.history.conversion import TYPES
from slidewise.live.history.states import RevisableStates
from slidewise.live.history.store import HistoryStore
from slidewise.live.native.plan import EXACT, MOST_MISFITS, Misfit
from slidewise.live.set_aside import LATE, PushResult
from slidewise.live.types import EventRow, Key
from slidewise.operators.values.hashing import plain

if TYPE_CHECKING:
    from slidewise.live.revising import Revising

T = TypeVar("T")


class HistoryWindows:
    """What keeps the rows of a live definition that revises in arrays: its store, and how events are read into it."""

    def __init__(self, live: Revising, history: HistoryStore, states: RevisableStates) -> None:
        self.live = live
        self.history = history
        self.store = history.windows
        self.states = states
        self.misfits = 0
        self.table_plan: Any = None  # how Arrow tables of the newest schema are read
        self.refused_schema: Any = None  # one that no plan reads
        definition = live.definition
        self.likes = {name: like_column(definition, name) for name in definition.columns}
        self._columns = frozenset(definition.columns)
        columns = enumerate(history.columns.items())
        self._read_columns = [(name, TYPES[dtype], layout.INPUTS + c) for c, (name, dtype) in columns]
        number = {name: c for c, name in enumerate(history.columns)}
        self._plain_readers = [
            (1 << at, [1 << number[name] for name in reader.columns])
            for at, reader in enumerate(live.readers)
            if reader.condition is None
        ]
        others = [(1 << at, reader) for at, reader in enumerate(live.readers) if reader.condition is not None]
        self._other_readers = others
        self._order = [number[name] for name in history.ordering]

    def push(self, row: EventRow) -> PushResult:
        """Take in one event; see `Revising.push`. A Misfit changes nothing."""
        live, history = self.live, self.history
        key, time, kind = live.read(row)
        if kind != live.time_reader.kind:
            raise Misfit
        home = history.homes.get(key)
        new = False
        if home is None:
            home = self.states.home_of(key)
        if home is None:
            new = True
        elif live.retention is not None and live._is_late(time, history.now_of(home)):
            dropped: PushResult = live.drop(row, LATE)
            return dropped
        if not self._columns.isdisjoint(row):
            raise Misfit
        self._read(row, time)
        if new:
            history.new_homes([key])
            home = history.homes[key]
        try:
            return self._take(row, home or 0, time)
        except BaseException:
            if new:
                history.release(key)
            raise

    def _read(self, row: EventRow, time: Any) -> None:
        """Write an event as the first row of a batch."""
        history = self.history
        words, floats = history.one_row, history.one_row_floats
        if type(time) is not (float if history.floats else int):
            raise Misfit
        there = nans = 0
        try:
            (floats if history.floats else words)[layout.TIME] = time
            for c, (name, kind, at) in enumerate(self._read_columns):
                value = row[name]
                if type(value) is not kind:
                    value = plain_value(value)
                    if kind is float and type(value) is int and -EXACT <= value <= EXACT:
                        value = float(value)
                if type(value) is kind:
                    if kind is float:
                        floats[at] = value
                        if value != value:
                            nans |= 1 << c
                    else:
                        words[at] = value
                    there |= 1 << c
                elif value is None:
                    words[at] = 0
                else:
                    raise Misfit
        except (KeyError, OverflowError, ValueError) as error:
            if isinstance(error, SlidewiseError):
                raise
            raise Misfit from error
        counted = 0
        for bit, columns in self._plain_readers:
            for column in columns:
                if not there & column:
                    break
            else:
                counted |= bit
        for bit, reader in self._other_readers:
            if reader.arguments(row) is not None:
                counted |= bit
        words[layout.COUNTED] = counted
        words[layout.VALID] = 0
        if self._order:
            kinds = 0
            for i, c in enumerate(self._order):
                if there >> c & 1:
                    kinds |= (layout.NAN if nans >> c & 1 else layout.VALUE) << 2 * i
            words[layout.KINDS] = kinds

    def _take(self, row: EventRow, home: int, time: Any) -> PushResult:
        live, history = self.live, self.history
        number = live.arrivals.number + 1
        history.one_row[layout.NUMBER] = number
        history.one_home[0] = home
        try:
            changed = history.take(1, number)
        except Exception as error:
            raise Misfit from error  # the trees raise it in their words
        try:
            event = {name: value if type(value) in PLAIN else plain(value) for name, value in row.items()}
            columns = live.computed.columns(history.answers_of(history.entry.data[0]), event)
            rows = [{**event, **columns}]
            if changed:
                rows += self._revised(changed)
        except BaseException:
            history.undo()
            raise
        history.keep()
        live.arrivals.number = number
        events = self.states.events
        events.add(number, event)
        if history.block.numbers[layout.N_PRUNED]:
            self.states.forget_events(history.take_pruned())
            if not number & 1_023:
                events.tidy()
        if live.seen is None or time > live.seen:
            live.seen = time
        live.events += 1
        live.answers += 1
        live.revised += changed
        return PushResult.of(rows)

    def _revised(self, changed: int) -> list[dict[str, Any]]:
        """The rows whose answers have changed, oldest first."""
        history, events = self.history, self.states.events
        rows = []
        for entry in history.changed.data[: 2 * changed : 2].tolist():
            event = events.get(history.number_of(entry))
            rows.append({**event, **self.live.computed.columns(history.answers_of(entry), event)})
        return rows

    def takes_tables(self, table: Any) -> bool:
        """Whether this is an Arrow table, and nothing is to be done but to take it in."""
        aside, live = self.live.aside, self.live
        plain = aside.guard is None and aside.released is None and aside.late_to is None and not aside.rows
        return plain and not live.kinds.unknown and type(table).__module__ == "pyarrow.lib" and hasattr(table, "schema")

    def homes_of(self, keys: list[Key]) -> list[Key]:
        """Write each row's home; returns the keys that are new."""
        history = self.history
        homes, out = history.homes, history.homes_of_rows.data
        m = len(keys)
        try:
            out[:m] = list(map(homes.__getitem__, keys))
            return []
        except KeyError:
            pass
        new = [key for key in dict.fromkeys(keys) if key not in homes and self.states.home_of(key) is None]
        history.new_homes(new)
        history.homes_of_rows.data[:m] = list(map(homes.__getitem__, keys))
        return new

    def misfit(self, result: T) -> T:
        """Note that the trees took in what the arrays do not hold, with this result; after many such the arrays are
        given up, key by key."""
        self.misfits += 1
        if self.misfits >= MOST_MISFITS:
            self.live.history = None
        return result
