"""Traits: what an operator says of itself to the lanes that run it, beyond its functions.

The defaults fit an operator made of plain functions, a user's own or a new built-in one: it takes anything, the type of
its answers is inferred, and its functions are compiled as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from slidewise.operators.layout import LayoutRule
from slidewise.operators.types import Answer, State

if TYPE_CHECKING:
    from slidewise.expressions.expression import Expression
    from slidewise.operators.aggregate import Aggregate
    from slidewise.operators.operator import Operator


class Takes(Enum):
    """Which values an operator aggregates; columns of others are refused."""

    ANYTHING = "anything"
    NUMBERS = "numbers, bools being 0 and 1"
    ORDERED = "values that have an order, bools being 0 and 1"
    HASHABLE = "numbers, bools and text"
    BOOLS = "bools"


class AnswerKind(Enum):
    """Of which type an operator's answers are."""

    INFERRED = "as its functions or its declaration tell"
    FLOAT = "float64"
    INT = "int64"
    BOOL = "bool"
    NUMBER = "float64 of floats, int64 of integers"
    INPUT = "the type of the first input, or a struct whose `fields` are of that type"
    LIST = "a list of the first input's type"
    COUNTS = "a list of int64"
    COUNTED = "a list of structs: a value of the first input's type, and its count"
    MAP = "a map from the last input's values to the answers of an operator inside"
    BYTES = "bytes"
    OBJECT = "an object that no table can hold"


class Quantile(NamedTuple):
    """An exact order statistic: the share of values below it, and how it is interpolated."""

    q: float
    interpolation: str

    @property
    def computed(self) -> bool:
        """Whether an answer may lie between two values, and so must be a float."""
        return self.interpolation in ("linear", "midpoint")


class Spread(NamedTuple):
    """How far values lie apart: "iqr", from the quantile 0.25 to 0.75, or "mad", the median distance to the median."""

    kind: str

    @property
    def computed(self) -> bool:
        """Whether an answer may lie between two values: always."""
        return True


class Rank(NamedTuple):
    """The rank of a row's own value: of equal ones the "min", "max" or "average", or the least as a "percent"."""

    method: str

    @property
    def computed(self) -> bool:
        """Whether values must be numbers: an order is all that ranks need."""
        return False


OrderStatistic = Quantile | Spread | Rank
OwnAnswer = Callable[[State, State, bool], Answer]


class PerCategory(NamedTuple):
    """A map by category: the operator inside, how many categories have an entry (None: all), and the name of the rest.

    `named` operators have a name of their own; others are written as the one inside, per a category.
    """

    inner: Operator
    top: int | None
    rest: str | int
    named: bool = False


class OnTime(NamedTuple):
    """How an operator that goes by the rows' times is computed in a definition, and by `rolling`.

    `expand(aggregate, time)` is the aggregate over more columns, which hold the time as numbers, or an expression of
    other aggregates and of the time of the answer. `named` are the fewest and the most columns that users name, and
    `lifted` how many values `lift` takes. `looks_back`: answers are as of the row's time, of rows that are not newer.
    """

    expand: Callable[[Aggregate, Expression], Expression]
    named: tuple[int, int] = (1, 1)
    lifted: tuple[int, int] = (2, 3)
    looks_back: bool = False


class Words(NamedTuple):
    """How `explain` words what runs on tables: the pass, that for windows of rows, and what runs over text."""

    tables: str = ""
    rows: str = ""
    text: str = ""


class Plot(NamedTuple):
    """How a report draws answers.

    `level` means that they lie between the column's own values, `change` that they measure its change. Answers that
    share a point of the picture are reduced to their "mean", "max" or "min".
    """

    level: bool = False
    change: bool = False
    line: str = "-"
    reduced: str = "mean"


_NO_WORDS = Words()
_A_LINE = Plot()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Traits of an operator that lanes ask for.

    Rows and answers
        `takes`, `answer` and `fields`, the names where answers are structs. `answers_empty`: no rows have an answer,
        too. `python_times`: times reach `lift` as Python has them; else they are integers. `never_raises`: windows of
        too few rows may be answered, and the answers dropped. `instead` is what a table that cannot hold the answers
        advises. `fewest`: below so many rows there never is an answer. `per`: answers are maps by category, of answers
        of an operator inside. `on_time`: it goes by the rows' times, which definitions and `rolling` give it.
    States
        `counts_rows`: the state is the number of rows, which lanes know anyway. `order_statistic`: it is an exact one,
        whose windows keep every value. `own_value`: answers are about the row's own value, and this gives them of the
        window's state, the row's own, and whether the window holds it; `lower` is about the newest row. `grows`: a
        state is as large as its rows. `bounded`: a state has a bounded size even where it is a Python object.
        `state_bytes` is the size of a state that is no tuple of numbers. `sign` stands between the parts of a state in
        pictures.
    Compiled code
        `compiled`: states are numbers, or tuples of them, so that Numba compiles lift, combine and lower. `form` names
        functions written for that in `kernels.codegen.forms`, with states that lie as `layout` says.
    Passes of its own, by their names in `kernels.passes`
        `rows_pass` over the last n rows, `bounds_pass` over windows of other kinds, both beside a kernel;
        `window_pass` over windows of any kind, instead of one; `spanning` over windows with a middle that is one state.
    """

    takes: Takes = Takes.ANYTHING
    answer: AnswerKind = AnswerKind.INFERRED
    fields: tuple[str, ...] = ()
    answers_empty: bool = False
    python_times: bool = True
    never_raises: bool = False
    instead: str = "use live().push"
    fewest: int = 1
    per: PerCategory | None = None
    on_time: OnTime | None = None
    counts_rows: bool = False
    order_statistic: OrderStatistic | None = None
    own_value: OwnAnswer | None = None
    grows: bool = False
    bounded: bool = False
    state_bytes: int | None = None
    sign: str = ""
    compiled: bool = True
    form: str | None = None
    layout: LayoutRule | None = None
    rows_pass: str | None = None
    bounds_pass: str | None = None
    window_pass: str | None = None
    spanning: str | None = None
    words: Words = _NO_WORDS
    plot: Plot = _A_LINE

    @property
    def keeps_type(self) -> bool:
        """Whether answers are of the input's own type, so that times and text come back as what they were."""
        return self.answer is AnswerKind.INPUT

    @property
    def computes(self) -> bool:
        """Whether bools are numbers to it."""
        return self.takes in (Takes.NUMBERS, Takes.ORDERED)


PLAIN = Traits()
