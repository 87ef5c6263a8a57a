"""Running aggregates under one key: one state per operator, and no rows; they may begin anew at a row."""

from __future__ import annotations

from typing import Any

from slidewise.engine.window_spec import Marked, WindowSpec, arguments_in

Row = tuple[Any, ...]
Read = Row | Marked | None  # what a spec reads of a row


def for_each(peers: list[Any], answers: list[Any]) -> list[list[Any]]:
    """The same answers for each peer; lists are its own."""
    return [[list(answer) if type(answer) is list else answer for answer in answers] for _ in peers]


class RunningPane:
    """Everything so far: one state per operator. Where the right end is open, rows of the newest place wait in another.

    Windows that begin anew have a state of the rows since then, and go by the place of the newest row, `newest`, also
    of one that is skipped. States are never changed, only replaced.
    """

    __slots__ = ("at", "before", "count", "frozen", "gone", "late_count", "late_states", "newest", "spec", "states")

    def __init__(self, spec: WindowSpec) -> None:
        self.spec = spec
        self.states: list[Any] = []
        self.count = 0
        self.late_states: list[Any] = []
        self.late_count = 0
        self.at: Any = None
        self.newest: Any = None
        self.before: tuple[Any, ...] = ()
        self.gone = self.frozen = None

    @classmethod
    def of(cls, spec: WindowSpec, count: int, states: list[Any], newest: Any = None) -> RunningPane:
        """A pane that has had so many rows, and holds their states; `newest` is the place of its key's newest row."""
        pane = cls(spec)
        pane.count, pane.states, pane.newest = count, states if count else [], newest
        return pane

    def push(self, place: int | float, read: Read) -> list[Any]:
        """Take in a row and answer; `undo` takes it back until the next push."""
        self.begin()
        return self.take(place, read)

    def push_peers(self, peers: list[tuple[Any, Read]]) -> list[list[Any]]:
        """Take in rows of equal time, which all see one another; numbered rows come one after the other."""
        self.begin()
        if self.spec.numbered:
            return [self.take(place, read) for place, read in peers]
        for place, read in peers:
            self.add(place, read)
        if self.spec.own:
            return [self._answers_of_row(arguments_in(read)) for _, read in peers]
        return for_each(peers, self.answers())

    def begin(self) -> None:
        """From here on `undo` takes back."""
        self.before = self.states, self.count, self.late_states, self.late_count, self.at, self.newest

    def keep(self) -> None:
        """Keep the rows that have come since `begin`."""

    def take(self, place: int | float, read: Read) -> list[Any]:
        """Take in one more row after `begin`, and answer."""
        self.add(place, read)
        return self._answers_of_row(arguments_in(read)) if self.spec.own else self.answers()

    def _answers_of_row(self, arguments: Row | None) -> list[Any]:
        """The answers to a row with these arguments, some of which are about its own value."""
        answers = self.answers()
        for i, member in enumerate(self.spec.members):
            own_value = member.operator.traits.own_value
            if own_value is not None and answers[i] is not None:
                own = None if arguments is None else member.operator.lift(*arguments)
                answers[i] = None if own is None else own_value(self.states[i], own, not self.spec.is_open)
        return answers

    def answers_at(self, place: int | float) -> list[Any]:
        """The answers at a place, not before the newest, where no row comes; nothing changes. Combine calls: at most
        1."""
        if self._is_over(place):
            return self._answers_of([], 0)
        states, count = self.states, self.count
        if self.late_count and self.at < place:
            states, count = self._joined(states, self.late_states), count + self.late_count
        return self._answers_of(states, count)

    def rows_at(self, place: int | float) -> int:
        """How many rows the window at a later place holds."""
        return 0 if self._is_over(place) else self.count + self.late_count

    def _is_over(self, place: int | float) -> bool:
        """Whether the window of the newest row is not that of a later place."""
        reset = self.spec.reset
        return reset is not None and self.newest is not None and not reset.goes_on(self.newest, place)

    def settle(self) -> None:
        """Let the rows of the newest place join the others: all rows to come are later."""
        if self.late_count:
            self.states = self._joined(self.states, self.late_states)
            self.count += self.late_count
            self.late_states, self.late_count = [], 0

    def freeze(self, pane: RunningPane) -> None:
        """Hold the states of another pane."""
        self.states, self.count = pane.states, pane.count
        self.late_states, self.late_count, self.at = pane.late_states, pane.late_count, pane.at
        self.newest = pane.newest

    def add(self, place: int | float, read: Read) -> None:
        """Take in one more row, which is in all answers from here on, or where the right end is open, in those of later
        places."""
        is_open = self.spec.is_open
        if is_open:
            if self.late_count and self.at < place:
                self.settle()
            self.at = place
        arguments: Row | None = read if self.spec.reset is None else self._begun(place, read)
        if arguments is None:
            return
        lifted = self._lifted(arguments)
        if is_open:
            self.late_states = self._joined(self.late_states, lifted)
            self.late_count += 1
        else:
            self.states = self._joined(self.states, lifted)
            self.count += 1

    def _begun(self, place: int | float, read: Read) -> Row | None:
        """Begin anew where a row does; returns the row's arguments."""
        if (type(read) is Marked and read.begins) or self._is_over(place):
            self.states, self.count, self.late_states, self.late_count = [], 0, [], 0
        self.newest = place
        return arguments_in(read)

    def _lifted(self, arguments: Row) -> list[Any]:
        return [member.operator.lift(*arguments) for member in self.spec.members]

    def _joined(self, older: list[Any], newer: list[Any]) -> list[Any]:
        if not older:
            return newer
        return [member.operator.combine(a, b) for member, a, b in zip(self.spec.members, older, newer, strict=True)]

    def answers(self) -> list[Any]:
        """The answers over all rows but those that wait."""
        return self._answers_of(self.states, self.count)

    def _answers_of(self, states: list[Any], count: int) -> list[Any]:
        states = states or [member.operator.identity for member in self.spec.members]
        return [
            member.operator.lower(state) if count >= member.least else None
            for member, state in zip(self.spec.members, states, strict=True)
        ]

    def undo(self) -> None:
        """Take the last push back."""
        self.states, self.count, self.late_states, self.late_count, self.at, self.newest = self.before

    def held(self) -> int:
        """How many rows there are: none, only states."""
        return 0
