"""A diagnosis as plain text of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from perfmodel.core.units import percent, show, show_range
from perfmodel.interfaces.cli.render import LABEL, console, lines_to, show_card, table
from perfmodel.model.step.terms import TERMS

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
    rows = table("size", "time", "80 % interval", "busbw", "predicted", "of it", "", left=0)
    for row in answer.sizes[::-1][::every][::-1]:
        rows.add_row(
            show(row.message_bytes, "B"),
            show(row.measured_time, "s"),
            show_range(row.low_80, row.high_80, "s"),
            show(row.measured_bus_bandwidth, "B/s"),
            show(row.predicted_bus_bandwidth, "B/s"),
            f"{100 * row.ratio:.0f} %",
            row.verdict,
        )
    out.print(rows)


def _terms(out: Console, answer: Diagnosis) -> None:
    """Print how much each term would have to take to hold the gap."""
    rows = table("term", "predicted", "needed", "could be", "by")
    shown = sorted(answer.terms, key=lambda term: not term.plausible)[:MOST_TERMS]
    for term in shown:
        reached = show(term.reached, "s") if term.by else "-"
        by = f"{term.by}{'' if term.plausible else ', not enough'}" if term.by else "no cause"
        rows.add_row(TERMS[term.name].label, show(term.time, "s"), show(term.needed, "s"), reached, by)
    out.print(rows)


def _causes(out: Console, answer: Diagnosis) -> None:
    """Print the causes with their probabilities."""
    for cause in answer.causes[:MOST_CAUSES]:
        lines_to(
            out,
            f"{cause.id}: {cause.words} ({cause.change}), {show(cause.predicted_time, 's')}",
            f"{percent(cause.probability):>9}  ",
        )
        if answer.verdict != "normal" and cause.probability >= 0.05:
            lines_to(out, cause.next, f"{'':11}")


def _similar(out: Console, answer: Diagnosis) -> None:
    """Print published measurements, each with its id."""
    for index, each in enumerate(answer.similar):
        value = "" if answer.kind == "collective" else f"{show(each.value, 's')} for this job at "
        software = f", {each.software}" if each.software else ""
        source = "" if answer.kind == "collective" else f"; {each.source}"
        lines_to(out, f"{value}{each.words}{software}{source}", f"{'' if index else 'published':<10}")
        for line in at_slashes(each.id, out.width - 12):
            out.print(Text(f"{'':12}{line}"))


def at_slashes(name: str, width: int) -> list[str]:
    """Return a name on as many lines as it needs, broken after slashes alone.

    >>> at_slashes("dlperf/tensorflow/resnet50-v1.5/v100-sxm2-16gb", 24)
    ['dlperf/tensorflow/', 'resnet50-v1.5/', 'v100-sxm2-16gb']
    """
    lines = [""]
    for part in name.replace("/", "/\n").splitlines():
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return lines


def _next(out: Console, answer: Diagnosis) -> None:
    """Print what to measure next."""
    if answer.next:
        lines_to(
            out,
            "what tells these causes apart, and the iteration time with each; normal: nothing is wrong, and "
            "the prediction is as far off there",
            f"{'next':<10}",
        )
    for each in answer.next:
        lines_to(out, each.words, " " * 10)
        expected = ", ".join(f"{cause} {show(time, 's')}" for cause, time in each.expected.items())
        lines_to(out, expected, " " * 12)
