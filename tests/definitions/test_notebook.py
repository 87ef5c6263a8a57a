"""What notebooks show of definitions, explanations and traces: plain HTML, escaped, without scripts."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

import slidewise as sw
from slidewise.trace.record import MOST_DRAWN, from_json, record, to_json

HOSTILE = "<script>alert('x')</script><img src=x onerror=\"alert(1)\">&'"
EMPTY = {"img", "rect", "line", "circle"}


class Reader(HTMLParser):
    """Elements with their attributes, the text between them, and what is open."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in EMPTY, tag
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(shown: Any) -> Reader:
    page = Reader(shown._repr_html_())
    for tag, attributes in page.elements:
        assert tag not in ("script", "style", "img", "link", "iframe"), tag
        assert not [name for name in attributes if name.startswith("on") or name in ("href", "src")]
        if tag not in ("svg", "rect", "text", "line", "circle", "g", "title"):  # a figure has a ground of its own
            style = (attributes.get("style") or "").replace("rgba(128, 128, 128", "")
            assert not any(word in style for word in ("color:", "background", "#", "rgb")), style
    return page


def health(**columns: Any) -> sw.Sliding:
    return sw.Sliding(by="machine", on="ts", peak=sw.max("temp").over("10 minutes"), columns=columns)


def test_a_definition_shows_its_keys_its_columns_and_its_code() -> None:
    z = (sw.col("temp") - sw.mean("temp").over("1 hour")) / sw.stddev("temp").over("1 hour")
    page = read(health(z=z))
    for words in ("machine", "ts", "peak", "10 minutes", str(z), repr(health(z=z))):
        assert words in page.text
    rows = sw.Sliding(n=sw.count().over(rows=3))
    assert "count" in read(rows).text
    assert "1 minute" in read(sw.Sliding(on="ts", every="1 minute", n=sw.count().over("1 hour"))).text


def test_an_explanation_shows_what_its_text_says() -> None:
    definition = health(z=sw.col("temp") - sw.mean("temp").over("30 days"))
    beat = sw.Sliding(by="machine", on="ts", every="1 minute", n=sw.count().over("1 hour"))
    for explanation in (definition.explain(rate=10_000.0), beat.explain()):
        shown = "".join(read(explanation).text.split())
        for line in str(explanation).splitlines():
            name, _, rest = line.partition(": ")
            assert "".join(name.split()) in shown
            assert "".join(rest.split()) in shown


@pytest.mark.parametrize("where", ["by", "on", "ties", "name", "column", "condition", "feature set"])
def test_hostile_names_are_escaped(where: str) -> None:
    peak = sw.max(HOSTILE if where == "column" else "temp").over("10 minutes")
    if where == "condition":
        peak = sw.max("temp").where(sw.col(HOSTILE) == HOSTILE).over("10 minutes")
    definition = sw.Sliding(
        by=HOSTILE if where == "by" else "machine",
        on=HOSTILE if where == "on" else "ts",
        ties=HOSTILE if where == "ties" else (),
        columns={HOSTILE if where == "name" else "peak": peak},
    )
    shown = sw.FeatureSet({HOSTILE: definition}) if where == "feature set" else definition
    assert "alert(" in read(shown).text
    read(definition.explain(rate=1e6))


def test_hostile_operators_are_escaped() -> None:
    hostile = sw.operator(name=HOSTILE, identity=0, combine=lambda a, b: a + b)
    definition = sw.Sliding(by="k", total=hostile("x").over(rows=3))
    assert "alert(" in read(definition).text
    assert "alert(" in read(definition.explain()).text
    traced = record("daba-lite", "insert <b> \"'; evict 1", "concat")
    assert "<b>" in read(traced).text


def test_a_trace_shows_its_figure() -> None:
    trace = record(["daba-lite", "two-stacks"], "insert 4 5 3; evict 2", "maxcount")
    page = read(trace)
    assert "DabaLite" in page.text
    assert "TwoStacks" in page.text
    assert "steps" not in page.text
    assert read(from_json(to_json(trace))).text == page.text
    long = record("daba-lite", "insert " + " ".join(["4 5 3"] * 20), "maxcount")
    assert f"the first {MOST_DRAWN} of 61 steps" in read(long).text
    assert len(long["recordings"][0]["steps"]) == 61
