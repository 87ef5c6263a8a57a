"""A trace in the terminal: each step with its window, its partials in the paper's colours, and its pointers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.text import Text

from slidewise.trace.drawing.colours import NAMES, PARTS
from slidewise.trace.record import Recording, Trace

MARGIN = 8  # columns in front of the cells, for the names of lines
ASCII = str.maketrans({"×": "x", "⊗": "*", "●": "o", "…": "~", "–": "-", "→": ">", "≠": "#", "·": ".", "─": "-"})
STYLES = {part: f"{colours.ink} on {colours.fill}" for part, colours in PARTS.items()}

Line = list[tuple[int, int, str, str]]  # pieces of a line: first column, last column, text, style


def show(trace: Trace, console: Console | None = None) -> None:
    """Print every recording of a trace, step by step."""
    _Printer(console or Console(highlight=False)).trace(trace)


class _Printer:
    def __init__(self, console: Console) -> None:
        self.console = console
        self.plain = "utf" not in console.encoding.lower()
        self.width = 0  # of a cell

    def trace(self, trace: Trace) -> None:
        for i, recording in enumerate(trace["recordings"]):
            if i:
                self.line("")
            self.recording(recording, trace["operations"])

    def recording(self, recording: Recording, operations: str) -> None:
        self.paragraph(f"{recording['class']} with {recording['operator']}: {operations}", 4, "bold")
        self.width = _cell_width(recording)
        for step in recording["steps"]:
            self.line("")
            self.step(step, recording)
        self.line("")
        self.summary(recording)

    def step(self, step: dict[str, Any], recording: Recording) -> None:
        operation = step["operation"]
        done = "empty" if operation is None else f"{operation['name']} {operation['value']}"
        partial = f" of {step['partial']['text']}" if step["partial"]["text"] not in ("", step["answer"]) else ""
        self.flow(
            Text(f"({step['label']}) {done:<12} ", style="bold").append(
                f"{', '.join(step['cases']):<14}", style="not bold"
            ),
            Text(f" combine {len(step['calls'])}, query {len(step['query'])}", style="dim"),
            Text(f"  answer {step['answer'] or '-'}{partial}"),
        )
        self.body(list(_lines(step, recording)))
        extras = [f"{extra['name']} {extra['text'] or '-'}" for extra in step["shape"]["extra"]]
        if extras and step["window"]:
            self.wrapped("kept", extras)
        calls = [_call(call) for call in step["calls"]]
        if calls:
            self.wrapped("calls", calls)

    def flow(self, *pieces: Text) -> None:
        """Pieces on one line, or on further ones where they do not fit."""
        line = Text()
        for piece in pieces:
            if line and len(line) + len(piece) > self.console.width:
                self.put(line)
                piece = Text(" " * MARGIN + piece.plain.strip(), style=piece.style)  # noqa: PLW2901
            else:
                piece = line + piece  # noqa: PLW2901
            line = piece
        self.put(line)

    def body(self, lines: list[tuple[str, Line]]) -> None:
        """All lines of a step; columns that do not fit go below, again with all lines."""
        per_line = max(1, (self.console.width - MARGIN) // (self.width + 1))
        last = max((piece[1] for _, line in lines for piece in line), default=-1)
        for start in range(0, last + 1, per_line):
            for name, line in lines:
                pieces = [piece for piece in line if piece[1] >= start and piece[0] < start + per_line]
                if pieces:
                    self.cells(name, pieces, start, start + per_line - 1)

    def cells(self, name: str, pieces: Line, start: int, last: int) -> None:
        """One line of cells, from one column to another."""
        each = self.width + 1
        text = Text(f"{name:>{MARGIN - 2}}  ")
        for begin, end, content, style in pieces:
            first, stop = max(begin, start), min(end, last)
            text.append(" " * (MARGIN + (first - start) * each - len(text)))
            width = (stop - first + 1) * each - 1
            text.append("─" * each if content == "─" else content.center(width), style=style)
        self.put(text)

    def wrapped(self, name: str, words: Sequence[str]) -> None:
        """Words behind a name, with a comma between them, on as many lines as they need."""
        line = ""
        for i, word in enumerate(words):
            piece = word + ("," if i + 1 < len(words) else "")
            if line and MARGIN + len(line) + 1 + len(piece) > self.console.width:
                self.line(f"{name:>{MARGIN - 2}}  {line}", "dim")
                name, line = "", ""
            line = f"{line} {piece}".strip()
        self.line(f"{name:>{MARGIN - 2}}  {line}", "dim")

    def summary(self, recording: Recording) -> None:
        steps = recording["steps"][1:]
        counts = []
        for name in ("insert", "evict"):
            calls = [len(step["calls"]) for step in steps if step["operation"]["name"] == name]
            if calls:
                counts.append(f"{name} {max(calls)} at most, {sum(calls) / len(calls):.1f} on average")
        query_calls = [len(step["query"]) for step in steps]
        self.paragraph(f"Calls of combine: {'; '.join(counts)}; query {max(query_calls)} at most.")
        used = dict.fromkeys(case for step in steps for case in step["cases"])
        for case in used:
            self.paragraph(f"  {case:<9} {recording['cases'][case]}", 12, "dim")
        if self.console.color_system is not None and recording["kind"] == "queue":
            parts = {cell["part"] for step in steps for cell in step["shape"]["cells"]}
            legend = Text("Colours: ")
            for part in (part for part in STYLES if part in parts):
                legend.append(f" {NAMES[part]} ", style=STYLES[part]).append(" ")
            self.put(legend)

    def paragraph(self, text: str, indent: int = 0, style: str = "") -> None:
        """A text on as many lines as it needs, all but the first indented."""
        for line in wrap(text, self.console.width, subsequent_indent=" " * indent, drop_whitespace=True):
            self.line(line, style)

    def line(self, text: str, style: str = "") -> None:
        self.put(Text(text, style=style))

    def put(self, text: Text) -> None:
        if self.plain:
            text.plain = text.plain.translate(ASCII)
        if self.console.color_system is None:
            text.rstrip()
        self.console.print(text, overflow="fold", soft_wrap=False, markup=False, highlight=False)


def _lines(step: dict[str, Any], recording: Recording) -> Iterable[tuple[str, Line]]:
    """The lines of a step, from top to bottom, each with its name."""
    shape = step["shape"]
    if recording["kind"] == "tree":
        yield from _tree_lines(shape)
    else:
        cells = shape["cells"]
        coins: Line = [(cell["at"], cell["at"], "●", "yellow") for cell in cells if cell.get("coin")]
        if coins:
            yield "coins", coins
        if step["window"]:
            yield "window", [(i, i, row["value"], "") for i, row in enumerate(step["window"])]
        for i in range(max((len(cell["fields"]) for cell in cells), default=0)):
            name = next(cell["fields"][i]["name"] for cell in cells)
            yield (
                name or "slots",
                [(cell["at"], cell["at"], cell["fields"][i]["text"] or "-", STYLES[cell["part"]]) for cell in cells],
            )
    marks: dict[int, str] = {}
    for name, place in shape["pointers"].items():
        short = len(name) == 1
        marks[place] = marks.get(place, "") + (name if short or place not in marks else f"/{name}")
    if marks:
        yield "", [(place, place, names, "bold") for place, names in sorted(marks.items())]


def _tree_lines(shape: dict[str, Any]) -> Iterable[tuple[str, Line]]:
    levels = sorted({node["level"] for node in shape["nodes"]}, reverse=True)
    for level in levels:
        line: Line = []
        above: Line = []
        for node in shape["nodes"]:
            if node["level"] != level:
                continue
            if "cells" not in node:
                line.append((node["from"], node["to"], node["text"], STYLES[node["part"]]))
                continue
            if node["text"]:
                above.append((node["from"], node["to"], node["text"], STYLES[node["part"]]))
            places = [cell["at"] for cell in node["cells"]]
            for cell in node["cells"]:
                line.append((cell["at"], cell["at"], cell["text"], STYLES[cell["part"]]))
            line += [(gap, gap, "─", "") for gap in range(places[0], places[-1]) if gap not in places]
        if above:
            yield "", sorted(above)
        yield f"level {level}", sorted(line)


def _cell_width(recording: Recording) -> int:
    """The width of the widest text of any cell, and of the pointers below it."""
    widest = 3
    for step in recording["steps"]:
        shape = step["shape"]
        texts = [field["text"] for cell in shape.get("cells", []) for field in cell["fields"]]
        for node in shape.get("nodes", []):
            texts += [node["text"], *(cell["text"] for cell in node.get("cells", []))]
        if step["window"]:
            marks = [names for _, line in _lines(step, recording) for *_, names, style in line if style == "bold"]
            widest = max(widest, *map(len, [*texts, *marks, ""]))
    return widest


def _call(call: dict[str, Any]) -> str:
    sign = "minus" if call.get("inverse") else "⊗"
    return f"{call['left']['text']} {sign} {call['right']['text']} = {call['gives']['text'] or '-'}"
