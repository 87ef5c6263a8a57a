"""A key's windows out of the arrays, as panes, and into them: bit for bit, with the pointers of each DABA Lite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.running_pane import RunningPane
from slidewise.kernels.keyed import rows as passes
from slidewise.kernels.keyed.memory import Field
from slidewise.kernels.passes.running import gathered, spread
from slidewise.live.key_state import KeyState
from slidewise.live.native.plan import EXACT, Misfit
from slidewise.live.native.store import MemberStore, NativeStore, SpecStore
from slidewise.live.panes.row_pane import RowPane
from slidewise.live.types import Key

if TYPE_CHECKING:
    from slidewise.engine.window_spec import WindowSpec

Row = tuple[Any, ...]
_TYPES: dict[str, type] = {"float64": float, "int64": int}


def key_state_of(store: NativeStore, slot: int, specs: Sequence[WindowSpec]) -> KeyState:
    """A copy of a slot's windows, as panes."""
    key_state = KeyState(list(specs))
    key_state.now, key_state.count = store.newest_of(slot), int(store.counts.data[slot])
    for at, spec in enumerate(store.specs):
        key_state.panes[at] = pane_of(spec, slot)
    return key_state


def pane_of(spec: SpecStore, slot: int) -> Any:
    """A copy of one window of a slot, as a pane."""
    if spec.running:
        return running_pane(spec, slot)
    pane = RowPane(spec.spec)
    rows, places = window_rows(spec, slot)
    pane.hold(rows)
    for swag, member in zip(pane.swags, spec.members, strict=True):
        if rows:
            swag._load(*swag_state(member, rows, places, slot))
    return pane


def running_pane(spec: SpecStore, slot: int) -> RunningPane:
    """A copy of a slot's running states."""
    count = spec.count(slot)
    states: list[Any] = []
    for member in spec.members if count else ():
        states.append(count if member.kernel is None else state_at(member, "RA", slot))
    return RunningPane.of(spec.spec, count, states)


def window_rows(spec: SpecStore, slot: int) -> tuple[list[Row], Array]:
    """The rows of a slot's window, and their places in the arena and what comes behind them."""
    places = spec.rows_of(slot)
    at = places[:-1]
    columns = [column.tolist() for column in window_arrays(spec, at)]
    return list(zip(*columns, strict=True)), places


def window_arrays(spec: SpecStore, at: Array) -> list[Array]:
    """The places and the arguments of rows that lie at these places in the arena."""
    places = spec.places.data[at]
    if spec.floats:
        places = places.view(np.float64)
    arguments = [argument.data[at] for argument in spec.arguments]
    return [places, *(arguments or [np.zeros(len(at), np.int64)])]


def swag_state(member: MemberStore, rows: list[Row], places: Array, slot: int) -> tuple[list[int], list[Any]]:
    """What a SWAG over these rows dumps: its pointers, and its states."""
    operator = member.member.operator
    if member.kernel is None:
        return [], [*([operator.lift(*rows[0][1:])] * len(rows) if rows else []), len(rows)]
    if not rows:
        return [0] * 5, [operator.identity] * 2
    number = {place: i for i, place in enumerate(places.tolist())}
    L, R, A, B, E = (number[place] for place in member.pointers.data[6 * slot + 1 : 6 * slot + 6].tolist())
    like = operator.lift(*rows[0][1:])
    slots = gathered(operator, like, [field.data[places[:-1]] for field in member.parts["S"]])
    ra = gathered(operator, like, [field.data[slot : slot + 1] for field in member.parts["RA"]])[0]
    b = gathered(operator, like, [field.data[slot : slot + 1] for field in member.parts["AB"]])[0]
    identity = operator.identity
    return [L, R, A, B, E], [*slots, identity if L == R else ra, identity if B == E else b]


def state_at(member: MemberStore, letter: str, at: int) -> Any:
    """The state at one place of a member's field, as the interpreted operator knows it."""
    operator = member.member.operator
    return gathered(operator, member.like, [field.data[at : at + 1] for field in member.parts[letter]])[0]


def adopt(store: NativeStore, key: Key, key_state: KeyState) -> int:
    """Take a key's panes into the arrays; a Misfit, and nothing has changed, where they do not hold something."""
    check_times(store, key_state)
    running = running_content(store, key_state.panes)
    contents = [
        None if spec.running else _window(spec, pane) for spec, pane in zip(store.specs, key_state.panes, strict=True)
    ]
    store.new_slots([key])
    slot = store.slots[key]
    put_times(store, slot, key_state)
    put_running(store, slot, running)
    for spec, content in zip(store.specs, contents, strict=True):
        if content is not None and len(content[0][0]):
            _fill(spec, slot, *content)
    return slot


def check_times(store: NativeStore, key_state: KeyState) -> None:
    """Refuse a key whose newest time is none that the arrays hold, by a Misfit."""
    now = key_state.now
    if store.kind == passes.FLOATS and type(now) is not float:
        raise Misfit
    if store.kind == passes.WHOLE and (type(now) is not int or not -(2**63) <= now < 2**63):
        raise Misfit


def put_times(store: NativeStore, slot: int, key_state: KeyState) -> None:
    """Let a slot have a key's newest time, and the number of its rows."""
    store.counts.data[slot] = key_state.count
    if store.kind == passes.FLOATS:
        store.newest.data[slot : slot + 1].view(np.float64)[:] = key_state.now
    elif store.kind == passes.WHOLE:
        store.newest.data[slot] = key_state.now


