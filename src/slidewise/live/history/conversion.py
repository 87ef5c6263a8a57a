"""A key's rows out of the arrays, as places, answers and trees, and into them."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.event_values import plain_value
from slidewise.engine.window_spec import WindowSpec
from slidewise.kernels.keyed import history_layout as layout
from slidewise.live.history.store import HistoryStore
from slidewise.live.native.plan import Misfit
from slidewise.live.trees.revisable_state import RevisableRow, RevisableState, RowPlace
from slidewise.live.types import Key

if TYPE_CHECKING:
    from slidewise.live.history.events import EventLog
    from slidewise.live.revising import Revising

TYPES: dict[str, type] = {"float64": float, "int64": int, "bool": bool}


def fill_state(
    state: RevisableState, store: HistoryStore, events: EventLog, home: int, specs: list[WindowSpec]
) -> None:
    """Let a state have a copy of the rows of a home."""
    state.now, state.count = store.now_of(home), int(store.head(home)[layout.COUNT])
    words = store.rows_of(home)
    revisable = int(store.head(home)[layout.REVISABLE])
    first = _first_needed(store, home, words, revisable)
    words, revisable = words[first:], revisable - first
    times = _column(words, layout.TIME, "float64" if store.floats else "int64")
    numbers = words[:, layout.NUMBER].tolist()
    inputs = {name: _column(words, layout.INPUTS + c, dtype) for c, (name, dtype) in enumerate(store.columns.items())}
    state.places = _places(store, words, times, numbers, inputs)
    state.rows = [RevisableRow(place, None) for place in state.places]
    kinds = [dtype.name for dtype in store.dtypes]
    columns = [_column(words, store.first_answer + c, kind) for c, kind in enumerate(kinds)]
    valid = words[:, layout.VALID].tolist()
    for i in range(revisable, len(words)):
        row = state.rows[i]
        row.event = events.get(numbers[i])
        row.answers = [column[i] if valid[i] >> c & 1 else None for c, column in enumerate(columns)]
    for trees, spec, of_spec in zip(state.trees, specs, store.windows.specs, strict=True):
        counted = (words[:, layout.COUNTED] >> of_spec.reader & 1).tolist()
        begin = 0
        if not spec.numbered:
            begin = bisect_left(times, spec.cut(_horizon(store, home)))
        arguments = [inputs[name] for name in spec.columns] or [[0] * len(words)]
        rows = [i for i in range(begin, len(words)) if counted[i]]
        for tree, member in zip(trees, spec.members, strict=True):
            lift = member.operator.lift
            tree.fill([(state.places[i], lift(*[column[i] for column in arguments])) for i in rows])


def _first_needed(store: HistoryStore, home: int, words: Array, revisable: int) -> int:
    """The first row that something may still need."""
    if not store.block.numbers[layout.RETAINS]:
        return 0
    first = revisable
    if store.block.numbers[layout.TIMED]:
        cut = _horizon(store, home) - store.reach
        times = words[:, layout.TIME].copy()
        first = int(
            np.searchsorted(
                times.view(np.float64) if store.floats else times, cut if store.floats else max(cut, -(2**63))
            )
        )
    first = min(first, revisable)
    return max(0, min(first, revisable - store.numbered_reach - 1)) if store.numbered_reach >= 0 else first


def _horizon(store: HistoryStore, home: int) -> Any:
    """The time below which no row of a home can be revised."""
    word = store.head(home)[layout.HORIZON : layout.HORIZON + 1]
    return (word.view(np.float64) if store.floats else word).tolist()[0]


def _column(words: Array, c: int, dtype: str) -> list[Any]:
    """One word of each row, as Python has it."""
    column = words[:, c].copy()
    values: list[Any] = (column != 0 if dtype == "bool" else column.view(dtype)).tolist()
    return values


def _places(
    store: HistoryStore, words: Array, times: list[Any], numbers: list[int], inputs: dict[str, list[Any]]
) -> list[RowPlace]:
    if not store.ordering:
        return list(zip(times, numbers, strict=True))
    kinds = words[:, layout.KINDS].tolist()
    columns = [inputs[name] for name in store.ordering]
    orders = [
        tuple([_order_key(kinds[i] >> 2 * c & 3, column[i]) for c, column in enumerate(columns)])
        for i in range(len(words))
    ]
    return list(zip(times, orders, numbers, strict=True))


def _order_key(kind: int, value: Any) -> tuple[Any, ...]:
    return (1, value) if kind == layout.VALUE else (kind,)


def adopt(live: Revising, store: HistoryStore, events: EventLog, key: Key, state: RevisableState) -> int:
    """Take a key's rows into the arrays; a Misfit, and nothing has changed, where they do not hold something. Gives the
    key's home. Its windows are made with its next row."""
    words = _words_of(live, store, state)
    kept = [(row.place[-1], row.event) for row in state.rows if row.event is not None]
    store.new_homes([key])
    home = store.homes[key]
    store.put_rows(home, words)
    head = store.head(home)
    head[layout.COUNT] = state.count
    _put(head[layout.NOW : layout.NOW + 1], state.now, "float64" if store.floats else "int64")
    head[layout.REVISABLE] = len(words) - len(kept)
    for number, event in kept:
        events.add(number, event)
    return home


