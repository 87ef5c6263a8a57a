"""A definition at work on live events, `Live`: state per key, an answer per event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from slidewise.choosing import shared_windows
from slidewise.definition import Definition, check_no_lookahead
from slidewise.engine.computed.values import ComputedValues
from slidewise.engine.event_values import without_nan
from slidewise.engine.window_spec import WindowSpec, readers_of, split_by_generation, window_specs_of
from slidewise.errors import InputError, SlidewiseError
from slidewise.live.event_counts import EventCounts
from slidewise.live.event_times import TimeReader
from slidewise.live.first_answers import Firsts, specs_of_rows_before
from slidewise.live.key_state import KeyState
from slidewise.live.keys import SIMPLE, canonical
from slidewise.live.late_errors import late_error, released_error
from slidewise.live.missing_values import ColumnKinds
from slidewise.live.native.plan import Misfit, Opening, may_be_native
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.panes.shared_pane import plan_sharing
from slidewise.live.set_aside import AHEAD, LATE, PushResult, SetAside
from slidewise.live.types import EventRow, Key, Stats, Time
from slidewise.live.waiting.reorder_buffer import Event, ReorderBuffer, wait_bound

if TYPE_CHECKING:
    from slidewise.live.native.push import NativeWindows

Answered = Callable[[dict[str, Any]], Any]


class Live(EventCounts):
    """A definition fed event by event. Made by `definition.live()`.

    Feed it: `push(row)` one event, `push_many(table)` a batch, `flush()` answers what waits.
    Read it: `get(key, at=...)` the aggregates of a key as of a time, `get_many(table)` those of many.
    Ask it: `stats`, `len()` for the number of keys.
    Keep it small, and keep it: `forget(before=...)` drops idle keys, `snapshot()` stores it all in bytes.
    """

    def __init__(
        self,
        definition: Definition,
        *,
        late: str = "error",
        answered: Answered | None = None,
        spikes: bool = False,
        aside: SetAside | None = None,
        generations: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        check_no_lookahead(definition, "live an event is answered at once")
        self.definition = definition
        self.generations = dict(generations or {})  # of aggregates that an upgrade of a stream has left apart
        self.late = late
        self.spikes = spikes
        has_time = definition.on is not None
        bound = wait_bound(late, has_time)
        if answered is not None and bound is None:
            raise SlidewiseError("answered= is for late='wait:...'; otherwise push itself returns the answer")
        self.specs = split_by_generation(window_specs_of(definition, spikes), self.generations)
        plan_sharing(self.specs, shared_windows(definition) if spikes else [])
        self._names = [member.name for spec in self.specs for member in spec.members]
        self.ordered = definition.ordered
        self.readers, self.reads = readers_of(self.specs)
        self.native: NativeWindows | None = None  # windows in arrays, see `live.native`
        self.time_reader = TimeReader(definition)
        self.kinds = ColumnKinds(name for name in definition.needs if name != definition.on)
        for spec in self.specs:
            spec.others = self.kinds.others
        self.computed = ComputedValues(definition, self.kinds.others, self._names)
        self.buffer = None if bound is None else ReorderBuffer(definition, self.specs, bound, self.computed)
        if self.buffer is not None:
            self.buffer.others = self.kinds.others
            self.buffer.tables.key_of = self.key_of
        self.key_states: MutableMapping[Key, Any] = {}
        self.rows_before = specs_of_rows_before(self.specs) if has_time else []
        self.newest: Time | None = None  # of all events where some wait, these included
        self.dropped = self.failed = 0
        self.effort = 0.0  # what batches through kernels have cost, see `batch.push_many.by_kernels`
        self.ready: list[dict[str, Any]] = []
        self.callback = answered
        self.aside = aside or SetAside()
        self.opening = Opening(self) if may_be_native(self) else None  # while windows may come to lie in arrays
        self._one_key = definition.by[0] if len(definition.by) == 1 else None

    def new_key_state(self) -> Any:
        """The state of a key that has had no events."""
        return KeyState(self.specs)

    def push(self, row: EventRow) -> Any:
        """Take in one event, a dict of its columns.

        Gives the aggregates as of this event, by name; None where it came too late and `late="drop"`, or lay too far
        ahead. Where `late="wait:..."`, it gives the events that are due now, each with its aggregates, oldest first, in
        a list whose `dropped` says whether this event was. An error leaves everything as it was.
        """
        entry = self._event_entry
        if entry is not None:
            answers = entry(self._event_address, row)
            if answers:
                return answers
            self.leave_event_pass(undo=answers is False)
        aside = self.aside
        if aside.rows:
            aside.hand_over()
        if aside.guard is not None or aside.released is not None:
            return self._push_judged(row)
        return self._push_known(row) if self.kinds.unknown else self._push(row)

    def _push_known(self, row: EventRow) -> Any:
        """Take an event in, after learning the kinds of columns that it is the first to show."""
        if self.kinds.unknown and isinstance(row, Mapping):
            with self.learning(self.kinds.in_event(row)):
                return self._push(row)
        return self._push(row)

    def _push_judged(self, row: EventRow) -> Any:
        """Take an event in unless its time lies too far ahead, or a stream that this goes on from has passed it."""
        _, time, kind = self.read(row)
        guard = self.aside.guard
        if guard is not None and guard.is_ahead(time, kind):
            return self.drop(row, AHEAD)
        if self.aside.is_released(time):
            if self.late == "error":
                raise released_error(self, time, "the event's time")
            return self.drop(row, LATE)
        events = self.events
        try:
            return self._push_known(row)
        finally:
            if guard is not None and self.events != events:
                guard.accept(time)

    def drop(self, row: EventRow, reason: str) -> Any:
        """Count an event that is not taken in, and hand it to `late_to`; returns what `push` gives then."""
        self.events += 1
        if reason == LATE:
            self.dropped += 1
        else:
            self.aside.ahead += 1
        self.aside.put(row, reason)
        self.aside.hand_over()
        self.aside.warn(self)
        return self._result_of_drop(reason)

    def _result_of_drop(self, reason: str) -> Any:
        """The result of `push` for an event that was dropped."""
        return None if self.buffer is None else PushResult.of(self.deliver(), reason)

    def _push(self, row: EventRow) -> Any:
        """Take an event into all windows of its key, or into none, and answer; or let it wait."""
        native = self.native
        if native is None:
            return self._push_into_panes(row)
        try:
            return native.push(row)
        except Misfit:
            native.check(row)
            return native.misfit(self._push_into_panes(row))

    def _push_into_panes(self, row: EventRow) -> Any:
        """Take an event into all panes of its key, or into none, and answer; or let it wait."""
        key, time, kind = self.read(row)
        if self.opening is not None:
            self.opening.consider(row)
        if self.buffer is not None:
            return self._wait(row, key, time, kind)
        key_state = self.own(key)
        if key_state is None:
            key_state = KeyState(self.specs)
        elif time is not None and time < key_state.now:
            return self._late(row, key, time, key_state)
        extended = self.computed.extended(row)
        read = [spec.arguments(extended) for spec in self.readers]
        arguments = [read[at] for at in self.reads]
        values: list[Any] = []
        number = key_state.count
        is_later = bool(self.rows_before) and time != key_state.now
        reads = self.reads_before(key_state, number) if is_later else None
        at = 0
        try:
            for pane in key_state.panes:
                answers = pane.push(number if pane.spec.numbered else time, arguments[at])
                if pane.spec.declared:
                    pane.spec.check(answers)
                values += answers
                at += 1
            columns = self.computed.columns(values, row)
        except BaseException as error:
            for pane in key_state.panes[: at + 1]:
                pane.undo()
            raise_operator_error(self.spec_at(at), error, "the event was not taken in")
        if not number:
            self.key_states[key] = key_state
            self.time_reader.kind = kind
        if type(time) is float:
            self.time_reader.fractions = True
        for pane in key_state.panes:
            pane.keep()
        if time is not None:
            if is_later:
                key_state.firsts = self.firsts_of(values, reads)
            if self.seen is None or time > self.seen:
                self.seen = time
        key_state.now = time
        key_state.count = number + 1
        self.events += 1
        self.answers += 1
        return columns

    def own(self, key: Key) -> KeyState | None:
        """A key's panes, which may be changed; None where it has had no events."""
        key_states: Any = self.key_states
        owned: KeyState | None = key_states.get(key) if type(key_states) is dict else key_states.own(key)
        return owned

    def spec_at(self, at: int) -> WindowSpec | None:
        """The spec at this index; None behind the last, where results are computed."""
        return self.specs[at] if at < len(self.specs) else None

    def firsts_of(self, values: list[Any], reads: Firsts | None) -> Firsts:
        """The answers from windows of the rows before a row, of all its answers in the order of specs; or what
        `reads_before` gave for it, where answers are about the row's own value."""
        answers = [values[part] for _, part in self.rows_before]
        if reads is None:
            return answers
        pairs = zip(self.rows_before, answers, reads, strict=True)
        return [read if self.specs[at].own else answer for (at, _), answer, read in pairs]

    def reads_before(self, key_state: KeyState, number: int) -> Firsts | None:
        """What windows of the rows before answer as of the time of the row that is to come and has this number, the
        first of its time; None where that row's answers are the same."""
        if not any(self.specs[at].own for at, _ in self.rows_before):
            return None
        panes = key_state.panes
        return [panes[at].answers_at(number) if self.specs[at].own else [] for at, _ in self.rows_before]

    def learning(self, shown: Mapping[str, str]) -> AbstractContextManager[None]:
        """Take events in that show these kinds of columns; where they are refused, nothing was learnt."""
        from slidewise.live.learning import learning

        return learning(self, shown)

    def forget_rows(self, key_state: Any, columns: set[str]) -> Callable[[], None]:
        """Empty a key's windows over some columns; returns what undoes that."""
        undo: Callable[[], None] = key_state.empty_windows(self.specs, columns, self.rows_before)
        return undo

    def read(self, row: EventRow) -> tuple[Key, Any, str | None]:
        """An event's key, its time as a number, and the kind of time that it is."""
        if type(row) is not dict and not isinstance(row, Mapping):
            many = "; push_many takes a table of them" if hasattr(row, "columns") else ""
            raise InputError(f"an event is a dict of its columns, not a {type(row).__name__}{many}")
        try:
            key = self.key_of(row)
            time, kind = (None, None) if self.definition.on is None else self.time_reader.read(row[self.definition.on])
        except KeyError as error:
            raise InputError(f"the event has no {error.args[0]!r}; it has {', '.join(map(str, row))}") from None
        return key, time, kind

    def _late(self, row: EventRow, key: Key, time: Time, key_state: KeyState) -> Any:
        """Drop a late event, or refuse it."""
        if self.late == "drop":
            return self.drop(row, LATE)
        raise late_error(self, key, time, key_state.now or 0)

    def key_of(self, row: EventRow) -> Key:
        """An event's key in canonical form."""
        others = self.kinds.others
        if self._one_key is not None:
            key: Key = row[self._one_key]
            return key if type(key) in SIMPLE else without_nan(canonical(key, self._one_key), self._one_key, others)
        return tuple([without_nan(canonical(row[name], name), name, others) for name in self.definition.by])

    def _wait(self, row: EventRow, key: Key, time: Time, kind: str | None) -> PushResult:
        """Put an event into the buffer, and answer those that are due."""
        buffer = self.buffer
        assert buffer is not None
        buffer.check(kind)
        if self.newest is not None and buffer.is_late(time, self.newest):
            dropped: PushResult = self.drop(row, LATE)
            return dropped
        return self.let_wait(buffer.event(row, key, time), kind)

    def let_wait(self, event: Event, kind: str | None) -> PushResult:
        """Put an event into the buffer, whose time is of this kind, and answer those that are due."""
        buffer, time = self.buffer, event.time
        assert buffer is not None
        buffer.add(event)
        self.time_reader.kind = kind
        self.time_reader.fractions |= type(time) is float
        self.events += 1
        if self.newest is None or time > self.newest:
            self.newest = time
        self.release(buffer.pop_due(self.newest))
        return PushResult.of(self.deliver())

    def release(self, groups: list[list[Event]]) -> None:
        """Answer groups of events of equal key and time; the answers are ready for `deliver`."""
        for i, peers in enumerate(groups):
            try:
                answers = self._answer_peers(peers)
            except BaseException as error:
                assert self.buffer is not None
                self.failed += len(peers)
                for group in groups[i + 1 :]:
                    for event in group:
                        self.buffer.add(event)
                error.add_note(
                    f"{len(peers)} waiting events of time {self.time_reader.shown(peers[0].time)} were left out, see "
                    "stats.failed; those after them still wait"
                )
                raise
            self.ready += answers

    def _answer_peers(self, peers: list[Event]) -> list[dict[str, Any]]:
        """Answer events of equal key and time, which see one another, in the order of their arrival."""
        native = self.native
        if native is not None:
            try:
                return native.answer_peers(peers)
            except Misfit:
                native.misfit(None)
        assert self.buffer is not None
        for event in peers:
            self.buffer.complete(event)
        from slidewise.live.waiting.peers import answer_by_panes

        return answer_by_panes(self, peers)

    def deliver(self) -> list[dict[str, Any]]:
        """Give the answers that are ready, unless a callback takes them one by one."""
        ready, self.ready = self.ready, []
        if self.callback is None:
            return ready
        while ready:
            try:
                self.callback(ready[0])
            except BaseException:
                self.ready = ready
                raise
            del ready[0]
        return []

    def flush(self) -> list[dict[str, Any]]:
        """Answer all events that wait, as if time had moved past them; earlier ones that come now are late."""
        if self.buffer is None:
            raise SlidewiseError("flush answers events that wait, and only live(late='wait:...') lets them wait")
        self.aside.hand_over()
        self.buffer.flushed = self.newest
        self.release(self.buffer.pop_all())
        return self.deliver()

    def push_many(self, table: Any) -> Any:
        """Take in a table of events at the speed of kernels: the answers of pushing its rows one after the other.

        Gives the table with a column per aggregate, less the rows dropped as late. Where `late="wait:..."`, it gives
        the events that are due now, oldest first. An error leaves everything as it was.
        """
        from slidewise.live.batch.push_many import push_many

        self.leave_event_pass()
        return push_many(self, table)

    def get(self, key: EventRow | None = None, at: Any = None) -> dict[str, Any]:
        """The aggregates of one key by name, as of a time; a read, which changes nothing.

        `key` maps the definition's key columns to their values, {} or None where it has none, and the columns that
        expressions read of the row itself, which is the request; others are left alone. The answer is that of a row of
        the key at this time which itself does not count: rows that have left by then are out. Without `at` it is as of
        the request's own time, or else of the newest event seen, of all keys; events that wait have not been seen.

        `at` must not lie before the key's newest event, since what has left the windows is gone; where
        `late="revise"`, it may lie as far back as is retained. Combine calls: O(log n) for each aggregate; see
        docs/live.md for exact quantiles and `spikes=True`.
        """
        from slidewise.live.reads.get import get

        return get(self, key, at)

    def get_many(self, requests: Any, on: str | None = None, by: Mapping[str, str] | None = None) -> Any:
        """The aggregates of many keys, each as of a time: reads, which change nothing.

        `requests` is a table of pyarrow, pandas or polars with the key columns, the columns that expressions read of
        the row itself, and the time column where reads are not as of the newest event seen. `on` and `by={"card":
        "card_id"}` say what these are called there, if not as in the definition. Gives the table, its rows and columns
        as they were, and a column for each aggregate or expression behind them.
        What `get` refuses is refused for all rows.
        """
        from slidewise.live.reads.get_many import get_many

        return get_many(self, requests, on, by)

    def advance(self, to: Any) -> list[dict[str, Any]]:
        """The beats of all keys up to a moment, in a definition with `every=`."""
        raise SlidewiseError(f"advance is for definitions with every=, whose beats it gives up to {to!r}")

    def forget(self, before: Any) -> int:
        """Drop the keys whose newest time lies before this one; how many they were. Their next event starts anew."""
        if self.definition.on is None:
            raise SlidewiseError("forget goes by time, and this definition has no time column")
        time, _ = self.time_reader.read(before)
        idle = [key for key, key_state in self.key_states.items() if key_state.now is not None and key_state.now < time]
        for key in idle:
            del self.key_states[key]
        self.seen = None
        self.see(key_state.now for key_state in self.key_states.values())
        return len(idle)

    def see(self, newest: Iterable[Time | None]) -> None:
        """Have seen events of these times, the newest of some keys."""
        times = [time for time in (self.seen, *newest) if time is not None]
        self.seen = max(times, default=None)

    @property
    def stats(self) -> Stats:
        """Counts of what became of the events so far."""
        waiting = 0 if self.buffer is None else len(self.buffer)
        return Stats(
            self.events, self.answers, self.dropped, waiting, self.failed, len(self.key_states), self.aside.ahead
        )

    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """All state as bytes: versioned, checksummed, and bound to the definition. `definition.restore` reads them.

        With a `key` of 16 to 64 bytes, only who has it can make or change them: for state that others can write to.
        """
        from slidewise.live.snapshot.snapshot import snapshot

        return snapshot(self, key)

    def __len__(self) -> int:
        """The number of keys."""
        return len(self.key_states)

    def __repr__(self) -> str:
        return f"<Live of {len(self)} keys, {self.events} events, late={self.late!r}>"
