"""Which algorithm keeps a window, and why: the paper's closing advice as one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

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


@dataclass(frozen=True, slots=True)
class Explained:
    """One column of an explanation."""

    name: str
    aggregate: Aggregate
    choice: Choice
    kernel: str
    bytes_per_state: int | None

    @property
    def state(self) -> str:
        """How much state a key needs."""
        if self.bytes_per_state is None:
            return f"{self.choice.states} states, whose size is the operator's own ({self.aggregate.operator.state})"
        window = self.aggregate.window
        assert window is not None
        if self.choice.algorithm is None:
            return _bytes(self.bytes_per_state)
        if window.rows is not None:
            return f"at most {_bytes((window.rows + 2) * self.bytes_per_state + 8 * window.rows)}"
        return f"{self.bytes_per_state + 8} bytes for each row in the window"


class Explanation(tuple[Explained, ...]):
    """For each column: what runs, why, what it costs at most, and how much state a key needs. Prints as text.

    `spark` is how it runs on the DataFrame that was asked about, or None.
    """

    spark: Any = None

    def __repr__(self) -> str:
        parts = [] if self.spark is None else [f"on Spark: {self.spark}"]
        for one in self:
            parts.append(
                f"{one.name} = {one.aggregate!r}\n"
                f"    on tables: {one.kernel}\n"
                f"    live: {one.choice.name}, for {one.choice.why}\n"
                f"    calls per event: {one.choice.calls}\n"
                f"    a key's state: {one.state}"
            )
        return "\n".join(parts)

    __str__ = __repr__


def explain(definition: Definition) -> Explanation:
    """What runs for each column of a definition, and why."""
    return Explanation(_explained(name, aggregate) for name, aggregate in definition.columns.items())


def _explained(name: str, aggregate: Aggregate) -> Explained:
    op = aggregate.operator
    return Explained(name, aggregate, choose(op, aggregate.window), _kernel(aggregate), state_bytes(op))


# Passes of their own, by operator, for windows of rows and of time.
_ROW_PASSES = {
    **dict.fromkeys(("max", "min"), "block scans in the vector unit"),
    **dict.fromkeys(("sum", "mean", "geomean"), "running sums in exact parts, rounded once"),
    **dict.fromkeys(("variance", "stddev"), "running sums of exact parts, or block scans of double-doubles"),
}
_ANY_PASSES = {
    **dict.fromkeys(("sum", "mean", "geomean"), "running sums in exact parts, rounded once"),
    "count": "the difference of the window's two ends",
    "first": "the row at the window's old end",
    "last": "the row at the window's young end",
    "count_distinct": "a count per value, kept as rows come and go",
    "hyperloglog": "registers that know when they run out",
    "bloom": "the last row that set each bit of the probe",
}


def _kernel(aggregate: Aggregate) -> str:
    op, window = aggregate.operator, aggregate.window
    assert window is not None
    if not op.builtin:
        return (
            "compiled by Numba into a Two-Stacks pass, about 3 calls per row; if it cannot be, DabaLite and a warning"
        )
    special = _ROW_PASSES.get(op.name) if window.rows is not None else None
    special = special or _ANY_PASSES.get(op.name)
    if op.name in ("collect", "naive_bayes", "countmin"):
        return "DabaLite, interpreted: its states are Python objects"
    text = "; over text, DabaLite interpreted" if op.name in _ALSO_TEXT else ""
    return f"kernel: {special or 'a compiled Two-Stacks pass, about 3 calls per row'}{text}"


_ALSO_TEXT = ("max", "min", "argmax", "argmin", "maxcount", "mincount", "m4")


def state_bytes(op: Operator) -> int | None:
    """The bytes of one partial aggregate over 64-bit numbers; None where it grows, or is a user's own."""
    if not op.builtin:
        return None
    of = op.parameters
    sketches = {
        "bloom": lambda: of["bits"] // 8,
        "countmin": lambda: 8 * of["width"] * of["depth"],
        "hyperloglog": lambda: 2 ** of["p"],
    }
    if op.name in sketches:
        return int(sketches[op.name]())
    if op.name == "count":
        return 8
    from slidewise.kernels.layouts import builtin_layout

    kind = "bool" if op.name.startswith("bool_") else "float64"
    layout = builtin_layout(op.name, (kind,) * int(op.arity()[0] or 1))
    return None if layout is None else sum(1 if field == "bool" else 8 for field in layout.fields)


def _bytes(count: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1_000:
            return f"{count:.3g} {unit}"
        count = count / 1_000  # type: ignore[assignment]
    return f"{count:.3g} GB"
