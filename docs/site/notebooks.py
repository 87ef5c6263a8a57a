"""Run the notebooks beside this folder, compare or store what they show, and make pages of them.

python docs/site/notebooks.py    runs all of them, and stores what their cells show

Cells are plain Python. A cell shows what it prints, and its last expression, as HTML where that has `_repr_html_`. No
kernel is started: a notebook is run here, in one dict of names.
"""

from __future__ import annotations

import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

LONGEST = 2_000  # of what is stored as text beside HTML
FOLDER = Path(__file__).parents[1] / "notebooks"


def run(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    """The notebook with what its cells show now."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = _outputs("".join(cell["source"]), names, f"{name}, cell {count}", count)
            cells.append({**cell, "execution_count": count, "outputs": outputs})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], where: str, count: int) -> list[dict[str, Any]]:
    body = ast.parse(source, where).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    printed, shown = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(ast.Module(body, []), where, "exec"), names)
        if last is not None:
            shown = eval(compile(last, where, "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if shown is not None:
        plain = repr(shown)
        data = {"text/plain": _lines(plain)}
        if html := getattr(shown, "_repr_html_", lambda: None)():
            data = {
                "text/plain": _lines(plain if len(plain) < LONGEST else plain[:40] + " ..."),
                "text/html": _lines(html),
            }
        result = {"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}}
        outputs.append(result)
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def page(notebook: dict[str, Any], file: str) -> str:
    """The notebook as a page: text, code, and below each cell what it showed when it was stored."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text")})
            if "text/html" in data:
                html = "".join(line.strip() + "\n" for line in "".join(data["text/html"]).splitlines() if line.strip())
                parts.append(f'<div class="notebook-output">\n{html}</div>')
            else:
                parts.append("```text\n" + "".join(data["text/plain"]).rstrip("\n") + "\n```")
    parts.insert(1, f'The notebook itself: <a href="../files/{file}" download>{file}</a>. The tests run it.')
    return "\n\n".join(parts) + "\n"


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text())
    return notebook


def write(path: Path, notebook: dict[str, Any]) -> None:
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        write(path, run(read(path), path.name))
