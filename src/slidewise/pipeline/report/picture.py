"""The report's picture: small panels over one axis of time, a line for each aggregate, coloured by its window."""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from slidewise.expressions.expression import Expression
from slidewise.operators import CATALOGUE
from slidewise.operators.aggregate import Aggregate
from slidewise.pipeline.job.job import Job
from slidewise.pipeline.report.panels import Panel, plot_of
from slidewise.pipeline.report.points import POINTS, Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#2a6fbb", "#d9822b", "#2f8f5b", "#a23b72", "#6b6b6b", "#17a2a8", "#8a6d3b", "#5b4bb5")
BAND = "#c9ced6"
EXPRESSION = "#1f2933"
FEW = 80  # points up to which each is marked


def draw(job: Job, points: Points) -> bytes:
    """The picture as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure

    panels = in_grid(list(points.chosen.panels))
    down, across = len(panels), len(panels[0])
    figure = Figure(figsize=(max(4.7 * across, 8), 2.4 * down + 0.9), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(down, across, sharex=True, squeeze=False)
    windows = {window: COLOURS[at % len(COLOURS)] for at, window in enumerate(_windows(points))}
    for row, shown in zip(axes, panels, strict=True):
        for axis, panel in zip(row, shown, strict=True):
            if panel is None:
                axis.set_visible(False)
                continue
            _draw(axis, job, points, panel, windows)
            axis.set_title(panel.title, loc="left", fontsize=10, parse_math=False)
            axis.grid(alpha=0.25, linewidth=0.6)
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(labelsize=8.5)
    for column in range(across):  # the lowest panel of each column shows the time
        bottom = next(axes[at][column] for at in reversed(range(down)) if panels[at][column] or at == 0)
        bottom.set_xlabel(job.definition.on or "")
        bottom.tick_params(labelbottom=True)
        if points.shown and points.shown[0] < points.shown[1]:
            bottom.set_xlim(*points.shown)
        if points.times and not isinstance(points.times[0], float):
            locator = AutoDateLocator(minticks=3, maxticks=7)
            bottom.xaxis.set_major_locator(locator)
            bottom.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    _legend(figure, windows, job, points)
    out = BytesIO()
    figure.savefig(out, metadata={"Software": None})
    return out.getvalue()


def in_grid(panels: list[Panel]) -> list[list[Panel | None]]:
    """Panels in rows; where two to four columns have as many panels each, each has a column of the grid."""
    groups: dict[tuple[str, ...], list[Panel | None]] = {}
    for panel in panels:
        groups.setdefault(panel.of, []).append(panel)
    sizes = {len(group) for group in groups.values()}
    if 2 <= len(groups) <= 4 and len(sizes) == 1 and sizes != {1}:
        return [list(row) for row in zip(*groups.values(), strict=True)]
    across = 1 if len(panels) <= 2 else 2 if len(panels) <= 4 else 3
    filled: list[Panel | None] = [*panels, *[None] * (-len(panels) % across or (not panels))]
    return [filled[at : at + across] for at in range(0, len(filled), across)]


def _windows(points: Points) -> list[str]:
    """The windows that are drawn, in the order that they are written."""
    windows = [window_of(column) for panel in points.chosen.panels for column in panel.columns.values()]
    return list(dict.fromkeys(filter(None, windows)))


def window_of(column: Expression) -> str | None:
    """A window in words: 10s, 100 rows, everything so far; None for an expression, which may have several."""
    return column.window.words if isinstance(column, Aggregate) and column.window is not None else None


def _draw(axis: Axes, job: Job, points: Points, panel: Panel, windows: dict[str, str]) -> None:
    if panel.signal is not None and f"{panel.signal} low" in points.columns:
        times, low = broken(points, f"{panel.signal} low")
        axis.fill_between(times, low, broken(points, f"{panel.signal} high")[1], color=BAND, linewidth=0.8, step="mid")
    for name, column in panel.columns.items():
        if name not in points.columns:
            continue
        times, values = broken(points, name)
        window = window_of(column)
        style, colour = plot_of(column).line, EXPRESSION if window is None else windows[window]
        mark = "." if len(times) <= FEW else ""
        axis.plot(times, values, style, marker=mark, color=colour, linewidth=1.1 if style == "-" else 0.9, alpha=0.9)
    if panel.is_change and job.threshold is not None:
        columns = [points.columns[name] for name in panel.columns if name in points.columns]
        highest = [max((value for value in at if value is not None), default=0.0) for at in zip(*columns, strict=True)]
        above = [value > job.threshold for value in highest]
        upright = axis.get_xaxis_transform()
        axis.fill_between(points.times, 0, 1, where=above, transform=upright, color="#d64545", alpha=0.13, linewidth=0)
        axis.axhline(job.threshold, color="#d64545", linewidth=1, linestyle="--")
        axis.set_ylim(bottom=0)


def broken(points: Points, name: str) -> tuple[list[Any], list[float]]:
    """A column's points, with a gap in its line where no row comes for 1/30 of the time, and for long as rows go."""
    values = points.columns[name]
    filled = [at for at, value in enumerate(values) if value is not None]
    steps = sorted(after - at for at, after in pairwise(filled))
    longest = max(POINTS // 30, 5 * steps[len(steps) // 2]) if steps else 0
    times: list[Any] = []
    drawn: list[float] = []
    for number, at in enumerate(filled):
        if number and at - filled[number - 1] > longest:
            times.append(points.times[at - 1])
            drawn.append(float("nan"))
        times.append(points.times[at])
        drawn.append(float(values[at]))  # type: ignore[arg-type]
    return times, drawn


def _legend(figure: Figure, windows: dict[str, str], job: Job, points: Points) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    panels = points.chosen.panels
    entries: list[Any] = []
    if any(panel.signal is not None for panel in panels):
        entries.append(Patch(color=BAND, label="the column itself, lowest to highest"))
    entries += [Line2D([], [], color=colour, label=f"over {window}") for window, colour in windows.items()]
    columns = [column for panel in panels for column in panel.columns.values()]
    if not all(isinstance(column, Aggregate) for column in columns):
        entries.append(Line2D([], [], color=EXPRESSION, label="an expression"))
    used = {column.operator.name for column in columns if isinstance(column, Aggregate)}
    lines: dict[str, list[str]] = {}
    for operator in CATALOGUE:
        if operator.name in used and operator.traits.plot.line != "-":
            lines.setdefault(operator.traits.plot.line, []).append(operator.name)
    for style, names in lines.items():
        entries.append(Line2D([], [], color="#444444", linestyle=style, label=" and ".join(names)))
    if job.threshold is not None and any(panel.is_change for panel in panels):
        entries.append(Patch(color="#d64545", alpha=0.3, label=f"relative variation above {job.threshold:g}"))
    title = f"{points.key}, the key with most rows" if points.key else None
    if entries:
        across = min(len(entries), 6)
        figure.legend(handles=entries, loc="outside upper center", ncols=across, frameon=False, title=title, fontsize=9)
