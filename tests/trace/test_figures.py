"""Figures: the SVG is well-formed and holds every cell where it belongs, and the PNG is one."""

from __future__ import annotations

import itertools
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from slidewise.cli import main
from slidewise.trace import TraceError, record
from slidewise.trace.drawing.colours import PARTS
from slidewise.trace.drawing.png import to_png
from slidewise.trace.drawing.scene import Box, Coin, Label, Segment, scene
from slidewise.trace.drawing.svg import to_svg
from slidewise.trace.operations import random_operations
from slidewise.trace.views.catalogue import VIEWS

EXAMPLE = "insert 4 5 3 4 0 4 4; evict 2; insert 2 6"
TREES = [view.name for view in VIEWS.values() if view.kind == "tree"]


def test_the_svg_holds_every_cell_in_its_colour() -> None:
    trace = record("daba-lite", EXAMPLE, "maxcount")
    root = ET.fromstring(to_svg(trace))
    tag = "{http://www.w3.org/2000/svg}"
    groups = root.findall(f"{tag}g")
    drawn = [(group.find(f"{tag}rect").get("fill"), group.find(f"{tag}text").text) for group in groups]  # type: ignore[union-attr]
    cells = [
        (PARTS[cell["part"]].fill, cell["fields"][0]["text"])
        for step in trace["recordings"][0]["steps"]
        for cell in step["shape"]["cells"]
    ]
    for one in cells:
        assert one in drawn
    titles = [group.find(f"{tag}title") for group in groups]
    assert any(t is not None and "4×3: rows 2 to 6 (3 4 0 4 4). front, [F, L)" in str(t.text) for t in titles)


def test_cells_slide_to_the_right_and_pointers_stand_below_them() -> None:
    trace = record("daba-lite", EXAMPLE, "concat")
    drawn = scene(trace).shapes
    xs = {shape.text: shape.x for shape in drawn if isinstance(shape, Box) and len(shape.text) == 1}
    steps = {xs[letter] - xs["e"] for letter in "fghi"}
    assert sorted(steps) == [i * (xs["f"] - xs["e"]) for i in (1, 2, 3, 4)]
    [last] = [shape for shape in drawn if isinstance(shape, Box) and shape.text == "i"]
    below = [shape for shape in drawn if isinstance(shape, Label) and shape.tone == "pointer" and shape.y > last.y]
    assert [shape.text for shape in below] == ["F", "LRA", "B", "E"]
    assert below[-1].x == pytest.approx(last.x + last.width + 3)


def test_two_stacks_have_coins() -> None:
    coins = [shape for shape in scene(record("two-stacks", EXAMPLE, "concat")).shapes if isinstance(shape, Coin)]
    assert len(coins) == 1 + 2 + 3 + 4 + 5 + 6 + 7 + 1 + 2


@pytest.mark.parametrize("name", TREES)
def test_the_edges_of_trees_join_nodes(name: str) -> None:
    trace = record(name, random_operations(40, 6), "concat")
    drawn = scene(trace).shapes
    edges = [shape for shape in drawn if isinstance(shape, Segment)]
    nodes = [node for step in trace["recordings"][0]["steps"] for node in step["shape"]["nodes"]]
    assert len(edges) == sum(node["parent"] is not None for node in nodes) > 50
    tops = {(round(box.x + box.width / 2), round(box.y)) for box in drawn if isinstance(box, Box)}
    tops |= {(x, y + 3) for x, y in tops}  # a frame begins before its cells
    assert {(round(edge.x2), round(edge.y2)) for edge in edges} <= tops
    assert all(edge.y1 < edge.y2 for edge in edges)


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in ("slick-deque", "subtract-on-evict")])
def test_cells_do_not_overlap_and_lie_inside(name: str) -> None:
    drawn = scene(record(name, random_operations(20, 9), "concat"))
    boxes = [shape for shape in drawn.shapes if isinstance(shape, Box) and shape.part]
    for box in boxes:
        assert box.x >= 0
        assert box.x + box.width <= drawn.width
        assert box.y + box.height <= drawn.height
    for one, other in itertools.combinations(boxes, 2):
        apart = one.x + one.width <= other.x + 0.1 or other.x + other.width <= one.x + 0.1
        assert apart or one.y + one.height <= other.y + 0.1 or other.y + other.height <= one.y + 0.1, (one, other)


def test_steps_of_several_panels_stand_side_by_side() -> None:
    drawn = scene(record(["two-stacks-lite", "daba", "amta"], EXAMPLE, "concat")).shapes
    heights = {shape.y for shape in drawn if isinstance(shape, Label) and shape.tone == "pointer"}
    assert len(heights) == 12, "the pointers of one step stand at one height"


def test_values_are_escaped() -> None:
    svg = to_svg(record("daba-lite", "insert <b>&", "concat"))
    assert "&lt;b&gt;&amp;" in svg
    ET.fromstring(svg)


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "a.png"
    assert main(["trace", "daba-lite", "insert 4 5; evict", "--png", str(file)]) == 0
    head = file.read_bytes()
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    drawn = scene(record("daba-lite", "insert 4 5; evict"))
    assert abs(int.from_bytes(head[16:20]) - 2 * drawn.width) <= 2


def test_png_without_matplotlib_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(TraceError, match="pip install 'slidewise\\[plots\\]', or write --svg"):
        to_png(record("daba-lite", "insert 4"))


def test_a_png_that_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(TraceError, match="too large for a PNG"):
        to_png(record("daba-lite", random_operations(500, 1)))


def test_files_are_written_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / name) for name in ("a.json", "a.svg")]
    assert main(["trace", "daba", "insert 4", "--json", paths[0], "--svg", paths[1]]) == 0
    assert capsys.readouterr().out == "".join(f"wrote {path}\n" for path in paths)


@pytest.mark.parametrize("page", ["docs/overview.md", "docs/traces.md"])
def test_the_figures_in_the_docs_are_those_that_their_commands_make(page: str) -> None:
    root = Path(__file__).parents[2]
    commands = re.findall(r'slidewise trace (\S+) --operator (\S+) "(.*)" --svg (\S+)', (root / page).read_text())
    assert commands
    for algorithm, operator, operations, file in commands:
        assert (root / file).read_text() == to_svg(record(algorithm, operations, operator)), f"make {file} again"
        assert f"]({Path(file).relative_to(Path(page).parent)})" in (root / page).read_text()
