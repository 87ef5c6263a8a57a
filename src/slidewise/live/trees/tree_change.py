"""New events of one key in its trees, and the answers that follow: a change that stays, or is undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slidewise.engine.window_spec import arguments_in
from slidewise.errors import InputError
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.trees.revisable_state import RevisableRow, RevisableState
from slidewise.live.types import Time
from slidewise.live.waiting.reorder_buffer import Event
from slidewise.operators.values.equality import same

if TYPE_CHECKING:
    from slidewise.live.revising import Revising

AnswerParts = dict[int, list[tuple[int, list[Any]]]]  # by a row's index, parts of its answers and where they go


class TreeChange:
    """New events of one key, in their places, and the answers that follow; `commit` makes it stay, `undo` ends it.

    Where an operator raises, nothing has changed.
    """

    def __init__(self, live: Revising, state: RevisableState, events: list[Event]) -> None:
        self._live = live
        self._state = state
        self._undos: list[Callable[[], None]] = []
        at = 0
        self.newest = max(event.time for event in events)
        pairs = [(RevisableRow(live.place(event), event.row), event) for event in events]
        self.new = [row for row, _ in pairs]  # as they came
        self.answers: dict[RevisableRow, list[Any]] = {}
        self.revised: list[RevisableRow] = []
        try:
            state.add_rows(self.new, events)
            pairs.sort(key=lambda pair: pair[0].place)
        except InputError:
            self.undo()
            raise
        parts: AnswerParts = {}
        try:
            for at in range(len(live.specs)):
                self._answer(at, pairs, parts)
            at = len(live.specs)
            self._compare(parts)
        except BaseException as error:
            self.undo()
            spec = live.specs[at] if at < len(live.specs) else None
            raise_operator_error(spec, error, "the event was not taken in")

    def _answer(self, at: int, pairs: list[tuple[RevisableRow, Event]], parts: AnswerParts) -> None:
        """Insert the rows into the trees of one spec, and find the answers of all rows whose windows change."""
        state, spec = self._state, self._live.specs[at]
        state.insert([row for row, _ in pairs], [event for _, event in pairs], at, self._undos)
        offset = sum(len(earlier.members) for earlier in self._live.specs[:at])
        done = 0
        peers: Time | None = None
        values: list[Any] = []
        # A row that counts touches its peers from the first on, also those before a row that does not.
        ranges = [
            affected
            for row, event in pairs
            for affected in state.affected(spec, at, row, arguments_in(event.arguments[at]) is not None)
        ]
        for affected in sorted(ranges, key=lambda affected: affected.start):
            for index in range(max(affected.start, done), affected.stop):
                time = state.places[index][0]
                if spec.numbered or spec.own or time != peers:
                    values = state.answers(spec, at, index)
                    peers = time
                own = [list(value) if type(value) is list else value for value in values]
                parts.setdefault(index, []).append((offset, own))
            done = max(done, affected.stop)

    def _compare(self, parts: AnswerParts) -> None:
        """Note the answers of new rows, and those of others that are not what they were."""
        members = sum(len(spec.members) for spec in self._live.specs)
        new = set(map(id, self.new))
        for index in sorted(parts):
            row = self._state.rows[index]
            answers = row.answers[:] if row.answers else [None] * members
            for start, part in parts[index]:
                answers[start : start + len(part)] = part
            if id(row) in new:
                self._live.computed.columns(answers, row.event)  # what cannot be computed is refused now
                self.answers[row] = answers
            elif not same(answers, row.answers):
                self.answers[row] = answers
                if self._live.differ(row, row.answers, answers):
                    self.revised.append(row)

    def undo(self) -> None:
        """Take the events out again."""
        for undo in reversed(self._undos):
            undo()
        self._state.remove_rows(self.new)

    def commit(self) -> None:
        """Let rows have their new answers."""
        state = self._state
        for row, answers in self.answers.items():
            row.answers = answers
        state.count += len(self.new)
        state.now = self.newest if state.now is None else max(state.now, self.newest)
