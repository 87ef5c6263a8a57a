"""Live events of any lateness: a late one is answered, and the answers that it changes are given again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from slidewise.definition import Definition, check_names
from slidewise.errors import InputError, SlidewiseError, WindowError
from slidewise.live.clock import NUMBER, earlier
from slidewise.live.ledger import Kept, Ledger, Place
from slidewise.live.live import Live
from slidewise.live.operator_errors import fail
from slidewise.live.set_aside import LATE, Aside, Due
from slidewise.live.waiting import Event, Waiting
from slidewise.operators.values.equality import same
from slidewise.windows import Duration
from slidewise.windows.window import check_length

if TYPE_CHECKING:
    from slidewise.live.batch.filtering import Sifted

Retain = Duration | timedelta | str | int | float


class Revising(Live):
    """A live definition whose answers are always those of the table of all events so far.

    `push(row)` gives a list: the event with its aggregates, and after it those earlier events whose answers it has
    changed, oldest first. An event may be late by `retain` before the newest of its key; what comes later than that is
    dropped and counted.
    """

    tracks: dict[Any, Any]

    def __init__(self, definition: Definition, *, retain: Retain | None = None, aside: Aside | None = None) -> None:
        super().__init__(definition, late="revise", aside=aside)
        self.retain = self._retention(retain)
        self._bound: Any = None if self.retain == "all" else self.retain
        if isinstance(self.retain, Duration):
            self._bound = self.retain.ns
        self.arrivals = Waiting(definition, self.specs, 0)  # checks events and numbers them; none waits
        self.arrivals.others = self.kinds.others
        self._restated: list[Kept] = []  # whose answers have changed since a column turned out to hold no numbers
        self.revised = 0  # how many answers were given again

    def _retention(self, retain: Retain | None) -> Duration | int | float | str:
        """How late events may be: as said, or by the longest window."""
        if retain == "all":
            return "all"
        if retain is not None:
            return check_length(retain)
        windows = {name: one.window for name, one in self.definition.columns.items()}
        for name, window in windows.items():
            if window is None or window.last is None:
                raise SlidewiseError(
                    f"live(late='revise') needs retain=, how late an event may be, since {name!r} has no length in "
                    "time to take instead; write retain='1 day', say, or retain='all' to keep every row"
                )
        lasts: list[Any] = [window.last for window in windows.values() if window is not None]
        if any(isinstance(last, Duration) for last in lasts):
            return max((last for last in lasts if isinstance(last, Duration)), key=lambda last: last.ns)
        longest: int | float = max(lasts)
        return longest

    def push(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Take in one event, a dict of its columns, however late.

        Gives it with its aggregates, and after it the earlier events whose answers it has changed, oldest first; an
        empty list, whose `dropped` says why, where it came later than is retained or lay too far ahead. An error leaves
        everything as it was.
        """
        return super().push(row)  # type: ignore[no-any-return]

    def _push(self, row: Mapping[str, Any]) -> Due:
        key, time, kind = self.read(row)
        self._check_kind(kind)
        ledger = self.tracks.get(key) or Ledger(self.specs)
        self._tidy(ledger)
        if self._is_late(time, ledger.now):
            dropped: Due = self.drop(row, LATE)
            return dropped
        self.events += 1
        number = self.arrivals.number
        try:
            event = self.arrivals.event(row, key, time)
            change = _Change(self, ledger, [event])
        except BaseException:
            self.events -= 1
            self.arrivals.number = number
            raise
        self.tracks[key] = ledger
        self.clock.kind = kind
        self.clock.fractions |= type(time) is float
        return Due.of(self.settle(change))

    def _given_for_dropped(self, reason: str) -> Any:
        return Due.of([], reason)

    def settle(self, change: _Change) -> list[dict[str, Any]]:
        """Make a change stay: the new events and then the revised ones, with their answers."""
        change.commit()
        self.answers += len(change.new)
        revised = self.with_restated(change.revised)
        self.revised += len(revised)
        self._restated = []
        return [self._given(kept) for kept in (*change.new, *revised)]

    def with_restated(self, revised: list[Kept]) -> list[Kept]:
        """Revised events, and those whose answers have changed as a column turned out to hold no numbers."""
        if not self._restated:
            return revised
        every = {id(kept): kept for kept in (*self._restated, *revised)}
        return sorted(every.values(), key=lambda kept: (kept.place[0], kept.place[-1]))

    def forget_rows(self, track: Any, columns: set[str]) -> Callable[[], None]:
        specs = self.specs
        before = [(kept, kept.place, kept.answers) for kept in track.kept]
        parts = track.trees, track.bases, track.kept, track.places

        def take_back() -> None:
            track.trees, track.bases, track.kept, track.places = parts
            for kept, place, answers in before:
                kept.place, kept.answers = place, answers
            self._restated = []

        try:
            places = {place[-1]: self._restated_place(place, columns) for place in self._all_places(track)}
            for kept in track.kept:
                kept.place = places[kept.place[-1]]
            reads = [bool(columns & set(spec.columns)) for spec in specs]
            other = track.moved(track.kept, places, reads, specs)
            track.trees, track.bases, track.kept, track.places = other.trees, other.bases, other.kept, other.places
            answers = {id(kept): old for kept, _, old in before}
            for index, kept in enumerate(track.kept):
                if kept.row is None:
                    continue
                kept.answers = [value for at, spec in enumerate(specs) for value in track.answers(spec, at, index)]
                if not same(kept.answers, answers[id(kept)]):
                    self._restated.append(kept)
        except BaseException:
            take_back()
            raise
        return take_back

    def _all_places(self, track: Ledger) -> Iterator[Place]:
        yield from track.places
        for trees in track.trees:
            for place, _ in trees[0].contents():
                yield place

    def _restated_place(self, place: Place, columns: set[str]) -> Place:
        """A place once NaN in these columns is null, and comes first."""
        if not self.ordered:
            return place
        names = self.definition.ordering
        nan = (2,)
        order = [(0,) if part == nan and name in columns else part for name, part in zip(names, place[1], strict=True)]
        return place[0], tuple(order), place[2]

    def _given(self, kept: Kept) -> dict[str, Any]:
        return {**kept.row, **self._named(kept.answers)}

    def _check_kind(self, kind: str | None) -> None:
        """Refuse a retention that does not go with this kind of time."""
        if kind == self.clock.kind or self.retain == "all":
            return
        if kind == NUMBER and isinstance(self.retain, Duration):
            raise WindowError(f"times are numbers, but events are retained for {self.retain}; write retain=3600, say")
        if kind != NUMBER and not isinstance(self.retain, Duration):
            raise WindowError(f"times are datetimes, but events are retained for {self.retain}; write retain='1h', say")

    def _is_late(self, time: Any, newest: Any) -> bool:
        return bool(newest is not None and self._bound is not None and time < earlier(newest, self._bound))

    def _tidy(self, ledger: Ledger) -> None:
        if self._bound is not None and ledger.now is not None:
            horizon = earlier(ledger.now, self._bound)
            ledger.tidy(self.specs, math.floor(horizon) if type(horizon) is Fraction else horizon, self._fail_tidying)

    def _fail_tidying(self, at: int, error: BaseException) -> NoReturn:
        fail(self.specs[at], error, "while old rows were dropped; the event was not taken in")

    def place(self, event: Event) -> tuple[Any, ...]:
        """Where an event belongs among those of its key."""
        return (event.time, event.order, event.number) if self.ordered else (event.time, event.number)

    def push_many(self, table: Any) -> Any:
        """Take in a table of events, in its order: its rows with their aggregates, and then the earlier events whose
        answers have changed, each once. Rows that come later than is retained are dropped, and counted. An error leaves
        everything as it was.
        """
        from slidewise.columns.frames import frame_of
        from slidewise.live.batch.filtering import push_sifted

        frame = frame_of(table)
        check_names(self.definition, frame.names, "table", frame.index)
        return push_sifted(self, frame, self._push_sifted)

    def _push_sifted(self, sifted: Sifted) -> Any:
        import numpy as np

        from slidewise.live.batch.incoming import Incoming
        from slidewise.live.batch.waiting import as_table, events_of

        frame = sifted.rest
        names = [str(name) for name in frame.names]
        if len({*names}) < len(names):
            raise InputError(f"events that are revised need columns of different names; the table has {names}")
        incoming = Incoming(self, frame)
        self._check_kind(incoming.kind if incoming.count else self.clock.kind)
        ledgers = [self.tracks.get(key) or Ledger(self.specs) for key in incoming.keys]
        for ledger in ledgers:
            self._tidy(ledger)
        number = self.arrivals.number
        newest = [ledger.now for ledger in ledgers]
        groups: list[list[Event]] = [[] for _ in ledgers]
        in_turn: list[int] = []
        late = np.zeros(incoming.count, np.bool_)
        pairs = zip(events_of(self.arrivals, incoming), incoming.codes.tolist(), strict=True)
        for i, (event, code) in enumerate(pairs):
            late[i] = self._is_late(event.time, newest[code])
            if not late[i]:
                groups[code].append(event)
                in_turn.append(event.number)
                newest[code] = event.time if newest[code] is None else max(newest[code], event.time)
        changes: list[_Change] = []
        try:
            for ledger, events in zip(ledgers, groups, strict=True):
                if events:
                    changes.append(_Change(self, ledger, events))
            placed = {kept.place[-1]: kept for change in changes for kept in change.new}
            revised = self.with_restated([kept for change in changes for kept in change.revised])
            given = [placed[number] for number in in_turn] + revised
            answers = {id(kept): kept.answers for kept in self._restated}
            answers |= {id(kept): values for change in changes for kept, values in change.answers.items()}
            rows = [{**kept.row, **self._named(answers[id(kept)])} for kept in given]
            result = frame.from_arrow(as_table(self, incoming, rows))
        except BaseException as error:
            error.add_note("no row of the batch was taken in")
            for change in changes:
                change.undo()
            self.arrivals.number = number
            raise
        self.revised += len(revised) - sum(len(change.revised) for change in changes)
        self._restated = []
        for change in changes:
            self.settle(change)
        for key, ledger in zip(incoming.keys, ledgers, strict=True):
            if ledger.count:
                self.tracks[key] = ledger
        incoming.settle()
        self.events += incoming.count
        sifted.count(late)
        return result


