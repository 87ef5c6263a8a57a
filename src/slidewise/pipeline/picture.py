"""The report's picture: for each signal its course with its windows' aggregates, and where it swings too much."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from slidewise.pipeline.job import Job
from slidewise.pipeline.points import CHANGE, LEVEL, SPREAD, Points, of_signal, signals_of

COLOURS = ("#2a6fbb", "#d9822b", "#2f8f5b", "#a23b72", "#6b6b6b")
STYLES = {"max": ":", "min": ":"}
PANELS = ((LEVEL, "signal"), (SPREAD, "standard deviation"), (CHANGE, "relative variation"))


def draw(job: Job, points: Points) -> bytes:
    """The picture as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure

    signals = signals_of(job) or [""]
    panels = [(ops, label) for ops, label in PANELS if ops is LEVEL or any(of_signal(job, s, ops) for s in signals)]
    heights = [2.2 if ops is LEVEL else 1.0 if ops is SPREAD else 1.3 for ops, _ in panels]
    figure = Figure(figsize=(max(6.4 * len(signals), 8), 2.1 * sum(heights) + 0.9), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(panels), len(signals), sharex=True, squeeze=False, height_ratios=heights)
    windows = _windows(job, signals)
    for across, signal in enumerate(signals):
        for down, (operators, label) in enumerate(panels):
            axis = axes[down][across]
            _panel(axis, job, points, signal, operators, windows)
            axis.set_title(signal if down == 0 else "", loc="left", fontweight="bold")
            axis.set_ylabel(label if across == 0 else "")
            axis.grid(alpha=0.25, linewidth=0.6)
            axis.spines[["top", "right"]].set_visible(False)
            axis.margins(x=0.01)
        bottom = axes[-1][across]
        bottom.set_xlabel(job.definition.on or "")
        if points.times and not isinstance(points.times[0], float):
            locator = AutoDateLocator(minticks=3, maxticks=7)
            bottom.xaxis.set_major_locator(locator)
            bottom.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    _legend(figure, windows, job, points)
    out = BytesIO()
    figure.savefig(out, metadata={"Software": None})
    return out.getvalue()


def _windows(job: Job, signals: list[str]) -> dict[str, str]:
    """A colour for each window, in the order that they are written."""
    shown = [of_signal(job, signal, LEVEL + SPREAD + CHANGE) for signal in signals]
    windows = dict.fromkeys(window_of(one) for group in shown for one in group.values())
    return {window: COLOURS[at % len(COLOURS)] for at, window in enumerate(windows)}


def window_of(aggregate: Any) -> str:
    """A window in words: 10s, 100 rows, everything so far."""
    window = aggregate.window
    if window.rows is not None:
        return f"{window.rows} rows"
    return "everything so far" if window.last is None else str(window.last)


def _panel(axis: Any, job: Job, points: Points, signal: str, operators: Any, windows: dict[str, str]) -> None:
    if operators is LEVEL and f"{signal} low" in points.columns:
        low, high = _floats(points, f"{signal} low"), _floats(points, f"{signal} high")
        axis.fill_between(points.times, low, high, color="#c9ced6", linewidth=0, step="mid")
    highest = None
    for name, aggregate in of_signal(job, signal, operators).items():
        if name not in points.columns:
            continue
        values = _floats(points, name)
        style, colour = STYLES.get(aggregate.operator.name, "-"), windows[window_of(aggregate)]
        axis.plot(points.times, values, style, color=colour, linewidth=1.1 if style == "-" else 0.9, alpha=0.9)
        highest = values if highest is None else [max(a, b) for a, b in zip(highest, values, strict=True)]
    if operators is CHANGE and job.threshold is not None and highest is not None:
        above = [value > job.threshold for value in highest]
        across = axis.get_xaxis_transform()
        axis.fill_between(points.times, 0, 1, where=above, transform=across, color="#d64545", alpha=0.13, linewidth=0)
        axis.axhline(job.threshold, color="#d64545", linewidth=1, linestyle="--")
        axis.set_ylim(bottom=0)


def _floats(points: Points, name: str) -> list[float]:
    return [float("nan") if value is None else value for value in points.columns[name]]


def _legend(figure: Any, windows: dict[str, str], job: Job, points: Points) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = [Patch(color="#c9ced6", label="signal, lowest to highest")]
    entries += [Line2D([], [], color=colour, label=f"over {window}") for window, colour in windows.items()]
    used = {one.operator.name for one in job.definition.columns.values()}
    if used & set(STYLES):
        entries.append(Line2D([], [], color="#444444", linestyle=":", label=" and ".join(sorted(used & set(STYLES)))))
    if job.threshold is not None:
        entries.append(Patch(color="#d64545", alpha=0.3, label=f"relative variation above {job.threshold:g}"))
    title = f"{points.key}, the key with most rows" if points.key else None
    figure.legend(handles=entries, loc="outside upper center", ncols=min(len(entries), 6), frameon=False, title=title)
