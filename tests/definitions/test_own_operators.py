"""Operators by import path: a definition runs nothing that was not allowed, or before it is checked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import slidewise as sw

MODULE = """
import slidewise as sw
RAN = True
total = sw.operator(name="total", identity=0, combine=lambda a, b: a + b)
"""
TOML = 'on = "ts"\ncolumns.a = {operator = "payload_mod:total", of = "x", over = 10}\n'


@pytest.fixture
def payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "payload_mod.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("payload_mod", None)


@pytest.mark.usefixtures("payload")
@pytest.mark.parametrize("imports", [False, [], ["payload"], ["payload_mod.more"], "other"])
def test_nothing_is_imported_unless_allowed(imports: Any) -> None:
    with pytest.raises(sw.SlidewiseError, match=r"'payload_mod', which is not imported.*imports=\['payload_mod'\]"):
        sw.Sliding.from_toml(TOML, imports=imports)
    assert "payload_mod" not in sys.modules


@pytest.mark.usefixtures("payload")
@pytest.mark.parametrize("imports", [True, ["payload_mod"], "payload_mod"])
def test_what_is_allowed_is_imported(imports: Any) -> None:
    definition = sw.Sliding.from_toml(TOML, imports=imports)
    assert definition.columns["a"].operator is sys.modules["payload_mod"].total
    assert sw.Sliding.from_dict(definition.to_dict()) == definition  # from the module that is there by now


@pytest.mark.usefixtures("payload")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("over = 10", "over = -10", "window"),
        ("over = 10", "overr = 10", "no 'overr'"),
        ('on = "ts"', "", "needs a time column"),
        ('on = "ts"', 'on = "ts"\nbyy = 3', "no 'byy'"),
        ('on = "ts"', 'on = "ts"\nby = "ts"', "both as a key"),
        ('of = "x"', 'of = ["x", 3]', "names of columns"),
        ("columns.a", 'columns.b = {operator = "maxx", of = "x", over = 10}\ncolumns.a', "no operator 'maxx'"),
        ("columns.a", 'columns.b = {operator = "else_mod:total", of = "x", over = 1}\ncolumns.a', "'else_mod'"),
    ],
)
def test_all_else_is_checked_first(old: str, new: str, said: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=said):
        sw.Sliding.from_toml(TOML.replace(old, new), imports=["payload_mod"])
    assert "payload_mod" not in sys.modules


@pytest.mark.parametrize(
    "path",
    [
        "os.path:",
        ":x",
        "a..b:x",
        "a b:x",
        "a:b.c",
        "a:b:c",
        "./a:x",
        ".a:x",
        "import:x",
        "a:x()",
        "a:1",
        "C:\\a:x",
        "__import__('a'):x",
    ],
)
def test_only_plain_names_are_paths(path: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=r"is no import path.*package.module:name"):
        sw.Sliding.from_dict({"columns": {"a": {"operator": path, "of": "x", "rows": 2}}}, imports=True)


@pytest.mark.usefixtures("payload")
def test_a_module_that_is_there_is_only_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    import payload_mod  # type: ignore[import-not-found]

    monkeypatch.setattr(payload_mod, "__getattr__", lambda name: pytest.fail(f"{name} was asked for"), raising=False)
    assert sw.Sliding.from_toml(TOML).columns["a"].operator is payload_mod.total
    with pytest.raises(sw.SlidewiseError, match="has no 'gone'"):
        sw.Sliding.from_toml(TOML.replace(":total", ":gone"))
    with pytest.raises(sw.SlidewiseError, match="no operator but a bool"):
        sw.Sliding.from_toml(TOML.replace(":total", ":RAN"))


@pytest.mark.usefixtures("payload")
def test_a_module_that_fails_says_so(tmp_path: Path) -> None:
    (tmp_path / "payload_mod.py").write_text("1 / 0")
    with pytest.raises(sw.SlidewiseError, match=r"'payload_mod:total' cannot be imported: ZeroDivisionError"):
        sw.Sliding.from_toml(TOML, imports=True)


@pytest.mark.parametrize("imports", [7, ["a b"], [7], "a-b", None])
def test_imports_is_checked(imports: Any) -> None:
    with pytest.raises(sw.SlidewiseError, match="imports= is True, or a list"):
        sw.Sliding.from_toml('columns.a = {operator = "max", of = "x", rows = 2}', imports=imports)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("a = " + "[" * 5_000, "nested too deeply"),
        ('columns.a = {operator = "bloom", parameters = {probe = {bytes = "zz"}}, of = "x", rows = 2}', "hexadecimal"),
        ('columns.a = {operator = "bloom", parameters = {probe = {bytes = 7}}, of = "x", rows = 2}', "hexadecimal"),
        ('columns.a = {operator = "bloom", parameters = {self = 7}, of = "x", rows = 2}', "no parameter 'self'"),
        ('columns.a = {operator = "own:spread", parameters = {q = 7}, of = "x", rows = 2}', "takes no parameters"),
    ],
)
def test_odd_files_are_errors_of_ours(written: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import own  # noqa: F401

    with pytest.raises(sw.SlidewiseError, match=said):
        sw.Sliding.from_toml(written)
