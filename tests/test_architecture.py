"""Arrows between the packages point one way, importing stays light, and modules stay short."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import slidewise

PACKAGE = Path(slidewise.__file__).parent

# Each room may import from those after it, and from nothing before it.
ORDER = [
    *("__main__", "cli", "tour", "trace", "evaluation", "pipeline", "sliding"),
    *("spark", "live", "tables", "rolling", "compiled", "definition_files", "import_paths"),
    *("engine", "explaining", "choosing", "definition", "kernels", "columns"),
    *("swag", "operators", "windows", "folders", "arrays", "errors"),
]


def imports_of(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return names


def test_arrows_point_one_way() -> None:
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in ORDER, f"{path.name}: say in this test where the room {room!r} stands"
        for name in imports_of(path):
            parts = name.split(".")
            if parts[0] == "slidewise" and len(parts) > 1:
                assert ORDER.index(parts[1]) >= ORDER.index(room), f"{room} must not import {name}"


def test_importing_slidewise_imports_no_heavy_package() -> None:
    heavy = ["numba", "pyspark", "pandas", "polars", "matplotlib", "pyarrow", "numpy", "rich"]
    code = f"import sys, slidewise; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_modules_can_be_read_in_one_sitting() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert len(path.read_text().splitlines()) < 450, path


def test_the_library_does_not_print() -> None:
    for path in PACKAGE.rglob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not any(isinstance(call, ast.Name) and call.id == "print" for call in calls), path
