"""Pages written by hand, with their links led to where the site has what they name."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "hardware_specs/README.md": "project/hardware-files.md",
    "validation/misses.md": "accuracy/misses.md",
    "validation/report.md": "accuracy/report.md",
}
"""Documents of the repository that lie outside ``docs/``, with their place in the site."""
GENERATED = {
    "hardware_specs": "hardware/index.rst",
    "hardware_specs/datasets.toml": "hardware/datasets.rst",
    "hardware_specs/instances.toml": "hardware/prices.rst",
    "perfmodel/equations": "equations/index.rst",
}
"""Folders and files of the repository that a generated page shows, with its place in the site."""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"(^```.*?^```[^\n]*$|^~~~.*?^~~~[^\n]*$)", re.DOTALL | re.MULTILINE)


def written() -> dict[str, Path]:
    """Return every page written by hand, by its path in the site."""
    docs = ROOT / "docs"
    own = {path.relative_to(docs).as_posix(): path for path in docs.rglob("*.md")}
    own = {name: path for name, path in own.items() if not name.startswith(("site/", "templates/"))}
    return own | {place: ROOT / name for name, place in ELSEWHERE.items()}


def assets() -> dict[str, Path]:
    """Return pictures and files that pages name, by their path in the site."""
    docs = ROOT / "docs"
    each = [*docs.rglob("*.png"), *docs.rglob("*.svg"), *(docs / "templates").iterdir()]
    plots = (ROOT / "validation").rglob("*.svg")
    result = {path.relative_to(docs).as_posix(): path for path in each}
    return result | {f"accuracy/{path.relative_to(ROOT / 'validation').as_posix()}": path for path in plots}


def relinked(text: str, page: str, home: Path) -> str:
    """Return a page's Markdown with links that lead somewhere in the site.

    A link to what a generated page shows, such as a module of equations, leads to that page.  A link to a
    file that the site does not have loses its address and keeps its words.  A link to nothing stays, for the
    build to refuse.

    Parameters
    ----------
    text : Markdown
    page : its path in the site
    home : its file in the repository
    """
    places = {path.resolve(): place for place, path in (written() | assets()).items()}
    places |= {ROOT / name: place for name, place in GENERATED.items()}

    def led(match: re.Match[str]) -> str:
        mark, words, address = match.groups()
        target, anchor, rest = address.partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = (home.parent / target).resolve()
        place = places.get(path)
        if place is None and path.parent == ROOT / "perfmodel" / "equations" and path.suffix == ".py":
            place = f"equations/{path.stem}.rst"
        if place is None and path == ROOT / "README.md":
            place = "index.md"
        if place is None:
            return words if path.exists() else match[0]
        relative = os.path.relpath(place, PurePosixPath(page).parent)
        return f"{mark}[{words}]({relative}{anchor}{rest})"

    parts = FENCE.split(text)
    return "".join(part if n % 2 else LINK.sub(led, part) for n, part in enumerate(parts))
