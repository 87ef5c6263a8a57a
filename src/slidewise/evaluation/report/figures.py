"""The paper's figures, one panel to a file, as SVG and PNG; their colours suit a light page and a dark one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import SlidewiseError
from slidewise.evaluation.report.summary import Curve, Latency, Results
from slidewise.folders import whole_file

COLOURS = {
    "TwoStacks": "#e08e45",
    "TwoStacksLite": "#c9531f",
    "Daba": "#5b9bd5",
    "DabaLite": "#2a6fdb",
    "FlatFit": "#3f9b5f",
    "Fiba": "#a05bb5",
    "Recalc": "#8c7a5b",
    "SubtractOnEvict": "#b8891a",
    "FlatFat": "#c2417c",
    "BInt": "#2e9ca6",
    "Amta": "#7fae3c",
    "SlickDeque": "#8b6fd6",
}
GREY = "#808a96"
MARKS = ((50.0, "o"), (99.9, "v"), (99.99, "s"), (99.999, "^"))
SLIM = 90  # heights at which a violin's width is drawn


def draw_all(results: Results, folder: Path) -> list[str]:
    """Write the figures that there are results for; their names without suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = results.settings
    return _draw(results, folder, settings.algorithms, "") + _draw(results, folder, settings.compared, "others_")


def _draw(results: Results, folder: Path, algorithms: tuple[str, ...], prefix: str) -> list[str]:
    """The figures of these algorithms; those of `max`, which the paper does not have, are among the others' only."""
    settings, names = results.settings, []
    operators = [operator for operator in settings.operators if prefix or operator != "max"]
    latency = {key: of for key, of in results.latencies("latency").items() if key[1] in algorithms}
    for operator in operators:
        by_name = {name: of for (named, name, _), of in latency.items() if named == operator}
        if by_name:
            n = settings.latency_n
            to, title = f"{prefix}latency_{_plain(operator)}", f"{operator}: a round at n = {n:,}"
            names.append(_violins(results, folder, to, ("latency", operator, n), by_name, title))
    for workload in ("throughput", "fill and drain"):
        curve = {key: speed for key, speed in results.speeds(workload).items() if key[1] in algorithms}
        for operator in operators:
            of = {key: speed for key, speed in curve.items() if key[0] == operator}
            if of:
                to = f"{prefix}{_plain(workload)}_{_plain(operator)}"
                names.append(_curves(folder, to, of, algorithms, f"{operator}: {workload}", "n", 1))
    events = {key: speed for key, speed in results.speeds("events").items() if key[1] in algorithms}
    if events:
        to = f"{prefix}events_throughput"
        names.append(_curves(folder, to, events, algorithms, "events by window", "window, seconds", 1e-6))
    latency = results.latencies("events latency")
    by_name = {name: of for (_, name, _), of in latency.items() if name in algorithms}
    if by_name:
        n = max(width for _, _, width in latency)
        to, title = f"{prefix}events_latency", f"events: a window of {lasting(n)}"
        names.append(_violins(results, folder, to, ("events latency", "relative_variation", n), by_name, title))
    return names


def lasting(width: int) -> str:
    """A window of time, given in microseconds, in words.

    >>> lasting(600_000_000), lasting(10_000_000)
    ('10 minutes', '10 seconds')
    """
    return f"{width / 6e7:g} minutes" if width > 60_000_000 else f"{width / 1e6:g} seconds"


def _plain(name: str) -> str:
    return name.replace(" ", "_")


