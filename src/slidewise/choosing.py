"""The choice of an algorithm for a window, and the reason: the paper's closing advice as one table of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.operator import Operator
from slidewise.swag import (
    Amta,
    DabaLite,
    Fiba,
    FlatFit,
    OrderStatistics,
    SlickDeque,
    SlideSide,
    SubtractOnEvict,
)
from slidewise.swag.interface import Swag
from slidewise.windows import Window
from slidewise.windows.kind import Keeps


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


class Requirements(NamedTuple):
    """An operator, its window, and what the caller says about the rows: the input of the rules."""

    operator: Operator
    window: Window | None
    integers: bool
    spikes: bool
    late: bool
    windows: int
    gaps: str | None


class Rule(NamedTuple):
    """A question about the requirements, an example of a yes, its predicate, and the choice where that holds."""

    question: str
    example: str
    holds: Callable[[Requirements], bool]
    choice: Choice


def _shares(needs: Requirements) -> bool:
    """Whether it is cheaper that windows share one structure: there are enough, for what each alone would have."""
    if needs.windows == 1 or not needs.spikes:
        return False
    alone = _first_choice(needs._replace(windows=1, gaps=None)).algorithm
    return needs.windows >= share_from(alone)


DEFAULT = Choice(
    DabaLite,
    "it serves every operator, and no event ever waits for others",
    "3 at most for the row that comes, 2 for each that leaves, 1 for the answer; 4 on average",
    "n + 2",
)

# The first rule that holds decides; DEFAULT where none does. docs/draw_choosing.py draws them.
RULES: list[Rule] = [
    Rule(
        "Does the window hold everything so far?",
        'over("all")',
        lambda needs: needs.window is not None and needs.window.keeps is Keeps.STATE,
        Choice(None, "nothing ever leaves the window, so one state takes in each event", "1", "1"),
    ),
    Rule(
        "May rows come late, by any distance?",
        "late=True",
        lambda needs: needs.late,
        Choice(
            Fiba,
            "rows go to where their times belong, at a cost that grows only with how late they are",
            "5 on average for rows in order, O(log d) for one that is d rows late",
            "less than 2n",
        ),
    ),
    Rule(
        "Is it an exact median or quantile?",
        "sw.median, sw.quantile(0.99)",
        lambda needs: needs.operator.traits.order_statistic is not None,
        Choice(
            OrderStatistics,
            "the values are kept in order, where a rank is found in O(log n) steps; no small state could answer",
            "none: O(log n) comparisons at most for the row that comes, for each that leaves and for the answer",
            "n",
        ),
    ),
    Rule(
        "Many windows of this operator, by rows, and rare spikes do no harm?",
        "over(rows=n), windows=q, spikes=True",
        lambda needs: _shares(needs) and needs.window is not None and needs.window.kind.numbered,
        Choice(
            SlideSide,
            "windows of near sizes share one scan; "
            "one event may take n calls, and you said that such spikes do no harm",
            "1 for each answer, 2 to 5 on average for each group of near sizes; n at worst",
            "2n",
        ),
    ),
    Rule(
        "Many windows of this operator, by time, and rare spikes do no harm?",
        "windows=q, spikes=True",
        _shares,
        Choice(
            FlatFit,
            "windows share one structure, whatever their lengths; "
            "one event may take n calls, and you said that such spikes do no harm",
            "1 to 3 on average for each window, n at worst",
            "n",
        ),
    ),
    Rule(
        "May very many rows leave at once, after a long gap in time?",
        'gaps="long"',
        lambda needs: needs.gaps == "long",
        Choice(
            Amta,
            "rows that leave together leave as whole trees, however many they are",
            "log n + 1 at most for the row that comes, 2 log n for all that leave, 1 for the answer; 4 on average",
            "about 2n",
        ),
    ),
    Rule(
        "Has the operator an exact inverse for these values?",
        "sw.count, or sw.sum with integers=True",
        lambda needs: needs.operator.inverse is not None and (needs.operator.invertible_if is None or needs.integers),
        Choice(
            SubtractOnEvict,
            "the operator has an exact inverse, so a row that leaves is taken off one total",
            "1 for the row that comes, 1 inverse for each that leaves",
            "n + 1",
        ),
    ),
    Rule(
        "Does it keep one of its two arguments, and do rare spikes do no harm?",
        "sw.max, sw.min, ... with spikes=True",
        lambda needs: needs.operator.selective and needs.spikes,
        Choice(
            SlickDeque,
            "the operator keeps one of its two arguments, so only rows that can still win are kept; "
            "one event may take n calls, and you said that such spikes do no harm",
            "2 on average, n at worst",
            "n at most",
        ),
    ),
]


def choose(
    operator: Operator | Aggregate,
    window: Window | None = None,
    *,
    integers: bool = False,
    spikes: bool = False,
    late: bool = False,
    windows: int = 1,
    gaps: str | None = None,
) -> Choice:
    """The algorithm for an operator over a window, or for an aggregate, one event at a time.

    `integers` says that all values are whole numbers, so that a sum can be taken apart again exactly. `spikes` says
    that a rare slow event does no harm, which lets in algorithms that are constant on average only. `late` says that
    rows may come late by any distance; where there is a bound, let them wait instead, as `live(late="wait:10s")` does.
    `windows` is over how many windows, of different sizes, this operator is asked for. `gaps="long"` says that time may
    stand still and then jump, so that very many rows leave at once, and that this event must not be slow either.

    Args:
        operator: An operator, or an aggregate with its window.
        window: The window of an operator.
        integers: All values are whole numbers.
        spikes: A rare slow event does no harm.
        late: Rows may come late by any distance.
        windows: How many windows share the rows.
        gaps: "long" where time may jump.

    Returns:
        A choice: `algorithm`, `name`, `why`, `calls`.

    Raises:
        SlidewiseError: Something that is no operator, or arguments that make no sense.

    >>> import slidewise as sw
    >>> sw.choose(sw.max).name, sw.choose(sw.max, spikes=True).name, sw.choose(sw.sum, integers=True).name
    ('DabaLite', 'SlickDeque', 'SubtractOnEvict')
    >>> sw.choose(sw.max("x").over("all")).name
    'running state'
    >>> sw.choose(sw.mean, late=True).name, sw.choose(sw.mean, gaps="long").name
    ('Fiba', 'Amta')
    >>> sw.choose(sw.mean("x").over(rows=1_000), windows=16, spikes=True).name
    'SlideSide'
    >>> sw.choose(sw.max).calls
    '3 at most for the row that comes, 2 for each that leaves, 1 for the answer; 4 on average'
    """
    if isinstance(operator, Aggregate):
        window = operator.window
        operator = operator.operator
    if not isinstance(operator, Operator):
        raise SlidewiseError(f"choose takes an operator, such as sw.choose(sw.max), not {operator!r}")
    if not isinstance(windows, int) or isinstance(windows, bool) or windows < 1:
        raise SlidewiseError(f"windows= is how many windows there are, from 1 on, not {windows!r}")
    if gaps not in (None, "long"):
        raise SlidewiseError(f"gaps= is 'long' or None, not {gaps!r}")
    return _first_choice(Requirements(operator, window, integers, spikes, late, windows, gaps))


def _first_choice(needs: Requirements) -> Choice:
    return next((rule.choice for rule in RULES if rule.holds(needs)), DEFAULT)


# From how many windows of one operator over the same columns on it is cheaper to share one structure than to keep one
# for each, one event at a time, by the algorithm that each would have: measured by benchmarks/many_sizes.py.
_SHARE_FROM: dict[type[Swag] | None, int] = {DabaLite: 4, SlickDeque: 8, SubtractOnEvict: 16}


def share_from(algorithm: type[Swag] | None) -> int:
    """The number of windows of an operator from which on they share one structure, where spikes do no harm."""
    return _SHARE_FROM[algorithm]


def shared_windows(definition: Definition) -> list[list[str]]:
    """The names of aggregates that share one structure with others, live and where spikes do no harm.

    They see the same columns and condition, all by rows or all by time, and enough of their windows have an operator in
    common. Windows that are open on the right are left out, since their rows wait, those that are more than a number
    of rows or a stretch of time, and exact quantiles, which are no monoid.
    """
    alike: dict[tuple[object, ...], list[str]] = {}
    for name, aggregate in definition.aggregates.items():
        window = aggregate.window
        assert window is not None
        if aggregate.operator.traits.order_statistic is None and window.kind.shared and not window.open_right:
            key = aggregate.columns, aggregate.condition, window.kind.numbered
            alike.setdefault(key, []).append(name)
    groups = [_sharing(definition, names) for names in alike.values()]
    return [names for names in groups if names]


def _sharing(definition: Definition, names: list[str]) -> list[str]:
    """Those of these aggregates whose window is also that of an operator with enough windows."""
    members = [(name, definition.aggregates[name].operator, _width(definition.aggregates[name])) for name in names]
    widths = set()
    for _, operator, width in members:
        own = {its_width for _, its_operator, its_width in members if its_operator == operator}
        if len(own) >= share_from(choose(operator, spikes=True).algorithm):
            widths.add(width)
    return [name for name, _, width in members if width in widths]


def _width(aggregate: Aggregate) -> tuple[object, ...]:
    window = aggregate.window
    assert window is not None
    return window.bounds_key
