"""The pages, in the order of the menu."""

from perfmodel.core.errors import nearest
from perfmodel.interfaces.register import NAMES, NOT_DRAWN

PAGES = (
    ("predict", "Predict"),
    ("scale", "Scale"),
    ("transformers", "Transformers"),
    ("plan", "Plan"),
    ("quote", "Check a quote"),
    ("compare", "Compare"),
    ("sensitivity", "Sensitivity"),
    ("communication", "Communication"),
    ("stragglers", "Stragglers"),
    ("trace", "Trace"),
    ("validation", "Validation"),
    ("hardware", "Hardware"),
)
"""File below ``views`` and word in the URL -> title."""
MORE = tuple((name, name.replace("-", " ").capitalize()) for name in NAMES if name not in NOT_DRAWN)
"""Commands whose pages are drawn from their records -> title."""
UNKNOWN = "unknown"
"""File and name of the page for addresses without a page; it is not in the menu."""
SHORTEST = 3
"""Shortest segment of an address that is compared with names of pages [letters]."""


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
