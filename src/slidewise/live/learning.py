"""Learning the kinds of columns from events: what they show stays, unless they are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slidewise.live.keys import key_parts
from slidewise.live.missing_values import OTHERS
from slidewise.live.operator_errors import raise_operator_error

if TYPE_CHECKING:
    from slidewise.live.live import Live


@contextmanager
def learning(live: Live, shown: Mapping[str, str]) -> Iterator[None]:
    """Take events in that show these kinds of columns; where they are refused, nothing was learnt."""
    events, kinds = live.events, live.kinds
    others = {name for name, kind in shown.items() if kind == OTHERS}
    kinds.others |= others
    undo: Callable[[], None] = lambda: None  # noqa: E731
    try:
        undo = _reset_windows(live, others & kinds.nans)
        yield
    except BaseException:
        if live.events == events:
            kinds.others -= others
            undo()
            raise
        kinds.learn(shown)
        raise
    kinds.learn(shown)


def _reset_windows(live: Live, columns: set[str]) -> Callable[[], None]:
    """Empty the windows over these columns, whose rows all have NaN there, a null; returns what undoes it."""
    if not columns:
        return lambda: None
    key_states = live.key_states
    undos: list[Callable[[], None]] = []

    def undo_all() -> None:
        live.key_states = key_states
        for undo in undos:
            undo()

    try:
        for key_state in key_states.values():
            undos.append(live.forget_rows(key_state, columns))
    except BaseException as error:
        undo_all()
        raise_operator_error(None, error, "the event was not taken in")
    if columns & set(live.definition.by):
        live.key_states = {}
        for key, key_state in key_states.items():
            parts = key_parts(key, live.definition.by)
            null = live.key_of(dict(zip(live.definition.by, parts, strict=True)))
            live.key_states[key if null in key_states else null] = key_state
    if live.buffer is not None:
        undos.append(live.buffer.reread(live.key_of))
    return undo_all
