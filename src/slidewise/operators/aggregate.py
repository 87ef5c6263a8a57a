"""An aggregate is what a user asks for: an operator, its columns and a window. Plain data; nothing here runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError, WindowError
from slidewise.windows import Duration, Window
from slidewise.windows.kind import Keeps

if TYPE_CHECKING:
    from slidewise.operators.operator import Operator


@dataclass(frozen=True, slots=True, repr=False)
class Aggregate:
    """An operator bound to columns: `.where(column)` filters rows, `.over(window)` says which rows are in.

    >>> import slidewise as sw
    >>> sw.mean("temp").where("ok").over(rows=100, at_least=10)
    sw.mean('temp').where('ok').over(rows=100, at_least=10)
    """

    operator: Operator
    columns: tuple[str, ...]
    condition: str | None = None
    window: Window | None = None

    def where(self, condition: str) -> Aggregate:
        """Keep only the rows whose boolean column is true, as SQL's FILTER does."""
        if not isinstance(condition, str):
            raise SlidewiseError(f"where takes the name of a boolean column, not {condition!r}")
        if self.condition is not None:
            raise SlidewiseError(
                f"{self!r} has a condition already; make one boolean column of {self.condition!r} and {condition!r}"
            )
        if self.window is not None:
            raise SlidewiseError("where stands before over: sw.mean('x').where('ok').over('7d')")
        return replace(self, condition=condition)

    def over(
        self,
        last: Duration | timedelta | str | int | float | None = None,
        *,
        rows: int | None = None,
        closed: str = "right",
        at_least: int | None = None,
        grain: Duration | timedelta | str | int | float | None = None,
    ) -> Aggregate:
        """Say which rows are in: `"10 minutes"`, `rows=100`, or `"all"` for everything so far.

        With `grain="1 second"` the old edge of a stretch of time is rounded down to whole seconds: rows leave together,
        and what is kept of a key is one partial aggregate for each second, however many rows there are.
        """
        if self.window is not None:
            raise SlidewiseError(f"{self!r} has a window already; write a second aggregate for a second window")
        window = Window.of(last, rows=rows, closed=closed, at_least=at_least, grain=grain)
        check_partials(self.operator, window)
        return replace(self, window=window)

    def __repr__(self) -> str:
        text = f"{self.operator!r}({', '.join(map(repr, self.columns))})"
        if self.condition is not None:
            text += f".where({self.condition!r})"
        return f"{text}.{self.window!r}" if self.window is not None else text


def check_partials(op: Operator, window: Window) -> None:
    """Refuse a grain where no partial aggregate can stand for rows."""
    quantile = op.traits.quantile if window.keeps is Keeps.CELLS else None
    if quantile is not None:
        raise WindowError(
            f"an exact {op.name} needs every value of its window, and with a grain rows that leave together are kept "
            f"as one partial aggregate; use sw.quantile({quantile.q!r}, approximate=0.01), or leave out the grain"
        )


def at_least(op: Operator, window: Window) -> int:
    """How many rows an answer needs; counts, and lists of no rows, have one without any."""
    if window.at_least is not None:
        return window.at_least
    return 0 if op.traits.answers_empty else 1
