"""A page for each package: its folders and modules, each with the first sentence of its docstring.

``python -m docs.site.package_pages`` writes them into ``docs/packages/``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from docs.site.written_pages import ROOT
from perfmodel.core.files.writing import write_whole

FOLDER = ROOT / "docs" / "packages"


def pages() -> dict[Path, str]:
    """Return the page of every package by its file."""
    homes = [*sorted(home.parent for home in (ROOT / "perfmodel").glob("*/__init__.py")), ROOT / "app"]
    return {FOLDER / f"{home.name}.md": page(home) for home in homes}


def page(home: Path) -> str:
    """Return the page of a package in Markdown."""
    parts = [f"# {home.name}", _paragraphs(home), *_modules(home)]
    for folder in sorted(each.parent for each in home.rglob("__init__.py") if each.parent != home):
        name = folder.relative_to(home).as_posix()
        parts += [f"## `{name}/`", _paragraphs(folder), *_modules(folder)]
    return "\n\n".join(parts) + "\n"


def _modules(folder: Path) -> Iterator[str]:
    """Yield the list of a folder's modules, where it has any."""
    modules = sorted(each for each in folder.glob("*.py") if not each.stem.startswith("__"))
    if modules:
        yield "\n".join(f"- `{each.stem}`: {_first_sentence(each)}" for each in modules)


def _paragraphs(folder: Path) -> str:
    """Return the docstring of a folder, a line for each paragraph."""
    return "\n\n".join(map(_one_line, _docstring(folder / "__init__.py").split("\n\n")))


def _first_sentence(file: Path) -> str:
    return _one_line(_docstring(file).partition("\n\n")[0])


def _docstring(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""


def _one_line(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


if __name__ == "__main__":
    for _file, _text in pages().items():
        write_whole(_file, _text)
