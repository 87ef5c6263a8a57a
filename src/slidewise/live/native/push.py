"""One event into the arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from slidewise.engine.computed.columns import like_column
from slidewise.errors import SlidewiseError
from slidewise.kernels.keyed import rows as passes
from slidewise.live.key_state import KeyState
from slidewise.live.native.conversion import adopt, check_times
from slidewise.live.native.event_pass import EventPass, event_entry, knows_columns, may_have_pass
from slidewise.live.native.moving import Move, is_frozen, is_large
from slidewise.live.native.plan import EXACT, MOST_MISFITS, RARE, Misfit, Opening
from slidewise.live.native.states import KeyStates
from slidewise.live.native.store import NativeStore
from slidewise.live.operator_errors import checked_arguments
from slidewise.live.set_aside import LATE
from slidewise.live.types import EventRow, Key

if TYPE_CHECKING:
    from slidewise.live.live import Live
    from slidewise.live.waiting.reorder_buffer import Event, ReorderBuffer

T = TypeVar("T")
_TYPES: dict[str, type] = {"float64": float, "int64": int}
_FEW_LEFT = 1_000  # events that the pass over single ones may leave to others before it has to take most of them


class NativeWindows:
    """What keeps a live definition's windows in arrays: its store, and how events are read into it."""

    def __init__(self, live: Live, store: NativeStore, states: KeyStates) -> None:
        self.live = live
        self.store = store
        self.states = states
        self.misfits = 0
        self._events_before = live.events
        self.floats: set[str] = set()  # columns of whole numbers in which floats have come
        self.table_plan: Any = None  # how Arrow tables of the newest schema are read
        self.refused_schema: Any = None  # one that no plan reads
        definition = live.definition
        self._float_columns = {column.name for column in store.inputs.values() if column.dtype == "float64"}
        self.likes = {name: like_column(definition, name) for name in definition.columns}
        self._readers: list[Any] = []  # for each set of arguments its spec, its columns, and the only one of them
        for number, reader in enumerate(live.readers):
            columns = [(name, _TYPES[store.inputs[name].dtype]) for name in reader.columns]
            only = columns[0] if reader.column is not None and reader.condition is None else None
            self._readers.append((number, reader, columns, only))
        self._answered = frozenset(definition.columns)
        self._ordering = frozenset(definition.ordering)
        self._may_have_pass = may_have_pass(live, store)
        self.event_pass: EventPass | None = None  # over single events, once it is compiled and columns are known
        self._left = 0  # events of known keys that it has left to others
        self._passes_computed = False  # whether the next event goes through it and expressions behind it

    def push(self, row: EventRow) -> Any:
        """Take in one event; returns what `Live.push` does. A Misfit changes nothing."""
        live, store = self.live, self.store
        if live.buffer is not None:
            return self._wait(row, live.buffer)
        if self._passes_computed:
            answers = self._answer_by_pass(row)
            if answers is not None:
                return answers
        key, time, _ = live.read(row)
        slot = store.slots.get(key)
        if slot is None and self._moves(key):
            return self._move(key, live._push_into_panes(row))
        answers = self._answer_new(row, key, time) if slot is None else self.answer(row, slot, time)
        if answers is None:
            return live._late(row, key, time, self.states[key])
        live.events += 1
        if self._may_have_pass:
            self._left += slot is not None
            self._begin_event_pass()
        return answers

    def _begin_event_pass(self) -> None:
        """Let the events to come go through the pass over single ones; where it has left many of known keys to others,
        only now and then."""
        live, aside = self.live, self.live.aside
        if self.event_pass is None:
            entry = event_entry()
            if entry is None or not knows_columns(live, self.store):
                return
            try:
                self.event_pass = EventPass(live, self.store, entry)
            except Exception:  # the event is in by now, and what Numba refuses is none of its errors
                self._may_have_pass = False
                return
        elif self.store.kind == passes.WHOLE and live.time_reader.fractions:
            return
        asks = self._left <= _FEW_LEFT + self.event_pass.taken // 4 or not self._left % _FEW_LEFT
        if asks and aside.guard is None and aside.released is None and not aside.rows:
            live.go_through(self.event_pass)
            self._passes_computed = not self.event_pass.is_whole

    def _answer_by_pass(self, row: EventRow) -> dict[str, Any] | None:
        """Take an event in through the pass over single ones, and compute what expressions make of it and its answers;
        None, and nothing has changed, where something is left to others or raises."""
        live, event_pass = self.live, self.event_pass
        assert event_pass is not None
        self._passes_computed = False  # until this has gone well
        if type(row) is not dict:
            return None
        try:
            extended = live.computed.extended(row)
        except Exception:
            return None
        answers = event_pass.entry(event_pass.address, extended)
        if not answers:
            if answers is False:
                event_pass.undo()
            return None
        try:
            columns = live.computed.columns(list(answers.values()), row)
        except BaseException as error:
            event_pass.undo_taken()
            if isinstance(error, Exception):
                return None
            raise
        self._passes_computed = True
        return columns

    def check(self, row: EventRow) -> None:
        """Refuse an event that its operators refuse, unless it is late, before its key's windows become panes."""
        live = self.live
        key, time, _ = live.read(row)
        slot = self.store.slots.get(key)
        if slot is None:
            key_state = self.states.in_panes(key)
            is_late = key_state is not None and time is not None and time < key_state.now
        else:
            is_late = self._is_late(slot, time)
        if not is_late:
            extended = live.computed.extended(row)
            for spec in live.specs:
                checked_arguments(spec, extended)

    def _is_late(self, slot: int, time: Any) -> bool:
        """Whether a time lies before the newest of a slot that has had events."""
        store = self.store
        return bool(time is not None and store.counts.data[slot] and time < store.newest_of(slot))

    def _answer_new(self, row: EventRow, key: Key, time: Any) -> dict[str, Any] | None:
        """The same as `answer` for a key that has no slot, which gets one."""
        store = self.store
        slot = self.slot_of(key, one=True)
        try:
            return self.answer(row, slot, time)
        except BaseException:
            if not store.counts.data[slot]:
                store.release(key)
            raise

    def _wait(self, row: EventRow, buffer: ReorderBuffer) -> Any:
        """Let one event wait; returns the events that are due now. A Misfit changes nothing."""
        live = self.live
        key, time, kind = live.read(row)
        if kind is not live.time_reader.kind:
            raise Misfit
        if live.newest is not None and buffer.is_late(time, live.newest):
            return live.drop(row, LATE)
        self._check(row)
        return live.let_wait(buffer.plain_event(row, key, time), kind)

    def _check(self, row: EventRow) -> None:
        """Raise a Misfit for an event that may be refused later, when it is due."""
        extended = self.live.computed.extended(row)
        for _, reader, columns, only in self._readers:
            if only is not None and type(row.get(only[0])) is float is only[1]:
                continue
            for value, (name, kind) in zip(reader.arguments(extended) or (), columns, strict=False):
                number = self._number(kind, value, name)
                if kind is int and not -(2**63) <= number < 2**63:
                    raise Misfit
        names = row.keys()
        if not names.isdisjoint(self._answered) or not names >= self._ordering:
            raise Misfit

    def answer_peers(self, peers: list[Event]) -> list[dict[str, Any]]:
        """Answer events of equal key and time, in the order of their arrival. A Misfit changes nothing."""
        if len(peers) > 1:
            from slidewise.live.native.waiting import answer_peers

            return answer_peers(self, peers)
        event = peers[0]
        slot = self.store.slots.get(event.key)
        if slot is None and self._moves(event.key):
            from slidewise.live.waiting.peers import answer_by_panes

            buffer = self.live.buffer
            assert buffer is not None
            buffer.complete(event)
            return self._move(event.key, answer_by_panes(self.live, peers))
        row, key, time = event.row, event.key, event.time
        answers = self._answer_new(row, key, time) if slot is None else self.answer(row, slot, time)
        if answers is None:
            raise Misfit
        return [{**row, **answers}]

    def _read(self, row: EventRow) -> None:
        """Write what aggregates read of an event into row 0."""
        store = self.store
        inputs = store.one_input
        try:
            for number, reader, columns, only in self._readers:
                if only is not None:
                    name, kind = only
                    value = row.get(name)
                    if type(value) is kind:
                        if value != value and name in reader.others:
                            raise Misfit
                        inputs[name][0] = value
                        store.one_counted[number][0] = True
                        continue
                values = reader.arguments(row)
                store.one_counted[number][0] = values is not None
                if values is None:
                    continue
                for value, (name, kind) in zip(values, columns, strict=False):
                    inputs[name][0] = self._number(kind, value, name)
        except (OverflowError, ValueError) as error:
            if isinstance(error, SlidewiseError):
                raise
            raise Misfit from error  # a number of more than 64 bits

    def _number(self, kind: type, value: Any, name: str) -> Any:
        """A value as one of a column's kind: among floats whole numbers are floats, as in a table. Else a Misfit."""
        if type(value) is kind:
            return value
        if kind is float and type(value) is int and -EXACT <= value <= EXACT:
            return float(value)
        if type(value) is float:
            self.floats.add(name)
        raise Misfit

    def read_at(self, row: EventRow, at: int) -> None:
        """Write what aggregates read of an event into some row."""
        store = self.store
        try:
            for number, reader, columns, _ in self._readers:
                values = reader.arguments(row)
                store.one_counted[number][at] = values is not None
                for value, (name, kind) in zip(values or (), columns, strict=False):
                    store.one_input[name][at] = self._number(kind, value, name)
        except (OverflowError, ValueError) as error:
            if isinstance(error, SlidewiseError):
                raise
            raise Misfit from error  # a number of more than 64 bits

    def answer(self, row: EventRow, slot: int, time: Any) -> dict[str, Any] | None:
        """Take an event into the windows of a slot, and answer it; None where it is late, and nothing has changed."""
        live, store = self.live, self.store
        try:
            self._read(live.computed.extended(row))
        except SlidewiseError:
            if self._is_late(slot, time):
                return None
            raise
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
            return None
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
        live.answers += 1
        return columns

    def takes_tables(self, table: Any) -> bool:
        """Whether this is an Arrow table, and nothing is to be done but to take it in."""
        aside, live = self.live.aside, self.live
        plain = (
            not live.ready
            and live.callback is None
            and aside.guard is None
            and aside.released is None
            and aside.late_to is None
            and not aside.rows
        )
        return plain and not live.kinds.unknown and type(table).__module__ == "pyarrow.lib" and hasattr(table, "schema")

    def push_table(self, table: Any) -> Any:
        """Take in an Arrow table; None, and nothing has changed, where it is not plain or something is wrong."""
        from slidewise.live.native.table_plan import NotPlainTable, push_table

        try:
            if self.live.buffer is not None:
                from slidewise.live.native.waiting import push_waiting

                return push_waiting(self, table)
            return push_table(self, table)
        except (NotPlainTable, Misfit):
            return None

    def slot_of(self, key: Key, *, one: bool = False) -> int:
        """The slot of a key that has none yet; where it has panes, these go over to it. `one` event is to come, and
        fields of rows are free."""
        store, panes = self.store, self.states.panes
        key_state = self.states.in_panes(key)
        if key_state is None:
            store.new_slots([key])
        elif one and is_large(key_state):
            self._move_at_once(key, key_state)
        else:
            self.states.end_move(key)
            try:
                adopt(store, key, key_state)
                del panes[key]
            except Misfit:  # states of whole numbers in a column of floats, perhaps
                with store.kept_rows():
                    self._move_at_once(key, key_state)
        return store.slots[key]

    def _moves(self, key: Key) -> bool:
        """Whether a key without a slot has panes that are too large to go over at once."""
        key_state = self.states.in_panes(key)
        return key_state is not None and is_large(key_state) and not is_frozen(key_state)

    def _move(self, key: Key, result: T) -> T:
        """Let more of a key's windows go over, after panes have taken an event in with this result."""
        states, store = self.states, self.store
        key_state = states.panes[key]
        assert isinstance(key_state, KeyState)
        try:
            check_times(store, key_state)
            move = states.moves.get(key)
            if move is None or not move.is_of(key_state):
                states.end_move(key)
                move = states.moves[key] = Move(store, key_state)
            if move.step():
                del states.moves[key], states.panes[key]
                store.slots[key] = move.slot
        except Misfit:
            states.end_move(key)
            return self.misfit(result)
        return result

    def _move_at_once(self, key: Key, key_state: KeyState) -> None:
        """Let a key's large windows go over, of which some are frozen."""
        states, store = self.states, self.store
        check_times(store, key_state)
        states.end_move(key)
        move = Move(store, key_state)
        try:
            move.finish()
        except BaseException:
            move.give_up()
            raise
        store.slots[key] = move.slot
        del states.panes[key]

    def misfit(self, result: T) -> T:
        """Note that the panes took in what the arrays do not hold, with this result; after many such, unless they are
        rare, the arrays are given up, key by key. They come again where floats came in columns of whole numbers."""
        live = self.live
        self.misfits += 1
        is_rare = self.misfits * RARE < live.events - self._events_before
        if self.misfits >= MOST_MISFITS and not is_rare and live.native is self:
            live.native = None
            if live.buffer is not None:
                live.buffer.spill()
            if self.floats:  # then arrays hold them once these columns are of floats
                live.opening = Opening(live, frozenset(self.floats | self._float_columns))
        return result


def open_windows(live: Live, store: NativeStore) -> None:
    """Let a live definition's windows lie in a store, which is empty; keys go over with their next events."""
    states = KeyStates(live.key_states, store, live.specs)
    live.key_states = states
    live.native = NativeWindows(live, store, states)
