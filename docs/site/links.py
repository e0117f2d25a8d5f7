"""Checks a built site: what its pages link to inside is there, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
_NOT_LOADED = {"canonical", "next", "prev", "index", "search", "author", "copyright", "top", "up"}
_STYLE_LOADS = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")


class _Page(HTMLParser):
    """What a page links to, loads and can be entered at."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        wanted = values.get(_LOADS.get(tag, ""), "")
        if wanted and not (tag == "link" and set(values.get("rel", "").split()) & _NOT_LOADED):
            self.loads.append(wanted)


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text("utf-8"))
    return page


def problems(site: Path) -> list[str]:
    """Return links to nothing and files loaded from other machines, a line for each."""
    result: list[str] = []
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site)
        page = _read(path)
        for address in [*page.links, *page.loads]:
            missing = _missing(address, path)
            if missing:
                result.append(f"{name}: {missing}")
        result += [f"{name}: loads {each}" for each in page.loads if urlsplit(each).netloc]
    for path in sorted(site.rglob("*.css")):
        for each in _STYLE_LOADS.findall(path.read_text("utf-8")):
            result.append(f"{path.relative_to(site)}: loads {each}")
    return result


def _missing(address: str, page: Path) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return ""
    target = _target(page.parent, parts.path) if parts.path else page
    if target is None:
        return f"{address} is not there"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in _read(target).anchors:
        return f"{address}: no such place on that page"
    return ""


@cache
def _target(folder: Path, path: str) -> Path | None:
    """Return the file that a page of a folder links to; None where it is not there."""
    target = (folder / unquote(path)).resolve()
    target = target / "index.html" if target.is_dir() else target
    return target if target.exists() else None
