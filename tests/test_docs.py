"""The examples in the README and the docs run, their links lead somewhere, and the generated table is up to date."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from slidewise.operators import CATALOGUE
from slidewise.operators.table import markdown_table

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path) -> None:
    """Python blocks run from top to bottom as one program; blocks with prompts are doctests."""
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    names: dict[str, object] = {}
    for block in re.finditer(r"^```(python|pycon)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        kind, code = block.groups()
        line = page.read_text()[: block.start()].count("\n") + 1
        if kind == "python":
            exec(compile("\n" * line + code, str(page), "exec"), names)
        else:
            test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), line)
            runner = doctest.DocTestRunner(optionflags=flags)
            report: list[str] = []
            runner.run(test, out=report.append, clear_globs=False)
            names = test.globs
            assert runner.summarize(verbose=False).failed == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_table_of_operators_is_the_generated_one() -> None:
    text = (ROOT / "docs" / "operators.md").read_text()
    assert markdown_table() in text, "run: slidewise operators --markdown, and put the table into docs/operators.md"


def test_the_overview_counts_the_operators() -> None:
    assert f"\n{len(CATALOGUE)} operators are built in" in (ROOT / "docs" / "overview.md").read_text()


def test_there_are_examples_to_run() -> None:
    assert "```pycon" in (ROOT / "README.md").read_text()
