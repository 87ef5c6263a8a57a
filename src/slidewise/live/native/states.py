"""The states of all keys, wherever they lie: a mapping for all that reads them, and takes one out of the arrays."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from slidewise.arrays import Array
from slidewise.kernels.keyed import rows as passes
from slidewise.live.first_answers import Firsts
from slidewise.live.key_state import KeyState
from slidewise.live.native.conversion import (
    key_state_of,
    running_pane,
    state_at,
    swag_state,
    window_arrays,
    window_rows,
)
from slidewise.live.native.store import MemberStore, NativeStore, SpecStore
from slidewise.live.types import Key, Place

if TYPE_CHECKING:
    from slidewise.engine.window_spec import WindowSpec
    from slidewise.live.native.moving import Move


class KeyStates(MutableMapping[Key, Any]):
    """The state of each key: that of a key whose windows lie in arrays is a `NativeKeyState`, for reading only."""

    def __init__(self, panes: MutableMapping[Key, KeyState], store: NativeStore, specs: Sequence[WindowSpec]) -> None:
        self.panes = panes  # or states in earlier arrays, which held another type of number
        self.store = store
        self.moves: dict[Key, Move] = {}  # of keys whose large windows go over to the arrays
        self._specs = specs

    def end_move(self, key: Key) -> None:
        """Leave a key's windows in its panes, whatever has gone over."""
        move = self.moves.pop(key, None)
        if move is not None:
            move.give_up()

    def __getitem__(self, key: Key) -> Any:
        slot = self.store.slots.get(key)
        return self.panes[key] if slot is None else NativeKeyState(self.store, slot, self._specs)

    def own(self, key: Key) -> KeyState | None:
        """A key's state as panes, which may be changed: it leaves the arrays."""
        slot = self.store.slots.get(key)
        if slot is not None:
            self.panes[key] = key_state_of(self.store, slot, self._specs)
            self.store.release(key)
        return self.in_panes(key)

    def in_panes(self, key: Key) -> KeyState | None:
        """The state of a key without a slot as panes, which may be changed; None where it has had no events."""
        panes = self.panes
        return panes.own(key) if isinstance(panes, KeyStates) else panes.get(key)

    def __setitem__(self, key: Key, key_state: KeyState) -> None:
        if key in self.store.slots:
            self.store.release(key)
        self.panes[key] = key_state

    def __delitem__(self, key: Key) -> None:
        if key in self.store.slots:
            self.store.release(key)
        else:
            del self.panes[key]
            self.end_move(key)

    def __iter__(self) -> Iterator[Key]:
        yield from self.panes
        yield from self.store.slots

    def __len__(self) -> int:
        return len(self.panes) + len(self.store.slots)

    def __contains__(self, key: object) -> bool:
        return key in self.store.slots or key in self.panes


class NativeKeyState:
    """The state of a key in the arrays, as reads see it."""

    __slots__ = ("_panes", "_specs", "firsts", "slot", "store")
    in_arrays: ClassVar[bool] = True

    def __init__(self, store: NativeStore, slot: int, specs: Sequence[WindowSpec]) -> None:
        self.store = store
        self.slot = slot
        self._specs = specs
        self.firsts: Firsts = []
        self._panes: list[Any] | None = None

    @property
    def now(self) -> Any:
        """The newest time."""
        return self.store.newest_of(self.slot)

    @property
    def count(self) -> int:
        """How many rows it has had."""
        return int(self.store.counts.data[self.slot])

    @property
    def panes(self) -> list[Any]:
        """Its windows."""
        if self._panes is None:
            specs, slot = self.store.specs, self.slot
            self._panes = [running_pane(spec, slot) if spec.running else NativePane(spec, slot) for spec in specs]
        return self._panes

    def as_panes(self) -> KeyState:
        """A copy that has panes."""
        return key_state_of(self.store, self.slot, self._specs)


class NativePane:
    """One window in the arrays, as reads see it."""

    __slots__ = ("_slot", "_store", "spec")

    def __init__(self, store: SpecStore, slot: int) -> None:
        self._store = store
        self._slot = slot
        self.spec = store.spec

    @property
    def frozen(self) -> list[Array]:
        """Places and arguments as arrays."""
        return window_arrays(self._store, self._store.rows_of(self._slot)[:-1])

    def all_rows(self) -> list[tuple[Any, ...]]:
        """The rows that later windows may hold, oldest first."""
        return window_rows(self._store, self._slot)[0]

    def newest_row(self) -> tuple[Any, ...]:
        """The newest row, of which there must be one."""
        at = self._store.rows_of(self._slot)[-2:-1]
        return tuple(column.tolist()[0] for column in window_arrays(self._store, at))

    def dump(self) -> tuple[list[tuple[Any, ...]], list[tuple[list[int], list[Any]]]]:
        """The rows, and what a SWAG of each member over them dumps."""
        rows, places = window_rows(self._store, self._slot)
        return rows, [swag_state(member, rows, places, self._slot) for member in self._store.members]

    def held(self) -> int:
        """How many rows there are."""
        return self._store.count(self._slot)

    def answers_at(self, place: Place) -> list[Any]:
        """See `Pane.answers_at`. Combine calls: at most 3 where the oldest row that stays has an aggregate, else up to
        2 log2 n + 20 more, in compiled code. Steps: O(log n)."""
        store, slot = self._store, self._slot
        cut = self.spec.cut(place)
        whole = 0 if store.floats else max(-(2**63), min(int(cut), 2**63 - 1))
        first = passes.find_first(store.block.address, slot, whole, float(cut) if store.floats else 0.0)
        (k,) = store.numbers_of(slot, (first,))
        n = self.held() - k
        answers: list[Any] = []
        for member in store.members:
            operator = member.member.operator
            if n < member.member.least:
                answers.append(None)
            elif member.kernel is None:
                answers.append(operator.lower(n))
            elif not n:
                answers.append(operator.lower(operator.identity))
            else:
                answers.append(operator.lower(_partial_without(store, member, slot, first, k)))
        return answers


def _partial_without(spec: SpecStore, member: MemberStore, slot: int, first: int, k: int) -> Any:
    """The product of a slot's rows but for the k oldest, of which the first lies at a place in the arena."""
    combine = member.member.operator.combine
    F, L, R, A, B, E = member.pointers.data[6 * slot : 6 * slot + 6].tolist()
    if first == F:
        agg = state_at(member, "S", F)
    else:
        l, r, a, b = spec.numbers_of(slot, (L, R, A, B))  # noqa: E741
        if k >= b:
            return _folded(member, first, E)
        if k < l or k >= a:
            agg = state_at(member, "S", first)
        elif k < r:
            agg = combine(state_at(member, "S", first), state_at(member, "RA", slot))
        else:
            agg = _folded(member, first, A)
            if A != B:
                agg = combine(agg, state_at(member, "S", A))
    return agg if B == E else combine(agg, state_at(member, "AB", slot))


def _folded(member: MemberStore, first: int, stop: int) -> Any:
    """The product of plain rows from one place in the arena up to another."""
    member.fold(member.block.address, first, stop)
    return state_at(member, "RAs", 0)
