"""Nothing outside `operators` tells operators apart by their names: they describe themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import slidewise
from slidewise.operators import CATALOGUE

PACKAGE = Path(slidewise.__file__).parent
NAMES = {op.name for op in CATALOGUE}
# What holds an operator, by how variables and attributes are called: op, self.op, one.operator, operators[0], ...
HOLDER = re.compile(r"(^|[._])(op|operator|ops|operators|original)(\[[^]]*\])?$")


def is_operators_name(node: ast.expr) -> bool:
    """Whether an expression is the name of an operator: `op.name`, `self.op.name`, `one.operator.name`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "name"
        and HOLDER.search(re.sub(r"\(.*\)$", "", ast.unparse(node.value))) is not None
    )


def texts(node: ast.expr) -> set[str]:
    """The texts that stand in an expression."""
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def offences(source: str) -> Iterator[str]:
    """Where a name is compared, looked up, or taken apart; and lists of operators' names."""
    for node in ast.walk(ast.parse(source)):
        found = False
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            found = any(map(is_operators_name, sides)) and any(texts(side) for side in sides)
        elif isinstance(node, ast.Subscript):
            found = is_operators_name(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            looked_up = node.func.attr == "get" and bool(node.args) and is_operators_name(node.args[0])
            found = looked_up or (is_operators_name(node.func.value) and node.func.attr != "join")
        elif isinstance(node, ast.Match):
            found = is_operators_name(node.subject)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) > 1:
            constants = [one.value for one in node.elts if isinstance(one, ast.Constant)]
            found = len(constants) == len(node.elts) and set(constants) <= NAMES - AMBIGUOUS
        if found:
            yield f"line {node.lineno}: {ast.unparse(node)[:100]}"


# Words that stand for other things as well: columns of a report, fields, reductions.
AMBIGUOUS = {"count", "mean", "max", "min", "first", "last", "sum", "median", "product"}


def test_nobody_asks_for_an_operators_name() -> None:
    wrong = {
        str(path.relative_to(PACKAGE)): found
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] != "operators" and (found := list(offences(path.read_text())))
    }
    assert not wrong


@pytest.mark.parametrize(
    "source",
    [
        "if op.builtin and op.name == 'count': pass",
        "if self.op.name in ('max', 'min'): pass",
        "if 'max' != one.operator.name: pass",
        "PASSES[operator.name](x)",
        "PASSES.get(op.name)",
        "if op.name.startswith('bool_'): pass",
        "match aggregate.operator.name:\n    case 'max': pass",
        "if ops[0].name == 'max': pass",
        "SPECIAL = ('geomean', 'variance')",
    ],
)
def test_the_test_finds_such_places(source: str) -> None:
    assert list(offences(source))


@pytest.mark.parametrize(
    "source",
    ["f'{op.name} takes numbers'", "if column.name == 'ts': pass", "PASSES[op.traits.form](x)", "Kernel(op.name)"],
)
def test_the_test_lets_others_be(source: str) -> None:
    assert not list(offences(source))