def running_content(store: NativeStore, panes: Sequence[Any]) -> list[tuple[int, list[Any]] | None]:
    """Of each spec's pane that keeps running states how many rows it has had and these; a Misfit where arrays do not
    hold them."""
    return [_running(spec, pane) if spec.running else None for spec, pane in zip(store.specs, panes, strict=True)]


def put_running(store: NativeStore, slot: int, contents: list[tuple[int, list[Any]] | None]) -> None:
    """Let a slot have running states."""
    for spec, content in zip(store.specs, contents, strict=True):
        if content is not None:
            count, states = content
            spec.heads.data[3 * slot + 2] = count
            for member, fields in zip(spec.members, states, strict=True):
                if member.kernel is not None and count:
                    _put(member.parts["RA"], slot, fields)


def _running(spec: SpecStore, pane: Any) -> tuple[int, list[Any]]:
    """How many rows a running pane has had, and its states, one array for each field."""
    if not isinstance(pane, RunningPane) or pane.late_count:
        raise Misfit
    states: list[Any] = []
    for at, member in enumerate(spec.members):
        if member.kernel is None or not pane.count:
            states.append(None)
        else:
            states.append(_spread(member, [_of_floats(spec, member, pane.states[at])]))
    return pane.count, states


def _of_floats(spec: SpecStore, member: MemberStore, state: Any) -> Any:
    """A state as floats have it, where it is one of whole numbers, which is what the operator makes of itself."""
    if [column.dtype for column in spec.inputs] == ["float64"] and type(state) is int and abs(state) <= EXACT:
        lift = member.member.operator.lift
        return lift(float(state)) if lift(state) == state else state
    return state


def _window(spec: SpecStore, pane: Any) -> tuple[list[Array], list[Any]]:
    """The columns of a pane's rows, and of each SWAG its pointers and the fields of its states."""
    if type(pane) is not RowPane:
        raise Misfit
    if pane.frozen is not None:
        pane.thaw()
    arrays = columns_of_rows(spec, pane.rows)
    swags: list[Any] = []
    for member, swag in zip(spec.members, pane.swags, strict=True):
        if member.kernel is None or not pane.rows:
            swags.append(None)
            continue
        pointers, states = swag._dump()
        aggregates = [None if L == R else state for (L, R), state in zip(_unused(pointers), states[-2:], strict=True)]
        swags.append((pointers, _spread(member, [*states[:-2], *aggregates])))
    return arrays, swags


def columns_of_rows(spec: SpecStore, rows: Collection[Row]) -> list[Array]:
    """The places and the arguments of rows; a Misfit where arrays do not hold them."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * (1 + max(len(spec.inputs), 1))
    dtypes = ["float64" if spec.floats else "int64", *(column.dtype for column in spec.inputs)]
    arrays = []
    for column, dtype in zip(columns, dtypes, strict=False):
        kinds = set(map(type, column))
        whole_too = dtype == "float64" and kinds <= {int, float}
        if kinds - {_TYPES[dtype]} and not (whole_too and all(-EXACT <= x <= EXACT for x in column if type(x) is int)):
            raise Misfit
        try:
            arrays.append(np.array(column, dtype))
        except OverflowError:
            raise Misfit from None
    return arrays


def _unused(pointers: list[int]) -> list[tuple[int, int]]:
    """The pointers between which aggRA and aggB are in use."""
    L, R, _, B, E = pointers
    return [(L, R), (B, E)]


def _spread(member: MemberStore, states: list[Any]) -> list[Array]:
    assert member.kernel is not None
    fields = spread(member.member.operator, member.kernel.layout, states)
    if fields is None:
        raise Misfit
    return fields


def _fill(spec: SpecStore, slot: int, arrays: list[Array], swags: list[Any]) -> None:
    """Put rows and partials into the empty windows of a slot."""
    n = len(arrays[0])
    chunks = np.empty(n // passes.CHUNK + 1, np.int64)
    chunks[0] = spec.heads.data[3 * slot] // passes.CHUNK
    spec.make_room(len(chunks))
    passes.take_chunks(spec.block.address, len(chunks) - 1, chunks[1:].ctypes.data)
    passes.link_chunks(spec.block.address, chunks.ctypes.data, len(chunks))
    places = (chunks[:, None] * passes.CHUNK + np.arange(passes.CHUNK)).ravel()
    at = places[:n]
    spec.heads.data[3 * slot : 3 * slot + 3] = places[0], places[n], n
    spec.places.data[at] = arrays[0].view(np.int64)
    for argument, values in zip(spec.arguments, arrays[1:], strict=False):
        argument.data[at] = values
    for member, content in zip(spec.members, swags, strict=True):
        if member.kernel is None:
            continue
        pointers, fields = content
        member.pointers.data[6 * slot : 6 * slot + 6] = places[[0, *pointers]]
        for field, values in zip(member.parts["S"], fields, strict=True):
            field.data[at] = values[:n]
        for i, letter in enumerate(("RA", "AB")):
            _put(member.parts[letter], slot, [values[n + i : n + i + 1] for values in fields])
        member.enter(slot, int(places[0]), arrays[1:])


def _put(fields: list[Field], at: int, values: list[Array]) -> None:
    for field, value in zip(fields, values, strict=True):
        field.data[at] = value[0]
