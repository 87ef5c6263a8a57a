"""Pictures of operators: what each gives over the last rows of a small series, beside the series itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.operators import BY_NAME, CATALOGUE
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.examples import WINDOW, example, series
from slidewise.operators.operator import Operator
from slidewise.sliding import Sliding

ALL = "all"
_INPUT, _ANSWERS = "#9aa5b1", ("#2a6fbb", "#d9822b", "#2f8f5b", "#8a4baf", "#c0392b", "#7f8c8d")
_ACROSS = 4  # pictures in a row of the page with all of them
_STYLE = {"svg.hashsalt": "slidewise", "svg.fonttype": "none", "font.size": 8}


def draw_operators(name: str, path: Path) -> list[str]:
    """Draw one operator, or all that a picture can show, as PNG or SVG; the names of those that are drawn."""
    if path.suffix not in (".svg", ".png"):
        raise SlidewiseError(f"a picture is written as .svg or .png, and {str(path)!r} is neither")
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SlidewiseError("pictures need matplotlib: pip install 'slidewise[plots]'") from error

    shown = examples_of(name)
    answers = answers_of(shown)
    columns = series()
    across = min(_ACROSS, len(shown))
    down = -(-len(shown) // across)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(3.4 * across, 2 * down) if name == ALL else (7, 3.2), dpi=110, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(down, across, squeeze=False).flatten()
        for axis, (operator, aggregate) in zip(axes, shown.items(), strict=False):
            title = f"{aggregate.written()} over {WINDOW} rows" if name != ALL else operator
            axis.set_title(title, loc="left", fontsize=9, parse_math=False)
            _draw(axis, [columns[str(column)] for column in aggregate.columns], answers[operator], small=name == ALL)
        for axis in axes[len(shown) :]:
            axis.set_axis_off()
        try:
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        except OSError as error:
            raise SlidewiseError(f"the picture {path} cannot be written: {error}") from error
    return list(shown)


def examples_of(name: str) -> dict[str, Aggregate]:
    """The example of an operator by its name, or those of all operators that have one."""
    if name == ALL:
        return {op.name: bound for op in CATALOGUE if (bound := example(op)) is not None}
    if name not in BY_NAME:
        raise SlidewiseError(
            f"there is no operator {name!r}; `slidewise operators` lists them{did_you_mean(name, BY_NAME)}"
        )
    op: Operator = BY_NAME[name]
    bound = example(op)
    if bound is None:
        raise SlidewiseError(f"{name} answers with an object, which no picture shows; {op.traits.instead}")
    return {name: bound}


def answers_of(examples: dict[str, Aggregate]) -> dict[str, list[Any]]:
    """What each example gives at each row of the series, over the last rows of it."""
    import pyarrow as pa

    definition = Sliding(on="ts", columns={name: bound.over(rows=WINDOW) for name, bound in examples.items()})
    table = definition(pa.table(series()))
    return {name: table.column(name).to_pylist() for name in examples}


def _draw(axis: Any, inputs: list[list[Any]], answers: list[Any], small: bool) -> None:
    """Draw one picture: grey lines for the operator's inputs, and lines, or dots of several sizes, for its answers."""
    from matplotlib.ticker import MaxNLocator

    numbers = range(len(answers))
    for column, line in zip(inputs, ("-", ":"), strict=False):
        axis.plot(numbers, [float(value) for value in column], line, color=_INPUT, lw=1)
    own = axis.twinx() if _far_apart(inputs, answers) else axis
    sample = next((answer for answer in answers if answer is not None), None)
    if isinstance(sample, dict):
        for colour, field in zip(_ANSWERS, sample, strict=False):
            own.step(
                numbers, [_number(answer and answer[field]) for answer in answers], where="mid", color=colour, lw=1
            )
    elif isinstance(sample, list):
        rows, sizes, values = zip(*_parts(answers), strict=True)
        own.scatter(rows, values, sizes, color=_ANSWERS[0], alpha=0.4, linewidths=0, rasterized=True)
    elif not isinstance(sample, bytes | str):
        own.step(numbers, [_number(answer) for answer in answers], where="mid", color=_ANSWERS[0], lw=1.2)
    for each in {axis, own}:
        each.spines[["top"]].set_visible(False)
        each.tick_params(labelsize=7)
        if small:
            each.set_xticks([])
            each.yaxis.set_major_locator(MaxNLocator(3))
    axis.tick_params(axis="y", labelcolor=_INPUT if own is not axis else "black")


def _parts(answers: Sequence[Any]) -> list[tuple[int, float, float]]:
    """Answers that are lists as dots: the row, the size, and the value; of a value with its count, the count is the
    size."""
    dots = []
    for at, answer in enumerate(answers):
        for part in answer or ():
            value, count = part.values() if isinstance(part, dict) else part if isinstance(part, tuple) else (part, 1)
            dots.append((at, 3.0 * count, _number(value)))
    return dots


def _number(answer: Any) -> float:
    return float("nan") if answer is None else float(answer)


def _far_apart(inputs: list[list[Any]], answers: list[Any]) -> bool:
    """Whether the answers need a scale of their own."""
    plain = [float(answer) for answer in answers if isinstance(answer, int | float) and answer == answer]
    if not plain:
        return False
    low, high = (edge(float(value) for column in inputs for value in column) for edge in (min, max))
    span = high - low or 1.0
    return max(plain) > high + span or min(plain) < low - span or max(plain) - min(plain) < span / 6
