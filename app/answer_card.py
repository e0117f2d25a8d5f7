"""The answer card on a page: drawn at its top, and as text to copy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from html import escape
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import streamlit as st

from app.looks import labelled
from app.plain import plain, unbroken
from app.session_hardware import without_folder
from perfmodel.core.sentences import sentences_in
from perfmodel.model.prediction.answer_card import LABELS, Card

LARGE = ("run", "cost", "chance", "memory")
"""Fields of a card that are drawn large where they begin with a figure."""
WITHOUT_RUN = "time"
"""The field in place of ``run`` where that is empty."""
ROWS = ("machines", "limit")
"""Fields of a card that are drawn in rows, of any length; others only in one line."""
LINE = 80
"""Most characters of a row in one line."""
SHORT = 14
"""Most characters of a text in the largest letters."""
LONG = 200
"""Most characters of an advice that is bold as a whole; of a longer one only what to do is."""
ITEM = "\n- "
"""What stands before a reason of an advice in Markdown."""
_BREAK = re.compile(r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|[^(])*?[:.](?= )")
"""The beginning of a text up to its first colon or full stop outside brackets."""
_FIGURE = re.compile(
    r"(?:(?:under|over|at most) )?"
    r"(?:\$[\d.,]*\d[kMBT]?|[\d.,]*\d[kMBT]?(?: (?:%|x|[mµn]?s|min|h|days?)|(?! \w)))(?=[\s;,:]|$)"
)
_RATE = re.compile(r"[\d.,]+[kMBT]? [a-z]{5,}/s")
"""A figure whose unit is drawn small next to it."""
_VERDICT = re.compile(r"(?:fits|does not fit)[^:;(]*")
_UNSURE = re.compile(r"fits with probability (\d+ %)")
"""A verdict that is drawn shorter, as long as other figures."""


class Shown(NamedTuple):
    """A text of a card in two parts."""

    value: str
    rest: str


def cut(text: str) -> Shown | None:
    """Return the figure or the verdict on memory that a text of a card begins with, and the rest.

    None where it begins with neither.

    >>> cut("8.11 h for 90 epochs; 95 % likely to take at most 13.3 h")
    Shown(value='8.11 h', rest='for 90 epochs; 95 % likely to take at most 13.3 h')
    >>> cut("$18.57 (80 %: $11.67 to $29.55)"), cut("under 1 % that nothing is wrong").value
    (Shown(value='$18.57', rest='(80 %: $11.67 to $29.55)'), 'under 1 %')
    >>> cut("fits with probability 88 %: 82.5 of 96.0 GiB"), cut("no price is known")
    (Shown(value='88 % to fit', rest='82.5 of 96.0 GiB'), None)
    >>> cut("16 GPUs: 62.6 min (80 %: 50 min to 70 min)"), cut("$9 to pay").value
    (None, '$9')
    """
    large = _UNSURE.match(text) or _FIGURE.match(text) or _VERDICT.match(text)
    if large is None:
        return None
    value = f"{large[1]} to fit" if large.re is _UNSURE else large[0].strip()
    return Shown(value, text[large.end() :].lstrip(" ;,:"))


def with_unit(quantity: str) -> Shown:
    """Return the figure that a quantity begins with, and its unit with what follows.

    >>> with_unit("38,451 images/s (80 %: 18,926 to 57,291)")
    Shown(value='38,451 images/s', rest='(80 %: 18,926 to 57,291)')
    >>> with_unit("90 % of linear scaling")
    Shown(value='90 %', rest='of linear scaling')
    """
    value, _, rest = quantity.partition(" ")
    if rest.startswith("% "):
        return Shown(f"{value} %", rest[2:])
    unit, _, more = rest.partition(" ")
    return Shown(f"{value} {unit.rstrip(';')}".rstrip(), more)


def decision(advice: str) -> Shown:
    """Return what an advice says to do, and the reasons behind its first colon or full stop.

    >>> decision("Take A (80 %: 1 to 2): it is faster. No other is.")
    Shown(value='Take A (80 %: 1 to 2):', rest='it is faster. No other is.')
    """
    first = _BREAK.match(advice)
    return Shown(advice, "") if first is None else Shown(first[0], advice[first.end() :].lstrip())


def with_reasons(first: str, rest: str) -> list[str]:
    """Return an advice in Markdown: what to do in bold, then each further sentence, an item of a list.

    >>> with_reasons("Take B:", "it is faster. No other (of 3) is.")
    ['**Take B:** it is faster.', 'No other (of 3) is.']
    >>> with_reasons("Take B.", "2 nodes: fast. all-reduce: slow, e.g. here.")
    ['**Take B.**', '2 nodes: fast.', 'all-reduce: slow, e.g. here.']
    """
    reason, *others = sentences_in(rest)
    if others and first.endswith("."):
        reason, others = "", [reason, *others]
    return [f"**{plain(first)}** {plain(reason)}".rstrip(), *map(plain, others)]


LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts of addresses that lead nowhere on another machine."""


