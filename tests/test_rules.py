"""Tests cite the rules of docs/semantics.md that they prove: every rule has a test, and no test a rule that is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent


def cited() -> Iterator[tuple[int, str]]:
    """Every `pytest.mark.rule(...)` of a test: its rules, each with the test's place."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule":
                        yield from ((ast.literal_eval(rule), f"{path.name}::{node.name}") for rule in mark.args)


def test_every_rule_of_the_semantics_is_cited_by_a_test_and_no_other_is() -> None:
    page = (TESTS.parent / "docs" / "semantics.md").read_text()
    rules = [int(number) for number in re.findall(r"^(\d+)\. \*\*", page, re.MULTILINE)]
    assert rules == list(range(1, len(rules) + 1))
    found = list(cited())
    assert sorted({rule for rule, _ in found}.symmetric_difference(rules)) == [], found
