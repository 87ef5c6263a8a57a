"""Which algorithm keeps a window, and why: the paper's closing advice as one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.operator import Operator
from slidewise.swag import DabaLite, SlickDeque, SubtractOnEvict
from slidewise.swag.interface import Swag
from slidewise.windows import Window


@dataclass(frozen=True, slots=True)
class Choice:
    """An algorithm (None: one running state is enough), why it was chosen, and what it costs.

    `calls` bounds the calls of the operator for one event that comes, makes another one leave, and is answered.
    `states` is how many partial aggregates are kept for a window of n rows.
    """

    algorithm: type[Swag] | None
    why: str
    calls: str
    states: str

    @property
    def name(self) -> str:
        return "running state" if self.algorithm is None else self.algorithm.__name__


class _Asked(NamedTuple):
    operator: Operator
    window: Window | None
    integers: bool
    spikes: bool


# The first rule that holds decides.
_RULES: list[tuple[Callable[[_Asked], bool], Choice]] = [
    (
        lambda asked: asked.window is not None and asked.window.rows is None and asked.window.last is None,
        Choice(None, "nothing ever leaves the window, so one state takes in each event", "1", "1"),
    ),
    (
        lambda asked: asked.operator.inverse is not None and (asked.operator.invertible_if is None or asked.integers),
        Choice(
            SubtractOnEvict,
            "the operator has an exact inverse, so a row that leaves is taken off one total",
            "1 for the row that comes, 1 inverse for each that leaves",
            "n + 1",
        ),
    ),
    (
        lambda asked: asked.operator.selective and asked.spikes,
        Choice(
            SlickDeque,
            "the operator keeps one of its two arguments, so only rows that can still win are kept; "
            "one event may take n calls, and you said that such spikes do no harm",
            "2 on average, n at worst",
            "n at most",
        ),
    ),
    (
        lambda _asked: True,
        Choice(
            DabaLite,
            "it serves every operator, and no event ever waits for others",
            "3 at most for the row that comes, 2 for each that leaves, 1 for the answer; 4 on average",
            "n + 2",
        ),
    ),
]


def choose(
    operator: Operator | Aggregate, window: Window | None = None, *, integers: bool = False, spikes: bool = False
) -> Choice:
    """The algorithm for an operator over a window, or for an aggregate, one event at a time.

    `integers` says that all values are whole numbers, so that a sum can be taken apart again exactly. `spikes` says
    that a rare slow event does no harm, which lets in algorithms that are constant on average only.

    >>> import slidewise as sw
    >>> sw.choose(sw.max).name, sw.choose(sw.max, spikes=True).name, sw.choose(sw.sum, integers=True).name
    ('DabaLite', 'SlickDeque', 'SubtractOnEvict')
    >>> sw.choose(sw.max("x").over("all")).name
    'running state'
    >>> sw.choose(sw.max).calls
    '3 at most for the row that comes, 2 for each that leaves, 1 for the answer; 4 on average'
    """
    if isinstance(operator, Aggregate):
        window = operator.window
        operator = operator.operator
    if not isinstance(operator, Operator):
        raise SlidewiseError(f"choose takes an operator, such as sw.choose(sw.max), not {operator!r}")
    asked = _Asked(operator, window, integers, spikes)
    return next(choice for holds, choice in _RULES if holds(asked))


# From how many windows of one operator over the same columns on it is cheaper to share one structure than to keep one
# for each, one event at a time, by the algorithm that each would have: measured by benchmarks/many_sizes.py.
_SHARE_FROM: dict[type[Swag] | None, int] = {DabaLite: 4, SlickDeque: 8, SubtractOnEvict: 16}


def share_from(algorithm: type[Swag] | None) -> int:
    """How many windows of an operator it takes for them to share one structure, where spikes do no harm."""
    return _SHARE_FROM[algorithm]


def shared_windows(definition: Definition) -> list[list[str]]:
    """The names of aggregates that share one structure with others, live and where spikes do no harm.

    They see the same columns and condition, all by rows or all by time, and enough of their windows have an operator in
    common. Windows that are open on the right are left out, since their rows wait.
    """
    alike: dict[tuple[object, ...], list[str]] = {}
    for name, aggregate in definition.columns.items():
        window = aggregate.window
        assert window is not None
        if window.closed in ("right", "both") and (window.rows is not None or window.last is not None):
            key = aggregate.columns, aggregate.condition, window.rows is not None
            alike.setdefault(key, []).append(name)
    groups = [_sharing(definition, names) for names in alike.values()]
    return [names for names in groups if names]


def _sharing(definition: Definition, names: list[str]) -> list[str]:
    """Those of these aggregates whose window is also that of an operator with enough windows."""
    asked = [(name, definition.columns[name].operator, _width(definition.columns[name])) for name in names]
    widths = set()
    for _, operator, width in asked:
        own = {other for _, one, other in asked if one == operator}
        if len(own) >= share_from(choose(operator, spikes=True).algorithm):
            widths.add(width)
    return [name for name, _, width in asked if width in widths]


def _width(aggregate: Aggregate) -> tuple[object, ...]:
    window = aggregate.window
    assert window is not None
    return window.rows, window.last, window.closed
