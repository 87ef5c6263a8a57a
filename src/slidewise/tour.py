"""A short tour in the terminal: a window slides over 20 values, kept by DABA Lite."""

from __future__ import annotations

import time

from rich.console import Console
from rich.text import Text

import slidewise as sw
from slidewise.swag.structures.pointers import Pointers, cases

VALUES = (4, 5, 3, 4, 0, 4, 4, 2, 6, 6, 1, 3, 6, 2, 2, 7, 0, 5, 5, 1)
ROWS = 7

# The sublists of DABA Lite, in the paper's colours: blue ones hold aggregates, green ones plain values.
COLOURS = {"l_F": "bold blue", "l_L": "cyan", "l_R": "green", "l_A": "bold blue", "l_B": "bold green"}


def tour(console: Console | None = None, pause: float = 0.0) -> None:
    """Insert 20 values into a window of 7 rows; show the window, its answers and what DABA Lite did for each."""
    console = console or Console(highlight=False)
    calls = 0

    def counted(a: object, b: object) -> object:
        nonlocal calls
        calls += 1
        return sw.max.combine(a, b)

    greatest = sw.DabaLite(sw.operator(name="max", identity=None, combine=counted))
    how_often = sw.DabaLite(sw.maxcount)

    console.print(
        f"A window of the last {ROWS} rows slides over {len(VALUES)} values. At every step DABA Lite knows the "
        "greatest value and how often it occurs, at a worst-case constant number of calls of the operator.\n"
    )
    head = f"{'step':>4}  {'in':>2} {'out':>3}  {'window':<{2 * ROWS}} max  maxcount  calls  cases"
    console.print(head, style="bold")
    window: list[int] = []
    most = 0
    for step, value in enumerate(VALUES, 1):
        before_step = calls
        did: list[str] = []
        out = ""
        if len(window) == ROWS:
            out = str(window.pop(0))
            before = Pointers.of(greatest)
            greatest.evict()
            how_often.evict()
            did += ["out:", *cases(before, Pointers.of(greatest))]
        before = Pointers.of(greatest)
        greatest.insert(value)
        how_often.insert(value)
        window.append(value)
        did += ["in:", *cases(before, Pointers.of(greatest))]
        answer = greatest.query()
        spent = calls - before_step
        most = max(most, spent)
        line = Text(f"{step:>4}  {value:>2} {out:>3}  ")
        line.append_text(_coloured(window, Pointers.of(greatest)))
        line.append(f" {answer:>3}  {how_often.query():>8}  {spent:>5}  ")
        line.append(" ".join(did), style="dim")
        console.print(line)
        if pause:
            time.sleep(pause)
    console.print(
        f"\nCalls of max in one step (evict, insert and query): {most} at most, {calls / len(VALUES):.1f} on average."
        f"\nThe bound is 2 + 3 + 1 = 6 in one step, and 4 on average, whatever the window's size."
    )
    console.print(
        "\nCases: a [bold]flip[/] starts to turn the back of the window into its front, each [bold]shrink[/] does a "
        "constant part of that, and each [bold]shift[/] moves on; so no step ever pays for the whole window."
    )
    if console.color_system is not None:
        console.print(
            "Colours: [bold blue]aggregates up to the back[/], [cyan]aggregates up to the middle[/], "
            "[green]values being turned round[/], [bold green]new values[/]."
        )
    console.print("\nNext: README.md, or [bold].venv/bin/slidewise operators[/] for all that a window can compute.")


def _coloured(window: list[int], pointers: Pointers) -> Text:
    F, L, R, A, B, _ = pointers
    text = Text()
    for p, value in enumerate(window, F):
        name = "l_F" if p < L else "l_L" if p < R else "l_R" if p < A else "l_A" if p < B else "l_B"
        text.append(f"{value} ", style=COLOURS[name])
    text.pad_right(2 * ROWS - len(text))
    return text
