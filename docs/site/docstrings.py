"""An extension of Griffe: examples in docstrings are blocks of code on the site, and pages that they name are links."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

PAGE = re.compile(r"\bdocs/(\w+)\.md\b")


class Examples(Extension):
    """Put fences around doctests, which docstrings have without a heading, and make links of names of pages."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(linked(obj.docstring.value))


def linked(text: str) -> str:
    """The text with `docs/spark.md` as a link, from a page of docs/api."""
    return PAGE.sub(lambda match: f"[{match[1].replace('_', ' ')}](../{match[1]}.html)", text)


def fenced(text: str) -> str:
    """The text with its doctests as blocks of code, each up to an empty line."""
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.startswith(">>> "):
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.partition("  # doctest:")[0] if inside else line)
    return "\n".join(lines).rstrip()
