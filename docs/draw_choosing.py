"""Draws docs/choosing.svg from the rules that `sw.choose` goes by: a question for each, and what is chosen on yes.

python docs/draw_choosing.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from textwrap import wrap

from slidewise.choosing import DEFAULT, RULES, Choice

PICTURE = Path(__file__).parent / "choosing.svg"
WIDTH, ROW, HEIGHT = 1040, 100, 72
LEFT, LEFT_WIDTH = 20, 420
RIGHT, RIGHT_WIDTH = 510, 510
INK, QUESTION, ANSWER, LAST = "#1f2933", "#eef2f7", "#e3f4e8", "#fdf1d6"


def box(x: int, y: int, width: int, fill: str, lines: list[tuple[str, str]]) -> list[str]:
    """A box with lines of text in its middle, each with a style."""
    found = [f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="8" fill="{fill}" stroke="{INK}"/>']
    top = y + HEIGHT / 2 - 9.5 * (len(lines) - 1) + 5
    for i, (style, line) in enumerate(lines):
        at = f'x="{x + width / 2:g}" y="{top + 19 * i:g}"'
        found.append(f'<text {at} text-anchor="middle" class="{style}">{escape(line)}</text>')
    return found


def answer(x: int, y: int, width: int, fill: str, choice: Choice) -> list[str]:
    calls = wrap(f"calls: {choice.calls}", width // 6)
    return box(x, y, width, fill, [("name", choice.name), *(("calls", line) for line in calls)])


def arrow(x0: int, y0: int, x1: int, y1: int, label: str) -> list[str]:
    across = y0 == y1
    at = ((x0 + x1) // 2, y0 - 7) if across else (x0 + 20, (y0 + y1) // 2 + 4)
    return [
        f'<line x1="{x0}" y1="{y0}" x2="{x1}" y2="{y1}" stroke="{INK}" stroke-width="1.5" marker-end="url(#tip)"/>',
        f'<text x="{at[0]}" y="{at[1]}" text-anchor="middle" class="label">{label}</text>',
    ]


def drawn() -> str:
    """The picture as SVG: questions on the left from top to bottom, and what is chosen on the right."""
    height = 40 + ROW * len(RULES) + HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        "<title>Which algorithm sw.choose takes</title>",
        "<style>text{font-family:Helvetica,Arial,sans-serif;fill:#1f2933}.ask{font-size:15px}.name{font-size:16px;"
        "font-weight:bold}.calls{font-size:12.5px}.label{font-size:13px;font-style:italic}.said{font-size:12.5px;"
        "font-family:Menlo,Consolas,monospace;fill:#52606d}</style>",
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    middle = LEFT + LEFT_WIDTH // 2
    for i, rule in enumerate(RULES):
        y = 20 + ROW * i
        asked = [("ask", line) for line in wrap(rule.question, 52)]
        lines += box(LEFT, y, LEFT_WIDTH, QUESTION, [*asked, ("said", rule.example)])
        lines += arrow(LEFT + LEFT_WIDTH, y + HEIGHT // 2, RIGHT, y + HEIGHT // 2, "yes")
        lines += answer(RIGHT, y, RIGHT_WIDTH, ANSWER, rule.choice)
        lines += arrow(middle, y + HEIGHT, middle, y + ROW, "no")
    lines += answer(LEFT, 20 + ROW * len(RULES), RIGHT + RIGHT_WIDTH - LEFT, LAST, DEFAULT)
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn())
