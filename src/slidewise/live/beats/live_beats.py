"""A definition at work on live events that is answered on a beat: state per key, a row for each key and beat."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

from slidewise.definition import Definition
from slidewise.engine.beats.parts import BeatColumn, SlicePlan
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.errors import InputError, SlidewiseError, TimeOrderError, WindowError
from slidewise.live.beats.track import BeatTrack, View, views_of
from slidewise.live.clock import NUMBER, ZONED
from slidewise.live.live import Answered, Live, wait_for
from slidewise.live.operator_errors import fail
from slidewise.live.set_aside import LATE, Aside, Due
from slidewise.live.waiting import Event, in_order
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

    tracks: dict[Any, Any]

    def __init__(
        self,
        definition: Definition,
        *,
        late: str = "error",
        answered: Answered | None = None,
        aside: Aside | None = None,
    ) -> None:
        super().__init__(definition, late=late, answered=answered, aside=aside)
        self.kept = SlicePlan(definition, in_batch=False)
        self.parts = self.kept.parts
        self._readers = [self.reader_of(i) for i in range(len(self.parts))]
        if self.waiting is not None:
            self.waiting.read_by(self._readers)
        self.beats: Beats | None = None  # which are known once the first time is
        self._views: list[View] = []
        self.dates = False
        self.advanced: Any = None  # events up to here are late
        self.given = _NEVER  # the last beat that all keys have been given

    def reader(self, *asked: BeatColumn) -> WindowSpec:
        """What some aggregates of one part read."""
        part = self.parts[asked[0].part]
        spec = WindowSpec(part.columns, part.condition, self.kept.windows[asked[0].window], True)
        spec.members = [Member(one.name, one.operator, None, one.least) for one in asked]
        spec.others = self.kinds.others
        return spec

    def reader_of(self, part: int) -> WindowSpec:
        """What the aggregates of a part read."""
        return self.reader(*(one for one in self.kept.asked if one.part == part))

    def new_track(self) -> Any:
        return BeatTrack()

    def forget_rows(self, track: Any, columns: set[str]) -> Callable[[], None]:
        self.thaw(track)
        before = track.slices
        reads = [bool(columns & set(part.columns)) for part in self.parts]
        track.slices = deque(
            [one[0], *([0, None] if anew else part for part, anew in zip(one[1:], reads, strict=True))]
            for one in before
        )
        track.panes = None

        def take_back() -> None:
            track.slices, track.panes = before, None

        return take_back

    def settle(self, kind: str | None, floats: bool, dates: bool) -> None:
        """Let beats be counted in the kind of time that events have."""
        if self.beats is not None and (self.beats.floats or not floats):
            return
        if self.beats is not None and (self.tracks or self.waiting):
            raise InputError(
                "times were whole numbers so far, and floats come now, which are cut into slices otherwise; give "
                "floats from the first event on"
            )
        every, offset = self.definition.every, self.definition.offset
        if dates and any(isinstance(one, Duration) and one.ns % _DAY for one in (every, offset)):
            raise WindowError(f"times are dates, but beats come every {every}; give datetimes")
        self.beats = self.kept.beats(None if kind == NUMBER else 1, floats)
        self._views, self.dates = views_of(self.kept, self.beats), dates

    def _read(self, row: Mapping[str, Any]) -> tuple[Any, Any, str | None]:
        """An event's key and time, with the kind of time settled."""
        key, time, kind = self.read(row)
        if self.beats is None or type(time) is float:
            self.settle(kind, type(time) is float, _is_date(row[str(self.definition.on)]))
        return key, time, kind

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Where this raises before an event is taken in, the kind of time is what it was: perhaps none yet."""
        events, clock = self.events, self.clock
        before = self.beats, self._views, self.dates, clock.kind, clock.fractions
        try:
            yield
        except BaseException:
            if self.events == events:
                self.beats, self._views, self.dates, clock.kind, clock.fractions = before
            raise

    def push(self, row: Mapping[str, Any]) -> list[Row]:
        """Take in one event, a dict of its columns.

        Gives the beats of its key that it shows to be complete, oldest first. Where `late="wait:..."`, it gives the
        beats of all keys that are complete by the newest time less the bound. An error leaves everything as it was.
        """
        return super().push(row)  # type: ignore[no-any-return]

    def _push(self, row: Mapping[str, Any]) -> Due:
        with self.all_or_nothing():
            key, time, kind = self._read(row)
            if self.waiting is not None:
                return self._wait(row, key, time, kind)
            return self._take_in(row, key, time, kind)

    def _take_in(self, row: Mapping[str, Any], key: Any, time: Any, kind: str | None) -> Due:
        assert self.beats is not None
        track = self.tracks.get(key) or self.new_track()
        if self.is_late(track, time):
            if self.late == "error":
                raise self.late_error(key, track, time)
            dropped: Due = self.drop(row, LATE)
            return dropped
        arguments = [spec.arguments(row) for spec in self._readers]
        number = self.beats.number(time)
        found = self.take(track, number, arguments)
        track.now = time
        track.count += 1
        self.tracks[key] = track
        self.clock.kind = kind
        self.clock.fractions |= type(time) is float
        self.events += 1
        self.answers += len(found)
        return Due.of([self.row(key, beat, answers) for beat, answers in found])

    def _given_for_dropped(self, reason: str) -> Any:
        return Due.of([] if self.waiting is None else self.deliver(), reason)

    def is_late(self, track: BeatTrack, time: Any) -> bool:
        if self.advanced is not None and time <= self.advanced:
            return True
        return bool(track.now is not None and time < track.now)

    def late_error(self, key: Any, track: BeatTrack, time: Any) -> TimeOrderError:
        shown = self.clock.shown
        if track.now is None or time >= track.now:
            return TimeOrderError(
                f"the event's time {shown(time)} is not after {shown(self.advanced)}, up to which beats were asked for "
                "by advance(); sort the events, or use live(late='drop')"
            )
        whose = f" of the key {key!r}" if self.definition.by else ""
        return TimeOrderError(
            f"the event's time {shown(time)} lies before {shown(track.now)}, the newest{whose}; sort the events, or "
            f"use live(late='drop') or live(late='{wait_for(self.clock.kind)}')"
        )

    def take(self, track: BeatTrack, number: int, arguments: list[Any]) -> list[tuple[int, dict[str, Any]]]:
        """A row into its slice; the beats of its key that are complete before it."""
        beats = self.beats
        assert beats is not None
        self.thaw(track)
        done = beats.complete(number)
        try:
            found = self._answered(track, done)
            first, last = beats.held(number)
            if first <= last:
                track.take(self.parts, number, arguments)
        except BaseException as error:
            track.panes = None
            fail(None, error, "the event was not taken in")
        track.trim(beats, max(done, self.given))
        return found

    def _answered(self, track: BeatTrack, until: int) -> list[tuple[int, dict[str, Any]]]:
        assert self.beats is not None
        after = self.given if track.now is None else max(self.given, self.beats.complete(self.beats.number(track.now)))
        if self.waiting is not None:
            after = self.given
        return track.due(self.beats, self._views, after, until) if track.slices else []

    def thaw(self, track: BeatTrack) -> None:
        if track.frozen is not None:
            from slidewise.live.beats.push_many import thawed

            thawed(self, track)

    def row(self, key: Any, beat: int, answers: dict[str, Any]) -> Row:
        """A beat as a dict: keys, the time, and aggregates in the definition's order."""
        assert self.beats is not None
        names = self.definition.by
        keys = zip(names, (key,) if len(names) == 1 else key, strict=True)
        on = str(self.definition.on)
        return {
            **dict(keys),
            on: self.moment(self.beats.time(beat)),
            **{n: answers[n] for n in self.definition.columns},
        }

    def moment(self, time: Any) -> Any:
        """A time as events have it: a number, a date, or a datetime, in UTC where it has a zone."""
        if self.clock.kind == NUMBER or self.clock.kind is None:
            return time
        found = _EPOCH + timedelta(microseconds=time // 1_000)
        if time % 1_000:
            import pandas as pd

            return pd.Timestamp(time, tz="UTC" if self.clock.kind == ZONED else None)
        if self.dates:
            return found.date()
        return found.replace(tzinfo=UTC) if self.clock.kind == ZONED else found

    def advance(self, to: Any) -> list[Row]:
        """Say that no event at or before a moment comes any more: the beats up to it of all keys, oldest first.

        Beats of one time come in the order in which their keys first came. Keys whose windows have run empty are
        dropped. Events at or before it are late from now on.
        """
        self.aside.hand_over()
        time, kind = self.clock.read(to)
        if self.advanced is not None and time < self.advanced:
            raise TimeOrderError(
                f"advance(to={to!r}) goes back: beats were given up to {self.clock.shown(self.advanced)} already"
            )
        if self.beats is None:
            return []  # there are no keys yet, so events decide what times are
        assert self.beats is not None
        if self.waiting is not None:
            self.waiting.check(kind)
            self.release(self.waiting.until(time))
            self.waiting.flushed = time if self.waiting.flushed is None else max(time, self.waiting.flushed)
        self._all_up_to(self.beats.at_or_before(time))
        self.advanced = time
        return self.deliver()

    def _all_up_to(self, until: int) -> None:
        """The beats of all keys up to one, ready for the next delivery; an error leaves everything as it was."""
        if until <= self.given:
            return
        assert self.beats is not None
        found = []
        for key, track in self.tracks.items():
            self.thaw(track)
            try:
                mine = self._answered(track, until)
            except BaseException as error:
                for one in self.tracks.values():  # which are asked for the same beats again
                    one.panes = None
                fail(None, error, f"at a beat of the key {key!r}, up to {self.clock.shown(self.beats.time(until))}")
            found += [(beat, key, answers) for beat, answers in mine]
        found.sort(key=lambda one: one[0])
        self.ready += [self.row(key, beat, answers) for beat, key, answers in found]
        self.answers += len(found)
        self.given = until
        for track in self.tracks.values():
            track.trim(self.beats, until)
        self.tracks = {key: track for key, track in self.tracks.items() if not track.empty}

    def release(self, groups: list[list[Event]]) -> None:
        super().release(groups)
        if self.waiting is not None and self.newest is not None and self.beats is not None:
            self._all_up_to(self.beats.complete(self.beats.number(self.waiting.edge(self.newest))))

    def _answer_peers(self, peers: list[Event]) -> list[Row]:
        """Waiting events of equal key and time into their slice; beats come once all that are due are in."""
        assert self.beats is not None
        if self.ordered and len(peers) > 1:
            peers = in_order(peers)
        key, time = peers[0].key, peers[0].time
        track = self.tracks.get(key) or self.new_track()
        self.thaw(track)
        number = self.beats.number(time)
        first, last = self.beats.held(number)
        before = track.copied() if len(peers) > 1 else track
        try:
            for event in peers if first <= last else ():
                track.take(self.parts, number, list(event.arguments))
        except BaseException as error:
            if key in self.tracks:
                self.tracks[key] = before
            fail(None, error, f"in events of the key {key!r}")
        track.now = time
        track.count += len(peers)
        if not track.empty:
            self.tracks[key] = track
        return []

    def flush(self) -> list[Row]:
        """Let the events that wait in, and give the beats up to the newest; what comes before it now is late."""
        if self.waiting is None:
            raise SlidewiseError(
                "flush answers events that wait, and only live(late='wait:...') lets them wait; advance(to=...) gives "
                "the beats up to a moment"
            )
        self.aside.hand_over()
        if self.newest is None:
            return self.deliver()
        self.waiting.flushed = self.newest
        self.release(self.waiting.all())
        assert self.beats is not None
        self._all_up_to(self.beats.at_or_before(self.newest))
        return self.deliver()

    def push_many(self, table: Any) -> Any:
        """Take in a table of events at the speed of kernels: the beats of pushing its rows one after the other.

        Gives a table of its kind with the keys, the time and the aggregates. An error leaves everything as it was.
        """
        from slidewise.live.beats.push_many import push_beats

        return push_beats(self, table)


def _is_date(time: Any) -> bool:
    return isinstance(time, date) and not isinstance(time, datetime)
