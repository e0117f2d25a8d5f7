"""The lowest versions that ``pyproject.toml`` declares, as constraints for pip: ``python -m tests.floors``.

Of what perfmodel needs and its extras, not of the tools that test and document it: pytest finds what
it needs itself.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
TOOLS = ("test", "dev", "docs", "clients")
"""Extras that test and document it."""
_FLOOR = re.compile(r"([A-Za-z0-9._-]+)>=([0-9][0-9.]*)")


def floors() -> dict[str, str]:
    """Return the lowest version of every package that perfmodel or one of its extras names.

    Raises
    ------
    ValueError : a requirement without a floor
    """
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name not in TOOLS}
    found = {}
    for need in [*project["dependencies"], *(need for needs in extras.values() for need in needs)]:
        match = _FLOOR.fullmatch(need)
        if match is None:
            raise ValueError(f"{need}: expected NAME>=VERSION")
        found[match[1]] = match[2]
    return found


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in floors().items()))