class _Change:
    """New events of one key, in their places, and the answers that follow; it stays when it is committed.

    Where an operator raises, nothing has changed.
    """

    def __init__(self, live: Revising, ledger: Ledger, events: list[Event]) -> None:
        self._live = live
        self._ledger = ledger
        self._undos: list[Callable[[], None]] = []
        at = 0
        self._newest = max(event.time for event in events)
        pairs = [(Kept(live.place(event), event.row), event) for event in events]
        self.new = [kept for kept, _ in pairs]  # as they came
        self.answers: dict[Kept, list[Any]] = {}
        self.revised: list[Kept] = []
        try:
            ledger.enter(self.new)
            pairs.sort(key=lambda pair: pair[0].place)
        except InputError:
            self.undo()
            raise
        found: dict[int, list[tuple[int, list[Any]]]] = {}  # by a row's index, parts of its answers and where they go
        try:
            for at in range(len(live.specs)):
                self._answer(at, pairs, found)
        except BaseException as error:
            self.undo()
            fail(live.specs[at], error, "the event was not taken in")
        self._compare(found)

    def _answer(self, at: int, pairs: list[tuple[Kept, Event]], found: dict[int, list[tuple[int, list[Any]]]]) -> None:
        """Put the rows into the trees of one spec, and find the answers of all rows whose windows change."""
        ledger, spec = self._ledger, self._live.specs[at]
        ledger.take([kept for kept, _ in pairs], [event for _, event in pairs], at, self._undos)
        offset = sum(len(earlier.members) for earlier in self._live.specs[:at])
        done = 0
        peers: Any = None
        values: list[Any] = []
        # A row that counts touches its peers from the first on, also those before a row that does not.
        ranges = [ledger.touched(spec, kept, event.arguments[at] is not None) for kept, event in pairs]
        for touched in sorted(ranges, key=lambda touched: touched.start):
            for index in range(max(touched.start, done), touched.stop):
                time = ledger.places[index][0]
                if spec.numbered or time != peers:
                    values = ledger.answers(spec, at, index)
                    peers = time
                own = [list(value) if type(value) is list else value for value in values]
                found.setdefault(index, []).append((offset, own))
            done = max(done, touched.stop)

    def _compare(self, found: dict[int, list[tuple[int, list[Any]]]]) -> None:
        """Note the answers of new rows, and those of others that are not what they were."""
        members = sum(len(spec.members) for spec in self._live.specs)
        new = set(map(id, self.new))
        for index in sorted(found):
            kept = self._ledger.kept[index]
            answers = kept.answers[:] if kept.answers else [None] * members
            for start, part in found[index]:
                answers[start : start + len(part)] = part
            if id(kept) in new:
                self.answers[kept] = answers
            elif not same(answers, kept.answers):
                self.answers[kept] = answers
                self.revised.append(kept)

    def undo(self) -> None:
        for take_back in reversed(self._undos):
            take_back()
        self._ledger.leave(self.new)

    def commit(self) -> None:
        ledger = self._ledger
        for kept, answers in self.answers.items():
            kept.answers = answers
        ledger.count += len(self.new)
        ledger.now = self._newest if ledger.now is None else max(ledger.now, self._newest)
