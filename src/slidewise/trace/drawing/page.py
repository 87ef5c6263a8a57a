"""A page to step through a trace: one file that needs no other, and no network."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from slidewise.trace.record import Trace, to_json


def to_html(trace: Trace) -> str:
    """The trace as a page, with its JSON, its style and its script inside."""
    classes = dict.fromkeys(recording["class"] for recording in trace["recordings"])
    title = f"{', '.join(classes)} step by step" if len(classes) < 4 else f"{len(classes)} algorithms step by step"
    parts = {
        "title": escape(title),
        "style": _part("page.css"),
        "script": _part("page.js"),
        # "<" would end the script element inside a text; JSON may write it as an escape.
        "trace": to_json(trace).replace("<", "\\u003c"),
    }
    page = _part("page.html")
    pieces = page.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def _part(name: str) -> str:
    return (files("slidewise.trace.drawing") / name).read_text(encoding="utf-8")
