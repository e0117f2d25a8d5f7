"""A diagnosis as plain text of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from perfmodel.core.units import percent, show
from perfmodel.decide.diagnosis.card import LEAST, shares
from perfmodel.interfaces.cli.render import LABEL, console, lines_to, show_card, table
from perfmodel.interfaces.reports.diagnosed import next_steps, sizes, terms

if TYPE_CHECKING:
    from perfmodel.decide.diagnosis.answer import Diagnosis

MOST_SIZES = 16
"""Most message sizes that are shown; of more, every second, and so on."""
MOST_CAUSES = 4
"""Most causes that are shown, the likeliest ones."""
MOST_TERMS = 6
"""Most terms that are shown: plausible ones first."""


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


def _print(out: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print rows as a table."""
    shown = table(*columns, left=left)
    for row in rows:
        shown.add_row(*row)
    out.print(shown)


def _terms(out: Console, answer: Diagnosis) -> None:
    """Print how much each term would have to take to hold the gap."""
    listing = terms(answer)
    order = sorted(range(len(answer.terms)), key=lambda index: not answer.terms[index].plausible)
    _print(out, listing.columns, [listing.rows[index] for index in order[:MOST_TERMS]])


def _causes(out: Console, answer: Diagnosis) -> None:
    """Print the causes with their probabilities, which sum to 1 with the rows of what is no cause."""
    unit = _unit(answer)
    rows = shares(answer, MOST_CAUSES)
    lines_to(out, rows[0][1], f"{percent(rows[0][0]):>9}  ")
    for cause in answer.causes[:MOST_CAUSES]:
        time = show(cause.predicted_time, "s")
        lines_to(
            out,
            f"{cause.name} ({cause.change}); {unit} would take {time}",
            f"{percent(cause.probability):>9}  ",
        )
        if answer.verdict != "normal" and cause.probability >= LEAST:
            lines_to(out, cause.next, f"{'':11}")
    for share, words in rows[1 + len(answer.causes[:MOST_CAUSES]) :]:
        lines_to(out, words, f"{percent(share):>9}  ")


def _unit(answer: Diagnosis) -> str:
    """Return what the times of causes are of."""
    return show(answer.sizes[-1].message_bytes, "B") if answer.sizes else "an iteration"


def _similar(out: Console, answer: Diagnosis) -> None:
    """Print published measurements, each with its source."""
    for index, each in enumerate(answer.similar):
        value = "" if answer.kind == "collective" else f"{show(each.value, 's')} for this job at "
        software = f", {each.software}" if each.software else ""
        words = f"{value}{each.words}{software}; {each.title}"
        lines_to(out, words, f"{'' if index else 'published':<10}")


def _next(out: Console, answer: Diagnosis) -> None:
    """Print what to measure next, and which causes each time would point to."""
    for index, (run, times) in enumerate(next_steps(answer).rows):
        lines_to(out, f"{index + 1} {run}", f"{'' if index else 'next':<10}")
        lines_to(out, f"iteration time {times}", f"{'':12}")
