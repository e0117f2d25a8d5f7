"""A docstring of perfmodel taken apart: summary, equation, text, and its sections."""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

from perfmodel.decide.explanations.equations import latex

_SECTION = re.compile(r"^([A-Z][a-z]+)\n-{3,}\n", re.MULTILINE)
_MATH = re.compile(r"^\.\. math::.*?(?:\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \w+)*) : (.*)")
_UNIT = re.compile(r"(?P<symbols>.*?)\s*\[(?P<unit>[^\]]*)\](?:,? (?P<note>.*))?", re.DOTALL)


class Entry(NamedTuple):
    """One line of Parameters: names that share their words."""

    names: tuple[str, ...]
    words: str
    """All that is said of them."""
    unit: str
    """Empty where the line has none."""
    note: str
    """What follows the unit; all of the words where there is none."""


class Docstring(NamedTuple):
    """What a docstring says."""

    summary: str
    latex: str
    body: str
    """Text between the summary and the sections, without the equation."""
    sections: dict[str, str]

    def entries(self) -> list[Entry]:
        """Return the parameters, in their order."""
        result: list[Entry] = []
        for line in self.sections.get("Parameters", "").splitlines():
            match = _ENTRY.fullmatch(line)
            if match:
                result.append(_entry(match[1], match[2]))
            elif result and line.startswith(" "):
                last = result.pop()
                result.append(_entry(", ".join(last.names), f"{last.words} {line.strip()}"))
        return result

    def text(self, section: str) -> str:
        """Return a section as written; nothing where it is not there."""
        return self.sections.get(section, "").strip("\n")


def _entry(names: str, words: str) -> Entry:
    match = _UNIT.match(words)
    unit, note = (match["unit"], (match["note"] or "").strip()) if match else ("", words)
    return Entry(tuple(names.split(", ")), words, unit, note)


def read(described: Any) -> Docstring:
    """Return the docstring of a function, class or module, taken apart.

    >>> from perfmodel.equations.compute import update_time
    >>> read(update_time).entries()[0].names
    ('parameters',)
    """
    whole = inspect.getdoc(described) or ""
    before, *sections = _SECTION.split(whole)
    summary, _, body = before.partition("\n\n")
    return Docstring(
        summary=" ".join(summary.split()),
        latex=latex(described),
        body=_MATH.sub("", body.strip() + "\n\n").strip(),
        sections=dict(zip(sections[::2], sections[1::2], strict=True)),
    )
