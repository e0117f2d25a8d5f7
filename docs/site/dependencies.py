"""Every package that perfmodel needs, with version and licence, by the metadata of what is installed.

``python -m docs.site.dependencies`` prints them as CSV; the documentation has the same rows as a page.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Final, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ALWAYS: Final = ""
"""In place of an extra: what perfmodel itself needs."""
NOT_OFFERED: Final = ("test", "dev", "docs")
"""Extras of those who change perfmodel."""
SENTENCE: Final = 60
"""Characters of a licence's name at most; a longer text is the licence itself."""


class Dependency(NamedTuple):
    """One package."""

    name: str
    version: str
    """Nothing where it is not installed."""
    licence: str
    extras: str
    """Of perfmodel that need it, or "always"."""


def dependencies(root: str = "perfmodel") -> list[Dependency]:
    """Return all that a package and its extras need, directly or not, in the order of names."""
    offered = distribution(root).metadata.get_all("Provides-Extra") or []
    needed: dict[str, list[str]] = {}
    for extra in (ALWAYS, *(name for name in offered if name not in NOT_OFFERED)):
        for name in _closure(root, extra):
            needed.setdefault(name, []).append(extra)
    return [
        Dependency(name, *_facts(name), "always" if ALWAYS in extras else ", ".join(extras))
        for name, extras in sorted(needed.items())
    ]


def _closure(root: str, extra: str) -> set[str]:
    """Return the names of all packages that one extra of a package needs."""
    todo, seen = [(root, extra)], {(root, ALWAYS), (root, extra)}
    while todo:
        more = {*_required(*todo.pop())} - seen
        seen |= more
        todo += more
    return {name for name, _ in seen} - {root}


def _required(name: str, extra: str) -> Iterator[tuple[str, str]]:
    """Yield each package that one extra of a package names, with each extra of its own that is wanted."""
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            for wanted in (ALWAYS, *requirement.extras):
                yield canonicalize_name(requirement.name), wanted


def _facts(name: str) -> tuple[str, str]:
    """Return the version and licence of a package."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return "", "not installed"
    return found.version, _licence(found)


def _licence(package: Distribution) -> str:
    """Return a package's licence by its SPDX expression, its classifiers, or its own words for it."""
    metadata = package.metadata
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or []
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    said = (metadata.get("License") or "").strip()
    in_a_line = said if len(said) <= SENTENCE else ""
    return metadata.get("License-Expression") or ", ".join(classifiers) or in_a_line or "not stated"


def pages() -> dict[str, str]:
    """Return the page of dependencies by its path in the site."""
    from docs.site.rst import heading, table, text

    head = ("package", "version", "licence", "needed by")
    rows = [[text(cell) for cell in row] for row in dependencies()]
    lead = (
        "Every package that perfmodel or one of its extras needs, directly or not, as it was installed where "
        "these pages were built. perfmodel contains none of them."
    )
    return {"project/dependencies.rst": "\n".join([heading("Dependencies"), lead, "", table(head, rows)])}


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(Dependency._fields)
    writer.writerows(dependencies())
