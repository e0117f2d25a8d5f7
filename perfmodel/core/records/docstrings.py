"""Reads and writes the section ``Parameters`` of docstrings, which describes options."""

from collections.abc import Iterable
from inspect import cleandoc


def lines_of(cls: type) -> dict[str, tuple[str, str, str]]:
    """Return (unit, description, default) of each parameter in the docstring of a class, by its name."""
    _, _, section = cleandoc(cls.__dict__.get("__doc__") or "").partition("Parameters\n----------\n")
    texts: dict[str, str] = {}
    name = ""
    for line in section.partition("\n\n")[0].splitlines():
        if line.startswith(" "):
            texts[name] += f" {line.strip()}"
        else:
            name, _, texts[name] = line.partition(" : ")
    lines = {}
    for name, text in texts.items():
        unit, _, rest = text[1:].partition("] ") if text.startswith("[") else ("", "", text)
        words, _, default = rest.partition("[default: ")
        lines[name] = (unit, words.rstrip(), default.removesuffix("]"))
    return lines


def with_parameters(text: str, lines: Iterable[str]) -> str:
    """Return a docstring with a section ``Parameters`` of the given lines inserted before ``Raises``."""
    begin, raises, rest = cleandoc(text).partition("\nRaises\n------\n")
    return "\n".join([begin, "Parameters", "----------", *lines, ""]) + raises + rest
