"""A figure like the paper's, as shapes on a plane: one row for each step, one panel for each recording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slidewise.trace.drawing.colours import NAMES
from slidewise.trace.drawing.tooltips import tooltip_of
from slidewise.trace.record import Recording, Trace

CELL = 24.0  # the height of a cell
LETTER = 7.6  # the width of a letter in a cell
STEP_GAP = 16.0
LEVEL_GAP = 16.0
GUTTER = 122.0  # the label and the operation, left of the cells
MARGIN = 20.0
WIDEST = 26  # columns; a longer trace starts every row at the left instead of sliding to the right


@dataclass(frozen=True)
class Box:
    """A cell with its tooltip; a frame around cells has no part."""

    x: float
    y: float
    width: float
    height: float
    part: str
    text: str
    tooltip: str = ""


@dataclass(frozen=True)
class Label:
    """Text; `anchor` is start, middle or end, and `tone` ink, soft or pointer."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    tone: str = "ink"
    size: float = 13.0


@dataclass(frozen=True)
class Segment:
    """An edge of a tree."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class Coin:
    """One saved call, of the amortised argument."""

    x: float
    y: float


Shape = Box | Label | Segment | Coin


@dataclass(frozen=True)
class Scene:
    """Shapes, from the back to the front, on a plane of this size."""

    width: float
    height: float
    shapes: list[Shape]


def scene(trace: Trace) -> Scene:
    """All recordings of a trace, side by side."""
    shapes: list[Shape] = []
    left, height = MARGIN, 0.0
    panels = [_RecordingPanel(recording) for recording in trace["recordings"]]
    rows = [max(heights) for heights in zip(*(map(panel.height, panel.steps) for panel in panels), strict=True)]
    for panel in panels:
        panel.move(left)
        shapes += panel.shapes(rows)
        left += panel.width + 2 * MARGIN
        height = max(height, panel.bottom)
    return Scene(left - MARGIN, height + MARGIN, shapes)


class _RecordingPanel:
    """One recording: its title, its rows, and the legend below."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.steps = recording["steps"]
        self.tree = recording["kind"] == "tree"
        texts = [text for step in self.steps for text in _texts(step["shape"])]
        self.each = max(40.0, LETTER * max(map(len, texts), default=1) + 12)
        columns = max(step["first"] + len(step["window"]) for step in self.steps)
        self.sliding = not self.tree and columns <= WIDEST
        shown = (step["shape"].get("columns", len(step["window"])) for step in self.steps)
        self.columns = (columns if self.sliding else max(shown)) + 1
        cells = [cell for step in self.steps for cell in step["shape"].get("cells", ())]
        self.fields = max((len(cell["fields"]) for cell in cells), default=1)
        self.coins = 12.0 if any(cell.get("coin") for cell in cells) else 0.0
        self.names = _extras(recording)
        self.move(0.0)
        self.width = self.notes_at + max(len(_summary(step)) for step in self.steps) * 6.6 + 8
        self.bottom = 0.0

    def move(self, left: float) -> None:
        """Where the panel's columns begin: the label, the cells, the partials beside them, and the words."""
        self.left = left
        self.cells_at = left + GUTTER
        self.extra_at = self.cells_at + self.columns * self.each + 14
        self.notes_at = self.extra_at + len(self.names) * (self.each + 12)

    def height(self, step: dict[str, Any]) -> float:
        """The height of a step's row."""
        return self.coins + self._body(step) + (12 if step["shape"]["pointers"] else 0)

    def shapes(self, rows: list[float]) -> Iterator[Shape]:
        """All shapes, the steps in rows of these heights."""
        y = MARGIN + 8
        yield Label(self.left, y, f"{self.recording['class']} with {self.recording['operator']}", size=17.0)
        y += 24
        for i, name in enumerate(self.names):
            yield Label(self.extra_at + i * (self.each + 12) + self.each / 2, y, name, "middle", "soft", 12.0)
        y += 12
        for step, row in zip(self.steps, rows, strict=True):
            yield from self._step(step, y + row - self.height(step) + self.coins)
            y += row + STEP_GAP
        self.bottom = y
        if not self.tree:
            yield from self._legend(y)
            self.bottom = y + CELL

    def _body(self, step: dict[str, Any]) -> float:
        nodes = step["shape"].get("nodes")
        if not nodes:
            return self.fields * CELL
        levels: int = 1 + max(node["level"] for node in nodes)
        return levels * _level_height(nodes[0]) - LEVEL_GAP

    def _step(self, step: dict[str, Any], y: float) -> Iterator[Shape]:
        """A step, whose cells begin at y."""
        body = self._body(step)
        middle = y + (body - CELL / 2 if self.tree else body / 2)
        operation = step["operation"]
        yield Label(self.left, middle, f"({step['label']})", tone="soft")
        if operation is not None:
            yield Label(self.left + 40, middle, f"{operation['name']} {operation['value']}")
        yield from self._tree(step, y) if self.tree else self._queue(step, y)
        for i, name in enumerate(self.names):
            held = next((extra for extra in step["shape"]["extra"] if extra["name"] == name), None)
            if held is not None and step["window"]:
                x = self.extra_at + i * (self.each + 12)
                tooltip = tooltip_of(held, step, self.recording)
                yield Box(x, middle - CELL / 2, self.each, CELL, held["part"], held["text"] or "–", tooltip)
        yield Label(self.notes_at, middle, _summary(step), tone="soft", size=12.0)
        yield from self._pointers(step, y + body + 9)

    def _queue(self, step: dict[str, Any], y: float) -> Iterator[Shape]:
        for cell in step["shape"]["cells"]:
            x = self._x(step, cell["at"])
            for i, held in enumerate(cell["fields"]):
                tooltip = tooltip_of(held, step, self.recording)
                yield Box(x, y + i * CELL, self.each, CELL, cell["part"], held["text"] or "–", tooltip)
            if cell.get("coin"):
                yield Coin(x + self.each / 2, y - 6)

    def _pointers(self, step: dict[str, Any], y: float) -> Iterator[Shape]:
        marks: dict[int, list[str]] = {}
        for name, place in step["shape"]["pointers"].items():
            marks.setdefault(place, []).append(name)
        for place, names in marks.items():
            glue = " " if max(map(len, names)) > 1 else ""
            yield Label(self._x(step, place) + 3, y, glue.join(names), tone="pointer", size=12.0)

    def _tree(self, step: dict[str, Any], y: float) -> Iterator[Shape]:
        nodes = step["shape"]["nodes"]
        top = max((node["level"] for node in nodes), default=0)
        frames = {node["id"]: self._frame(node, y + (top - node["level"]) * _level_height(node)) for node in nodes}
        for node in nodes:
            x, at, width, _ = frames[node["id"]]
            if node["parent"] is not None:
                px, py, wide, high = frames[node["parent"]]
                centre = x + width / 2
                yield Segment(min(max(centre, px + 8), px + wide - 8), py + high, centre, at)
        for node in nodes:
            x, at, width, high = frames[node["id"]]
            if "cells" not in node:
                yield Box(x, at, width, high, node["part"], node["text"], tooltip_of(node, step, self.recording))
                continue
            yield Box(x - 3, at - 3, width + 6, high + 6, "", "")
            if node["text"]:
                tooltip = tooltip_of(node, step, self.recording)
                size = len(node["text"]) * LETTER + 8
                yield Box(x + width / 2 - size / 2, at - CELL, size, CELL - 4, node["part"], node["text"], tooltip)
            for cell in node["cells"]:
                tooltip = tooltip_of(cell, step, self.recording)
                column = self.cells_at + cell["at"] * self.each
                yield Box(column, at, self.each, CELL, cell["part"], cell["text"], tooltip)

    def _frame(self, node: dict[str, Any], y: float) -> tuple[float, float, float, float]:
        """Where a node lies: above the middle of its columns, or around its cells."""
        if "cells" in node:
            places = [cell["at"] for cell in node["cells"]]
            first, count = places[0], places[-1] - places[0] + 1
            return self.cells_at + first * self.each, y + CELL, count * self.each, CELL
        middle = (node["from"] + node["to"] + 1) / 2
        return self.cells_at + (middle - 0.5) * self.each + 2, y, self.each - 4, CELL

    def _legend(self, y: float) -> Iterator[Shape]:
        used = {cell["part"] for step in self.steps for cell in step["shape"]["cells"]}
        x = self.cells_at
        for part in (part for part in NAMES if part in used):
            width = len(NAMES[part]) * LETTER + 14
            yield Box(x, y, width, 20, part, NAMES[part])
            x += width + 6

    def _x(self, step: dict[str, Any], at: int) -> float:
        column: int = at + (step["first"] if self.sliding else 0)
        return self.cells_at + column * self.each


def _texts(shape: dict[str, Any]) -> Iterator[str]:
    for cell in shape.get("cells", ()):
        yield from (held["text"] for held in cell["fields"])
    for node in shape.get("nodes", ()):
        yield from (held["text"] for held in (node, *node.get("cells", ())))
    yield from (held["text"] for held in shape["extra"])


def _extras(recording: Recording) -> list[str]:
    """The names of partials beside the structure, where they are the same ones all the time."""
    names = {tuple(extra["name"] for extra in step["shape"]["extra"]) for step in recording["steps"] if step["window"]}
    return list(names.pop()) if len(names) == 1 else []


def _level_height(node: dict[str, Any]) -> float:
    """From one level of a tree to the next; nodes with rows of their own have their aggregate above them."""
    return CELL + LEVEL_GAP + (CELL if "cells" in node else 0)


def _summary(step: dict[str, Any]) -> str:
    """The cases, calls and partial of a step in a few words."""
    if step["operation"] is None:
        return ""
    count = len(step["calls"])
    return f"{', '.join(step['cases'])} · {count} call{'' if count == 1 else 's'} · {step['partial']['text'] or '–'}"
