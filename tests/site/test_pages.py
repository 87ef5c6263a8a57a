"""The site's pages: all are in the navigation, links and anchors lead somewhere, and notebooks show what runs.

The site itself is built by `make docs`, which is strict; this is quick and needs no MkDocs.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from site_tools import ROOT, tool

DOCS = ROOT / "docs"
GENERATED = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
FENCE = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def source_of(entry: str) -> Path:
    """The file that an entry of the navigation is made of."""
    if entry.startswith("files/"):  # a folder of the repository
        return ROOT / entry.removeprefix("files/").removesuffix(".md")
    if entry.startswith("notebooks/"):
        return DOCS / Path(entry).with_suffix(".ipynb")
    return ROOT / GENERATED[entry] if entry in GENERATED else DOCS / entry


def test_every_page_is_in_the_navigation_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    entries = re.findall(r"^ +- (?:.*: )?(\S+\.md)$", nav, re.MULTILINE)
    sources = [source_of(entry) for entry in entries]
    assert len(set(sources)) == len(sources)
    pages = {*PAGES, *NOTEBOOKS}
    missing = sorted(str(page.relative_to(ROOT)) for page in pages - set(sources))
    assert not missing, f"add to the navigation in mkdocs.yml: {missing}"
    assert all(source.exists() for source in sources)


def slug(heading: str) -> str:
    """The anchor of a heading, as Markdown's extension `toc` makes it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+?)(?: \{ #([\w-]+) \})?$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {own or slug(heading) for heading, own in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}, which has no such heading"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_show_what_their_cells_give(path: Path) -> None:
    """As it is stored; what `python docs/site/notebooks.py` would store now is the same."""
    notebooks = tool("notebooks")
    stored = notebooks.read(path)
    now = notebooks.run(stored, path.name)
    shown = 0
    for before, after in zip(stored["cells"], now["cells"], strict=True):
        if before["cell_type"] != "code" or "varies" in before["metadata"].get("tags", ()):
            continue
        plain = [[output.get("data", output).get("text/plain", output.get("text")) for output in cell["outputs"]]
                 for cell in (before, after)]  # fmt: skip
        assert plain[0] == plain[1], f"run: python docs/site/notebooks.py\n{''.join(before['source'])}"
        assert [sorted(o.get("data", {})) for o in before["outputs"]] == [
            sorted(o.get("data", {})) for o in after["outputs"]
        ]
        shown += len(plain[0])
    assert shown >= 7
    page = notebooks.page(stored, path.name)
    assert page.count("```python") == sum(cell["cell_type"] == "code" for cell in stored["cells"])
    assert '<div class="notebook-output">' in page


def test_the_check_of_the_built_site_finds_what_is_wrong(tmp_path: Path) -> None:
    check = tool("check")
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "search_index.json").write_text('{"docs": [1, 2]}')
    (tmp_path / "one.html").write_text(
        '<h1 id="top">one</h1><a href="two.html#there">two</a><a href="https://a.b">b</a>'
    )
    (tmp_path / "two.html").write_text('<h2 id="there">two</h2><a href="one.html">one</a><img src="x.svg">')
    (tmp_path / "x.svg").write_text("<svg/>")
    assert check.problems(tmp_path) == []
    (tmp_path / "x.svg").unlink()
    (tmp_path / "one.html").write_text('<a href="two.html#gone">2</a><script src="https://cdn.example/a.js"></script>')
    (tmp_path / "site.css").write_text("@font-face { src: url(//fonts.example/a.woff) }")
    assert check.problems(tmp_path) == [
        "one.html loads https://cdn.example/a.js",
        "one.html links to two.html#gone, which has no such anchor",
        "two.html links to x.svg, which is not there",
        "site.css loads //fonts.example/a.woff",
    ]
