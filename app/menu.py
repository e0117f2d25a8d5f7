"""The pages, in the groups and the order of the menu."""

from perfmodel.core.errors import nearest
from perfmodel.interfaces.register import NAMES, NOT_DRAWN

FIRST = ("start", "Start")
"""The page at the root, which asks and leads to the page that answers."""
GROUPS = {
    "Decide": (
        ("plan", "Plan"),
        ("fleets", "Add machines"),
        ("quote", "Check a quote"),
        ("compare", "Compare"),
        ("fits", "Will it fit"),
    ),
    "How fast": (
        ("predict", "Predict"),
        ("scale", "Scale"),
        ("transformers", "Transformers"),
    ),
    "Why": (
        ("diagnose", "Diagnose"),
        ("sensitivity", "Sensitivity"),
        ("communication", "Communication"),
        ("stragglers", "Stragglers"),
        ("trace", "Trace"),
    ),
    "Evidence": (
        ("validation", "Validation"),
        ("runs", "Your own runs"),
        ("hardware", "Hardware"),
    ),
}
"""Title of a group -> its pages: file below ``views`` and word in the URL, title."""
PAGES = tuple(page for pages in GROUPS.values() for page in pages)
"""Every page that answers."""
MORE = tuple((name, name.replace("-", " ").capitalize()) for name in NAMES if name not in NOT_DRAWN)
"""Commands whose pages are drawn from their records -> title."""
MORE_GROUP = "More"
"""Title of their group, the last one."""
UNKNOWN = "unknown"
"""File and name of the page for addresses without a page; it is not in the menu."""
SHORTEST = 3
"""Shortest segment of an address that is compared with names of pages [letters]."""


def place(name: str) -> tuple[int, str] | None:
    """Return the number of a page's group in the menu, from 1, and group and title; None of one in no group.

    >>> place("plan"), place("")
    ((1, 'Decide › Plan'), None)
    """
    for number, (group, pages) in enumerate({**GROUPS, MORE_GROUP: MORE}.items(), 1):
        for each, title in pages:
            if each == name:
                return number, f"{group} › {title}"
    return None


def likest(path: str) -> list[str]:
    """Return the names of the pages that are most like a segment of a path, the likest first.

    >>> likest("/sensitivty"), likest("/check-quote"), likest("/app/predict/x")
    (['sensitivity'], ['quote'], ['predict'])
    >>> likest("/a/b/c")  # too short
    []
    """
    words = {word: name for name, title in (*PAGES, *MORE) for word in (name, title)}
    steps = [step for step in path.split("/") if len(step) >= SHORTEST]
    near = [words[word] for step in steps for word in nearest(step, words)]
    return list(dict.fromkeys(near))
