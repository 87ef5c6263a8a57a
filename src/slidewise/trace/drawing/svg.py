"""A figure as SVG: text and boxes that stay sharp on slides, with no other file needed."""

from __future__ import annotations

from html import escape

from slidewise.trace.drawing.colours import COIN, EDGE, FRAME, PARTS, TONES
from slidewise.trace.drawing.scene import Box, Coin, Label, Scene, Segment, Shape, scene
from slidewise.trace.record import Trace

FONT = "'Inter', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


def to_svg(trace: Trace) -> str:
    """The trace as an SVG document."""
    drawn: Scene = scene(trace)
    size = f"{drawn.width:.0f}", f"{drawn.height:.0f}"
    title = (
        f"{', '.join(dict.fromkeys(recording['class'] for recording in trace['recordings']))}: {trace['operations']}"
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}" font-family="{FONT}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{size[0]}" height="{size[1]}" rx="6" fill="#ffffff"/>',
        *map(_element, drawn.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def in_notebook(trace: Trace, most: int) -> str:
    """The figure as a notebook shows it, of the first steps where there are more than `most`."""
    steps = max(len(recording["steps"]) for recording in trace["recordings"])
    recordings = [{**recording, "steps": recording["steps"][:most]} for recording in trace["recordings"]]
    figure = to_svg(Trace(trace, recordings=recordings))
    note = f"<div>the first {most} of {steps:,} steps</div>" if steps > most else ""
    return f"<div style='overflow-x: auto'>{figure}</div>{note}"


def _element(shape: Shape) -> str:
    match shape:
        case Box(x, y, width, height, part, text, tooltip):
            place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
            if not part:
                return f'<rect {place} rx="6" fill="{FRAME}" stroke="{EDGE}"/>'
            fill, ink = PARTS[part]
            title = f"<title>{escape(tooltip)}</title>" if tooltip else ""
            words = _text(x + width / 2, y + height / 2, text, "middle", ink, 13)
            return f'<g>{title}<rect {place} rx="3" fill="{fill}" stroke="#ffffff" stroke-width="1.5"/>{words}</g>'
        case Label(x, y, text, anchor, tone, size):
            return _text(x, y, text, anchor, TONES[tone], size, bold=tone == "pointer" or size > 15)
        case Segment(x1, y1, x2, y2):
            return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{EDGE}" stroke-width="1.5"/>'
        case Coin(x, y):
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COIN}" stroke="#8a6500"/>'


def _text(x: float, y: float, text: str, anchor: str, ink: str, size: float, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y + size * 0.35:.1f}" text-anchor="{anchor}" font-size="{size:g}" fill="{ink}"{weight}>'
        f"{escape(text)}</text>"
    )
