"""An answer card as Markdown."""

from perfmodel.core.files.tables import markdown_table
from perfmodel.model.prediction.answer_card import Card


def card_markdown(card: Card) -> str:
    """Return an answer card as Markdown: the advice in bold, then a table of its rows."""
    rows = markdown_table([{"": label, "in short": value} for label, value in card.rows])
    return f"**{card.advice}**\n\n{rows.rstrip()}"
