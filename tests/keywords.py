"""Writes every option of a scenario into the keywords that editors offer for functions of Python.

Type checkers want them as text.  ``python -m tests.keywords`` rewrites the file; the test only compares.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import perfmodel.core.choices as choices
import perfmodel.model.options.layout as layout
from perfmodel.core.records.options import Declared, declared
from perfmodel.model.options import keywords
from perfmodel.model.options.scenario import Scenario

FILE = Path(keywords.__file__)
_CLASS = "Options(TypedDict"
"""How the class of keywords begins."""


def _type(one: Declared) -> str:
    of: Any = one.type
    names = [name for name, kind in (vars(choices) | vars(layout)).items() if one.choices and kind == of]
    kind = names[0] if names else of.__name__
    return kind if one.default is not None else f"{kind} | None"


def rewritten(text: str) -> str:
    """Return the file with the options as they are declared; a ValueError where the class is missing."""
    every = [one for one in declared(Scenario).values() if one.field != "world_size"]
    lines = "\n".join(f"    {one.field}: {_type(one)}" for one in every)
    fields = re.compile(rf'(class {re.escape(_CLASS)}.*?"""\n\n)(.*?)(\n\n\n)', re.DOTALL)
    text, found = fields.subn(lambda match: match[1] + lines + match[3], text, count=1)
    if not found:
        raise ValueError(f"{FILE.name}: no class {_CLASS}")
    return text


if __name__ == "__main__":
    FILE.write_text(rewritten(FILE.read_text("utf-8")), "utf-8")
