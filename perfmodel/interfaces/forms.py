"""The forms in which the shell prints an answer for programs: JSON, CSV, Markdown, or a command's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Form(NamedTuple):
    """One form of an answer."""

    words: str
    """Of its option's help."""
    text: Callable[[Any, Any], str]
    """From an answer and its request to what is printed; empty where it was, part by part."""


def _json(answer: Any, _: Any) -> str:
    text: str = answer.to_json()
    return text


JSON = Form("Print JSON.", _json)


def with_card(rows: Iterable[Mapping[str, Any]], answer: Any) -> list[Mapping[str, Any]]:
    """Return an answer's rows for CSV, with its card in their last columns where it has one."""
    card = getattr(answer, "card", None)
    return list(rows) if card is None else [{**row, "card": card.model_dump()} for row in rows]


def csv(columns: Sequence[str] | None = None) -> Form:
    """Return CSV of an answer's rows, with these columns or all."""

    def text(answer: Any, _: Any) -> str:
        from perfmodel.core.files.tables import csv_text

        return csv_text(with_card(answer.records(), answer), columns)

    return Form("Print CSV.", text)


def markdown(columns: Mapping[str, str] | Sequence[str] | None = None) -> Form:
    """Return a Markdown table of an answer's rows, with these columns, by their headings, or all."""

    def text(answer: Any, _: Any) -> str:
        from perfmodel.core.files.tables import markdown_table

        return markdown_table(answer.records(), columns)

    return Form("Print a Markdown table.", text)


def card_and_table(answer: Any, _: Any) -> str:
    """Return an answer's card and the table of its rows as Markdown."""
    from perfmodel.core.files.tables import markdown_table
    from perfmodel.interfaces.cli.card_markdown import card_markdown

    return f"{card_markdown(answer.card)}\n\n{markdown_table(answer.records())}"


TABLE = {"json": JSON, "csv": csv(), "markdown": markdown()}
"""Forms of an answer that is a table."""


def forms_of(**texts: Callable[[Any, Any], str]) -> dict[str, Form]:
    """Return the forms of a table, of which some have a text of the command's own: ``markdown=...``."""
    return {name: form._replace(text=texts[name]) if name in texts else form for name, form in TABLE.items()}
