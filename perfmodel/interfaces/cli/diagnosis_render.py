"""A diagnosis as plain text of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from perfmodel.core.sentences import sentence
from perfmodel.core.units import percent, show
from perfmodel.decide.diagnosis.card import own_error, with_cause
from perfmodel.decide.diagnosis.chances import LEAST, named_causes, shares
from perfmodel.decide.diagnosis.first_action import expected_words, pointers
from perfmodel.interfaces.cli.render import LABEL, console, lines_to, show_card, table
from perfmodel.interfaces.reports.diagnosed import sizes, terms

if TYPE_CHECKING:
    from perfmodel.decide.diagnosis.answer import Diagnosis

MOST_SIZES = 16
"""Most message sizes that are shown; of more, every second, and so on."""


def show_diagnosis(answer: Diagnosis) -> None:
    """Print a diagnosis."""
    out = console()
    show_card(out, answer.card)
    lines_to(out, answer.reading, f"{'measured':<{LABEL}}")
    if answer.kind == "collective":
        _sizes(out, answer)
    elif answer.verdict in ("slow", "unclear"):
        _terms(out, answer)
    if answer.verdict != "fast":
        _causes(out, answer)
    _similar(out, answer)
    _next(out, answer)
    if answer.defaults:
        lines_to(out, ", ".join(answer.defaults), f"{'defaults':<10}")
    for note in answer.notes:
        lines_to(out, note, "note: ")


def _sizes(out: Console, answer: Diagnosis) -> None:
    """Print a row for message sizes, the largest in any case."""
    every = -(-len(answer.sizes) // MOST_SIZES)
    listing = sizes(answer)
    _print(out, listing.columns, listing.rows[::-1][::every][::-1], left=0)
    if answer.above_ports:
        lines_to(out, sentence(answer.above_ports))


def _print(out: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print rows as a table."""
    shown = table(*columns, left=left)
    for row in rows:
        shown.add_row(*row)
    out.print(shown)


def _terms(out: Console, answer: Diagnosis) -> None:
    """Print how much each term would have to take to hold the gap."""
    listing = terms(answer)
    lines_to(out, listing.heading)
    _print(out, listing.columns, listing.rows)


def _causes(out: Console, answer: Diagnosis) -> None:
    """Print what may be the case with its probabilities, which sum to 1."""
    for share, what in shares(answer, named_causes(answer)):
        label = f"{percent(share):>9}  "
        if isinstance(what, str):
            lines_to(out, what, label)
            continue
        lines_to(out, f"{what.name} ({what.change}): {with_cause(what)}", label)
        if answer.verdict != "normal" and share >= LEAST:
            lines_to(out, what.next, f"{'':11}")
    if said := own_error(answer):
        lines_to(out, sentence(said))


def _similar(out: Console, answer: Diagnosis) -> None:
    """Print published measurements, each with its source."""
    for index, each in enumerate(answer.similar):
        value = "" if answer.kind == "collective" else f"{show(each.value, 's')} for this job at "
        software = f", {each.software}" if each.software else ""
        words = f"{value}{each.words}{software}; {each.title}"
        lines_to(out, words, f"{'' if index else 'published':<10}")


def _next(out: Console, answer: Diagnosis) -> None:
    """Print what to measure next, and which causes each time would point to."""
    for index, each in enumerate(answer.next):
        lines_to(out, f"{index + 1} {each.words}", f"{'' if index else 'next':<10}")
        for time, causes in pointers(each.expected, answer):
            lines_to(out, f"{time}: {causes}", f"{'':12}")
    if answer.next:
        lines_to(out, expected_words(answer), f"{'':12}")