def _words_of(live: Revising, store: HistoryStore, state: RevisableState) -> Array:
    """The rows of a state as words."""
    of_rows = {row.place: row for row in state.rows}
    entries = [[dict(tree.contents()) for tree in trees] for trees in state.trees]
    places = sorted({*of_rows, *(place for trees in entries for place in trees[0])})
    words = np.zeros((len(places), store.words), np.int64)
    for i, place in enumerate(places):
        row = of_rows.get(place)
        word = words[i]
        _put(word[layout.TIME : layout.TIME + 1], place[0], "float64" if store.floats else "int64")
        word[layout.NUMBER] = place[-1]
        if row is None or row.event is None:
            counted, values = _read_trees(
                live, store, [[tree.get(place) for tree in trees] for trees in entries], entries, place
            )
        else:
            counted, values = read_event(live, store, row.event)
            _put_answers(store, word, row.answers)
        word[layout.COUNTED] = counted
        if store.ordering:
            word[layout.KINDS] = _read_order(store, place[1], values)
        for c, (name, dtype) in enumerate(store.columns.items()):
            value = values.get(name)
            if value is not None:
                _put(word[layout.INPUTS + c : layout.INPUTS + c + 1], value, dtype)
    return words


def _put(word: Array, value: Any, dtype: str) -> None:
    """Write a value into a word; a Misfit where it is none of this type."""
    if type(value) is not TYPES[dtype]:
        raise Misfit
    try:
        (word if dtype == "bool" else word.view(dtype))[0] = value
    except OverflowError:
        raise Misfit from None


def _put_answers(store: HistoryStore, word: Array, answers: list[Any]) -> None:
    for c, (dtype, answer) in enumerate(zip(store.dtypes, answers, strict=True)):
        if answer is not None:
            at = store.first_answer + c
            _put(word[at : at + 1], answer, dtype.name)
            word[layout.VALID] |= 1 << c


def read_event(live: Revising, store: HistoryStore, event: Any) -> tuple[int, dict[str, Any]]:
    """For which readers an event counts, by bits, and its values by column."""
    counted = 0
    values: dict[str, Any] = {}
    for number, reader in enumerate(live.readers):
        if reader.arguments(event) is not None:
            counted |= 1 << number
    for name in store.columns:
        value = plain_value(event[name])
        if value is not None:
            values[name] = value
    return counted, values


def _read_order(store: HistoryStore, order: tuple[Any, ...], values: dict[str, Any]) -> int:
    """The kinds of the values that a place is ordered by; the values go to the others of the row."""
    kinds = 0
    for c, (name, part) in enumerate(zip(store.ordering, order, strict=True)):
        kinds |= part[0] << 2 * c
        if part[0] == layout.VALUE:
            values[name] = part[1]
        elif part[0] == layout.NAN:
            values[name] = float("nan")
    return kinds


def _read_trees(
    live: Revising, store: HistoryStore, states: list[list[Any]], entries: list[list[Any]], place: RowPlace
) -> tuple[int, dict[str, Any]]:
    """The same of a row whose event is gone, from its states in the trees: the values that operators lift to them."""
    counted = 0
    values: dict[str, Any] = {}
    for spec, of_spec, trees, of_trees in zip(live.specs, store.windows.specs, states, entries, strict=True):
        if place not in of_trees[0]:
            continue
        counted |= 1 << of_spec.reader
        if all(member.operator.traits.counts_rows for member in spec.members):
            continue
        dtypes = [store.windows.inputs[name].dtype for name in spec.columns]
        values.update(zip(spec.columns, _lifted_values(spec, trees, dtypes), strict=True))
    return counted, values


def _lifted_values(spec: WindowSpec, states: list[Any], dtypes: list[str]) -> tuple[Any, ...]:
    """The values that all operators of a spec lift to these states; a Misfit where they cannot be told."""
    parts = [part for state in states for part in (state if isinstance(state, tuple) else (state,))]
    candidates = []
    for dtype in dtypes:
        kind = TYPES[dtype]
        numbers = [part for part in parts if type(part) is float or type(part) is int]
        of_kind = [kind(part) for part in numbers if kind is float or math.isfinite(part)]
        candidates.append(list({repr(number): number for number in of_kind}.values()))
    shown = [repr(state) for state in states]
    for values in product(*candidates):
        if [repr(member.operator.lift(*values)) for member in spec.members] == shown:
            return values
    raise Misfit