@contextmanager
def _figure(folder: Path, name: str) -> Iterator[Any]:
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SlidewiseError(f"figures need matplotlib ({error}): pip install 'slidewise[plots]'") from error
    figure = Figure(figsize=(5.6, 4.2), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    figure.patch.set_alpha(0)
    axis = figure.subplots()
    axis.patch.set_alpha(0)
    axis.tick_params(which="both", colors=GREY)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(GREY)
    axis.grid(color=GREY, alpha=0.25, linewidth=0.6)
    yield axis
    for text in (axis.xaxis.label, axis.yaxis.label):
        text.set_color(GREY)
    legend = axis.get_legend()
    for text in legend.get_texts() if legend else ():
        text.set_color(GREY)
    with matplotlib.rc_context({"svg.hashsalt": "slidewise"}), whole_file(folder / f"{name}.svg") as file:
        figure.savefig(file, format="svg", metadata={"Date": None})
    figure.set_layout_engine("none")  # where all is, is known by now
    with whole_file(folder / f"{name}.png") as file:
        figure.savefig(file, format="png", metadata={"Software": None})


def _curves(
    folder: Path, name: str, curve: Curve, algorithms: tuple[str, ...], title: str, across: str, unit: float
) -> str:
    wide = name.startswith("others_")  # some of them are many times as slow as others
    run = {algorithm for _, algorithm, _ in curve}
    with _figure(folder, name) as axis:
        for algorithm in (name for name in algorithms if name in run):
            points = sorted((n * unit, speed) for (_, of, n), speed in curve.items() if of == algorithm)
            colour = COLOURS.get(algorithm, GREY)
            ns = [n for n, _ in points]
            axis.plot(ns, [s.per_second for _, s in points], "o-", ms=3, lw=1.5, color=colour, label=algorithm)
            low, high = [1e3 / s.most for _, s in points], [1e3 / s.least for _, s in points]
            axis.fill_between(ns, low, high, color=colour, alpha=0.15, linewidth=0)
        axis.set_xscale("log", base=2 if unit == 1 else 10)
        if wide:
            axis.set_yscale("log")
            axis.set_ylim(top=axis.get_ylim()[1] * 4)
        else:
            axis.set_ylim(bottom=0, top=axis.get_ylim()[1] * 1.25)
        axis.set_title(title, loc="left", fontsize=11, color=GREY)
        axis.set_xlabel(across)
        axis.set_ylabel("million rounds per second")
        axis.legend(frameon=False, fontsize=8, ncols=3, loc="upper center")
    return name


def _violins(
    results: Results, folder: Path, name: str, what: tuple[str, str, int], latencies: dict[str, Latency], title: str
) -> str:
    with _figure(folder, name) as axis:
        for at, (algorithm, latency) in enumerate(latencies.items()):
            colour = COLOURS.get(algorithm, GREY)
            heights, widths = shape(*results.histogram(*what, algorithm))
            axis.fill_betweenx(heights, at - widths, at + widths, color=colour, alpha=0.55, linewidth=0)
            axis.plot([at, at], [latency.least, latency.most], color=colour, lw=0.8)
            for end in (latency.least, latency.most):
                axis.plot([at - 0.12, at + 0.12], [end, end], color=colour, lw=1.4)
            for (percent, mark), ns in zip(MARKS, latency.percentiles, strict=True):
                axis.plot(
                    at, ns, mark, color="white", ms=4, mec=colour, mew=1, label=f"{percent:g} %" if not at else None
                )
            label = "longest in all repetitions" if not at else None
            axis.plot(at, latency.longest_in_all, "D", color="none", ms=7, mec=colour, mew=1.3, label=label)
        axis.set_yscale("log")
        axis.set_xticks(range(len(latencies)), list(latencies), rotation=25, ha="right", fontsize=8)
        axis.set_title(title, loc="left", fontsize=11, color=GREY)
        axis.set_ylabel("nanoseconds")
        axis.legend(frameon=False, fontsize=7, ncols=3, loc="upper center")
        axis.set_ylim(top=axis.get_ylim()[1] * 8)
    return name


def shape(ns: Array, rounds: Array) -> tuple[Array, Array]:
    """A violin over a logarithmic axis: heights, and the half width there.

    A width is the logarithm of the number of rounds: a share of one in a million is seen, too, beside the rest.
    """
    ns = np.maximum(ns, 0.1)
    edges = np.geomspace(ns[0] * 0.98, ns[-1] * 1.02, SLIM + 1)
    seen, _ = np.histogram(ns, edges, weights=rounds)
    widths = np.log1p(seen)
    return np.sqrt(edges[1:] * edges[:-1]), 0.42 * widths / widths.max()
