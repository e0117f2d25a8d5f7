"""The answer card on a page: drawn at its top, and as text to copy."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from app.looks import labelled
from app.plain import plain
from perfmodel.model.prediction.answer_card import Card


def show(card: Card) -> None:
    """Draw an answer card: the advice, and a line for each of its rows."""
    with st.container(border=True, key="answer-card"):
        st.markdown(f"**{plain(labelled(card.advice))}**")
        st.markdown("  \n".join(f"{label}: {plain(labelled(value))}" for label, value in card.rows))


def as_text(card: Card, command: str) -> str:
    """Return an answer card as text for a message, with the command and the address that answer the same.

    Parameters
    ----------
    card : of the answer
    command : shell command
    """
    lines = [card.advice, "", *(f"{label}: {value}" for label, value in card.rows), "", f"$ {command}"]
    return "\n".join([*lines, *_address()])


def _address() -> list[str]:
    """Return the address of the page with its options; empty where no browser has told it."""
    url = st.context.url
    query = urlencode({name: st.query_params.get_all(name) for name in st.query_params}, doseq=True)
    return [f"{url}?{query}" if query else url] if url else []
