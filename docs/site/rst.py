"""Pieces of reStructuredText, in which generated pages are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LITERAL = re.compile(r"(``.*?``|`[^`\s][^`]*`)")
_SPECIAL = re.compile(r"([*|]|_(?=\W|$))")


def heading(text: str, line: str = "=") -> str:
    """Return a heading, underlined by a character."""
    return f"{text}\n{line * len(text)}\n"


def text(words: object) -> str:
    """Return plain words so that no sign in them is markup; what is between backticks stays.

    >>> text("2 * a_ of ``x * y``")
    '2 \\\\* a\\\\_ of ``x * y``'
    """
    parts = _LITERAL.split(str(words).replace("\\", "\\\\"))
    return "".join(part if n % 2 else _SPECIAL.sub(r"\\\1", part) for n, part in enumerate(parts))


def literal(words: object) -> str:
    """Return words in the type of code; nothing for no words."""
    return f"``{words}``" if str(words) else ""


def link(words: str, address: str) -> str:
    """Return a link to an address outside the site."""
    shown = words.replace("\\", "\\\\").replace("`", "'").replace("<", "(").replace(">", ")")
    return f"`{shown} <{address.replace('_ ', '%5F ')}>`__"


def indented(block: str, by: int = 3) -> str:
    """Return a block of lines, each that is not empty moved to the right."""
    return "\n".join(" " * by + line if line.strip() else "" for line in block.splitlines())


def table(head: Sequence[str], rows: Iterable[Sequence[str]], class_name: str = "") -> str:
    """Return a table; cells are reStructuredText.

    Returns
    -------
    nothing where there are no rows
    """
    lines = [".. list-table::", "   :header-rows: 1"]
    lines += [f"   :class: {class_name}"] if class_name else []
    lines.append("")
    body = list(rows)
    for row in (head, *body):
        for place, cell in enumerate(row):
            first = "   * - " if place == 0 else "     - "
            content = indented(cell, 7).lstrip() if cell else ""
            lines.append((first + content).rstrip())
    return "\n".join(lines) + "\n" if body else ""


def definitions(items: Iterable[tuple[str, str, str]], class_name: str = "") -> str:
    """Return names, each with its kind beside it and its meaning below, which fits narrow pages.

    Parameters
    ----------
    items : name, kind (may be empty) and meaning; each reStructuredText
    """
    lines = []
    for name, kind, meaning in items:
        lines += [f"{name} : {kind}" if kind else name, f"   {meaning}" if meaning else "   \\", ""]
    head = [f".. rst-class:: {class_name}", ""] if lines and class_name else []
    return "\n".join([*head, *lines]) + "\n" if lines else ""


def code(block: str, language: str, class_name: str = "") -> str:
    """Return a block of code."""
    option = f"   :class: {class_name}\n" if class_name else ""
    return f".. code-block:: {language}\n{option}\n{indented(block)}\n"


def contents(pages: Iterable[str], depth: int = 1, caption: str = "") -> str:
    """Return a list of pages that belong below this one."""
    lines = [".. toctree::", f"   :maxdepth: {depth}"]
    lines += [f"   :caption: {caption}"] if caption else []
    return "\n".join([*lines, "", *(f"   {page}" for page in pages)]) + "\n"


def page(*parts: str) -> str:
    """Return parts as one page, an empty line between them."""
    return "\n".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)
