"""The states of all keys that revise, wherever they lie: a mapping for all that reads them, and takes one out."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.window_spec import WindowSpec
from slidewise.kernels.keyed import history_layout as layout
from slidewise.live.history.conversion import adopt, fill_state
from slidewise.live.history.events import EventLog
from slidewise.live.history.reads import answers_at
from slidewise.live.history.store import HistoryStore
from slidewise.live.trees.revisable_state import RevisableState
from slidewise.live.types import Key, Time

if TYPE_CHECKING:
    from slidewise.live.revising import Revising


class StoredState(RevisableState):
    """The state of a key in the arrays, for reading only: rows and trees are copied when they are asked for."""

    __slots__ = ("_home", "_read", "_states")

    def __init__(self, states: RevisableStates, home: int) -> None:
        self._states = states
        self._home = home
        self.now = states.store.now_of(home)
        self.count = int(states.store.head(home)[layout.COUNT])
        self._read: tuple[Time, list[list[Any]] | None] | None = None  # of the newest read its time, and the answers

    def answers_at(self, spec: WindowSpec, at: int, time: Time) -> list[Any]:
        if self._read is None or self._read[0] != time:
            self._read = time, answers_at(self._states.store, self._home, time)
        answers = self._read[1]
        return super().answers_at(spec, at, time) if answers is None else answers[at]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("now", "count"):
            raise AttributeError(name)
        states = self._states
        specs = states.live.specs
        super().__init__(specs)
        fill_state(self, states.store, states.events, self._home, specs)
        return getattr(self, name)


class RevisableStates(MutableMapping[Key, Any]):
    """The state of each key: trees of those in `trees`, and a `StoredState` of those that lie in arrays."""

    def __init__(self, live: Revising, trees: dict[Key, RevisableState], store: HistoryStore) -> None:
        self.live = live
        self.trees = trees
        self.store = store
        self.events = EventLog(self._living)

    def _living(self) -> Array:
        """The numbers of all rows in the arrays that may be revised."""
        store = self.store
        parts = [np.empty(0, np.int64)]
        for home in store.homes.values():
            parts.append(store.rows_of(home)[int(store.head(home)[layout.REVISABLE]) :, layout.NUMBER])
        return np.concatenate(parts)

    def __getitem__(self, key: Key) -> Any:
        home = self.store.homes.get(key)
        return self.trees[key] if home is None else StoredState(self, home)

    def own(self, key: Key) -> RevisableState | None:
        """A key's state as trees, which may be changed: it leaves the arrays."""
        home = self.store.homes.get(key)
        if home is not None:
            state = RevisableState(self.live.specs)
            fill_state(state, self.store, self.events, home, self.live.specs)
            self._release(key, home)
            self.trees[key] = state
        return self.trees.get(key)

    def own_all(self) -> None:
        """Take all keys out of the arrays."""
        for key in list(self.store.homes):
            self.own(key)

    def home_of(self, key: Key) -> int | None:
        """A key's home, where it goes if it has trees; None where there is no such key."""
        home = self.store.homes.get(key)
        if home is None and key in self.trees:
            home = adopt(self.live, self.store, self.events, key, self.trees[key])
            del self.trees[key]
        return home

    def _release(self, key: Key, home: int) -> None:
        self.forget_events(self.store.take_pruned())
        rows = self.store.rows_of(home)[int(self.store.head(home)[layout.REVISABLE]) :]
        self.events.drop(rows[:, layout.NUMBER].copy())
        self.store.release(key)

    def forget_events(self, numbers: Array) -> None:
        """Forget events that cannot be given again."""
        if len(numbers):
            self.events.drop(numbers)

    def __setitem__(self, key: Key, state: RevisableState) -> None:
        self._leave(key)
        self.trees[key] = state

    def __delitem__(self, key: Key) -> None:
        if not self._leave(key):
            del self.trees[key]

    def _leave(self, key: Key) -> bool:
        home = self.store.homes.get(key)
        if home is not None:
            self._release(key, home)
        return home is not None

    def __iter__(self) -> Iterator[Key]:
        yield from self.trees
        yield from self.store.homes

    def __len__(self) -> int:
        return len(self.trees) + len(self.store.homes)

    def __contains__(self, key: object) -> bool:
        return key in self.store.homes or key in self.trees
