"""What `mkdocs build` needs beside mkdocs.yml: pages from outside of docs/, the playground, and links of the site.

The README becomes the first page, the changelog and CONTRIBUTING pages, notebooks pages; files of the repository that
pages link to are copied to `files/`, code as pages. Links in the sources are those of the repository, so that they work
there, too; here they are turned into those of the site.
"""

from __future__ import annotations

import importlib.util
import os
import posixpath
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
SHOWN = {".py": "python", ".toml": "toml", ".txt": "text"}
HIDDEN = "---\nsearch: {exclude: true}\n---\n"
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
NAMED = re.compile(r"\[(?:\.\./|docs/)*([a-z_]+)\.md\]\(")  # links that are called by the file's name
FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)


def _notebooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_notebooks", Path(__file__).with_name("notebooks.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and the files that are not in docs/."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    notebooks = _notebooks()
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        name = f"notebooks/{path.stem}.md"
        files.append(File.generated(config, name, content=notebooks.page(notebooks.read(path), path.name)))
        files.append(File.generated(config, f"files/{path.name}", abs_src_path=str(path)))
    files.append(File.generated(config, "trace.html", content=_playground()))
    open_ = [(_source_of(file.src_uri), file.content_string) for file in files if file.src_uri.endswith(".md")]
    done: set[str] = set()
    while open_:
        source, text = open_.pop()
        for target in _targets(source, text):
            if target not in done and _outside(target):
                done.add(target)
                added = _copied(target, config)
                files.append(added)
                if added.src_uri.endswith(".md"):
                    open_.append((target, added.content_string))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Turn the repository's links into those of the site; `[spark.md](spark.md)` is called "spark" there."""
    source = _source_of(page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri)

    def turned(match: re.Match[str]) -> str:
        before, link, anchor, after = match.groups()
        target = _resolved(source, link)
        if not (ROOT / target).exists():
            return match[0]
        return f"{before}{posixpath.relpath(_place(target), here or '.')}{anchor or ''}{after}"

    parts = FENCE.split(NAMED.sub(lambda match: f"[{match[1].replace('_', ' ')}](", markdown))
    return "".join(part if part.startswith("```") else LINK.sub(turned, part) for part in parts)


def _playground() -> str:
    """The page of `slidewise trace`: algorithms for any operator, to step through and to compare."""
    from slidewise.trace import record
    from slidewise.trace.drawing.page import to_html
    from slidewise.trace.operations import random_operations

    names = ["daba-lite", "two-stacks-lite", "daba", "two-stacks", "flat-fit", "amta", "b-int", "flat-fat", "recalc"]
    return to_html(record(names, random_operations(60, 3), ["concat", "maxcount"]))


def _source_of(page: str) -> str:
    """Where in the repository a page of the site comes from."""
    for source, made in PAGES.items():
        if page == made:
            return source
    if page.startswith("files/"):
        return page.removeprefix("files/").removesuffix(".md")
    return f"docs/{page}"


def _place(target: str) -> str:
    """Where on the site a file of the repository is."""
    if target in PAGES:
        return PAGES[target]
    if target.startswith("docs/"):
        return target.removeprefix("docs/").replace(".ipynb", ".md")
    path = ROOT / target
    return f"files/{target}.md" if path.is_dir() or path.suffix in SHOWN else f"files/{target}"


def _outside(target: str) -> bool:
    return target not in PAGES and not target.startswith("docs/") and (ROOT / target).exists()


def _resolved(source: str, link: str) -> str:
    """The file of the repository that a link leads to."""
    base = source if (ROOT / source).is_dir() else posixpath.dirname(source)
    return posixpath.normpath(posixpath.join(base, link))


def _targets(source: str, text: str) -> set[str]:
    plain = "".join(part for part in FENCE.split(text) if not part.startswith("```"))
    return {_resolved(source, match[1]) for match in LINK.findall(plain)}


def _copied(target: str, config: Any) -> File:
    """A file as it is, code as a page, and a folder as its README and a list of its files."""
    path = ROOT / target
    if path.is_dir():
        names = [name for name in sorted(os.listdir(path)) if not name.startswith((".", "_")) and name != "README.md"]
        readme = path / "README.md"
        text = readme.read_text() if readme.exists() else f"# {target}\n"
        text = f"{HIDDEN}{text}\n" + "".join(f"- [{name}]({name})\n" for name in names)
        return File.generated(config, _place(target), content=text)
    if path.suffix in SHOWN:
        text = f"{HIDDEN}# {target}\n\n````{SHOWN[path.suffix]}\n{path.read_text()}\n````\n"
        return File.generated(config, _place(target), content=text)
    return File.generated(config, _place(target), abs_src_path=str(path))
