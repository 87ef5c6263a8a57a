"""A checkpoint's contents in the terminal: tables, and bars of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_WIDTH = 32  # of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show(console: Console, found: dict[str, Any], plot: str | None = None) -> None:
    """Print what `look` gave."""
    if not console.is_terminal:
        console.width = 160
    _print(console, f"checkpoint     {found['checkpoint']}")
    _print(console, f"watermark      {found['watermark'] or 'none yet: all rows wait'}")
    if found["forget_after"]:
        _print(console, f"forget_after   {found['forget_after']}")
    _print(console, f"written by     {found['definition_text']}\n")
    if "total" in found:
        _show_contents(console, found)
    for key in found.get("keys", ()):
        _show_key(console, key)
    if "problems" in found:
        _show_problems(console, found)
    if plot is not None:
        _print(console, f"picture        {plot}")


def _print(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, soft_wrap=True, markup=False, style=style)


def _show_contents(console: Console, found: dict[str, Any]) -> None:
    total = found["total"]
    table = _table("shard", "#keys", "#large", "#rows", "#cells", "#pages", "#bytes", "#waiting", "watermark")
    for shard in found["shards"]:
        if "error" in shard:
            table.add_row(str(shard["shard"]), "damaged", style="bold red")
            continue
        numbers = [f"{shard[name]:,}" for name in ("keys", "large", "rows", "cells", "pages")]
        waiting = f"{shard['waiting']['rows']:,}"
        table.add_row(
            str(shard["shard"]), *numbers, shown_bytes(shard["bytes"]), waiting, shard["watermark"] or "none yet"
        )
    numbers = [f"{total[name]:,}" for name in ("keys", "large", "rows", "cells", "pages")]
    table.add_row("all", *numbers, shown_bytes(total["bytes"]), f"{total['waiting']['rows']:,}", "", style="bold")
    console.print(table)
    for shard in found["shards"]:
        if "error" in shard:
            _print(console, f"shard {shard['shard']} cannot be read: {shard['error']}\n", "bold red")
    kinds = {kind: size for kind, size in total["bytes_by_kind"].items() if size}
    _bars(console, "bytes by kind of page", list(kinds), list(kinds.values()), [shown_bytes(n) for n in kinds.values()])
    sizes = total["keys_by_bytes"]
    _bars(
        console,
        "keys by their bytes",
        [f"up to {shown_bytes(each['up_to'])}" for each in sizes],
        [each["keys"] for each in sizes],
        [f"{each['keys']:,} keys, {shown_bytes(each['bytes'])}" for each in sizes],
    )
    largest = total["largest"]
    _bars(
        console,
        "the largest keys",
        [shown_key(each["key"]) for each in largest],
        [each["bytes"] for each in largest],
        [
            f"{shown_bytes(each['bytes'])}: {each['rows']:,} rows, {each['cells']:,} cells; newest {each['newest']}"
            for each in largest
        ],
    )
    waiting = total["waiting"]
    if waiting["rows"]:
        title = f"{waiting['rows']:,} waiting rows, {waiting['first']} to {waiting['last']}"
        counts = waiting["over_time"]
        _bars(console, title, found["waiting_from"][: len(counts)], counts, [f"{count:,}" for count in counts])
    if total["history_until"]:
        _print(console, f"a history up to {total['history_until']} was loaded before the stream began")
    for name, time in total["warming"].items():
        when = "each key has had the rows that it lacks" if time is None else f"{time}"
        _print(console, f"{name} is incomplete since an upgrade, until {when}")
    _print(console, f"page format    {', '.join(map(str, total['versions']))}")


def _show_key(console: Console, found: dict[str, Any]) -> None:
    _print(console, f"key            {shown_key(found['key'])}")
    if found["newest"] is not None:
        _print(console, f"newest row     {found['newest']}")
    _print(console, f"as of          {found['as_of']}, {_MOMENTS[found['newest'] is None]}")
    if found["windows"]:
        table = _table("aggregate", "over", "#rows", "answer")
        for window in found["windows"]:
            name, aggregate = escape(window["name"]), escape(window["aggregate"])
            table.add_row(name, aggregate, f"{window['rows']:,}", escape(_short(window["answer"])))
        console.print(table)
    named = {window["name"] for window in found["windows"]}
    columns = {name: answer for name, answer in (found["answers"] or {}).items() if name not in named}
    if columns:
        table = _table("column", "answer")
        for name, answer in columns.items():
            table.add_row(escape(name), escape(_short(answer)))
        console.print(table)
    elif not found["windows"]:
        _print(console, "no window of the key holds a row there\n")


_MOMENTS = {
    False: "the first moment that a row to come can have; all that were released are in",
    True: "the next beat, as if no row came before it",
}


def _show_problems(console: Console, found: dict[str, Any]) -> None:
    problems = found["problems"]
    if not problems:
        _print(console, f"sound          all {found['pages']:,} pages, and what is in them")
        return
    table = _table("shard", "page", "what is wrong")
    for problem in problems:
        table.add_row(str(problem["shard"]), str(problem["page"]), escape(problem["what"]))
    console.print(table)
    shards = sorted({problem["shard"] for problem in problems})
    _print(
        console,
        f"damaged: shard {', '.join(map(str, shards))}; restore the checkpoint from a copy, or start from a new one",
        "bold red",
    )


def _table(*names: str) -> Table:
    """A table with these columns; those with a # are numbers."""
    table = Table(box=SIMPLE_HEAD)
    for name in names:
        number = name.startswith("#")
        table.add_column(name.lstrip("#"), justify="right" if number else "left", no_wrap=number, overflow="fold")
    return table


def _bars(console: Console, title: str, names: Sequence[str], sizes: Sequence[int], shown: Sequence[str]) -> None:
    if not sizes:
        return
    table = Table(title=escape(title), title_justify="left", box=None, show_header=False, padding=(0, 1))
    table.add_column(justify="right", overflow="fold")
    table.add_column(no_wrap=True, width=_WIDTH)
    table.add_column(overflow="fold")
    most = max(sizes)
    for name, size, text in zip(names, sizes, shown, strict=True):
        table.add_row(escape(name), bar(size, most), escape(text))
    console.print(table)
    console.print()


def bar(size: int, most: int, width: int = _WIDTH) -> str:
    """A bar as long as a size is of the greatest, to an eighth of a character; what is not 0 can be seen.

    >>> bar(1, 2, 5), bar(0, 2, 5), bar(1, 10**6, 5)
    ('██▌', '', '▏')
    """
    eighths = max(round(8 * width * size / max(most, 1)), 1) if size else 0
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def shown_bytes(size: int) -> str:
    """A number of bytes for people.

    >>> shown_bytes(999), shown_bytes(1_500), shown_bytes(64 * 1_024), shown_bytes(3_000_000)
    ('999 B', '1.5 KB', '64 KB', '2.9 MB')
    """
    value, unit = float(size), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if value < 1_000:
            break
        value, unit = value / 1_024, larger
    return f"{value:.1f} {unit}" if value < 10 and unit != "B" else f"{value:.0f} {unit}"


def shown_key(key: dict[str, Any]) -> str:
    """A key for people: its columns by name.

    >>> shown_key({"machine": 7, "site": None}), shown_key({})
    ('machine=7, site=null', '(the only key)')
    """
    parts = [f"{name}={'null' if value is None else value}" for name, value in key.items()]
    return ", ".join(parts) or "(the only key)"


def _short(answer: object) -> str:
    text = str(answer) if answer is not None else "null"
    return text if len(text) <= 200 else f"{text[:180]}... ({len(text)} characters)"
