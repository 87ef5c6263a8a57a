"""The page of an audit: what it shows, that it needs no other file, and that data cannot write HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
from audit.test_audit import CARD, EVENTS, SERVED, audit, replaced

import slidewise as sw
from slidewise.audit.page import html_of
from slidewise.audit.timeline_plot import MOST, plot

EVIL = '<script>alert("1")</script>&'


class Tags(HTMLParser):
    """Every tag of a page, and whether they are closed in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "!doctype"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(page: str) -> list[str]:
    parser = Tags()
    parser.feed(page)
    assert parser.open == []
    return parser.seen


def test_the_page(tmp_path: Path) -> None:
    of = audit(replaced(SERVED, 120, "spent", 0.5), EVENTS)
    path = of.report(tmp_path / "deep" / "audit.html")
    page = path.read_text()
    assert {"svg", "rect", "table", "pre"} <= set(tags(page))
    assert "1 of 2,000 answers differ (99.95 % are equal)" in page
    assert "99.75 %" in page, "the share of equal answers by column"
    assert CARD.fingerprint() in page
    assert f"Slidewise {sw.__version__}" in page
    assert len(re.findall(r"<rect[^>]* fill=\"#d64545\">", page)) == 1, "one stretch of time has the difference"
    assert not re.search(r"(src|href)=|url\(|@import", page), "no other file is needed"
    assert of.to_html(tmp_path / "again.html").read_text() == page


def test_a_page_of_equal_answers() -> None:
    page = html_of(audit(SERVED, EVENTS))
    assert '<p class="good">0 of 2,000 answers differ' in page
    assert "<svg" in page
    assert "#d64545" not in page.split("</style>")[1]
    assert "answers that differ</h2>" not in page
    tags(html_of(audit(SERVED.slice(0, 0), EVENTS)))
    tags(html_of(audit(SERVED.slice(0, 1), EVENTS)))


def test_data_cannot_write_html() -> None:
    definition = sw.Sliding(by=[EVIL + "k"], on=EVIL + "t", columns={EVIL: sw.last(EVIL + "x").over(rows=1)})
    events = pa.table({EVIL + "k": [EVIL], EVIL + "t": [1], EVIL + "x": [EVIL]})
    log = pa.table({EVIL + "k": [EVIL, EVIL], EVIL + "t": [2, 3], EVIL: [EVIL + "y", None]})
    of = definition.audit(log, events)
    assert of.unequal == 2
    page = html_of(of)
    assert "script" not in tags(page)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 8


def test_a_terminal_is_not_moved_by_data() -> None:
    definition = sw.Sliding(by="k", on="t", x=sw.last("x").over(rows=1))
    log = pa.table({"k": ["\x1b[2J\nkey"], "t": [2], "x": ["\x1b]0;title\x07"]})
    text = str(definition.audit(log, pa.table({"k": ["a"], "t": [1], "x": ["b"]})))
    assert "\x1b" not in text
    assert "�[2J�key" in text


def test_the_plot_shows_the_worst_columns_first() -> None:
    columns = {f"c{at}": sw.count().over(10 + at) for at in range(MOST + 6)}
    definition = sw.Sliding(on="t", columns=columns)
    events = pa.table({"t": list(range(40))})
    log = definition.as_of(events, events)
    of = definition.audit(replaced(log, 7, f"c{MOST + 3}", -1), events)
    drawn = re.findall(r">(c\d+)</text>", plot(of))
    assert len(drawn) == MOST
    assert drawn[0] == f"c{MOST + 3}"
    assert f"The {MOST} columns with most differences are shown, of {MOST + 6}." in html_of(of)
