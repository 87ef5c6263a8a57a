"""A definition with `every=` at work on live events, `BeatLive`: state per key, a row for each key and beat."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any

from slidewise.definition import Definition
from slidewise.engine.beats.parts import BeatColumn, SlicePlan
from slidewise.engine.computed.values import ComputedValues
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.errors import InputError, SlidewiseError, TimeOrderError, WindowError
from slidewise.live.beats.key_state import BeatKeyState, BeatWindow, beat_windows
from slidewise.live.event_times import NUMBER
from slidewise.live.keys import key_parts
from slidewise.live.late_errors import example_wait
from slidewise.live.live import Answered, Live
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.set_aside import LATE, PushResult, SetAside
from slidewise.live.types import EventRow, Key, Time
from slidewise.live.waiting.reorder_buffer import Event, sort_peers
from slidewise.windows import Beats, Duration

Row = dict[str, Any]
_NEVER = -(2**62)
_DAY = 86_400 * 10**9
_EPOCH = datetime(1970, 1, 1)


class BeatLive(Live):
    """A live definition with `every=`. Made by `definition.live()`.

    Feed it: `push(row)` one event, `push_many(table)` a batch; both give the beats that are complete by then.
    Move time on: `advance(to=...)` gives the beats of all keys up to a moment; `flush()` answers what waits.
    """

    key_states: dict[Key, Any]

    def __init__(
        self,
        definition: Definition,
        *,
        late: str = "error",
        answered: Answered | None = None,
        aside: SetAside | None = None,
    ) -> None:
        super().__init__(definition, late=late, answered=answered, aside=aside)
        self.plan = SlicePlan(definition, in_batch=False)
        self.parts = self.plan.parts
        self.computed = ComputedValues(definition, self.kinds.others, list(definition.aggregates))
        self._readers = [self.reader_of(i) for i in range(len(self.parts))]
        if self.buffer is not None:
            self.buffer.read_arguments_of(self._readers)
        self.beats: Beats | None = None  # known once the first time is
        self._windows: list[BeatWindow] = []
        self.dates = False
        self.advanced: Time | None = None  # events up to here are late
        self.last_beat = _NEVER  # the last beat that all keys have been given

    def reader(self, *asked: BeatColumn) -> WindowSpec:
        """A spec that reads the arguments of some aggregates of one part."""
        part = self.parts[asked[0].part]
        spec = WindowSpec(part.columns, part.condition, self.plan.windows[asked[0].window], True)
        spec.members = [Member(column.name, column.operator, None, column.least) for column in asked]
        spec.others = self.kinds.others
        return spec

    def reader_of(self, part: int) -> WindowSpec:
        """A spec that reads the arguments of a part."""
        return self.reader(*(column for column in self.plan.asked if column.part == part))

    def new_key_state(self) -> Any:
        return BeatKeyState()

    def forget_rows(self, key_state: Any, columns: set[str]) -> Callable[[], None]:
        self.thaw(key_state)
        before = key_state.slices
        reads = [bool(columns & set(part.columns)) for part in self.parts]
        key_state.slices = deque(
            [number, *([0, None] if empty else part for part, empty in zip(parts, reads, strict=True))]
            for number, *parts in before
        )
        key_state.panes = None

        def undo() -> None:
            key_state.slices, key_state.panes = before, None

        return undo

    def set_beats(self, kind: str | None, floats: bool, dates: bool) -> None:
        """Cut time into beats of the kind of time that events have."""
        if self.beats is not None and (self.beats.floats or not floats):
            return
        if self.beats is not None and (self.key_states or self.buffer):
            raise InputError(
                "times were whole numbers so far, and floats come now, which are cut into slices otherwise; give "
                "floats from the first event on"
            )
        every, offset = self.definition.every, self.definition.offset
        if dates and any(isinstance(length, Duration) and length.ns % _DAY for length in (every, offset)):
            raise WindowError(f"times are dates, but beats come every {every}; give datetimes")
        self.beats = self.plan.beats(None if kind == NUMBER else 1, floats)
        self._windows, self.dates = beat_windows(self.plan, self.beats), dates

    def _read(self, row: EventRow) -> tuple[Key, Any, str | None]:
        """An event's key and time, with beats set for its kind of time."""
        key, time, kind = self.read(row)
        if self.beats is None or type(time) is float:
            self.set_beats(kind, type(time) is float, _is_date(row[str(self.definition.on)]))
        return key, time, kind

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Put the kind of time back to what it was where something inside raises before an event is taken in."""
        events, reader = self.events, self.time_reader
        before = self.beats, self._windows, self.dates, reader.kind, reader.fractions
        try:
            yield
        except BaseException:
            if self.events == events:
                self.beats, self._windows, self.dates, reader.kind, reader.fractions = before
            raise

    def push(self, row: EventRow) -> list[Row]:
        """Take in one event, a dict of its columns.

        Gives the beats of its key that it shows to be complete, oldest first. Where `late="wait:..."`, it gives the
        beats of all keys that are complete by the newest time less the bound. An error leaves everything as it was.
        """
        return super().push(row)  # type: ignore[no-any-return]

    def _push(self, row: EventRow) -> PushResult:
        """Take an event into its slice, or let it wait; returns the beats that are complete by then."""
        with self.all_or_nothing():
            key, time, kind = self._read(row)
            if self.buffer is not None:
                return self._wait(row, key, time, kind)
            return self._take_in(row, key, time, kind)

    def _take_in(self, row: EventRow, key: Key, time: Time, kind: str | None) -> PushResult:
        assert self.beats is not None
        key_state = self.key_states.get(key) or self.new_key_state()
        if self.is_late(key_state, time):
            if self.late == "error":
                raise self.late_error(key, key_state, time)
            dropped: PushResult = self.drop(row, LATE)
            return dropped
        extended = self.computed.extended(row)
        arguments = [spec.arguments(extended) for spec in self._readers]
        number = self.beats.number(time)
        due = self.take(key, key_state, number, arguments)
        key_state.now = time
        key_state.count += 1
        self.key_states[key] = key_state
        self.time_reader.kind = kind
        self.time_reader.fractions |= type(time) is float
        self.events += 1
        self.answers += len(due)
        return PushResult.of([beat_row for _, beat_row in due])

    def _result_of_drop(self, reason: str) -> Any:
        return PushResult.of([] if self.buffer is None else self.deliver(), reason)

    def is_late(self, key_state: BeatKeyState, time: Time) -> bool:
        """Whether an event of a key comes after a newer one, or after beats that hold it."""
        if self.advanced is not None and time <= self.advanced:
            return True
        return bool(key_state.now is not None and time < key_state.now)

    def late_error(self, key: Key, key_state: BeatKeyState, time: Time) -> TimeOrderError:
        """The error that names the time of a late event, and what it comes after."""
        shown = self.time_reader.shown
        if key_state.now is None or time >= key_state.now:
            assert self.advanced is not None
            return TimeOrderError(
                f"the event's time {shown(time)} is not after {shown(self.advanced)}, up to which beats were asked for "
                "by advance(); sort the events, or use live(late='drop')"
            )
        whose = f" of the key {key!r}" if self.definition.by else ""
        return TimeOrderError(
            f"the event's time {shown(time)} lies before {shown(key_state.now)}, the newest{whose}; sort the events, "
            f"or use live(late='drop') or live(late='{example_wait(self.time_reader.kind)}')"
        )

    def take(self, key: Key, key_state: BeatKeyState, number: int, arguments: list[Any]) -> list[tuple[int, Row]]:
        """Add a row to its slice; returns the beats of its key that are complete before it."""
        beats = self.beats
        assert beats is not None
        self.thaw(key_state)
        done = beats.complete(number)
        try:
            due = self._due(key, key_state, done)
            first, last = beats.held(number)
            if first <= last:
                key_state.take(self.parts, number, arguments)
        except BaseException as error:
            key_state.panes = None
            raise_operator_error(None, error, "the event was not taken in")
        key_state.trim(beats, max(done, self.last_beat))
        return due

    def _due(self, key: Key, key_state: BeatKeyState, until: int) -> list[tuple[int, Row]]:
        """The beats of a key up to one that it has not been given yet, and their rows."""
        assert self.beats is not None
        after = (
            self.last_beat
            if key_state.now is None
            else max(self.last_beat, self.beats.complete(self.beats.number(key_state.now)))
        )
        if self.buffer is not None:
            after = self.last_beat
        due = key_state.due(self.beats, self._windows, after, until) if key_state.slices else []
        return [(beat, self.row(key, beat, answers)) for beat, answers in due]

    def thaw(self, key_state: BeatKeyState) -> None:
        """Make lists of a key's slices, where they lie in arrays after a batch."""
        if key_state.frozen is not None:
            from slidewise.live.beats.slice_arrays import thaw

            thaw(key_state)

    def row(self, key: Key, beat: int, answers: dict[str, Any]) -> Row:
        """A beat as a dict: keys, the time, and aggregates in the definition's order."""
        assert self.beats is not None
        names = self.definition.by
        keys = zip(names, key_parts(key, names), strict=True)
        on = str(self.definition.on)
        own = {**dict(keys), on: self.moment(self.beats.time(beat))}
        return {**own, **self.computed.columns([answers[name] for name in self.definition.aggregates], own)}

    def moment(self, time: Time) -> Any:
        """A time as events have it: a number, a date, or a datetime, in UTC where it has a zone."""
        moment = self.time_reader.moment(time)
        return moment.date() if self.dates and isinstance(moment, datetime) else moment

    def advance(self, to: Any) -> list[Row]:
        """Say that no event at or before a moment comes any more: the beats up to it of all keys, oldest first.

        Beats of one time come in the order in which their keys first came. Keys whose windows have run empty are
        dropped. Events at or before it are late from now on.
        """
        self.aside.hand_over()
        time, kind = self.time_reader.read(to)
        if self.advanced is not None and time < self.advanced:
            raise TimeOrderError(
                f"advance(to={to!r}) goes back: beats were given up to {self.time_reader.shown(self.advanced)} already"
            )
        if self.beats is None:
            return []  # there are no keys yet, so events decide what times are
        assert self.beats is not None
        if self.buffer is not None:
            self.buffer.check(kind)
            self.release(self.buffer.pop_until(time))
            self.buffer.flushed = time if self.buffer.flushed is None else max(time, self.buffer.flushed)
        self._answer_up_to(self.beats.at_or_before(time))
        self.advanced = time
        return self.deliver()

    def _answer_up_to(self, until: int) -> None:
        """Answer the beats of all keys up to one, ready for `deliver`; an error leaves everything as it was."""
        if until <= self.last_beat:
            return
        assert self.beats is not None
        due = []
        for key, key_state in self.key_states.items():
            self.thaw(key_state)
            try:
                of_key = self._due(key, key_state, until)
            except BaseException as error:
                for other in self.key_states.values():  # which are asked for the same beats again
                    other.panes = None
                raise_operator_error(
                    None, error, f"at a beat of the key {key!r}, up to {self.time_reader.shown(self.beats.time(until))}"
                )
            due += of_key
        due.sort(key=lambda item: item[0])
        self.ready += [beat_row for _, beat_row in due]
        self.answers += len(due)
        self.last_beat = until
        for key_state in self.key_states.values():
            key_state.trim(self.beats, until)
        self.key_states = {key: key_state for key, key_state in self.key_states.items() if not key_state.empty}

    def release(self, groups: list[list[Event]]) -> None:
        super().release(groups)
        if self.buffer is not None and self.newest is not None and self.beats is not None:
            self._answer_up_to(self.beats.complete(self.beats.number(self.buffer.watermark(self.newest))))

    def _answer_peers(self, peers: list[Event]) -> list[Row]:
        """Add waiting events of equal key and time to their slice; beats come once all that are due are in."""
        assert self.beats is not None
        if self.ordered and len(peers) > 1:
            peers = sort_peers(peers)
        key, time = peers[0].key, peers[0].time
        key_state = self.key_states.get(key) or self.new_key_state()
        self.thaw(key_state)
        number = self.beats.number(time)
        first, last = self.beats.held(number)
        before = key_state.copied() if len(peers) > 1 else key_state
        try:
            for event in peers if first <= last else ():
                key_state.take(self.parts, number, list(event.arguments))
        except BaseException as error:
            if key in self.key_states:
                self.key_states[key] = before
            raise_operator_error(None, error, f"in events of the key {key!r}")
        key_state.now = time
        key_state.count += len(peers)
        if not key_state.empty:
            self.key_states[key] = key_state
        return []

    def flush(self) -> list[Row]:
        """Let the events that wait in, and give the beats up to the newest; what comes before it now is late."""
        if self.buffer is None:
            raise SlidewiseError(
                "flush answers events that wait, and only live(late='wait:...') lets them wait; advance(to=...) gives "
                "the beats up to a moment"
            )
        self.aside.hand_over()
        if self.newest is None:
            return self.deliver()
        self.buffer.flushed = self.newest
        self.release(self.buffer.pop_all())
        assert self.beats is not None
        self._answer_up_to(self.beats.at_or_before(self.newest))
        return self.deliver()

    def get(self, key: EventRow | None = None, at: Any = None) -> Row:
        """Refused: a definition with `every=` answers at its beats only."""
        raise self._unreadable("get")

    def get_many(self, requests: Any, on: str | None = None, by: Mapping[str, str] | None = None) -> Any:
        """Refused: a definition with `every=` answers at its beats only."""
        raise self._unreadable("get_many")

    def _unreadable(self, method: str) -> SlidewiseError:
        return SlidewiseError(
            f"{method} reads windows as of any time, and with every={self.definition.every} there are answers at beats "
            "only; advance(to=...) gives the beats up to a moment, and a definition without every= can be read"
        )

    def push_many(self, table: Any) -> Any:
        """Take in a table of events at the speed of kernels: the beats of pushing its rows one after the other.

        Gives a table of its kind with the keys, the time and the aggregates. An error leaves everything as it was.
        """
        from slidewise.live.beats.push_many import push_beats

        return push_beats(self, table)


def _is_date(time: Any) -> bool:
    return isinstance(time, date) and not isinstance(time, datetime)
