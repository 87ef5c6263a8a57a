"""The panels of a report: which aggregates are drawn together, chosen by a rule that the report states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slidewise.operators.aggregate import Aggregate
from slidewise.pipeline.job.job import Job

MOST = 12
RULE = (
    "A panel shows an operator of a column over all its windows; those that lie between the column's own values share "
    f"one. Panels come in the order of the definition, those of the report's signals first, at most {MOST}."
)
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True)
class Panel:
    """A panel of the picture: its title, the signal behind it, and the aggregates that it shows, by name."""

    title: str
    signal: str | None
    columns: Mapping[str, Aggregate]

    @property
    def is_change(self) -> bool:
        return all(aggregate.operator.traits.plot.change for aggregate in self.columns.values())


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
    groups: dict[tuple[object, ...], dict[str, Aggregate]] = {}
    for name, aggregate in job.definition.columns.items():
        if not is_number(kinds.get(name, "")):
            left_out[name] = "no number"
            continue
        operator, columns = aggregate.operator, aggregate.columns
        level = operator.traits.plot.level and len(columns) == 1 and is_number(kinds.get(columns[0], ""))
        groups.setdefault((level or operator.name, columns, aggregate.condition), {})[name] = aggregate
    panels = [_panel(members) for members in groups.values()]
    panels.sort(key=lambda panel: not _reads(panel, job.signals))  # the rest stays in the order of the definition
    for panel in panels[MOST:]:
        left_out |= dict.fromkeys(panel.columns, f"beyond the first {MOST} panels")
    return PanelChoice(tuple(panels[:MOST]), left_out)


def is_number(kind: str) -> bool:
    return kind.partition("(")[0] in _NUMBERS


def _reads(panel: Panel, signals: tuple[str, ...]) -> bool:
    return any(column in signals for aggregate in panel.columns.values() for column in aggregate.columns)


def _panel(columns: dict[str, Aggregate]) -> Panel:
    first = next(iter(columns.values()))
    operators = ", ".join(dict.fromkeys(aggregate.operator.name for aggregate in columns.values()))
    of = ", ".join(first.columns) or "rows"
    level = first.operator.traits.plot.level and len(first.columns) == 1
    where = "" if first.condition is None else f" where {first.condition}"
    return Panel(f"{of}: {operators}{where}", first.columns[0] if level else None, columns)
