"""`live(late="revise")`: a late event is answered, however late, and the answers that it changes are given again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from slidewise.definition import Definition, check_names
from slidewise.errors import InputError, SlidewiseError, WindowError
from slidewise.live.event_times import NUMBER, earlier
from slidewise.live.history.plan import HistoryOpening, may_hold_history
from slidewise.live.live import Live
from slidewise.live.missing_values import OTHERS
from slidewise.live.native.plan import Misfit
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.set_aside import LATE, PushResult, SetAside
from slidewise.live.trees.revisable_state import RevisableRow, RevisableState, RowPlace
from slidewise.live.trees.tree_change import TreeChange
from slidewise.live.types import EventRow, Time
from slidewise.live.waiting.reorder_buffer import Event, ReorderBuffer
from slidewise.operators.values.equality import same
from slidewise.windows import Duration, Months
from slidewise.windows.time import check_length

if TYPE_CHECKING:
    from slidewise.live.batch.filtering import FilteredBatch
    from slidewise.live.history.push import HistoryWindows

Retain = Duration | timedelta | str | int | float


class Revising(Live):
    """A live definition whose answers are always those of the table of all events so far.

    `push(row)` gives a list: the event with its aggregates, and after it those earlier events whose answers it has
    changed, oldest first. An event may be late by `retain` before the newest of its key; what comes later than that is
    dropped and counted.
    """

    key_states: Any

    def __init__(self, definition: Definition, *, retain: Retain | None = None, aside: SetAside | None = None) -> None:
        super().__init__(definition, late="revise", aside=aside)
        self.rows_before = []  # trees know the rows before any time
        self.retain = self._retention(retain)
        self.retention: Any = None if self.retain == "all" else self.retain  # as a number
        if isinstance(self.retain, Duration):
            self.retention = self.retain.ns
        self.arrivals = ReorderBuffer(
            definition, self.specs, 0, self.computed
        )  # checks events and numbers them; none waits
        self.arrivals.others = self.kinds.others
        self.history: HistoryWindows | None = None  # rows in arrays, see `live.history`
        self.opening: Any = HistoryOpening(self) if may_hold_history(self) else None
        self._restated: list[RevisableRow] = []  # whose answers changed as a column turned out to hold no numbers
        self.revised = 0  # how many answers were given again

    def _retention(self, retain: Retain | None) -> Duration | int | float | str:
        """How late events may be: as given, or by the longest window."""
        if retain == "all":
            return "all"
        if retain is not None:
            return check_length(retain)
        windows = {name: aggregate.window for name, aggregate in self.definition.aggregates.items()}
        for name, window in windows.items():
            if window is None or not window.kind.timed:
                raise SlidewiseError(
                    f"live(late='revise') needs retain=, how late an event may be, since {name!r} has no length in "
                    "time to take instead; write retain='1 day', say, or retain='all' to keep every row"
                )
        lasts: list[Any] = [window.last for window in windows.values() if window is not None]
        lasts = [Duration(last.longest) if isinstance(last, Months) else last for last in lasts]
        if any(isinstance(last, Duration) for last in lasts):
            return max((last for last in lasts if isinstance(last, Duration)), key=lambda last: last.ns)
        longest: int | float = max(lasts)
        return longest

    def push(self, row: EventRow) -> list[dict[str, Any]]:
        """Take in one event, a dict of its columns, however late.

        Gives it with its aggregates, and after it the earlier events whose answers it has changed, oldest first; an
        empty list, whose `dropped` says why, where it came later than is retained or lay too far ahead. An error leaves
        everything as it was.
        """
        return super().push(row)  # type: ignore[no-any-return]

    def _push(self, row: EventRow) -> PushResult:
        """Take an event in and commit the change, or drop it."""
        history = self.history
        if history is None:
            return self._push_into_trees(row)
        try:
            return history.push(row)
        except Misfit:
            return history.misfit(self._push_into_trees(row))

    def _push_into_trees(self, row: EventRow) -> PushResult:
        """Take an event into the trees of its key, or drop it."""
        key, time, kind = self.read(row)
        self._check_kind(kind)
        if self.opening is not None:
            self.opening.consider(row)
        state: Any = self.own(key) or RevisableState(self.specs)
        self._prune(state)
        if self._is_late(time, state.now):
            dropped: PushResult = self.drop(row, LATE)
            return dropped
        self.events += 1
        number = self.arrivals.number
        try:
            event = self.arrivals.event(row, key, time)
            change = TreeChange(self, state, [event])
        except BaseException:
            self.events -= 1
            self.arrivals.number = number
            raise
        self.key_states[key] = state
        self.time_reader.kind = kind
        self.time_reader.fractions |= type(time) is float
        return PushResult.of(self.commit(change))

    def _result_of_drop(self, reason: str) -> Any:
        return PushResult.of([], reason)

    def commit(self, change: TreeChange) -> list[dict[str, Any]]:
        """Commit a change; returns the new events and then the revised ones, with their answers."""
        change.commit()
        if self.seen is None or change.newest > self.seen:
            self.seen = change.newest
        self.answers += len(change.new)
        revised = self.with_restated(change.revised)
        self.revised += len(revised)
        self._restated = []
        return [self._answered_row(row) for row in (*change.new, *revised)]

    def learning(self, shown: Mapping[str, str]) -> AbstractContextManager[None]:
        if OTHERS in shown.values() and type(self.key_states) is not dict:  # windows may begin anew, as only trees can
            states: Any = self.key_states
            states.own_all()
            self.key_states, self.history = states.trees, None
        return super().learning(shown)

    def with_restated(self, revised: list[RevisableRow]) -> list[RevisableRow]:
        """Revised events, and those whose answers have changed as a column turned out to hold no numbers."""
        if not self._restated:
            return revised
        every = {id(row): row for row in (*self._restated, *revised)}
        return sorted(every.values(), key=lambda row: (row.place[0], row.place[-1]))

    def forget_rows(self, state: Any, columns: set[str]) -> Callable[[], None]:
        specs = self.specs
        before = [(row, row.place, row.answers) for row in state.rows]
        parts = state.trees, state.bases, state.rows, state.places, state.beginnings

        def undo() -> None:
            state.trees, state.bases, state.rows, state.places, state.beginnings = parts
            for row, place, answers in before:
                row.place, row.answers = place, answers
            self._restated = []

        try:
            places = {place[-1]: self._restated_place(place, columns) for place in self._all_places(state)}
            for row in state.rows:
                row.place = places[row.place[-1]]
            reads = [bool(columns & set(spec.columns)) for spec in specs]
            other = state.moved(state.rows, places, reads, specs)
            state.trees, state.bases, state.rows = other.trees, other.bases, other.rows
            state.places, state.beginnings = other.places, other.beginnings
            answers = {id(row): old for row, _, old in before}
            for index, row in enumerate(state.rows):
                if row.event is None:
                    continue
                row.answers = [value for at, spec in enumerate(specs) for value in state.answers(spec, at, index)]
                if self.differ(row, answers[id(row)], row.answers):
                    self._restated.append(row)
        except BaseException:
            undo()
            raise
        return undo

    def _all_places(self, state: RevisableState) -> Iterator[RowPlace]:
        """The places of rows and of entries of trees, which outlive rows."""
        yield from state.places
        for trees in state.trees:
            for place, _ in trees[0].contents():
                yield place

    def _restated_place(self, place: RowPlace, columns: set[str]) -> RowPlace:
        """A place once NaN in these columns is null, and comes first."""
        if not self.ordered:
            return place
        names = self.definition.ordering
        nan = (2,)
        order = [(0,) if part == nan and name in columns else part for name, part in zip(names, place[1], strict=True)]
        return place[0], tuple(order), place[2]

    def _answered_row(self, row: RevisableRow) -> dict[str, Any]:
        """A row as `push` gives it: the event's columns, and its answers by name."""
        return {**row.event, **self.computed.columns(row.answers, row.event)}

    def differ(self, row: RevisableRow, before: list[Any], after: list[Any]) -> bool:
        """Whether answers that have changed make another row of it; results may be the same."""
        if same(before, after) or not self.definition.stages.results:
            return not same(before, after)
        columns = [list(self.computed.columns(answers, row.event).values()) for answers in (before, after)]
        return not same(columns[0], columns[1])

    def _check_kind(self, kind: str | None) -> None:
        """Refuse a retention that does not go with this kind of time."""
        if kind == self.time_reader.kind or self.retain == "all":
            return
        if kind == NUMBER and isinstance(self.retain, Duration):
            raise WindowError(f"times are numbers, but events are retained for {self.retain}; write retain=3600, say")
        if kind != NUMBER and not isinstance(self.retain, Duration):
            raise WindowError(f"times are datetimes, but events are retained for {self.retain}; write retain='1h', say")

    def _is_late(self, time: Time, newest: Time | None) -> bool:
        return bool(newest is not None and self.retention is not None and time < earlier(newest, self.retention))

    def _prune(self, state: RevisableState) -> None:
        """Drop what events within the retention cannot need any more."""
        if self.retention is not None and state.now is not None:
            horizon = earlier(state.now, self.retention)
            state.prune(
                self.specs, horizon if isinstance(horizon, int | float) else math.floor(horizon), self._fail_pruning
            )

    def _fail_pruning(self, at: int, error: BaseException) -> NoReturn:
        raise_operator_error(self.specs[at], error, "while old rows were dropped; the event was not taken in")

    def place(self, event: Event) -> RowPlace:
        """The place of an event among those of its key."""
        return (event.time, event.order, event.number) if self.ordered else (event.time, event.number)

    def push_many(self, table: Any) -> Any:
        """Take in a table of events, in its order: its rows with their aggregates, and then the earlier events whose
        answers have changed, each once. Rows that come later than is retained are dropped, and counted. An error leaves
        everything as it was.
        """
        from slidewise.columns.frames import frame_of
        from slidewise.live.batch.filtering import push_filtered

        history = self.history
        if history is not None and history.takes_tables(table):
            from slidewise.live.history.table_plan import push_table

            result = push_table(history, table)
            if result is not None:
                return result
        frame = frame_of(table)
        check_names(self.definition, frame.names, "table", frame.index)
        return push_filtered(self, frame, self._push_filtered)

    def _push_filtered(self, filtered: FilteredBatch) -> Any:
        from slidewise.live.history.push_many import push_history

        frame = filtered.frame
        names = [str(name) for name in frame.names]
        if len({*names}) < len(names):
            raise InputError(f"events that are revised need columns of different names; the table has {names}")
        if self.opening is not None:
            self.opening.consider_batch(frame)
        history = self.history
        if history is None or not len(frame):
            return self._push_batch_into_trees(filtered)
        try:
            return push_history(history, filtered)
        except Misfit:
            return history.misfit(self._push_batch_into_trees(filtered))

    def _push_batch_into_trees(self, filtered: FilteredBatch) -> Any:
        import numpy as np

        from slidewise.live.batch.incoming import IncomingBatch
        from slidewise.live.batch.push_buffered import as_table, events_of

        frame = filtered.frame
        incoming = IncomingBatch(self, frame)
        self._check_kind(incoming.kind if incoming.count else self.time_reader.kind)
        states: list[Any] = [self.own(key) or RevisableState(self.specs) for key in incoming.keys]
        for state in states:
            self._prune(state)
        number = self.arrivals.number
        newest = [state.now for state in states]
        groups: list[list[Event]] = [[] for _ in states]
        in_turn: list[int] = []
        late = np.zeros(incoming.count, np.bool_)
        pairs = zip(events_of(self.arrivals, incoming), incoming.codes.tolist(), strict=True)
        for i, (event, code) in enumerate(pairs):
            late[i] = self._is_late(event.time, newest[code])
            if not late[i]:
                groups[code].append(event)
                in_turn.append(event.number)
                newest[code] = event.time if newest[code] is None else max(newest[code], event.time)
        changes: list[TreeChange] = []
        try:
            for state, events in zip(states, groups, strict=True):
                if events:
                    changes.append(TreeChange(self, state, events))
            placed = {row.place[-1]: row for change in changes for row in change.new}
            revised = self.with_restated([row for change in changes for row in change.revised])
            answered = [placed[number] for number in in_turn] + revised
            answers = {id(row): row.answers for row in self._restated}
            answers |= {id(row): values for change in changes for row, values in change.answers.items()}
            rows = [{**row.event, **self.computed.columns(answers[id(row)], row.event)} for row in answered]
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
            self.commit(change)
        for key, state in zip(incoming.keys, states, strict=True):
            if state.count:
                self.key_states[key] = state
        incoming.adopt_time_kind()
        self.events += incoming.count
        filtered.commit(late)
        return result