def show(
    card: Card, more: Mapping[str, Shown] = {}, without: Collection[str] = (), most: int | None = None
) -> str:
    """Draw an answer card: the advice, up to four figures, rows, and the whole card in a fold.

    Parameters
    ----------
    card : of the answer
    more : label -> figure of a page whose quantities a card has no field for
    without : fields that only the fold has
    most : reasons of the advice that the card lists; None for all

    Returns
    -------
    reasons beyond those, in Markdown
    """
    large = [each for each in (LARGE[0] if card.run else WITHOUT_RUN, *LARGE[1:]) if each not in without]
    figures = {name: shown for name in large if (shown := cut(getattr(card, name)))}
    short = [name for name in large if name not in figures and len(getattr(card, name)) <= LINE]
    in_rows = {*short, *ROWS}.difference(without)
    rows = [name for name in LABELS if name in in_rows and getattr(card, name)]
    with st.container(border=True, key="answer-card"):
        advice = labelled(card.advice)
        first, rest = decision(advice) if len(advice) > LONG else Shown(advice, "")
        lines = with_reasons(first, rest)
        listed = lines if most is None else lines[: 1 + most]
        st.markdown(ITEM.join(listed))
        if drawn := [*more.items(), *((LABELS[name], shown) for name, shown in figures.items())]:
            st.html(f'<div class="answer-figures">{"".join(_figure(*each) for each in drawn)}</div>')
        if rows:
            st.html(_rows((LABELS[name], getattr(card, name)) for name in rows))
        if card.rows:
            with st.expander("How sure is this?"):
                st.html(_rows(card.rows))
    return "".join(f"{ITEM}{reason}" for reason in lines[len(listed) :])


def _figure(label: str, shown: Shown) -> str:
    """Return a large figure as HTML: label, value, and what else its text says."""
    value, _, unit = shown.value.partition(" ") if _RATE.fullmatch(shown.value) else (shown.value, "", "")
    drawn = _html(value) + (f' <span class="answer-unit">{_html(unit)}</span>' if unit else "")
    size = "answer-value" if len(value) <= SHORT else "answer-words"
    return (
        f'<div><div class="answer-label">{escape(unbroken(label))}</div>'
        f'<div class="{size}">{drawn}</div>'
        f'<div class="answer-rest">{_html(shown.rest)}</div></div>'
    )


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    """Return labels and texts in two columns as HTML."""
    drawn = (f"<dt>{label}</dt><dd>{_html(text)}</dd>" for label, text in rows)
    return f'<dl class="answer-rows">{"".join(drawn)}</dl>'


def _html(text: str) -> str:
    """Return text of a card as HTML, options by the labels of their fields."""
    return escape(unbroken(without_folder(labelled(text))))


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
    if not url:
        return []
    host = urlsplit(url).hostname or ""
    own = " (opens only on this machine)" if host in LOOPBACK else ""
    return [f"{url}?{query}{own}" if query else f"{url}{own}"]
