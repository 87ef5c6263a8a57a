"""Check a built site: every link leads somewhere, nothing is loaded from elsewhere, and search has its index.

python docs/site/check.py build/site
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
NOT_LOADED = {"canonical", "prev", "next", "alternate"}


class Page(HTMLParser):
    """A page's links, what it loads, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") not in NOT_LOADED:
            self.loaded.append(given[LOADED[tag]])


def problems(site: Path) -> list[str]:
    """What is wrong, a line each."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name} loads {url}" for url in page.loaded if urlsplit(url).netloc]
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or name == Path("404.html"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{name} links to {link}, which is not there")
            elif target.name == "trace.html" or target not in pages or not parts.fragment:
                continue
            elif unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name} links to {link}, which has no such anchor")
    for path in site.rglob("*.css"):
        urls = re.findall(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)", path.read_text())
        found += [f"{path.relative_to(site)} loads {url}" for url in urls]
    index = json.loads((site / "search" / "search_index.json").read_text())
    if len(index["docs"]) < len(pages):
        found.append(f"search knows {len(index['docs'])} sections of {len(pages)} pages")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or f"{sys.argv[1]}: every link leads somewhere, and nothing is loaded from elsewhere")
    sys.exit(bool(wrong))
