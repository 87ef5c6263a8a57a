"""The reference has every public name and no other, and docstrings say what is taken, given and raised."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
from site_tools import ROOT, tool

import slidewise as sw
from slidewise.operators import CATALOGUE
from slidewise.swag.interface import Swag

API = ROOT / "docs" / "api"
LAZY = ["SlidingFeatures"]  # public, and not in __all__, since importing it needs an extra
PUBLIC = [*sw.__all__, *LAZY]
OPERATORS = {op.name for op in CATALOGUE}


def described() -> list[str]:
    """The names that the reference describes: objects whose docstrings it shows, and headings of operators."""
    text = "".join(path.read_text() for path in sorted(API.glob("*.md")))
    shown = re.findall(r"^::: slidewise\.(\w+)$", text, re.MULTILINE)
    return shown + re.findall(r"^## `(\w+)` \{ #\1 \}$", text, re.MULTILINE)


def test_the_reference_has_every_public_name_once() -> None:
    assert sorted(described()) == sorted(PUBLIC)


def test_the_page_of_operators_is_the_generated_one() -> None:
    written = (API / "operators.md").read_text()
    assert tool("write_operators").page() == written, "run: python docs/site/write_operators.py"


def documented() -> Iterator[tuple[str, Any]]:
    """What the reference shows with its docstring, by name: classes and functions, and the members that it lists."""
    text = "".join(path.read_text() for path in sorted(API.glob("*.md")))
    for entry in re.finditer(r"^::: (slidewise\.[\w.]+)\n((?: +.*\n)*)", text, re.MULTILINE):
        module, _, name = entry[1].rpartition(".")
        value = getattr(import_module(module), name)
        if name != "Live":
            yield name, value
            members = re.search(r"members: \[(.*)\]", entry[2])
            for own in filter(None, members[1].split(", ") if members else ()):
                method = inspect.getattr_static(value, own)
                if not isinstance(method, property):
                    yield f"{name}.{own}", method.__func__ if isinstance(method, classmethod) else method


DOCUMENTED = dict(documented())


def sections(doc: str) -> dict[str, str]:
    found = re.split(r"^(Args|Returns|Raises):\n", inspect.cleandoc(doc), flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def parameters_of(value: Callable[..., Any]) -> list[str]:
    """The names as docstrings write them, `*more` with its stars."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    given = inspect.signature(value.__init__ if inspect.isclass(value) else value).parameters.values()  # type: ignore[misc]
    return [stars.get(one.kind, "") + one.name for one in given if one.name not in ("self", "cls")]


def is_exception_or_algorithm(value: object) -> bool:
    return inspect.isclass(value) and (issubclass(value, Exception) or (issubclass(value, Swag) and value is not Swag))


def raises_itself(value: object) -> bool:
    tree = ast.parse(textwrap.dedent(inspect.getsource(value)))  # type: ignore[arg-type]
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstrings_say_what_is_taken_given_and_raised(name: str) -> None:
    value = DOCUMENTED[name]
    doc = value.__doc__ or ""
    first = doc.partition("\n\n")[0]
    assert first.rstrip().endswith((".", ":", "...")), f"{name} begins with no sentence"
    if is_exception_or_algorithm(value) or name == "Operator":
        return
    found = sections(doc)
    wanted = parameters_of(value)
    told = re.findall(r"^    (\*{0,2}\w+): ", found.get("Args", ""), re.MULTILINE)
    assert told == wanted, f"{name}: Args names {told}, and the signature has {wanted}"
    if not inspect.isclass(value):
        gives = inspect.signature(value).return_annotation not in ("None", None, "NoReturn")
        assert ("Returns" in found) == gives, f"{name}: Returns"
        assert "Raises" in found or not raises_itself(value), f"{name} raises, and does not say what"


def test_every_public_name_has_an_example_that_runs() -> None:
    """In its docstring, whose doctests run with the tests, or on the page of operators."""
    without = [name for name in PUBLIC if name not in OPERATORS and ">>> " not in (getattr(sw, name).__doc__ or "")]
    assert not without, without


def test_examples_are_blocks_of_code_and_pages_links_on_the_site() -> None:
    pytest.importorskip("griffe", reason="the extra docs is not installed")
    docstrings = tool("docstrings")
    fenced = docstrings.fenced
    assert docstrings.linked("As docs/point_in_time.md says.") == "As [point in time](../point_in_time.html) says."
    assert fenced("Adds.\n\nReturns:\n    A number.\n\n>>> 1 + 1  # doctest: +SKIP\n2\n\nMore.") == (
        "Adds.\n\nReturns:\n    A number.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
    )
