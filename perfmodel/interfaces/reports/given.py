"""Tables that pages of several commands have: the answer in short, and what was given."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from perfmodel.core.records.options import Described, declared
from perfmodel.core.units import show
from perfmodel.interfaces.reports.page import Listing
from perfmodel.model.prediction.answer_card import Card

LONGEST = 60
"""Most characters of a value; a longer one, or one of several lines, is what a file contains."""


def in_short(card: Card) -> Listing:
    """Return the rows of a card below its advice as a table."""
    return Listing("In short", ("", ""), card.rows, texts=2)


def given(request: Described | None) -> list[Listing]:
    """Return a table of the options that a request states; none without any.

    >>> from perfmodel.interfaces.commands.diagnose import DiagnoseRequest
    >>> [table] = given(DiagnoseRequest(world_size=32, measured="runs/train.log"))
    >>> table.rows
    [('--gpus', '32'), ('--measured', 'train.log')]
    """
    if request is None:
        return []
    rows = []
    kind: Any = type(request)
    for field, option in declared(kind).items():
        value = getattr(request, field)
        if field in request.model_fields_set and value is not None and field not in _OF_FILES:
            rows.append((f"--{option.name}", _text(value, option.unit)))
    return [Listing("What was given", ("option", "value"), rows, texts=2)] if rows else []


_OF_FILES = ("specs", "output")
"""Fields that say where files are."""


def _text(value: Any, unit: str) -> str:
    """Return a value as text; of a path the name of its file."""
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(each, unit) for each in value)
    if unit not in ("", "1") and isinstance(value, float):
        return show(value, unit)
    text = str(value)
    if "\n" in text or len(text) > LONGEST:
        return PurePath(text).name if "\n" not in text else "what a file contains"
    return PurePath(text).name if PurePath(text).suffix else text
