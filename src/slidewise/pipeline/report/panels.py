"""The panels of a report: which columns are drawn together, chosen by a rule that the report states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slidewise.expressions.expression import Expression
from slidewise.expressions.writing import shortened
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.traits import Plot
from slidewise.pipeline.job.job import Job
from slidewise.stages import all_columns_read

MOST = 12
RULE = (
    "A panel shows an operator of a column over all its windows; those that lie between the column's own values share "
    "one, and an expression has a panel of its own. Panels come in the order of the definition, those of the report's "
    f"signals first, at most {MOST}."
)
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True)
class Panel:
    """A panel of the picture: its title, the signal behind it, and by name the aggregates or the expression in it."""

    title: str
    signal: str | None
    columns: Mapping[str, Expression]

    @property
    def is_change(self) -> bool:
        return all(plot_of(column).change for column in self.columns.values())

    @property
    def of(self) -> tuple[str, ...]:
        """What it is of: the columns of its aggregates, or its expression."""
        first = next(iter(self.columns.values()))
        return tuple(map(str, first.columns)) if isinstance(first, Aggregate) else (str(first),)


@dataclass(frozen=True)
class PanelChoice:
    """The panels of a picture, and what is left out: why, by the aggregate's name."""

    panels: tuple[Panel, ...]
    left_out: Mapping[str, str]

    @property
    def note(self) -> str:
        """The aggregates that are not drawn, in words."""
        whys: dict[str, list[str]] = {}
        for name, why in self.left_out.items():
            whys.setdefault(why, []).append(name)
        text = "; ".join(f"{', '.join(names)} ({why})" for why, names in whys.items())
        return f"Not drawn: {text}." if text else ""


def choose_panels(job: Job, kinds: Mapping[str, str]) -> PanelChoice:
    """The panels of a job's result, whose columns have these types of Spark's."""
    left_out: dict[str, str] = {}
    groups: dict[tuple[object, ...], dict[str, Expression]] = {}
    for name, column in job.definition.columns.items():
        if not is_number(kinds.get(name, "")):
            left_out[name] = "no number"
            continue
        if not isinstance(column, Aggregate):
            groups[("expression", name)] = {name: column}
            continue
        operator, columns = column.operator, tuple(map(str, column.columns))
        level = operator.traits.plot.level and len(columns) == 1 and is_number(kinds.get(columns[0], ""))
        condition = None if column.condition is None else str(column.condition)
        groups.setdefault((level or operator.name, columns, condition), {})[name] = column
    panels = [_panel(members, kinds) for members in groups.values()]
    panels.sort(key=lambda panel: not _reads(panel, job.signals))  # the rest stays in the order of the definition
    for panel in panels[MOST:]:
        left_out |= dict.fromkeys(panel.columns, f"beyond the first {MOST} panels")
    return PanelChoice(tuple(panels[:MOST]), left_out)


def is_number(kind: str) -> bool:
    return kind.partition("(")[0] in _NUMBERS


def plot_of(column: Expression) -> Plot:
    """How a column is drawn: an aggregate as its operator says, another expression as a plain line."""
    return column.operator.traits.plot if isinstance(column, Aggregate) else Plot()


def _reads(panel: Panel, signals: tuple[str, ...]) -> bool:
    return any(name in signals for column in panel.columns.values() for name in all_columns_read(column))


def _panel(columns: dict[str, Expression], kinds: Mapping[str, str]) -> Panel:
    """A panel of columns; the signal behind them is drawn where the result has it, which beats and labels lack."""
    name, first = next(iter(columns.items()))
    if not isinstance(first, Aggregate):
        return Panel(shortened(f"{name}: {first}"), None, columns)
    operators = ", ".join(dict.fromkeys(one.operator.name for one in columns.values() if isinstance(one, Aggregate)))
    of = ", ".join(map(str, first.columns)) or "rows"
    signal = first.columns[0] if plot_of(first).level and len(first.columns) == 1 else None
    where = "" if first.condition is None else f" where {first.condition}"
    drawn = signal if isinstance(signal, str) and is_number(kinds.get(signal, "")) else None
    return Panel(shortened(f"{of}: {operators}{where}"), drawn, columns)
