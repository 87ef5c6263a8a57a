"""A figure as PNG, drawn by matplotlib from the same shapes as the SVG."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from slidewise.trace.drawing.colours import COIN, EDGE, FRAME, PARTS, TONES
from slidewise.trace.drawing.scene import Box, Coin, Label, Segment, Shape, scene
from slidewise.trace.operations import TraceError
from slidewise.trace.record import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOTS = 72.0  # scene units in an inch
SHARP = 2  # pixels for a unit
MOST_PIXELS = 30_000  # in one direction


def to_png(trace: Trace) -> bytes:
    """The trace as the bytes of a PNG file."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise TraceError(
            "a PNG needs matplotlib, which is not installed: pip install 'slidewise[plots]', or write --svg instead"
        ) from None
    drawn = scene(trace)
    if SHARP * max(drawn.width, drawn.height) > MOST_PIXELS:
        raise TraceError(
            f"the figure is too large for a PNG: {drawn.width:.0f} by {drawn.height:.0f} points; trace fewer steps, or "
            "write --svg instead"
        )
    figure = Figure(figsize=(drawn.width / DOTS, drawn.height / DOTS), dpi=SHARP * DOTS, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, drawn.width), ylim=(drawn.height, 0))
    axes.axis("off")
    for layer, shape in enumerate(drawn.shapes):
        _draw(axes, shape, layer)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _draw(axes: Axes, shape: Shape, layer: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Ellipse, FancyBboxPatch

    match shape:
        case Box(x, y, width, height, part, text, _):
            fill, ink = PARTS[part] if part else (FRAME, EDGE)
            style = f"round,pad=0,rounding_size={3 if part else 6}"
            edge = "#ffffff" if part else EDGE
            box = FancyBboxPatch((x, y), width, height, style, facecolor=fill, edgecolor=edge, zorder=layer)
            axes.add_patch(box)
            _write(axes, x + width / 2, y + height / 2, text, "middle", ink, 13, layer)
        case Label(x, y, text, anchor, tone, size):
            _write(axes, x, y, text, anchor, TONES[tone], size, layer, bold=tone == "pointer" or size > 15)
        case Segment(x1, y1, x2, y2):
            axes.add_line(Line2D((x1, x2), (y1, y2), color=EDGE, linewidth=1.5, zorder=layer))
        case Coin(x, y):
            axes.add_patch(Ellipse((x, y), 8, 8, facecolor=COIN, edgecolor="#8a6500", zorder=layer))


def _write(
    axes: Axes, x: float, y: float, text: str, anchor: str, ink: str, size: float, layer: int, bold: bool = False
) -> None:
    across = {"start": "left", "middle": "center", "end": "right"}[anchor]
    axes.text(
        *(x, y, text.replace("$", r"\$")),
        ha=across,
        va="center_baseline",
        color=ink,
        fontsize=size * 0.92,
        fontweight="bold" if bold else "normal",
        zorder=layer,
    )
