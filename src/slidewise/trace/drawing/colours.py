"""The paper's colours: blue partials reach towards the window's end, green ones are new or being turned round."""

from __future__ import annotations

from typing import NamedTuple


class Colours(NamedTuple):
    """A cell's fill, and the ink of the text on it, both readable by people who do not tell colours apart."""

    fill: str
    ink: str


# By the part of the structure that a cell belongs to, in the order of the queue.
PARTS = {
    "F": Colours("#1f4e9e", "#ffffff"),
    "L": Colours("#b5d3f2", "#10233f"),
    "R": Colours("#c4e6b8", "#12301a"),
    "A": Colours("#1f4e9e", "#ffffff"),
    "B": Colours("#2e7d4f", "#ffffff"),
    "none": Colours("#e8eaed", "#5f6368"),
}
NAMES = {"F": "front", "L": "left", "R": "right", "A": "accumulator", "B": "back", "none": "empty"}
COIN = "#e0a800"
EDGE = "#9aa5b1"
FRAME = "#f4f6f8"
TONES = {"ink": "#1f2933", "soft": "#616e7c", "pointer": "#b03a2e"}
