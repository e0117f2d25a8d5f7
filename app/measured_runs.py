"""Measured runs with their predictions and publications, for the page Validation."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from app.answer_card import Shown
from app.plain import plain
from perfmodel.core.files.resources import folder
from perfmodel.core.sentences import capitalised
from perfmodel.core.units import per_cent, plural, show
from perfmodel.evidence.accuracy import Row, shipped_runs
from perfmodel.evidence.accuracy.report.error_statistics import BASELINES, counted, statistics, trusted
from perfmodel.evidence.accuracy.report.out_of_sample_file import shipped_rows
from perfmodel.evidence.accuracy.scenarios import measured_time
from perfmodel.evidence.accuracy.source_titles import short_title
from perfmodel.evidence.accuracy.training_compare import Mode
from perfmodel.evidence.accuracy.training_rows import Run
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.names import accelerator_name, network_name

FILTERS = ("source", "workload", "accelerator", "strategy", "trust")


@cache
def rows(mode: Mode) -> tuple[Row, ...]:
    """Return all shipped runs with out-of-sample predictions, each by a fit to all other sources."""
    return tuple(shipped_rows(mode))


@cache
def addresses() -> dict[str, str]:
    """Return source -> address of its publication."""
    with (folder("validation") / "sources.csv").open(encoding="utf-8") as file:
        addresses = {row["key"]: row["address"].split()[0] for row in csv.DictReader(file)}
    return {key: address for key, address in addresses.items() if address.startswith("https://")}


def known(name: str) -> list[str]:
    """Return the possible values of a filter."""
    return sorted({str(getattr(run, name)) for run in shipped_runs()})


def filtered(mode: Mode, wanted: Mapping[str, Sequence[str]]) -> list[Row]:
    """Return the rows that pass all filters, given as field -> allowed values; an empty filter allows all."""
    return [
        row
        for row in rows(mode)
        if all(str(getattr(row.run, name)) in words for name, words in wanted.items() if words)
    ]


def misses_first(rows: Iterable[Row]) -> list[Row]:
    """Return the predicted rows, those with the largest error factor first."""
    predicted = [row for row in rows if row.error is not None]
    return sorted(predicted, key=lambda row: -abs(math.log1p(row.error or 0.0)))


def off_words(error: float) -> str:
    """Return how far off a predicted time is: in per cent, from a factor of 2 on as a factor.

    >>> off_words(-0.915), off_words(-0.3), off_words(0.12), off_words(1.5)
    ('12 x too fast', '30 % too fast', '12 % too slow', '2.5 x too slow')
    """
    way, factor = ("too fast", 1 / (1 + error)) if error < 0 else ("too slow", 1 + error)
    if factor >= 2:
        return f"{factor:.0f} x {way}" if factor >= 10 else f"{factor:.2g} x {way}"
    return f"{per_cent(abs(error), 0)} {way}"


@cache
def _explained() -> dict[tuple[str, str], str]:
    """Return kind and name of a family of ``misses.md`` -> the first sentence of its entry."""
    text = (folder("validation") / "misses.md").read_text("utf-8")
    return {
        (kind, name.strip()): " ".join(words.split(". ")[0].split())
        for kind, names, words in re.findall(r"^## ([a-z-]+): (.+?)\n\n(.+?)(?=\n\n)", text, re.M | re.S)
        for name in names.split(",")
    }


def why(run: Run) -> str:
    """Return what is known of a run's error, by network, source or accelerator; else the run's own note."""
    families = (("workload", run.workload), ("source", run.source), ("accelerator", run.accelerator))
    known = next((_explained()[each] for each in families if each in _explained()), "")
    return known or run.note or "not explained"


def in_short(mode: Mode, rows: Sequence[Row]) -> tuple[Card, dict[str, Shown]]:
    """Return how far predictions are off what was measured, as an answer card and its main numbers.

    Parameters
    ----------
    mode : of the predictions
    rows : with a prediction
    """
    errors = statistics([row for row in rows if counted(row)])
    if not errors["n"]:
        return Card(advice="No run of a trusted source passes these filters."), {}
    naive, ten, twenty = errors["baseline"], errors["within_10"], errors["within_20"]
    over_sources, over_rows = whole(errors["mean_over_sources"]), whole(errors["mean_absolute_error"])
    held, held_rows = whole(errors["coverage_80_over_sources"]), whole(errors["coverage_80"])
    runs, sources = f"{errors['n']:,} runs", plural_of(errors["sources"], "source")
    every = statistics([row for row in rows if trusted(row)])
    ambiguous = (
        f"; with {every['n'] - errors['n']:,} runs more whose anchor is ambiguous "
        f"{spaced(every['mean_over_sources'])} and {spaced(every['mean_absolute_error'])}"
        if every["n"] > errors["n"]
        else ""
    )
    rests = "from specs alone" if mode == "specs" else "anchored on the time of one accelerator"
    card = Card(
        advice=f"{capitalised(rests)}, a predicted time is {over_sources} off on average: plan with its "
        "interval, not with the time alone.",
        rests_on=f"{runs} of {sources}; the mean over the sources of their median errors is "
        f"{spaced(errors['median_over_sources'])}; with each run counted once the mean error is "
        f"{spaced(errors['mean_absolute_error'])}, the median {spaced(errors['median_absolute_error'])}, "
        f"{spaced(twenty)} of runs are within 20 % and {spaced(ten)} within 10 %, and the naive answer, "
        f"{BASELINES[mode]}, "
        f"has a median error of {spaced(naive['median_absolute_error'])}; each source is predicted by a fit "
        f"to all others, {rests}; of trust A or B, from A (hardware, batch and procedure stated) to D (not "
        f"comparable){ambiguous}",
    )
    figures = {
        "Mean error": (over_sources, f"mean over {sources}; {over_rows} over their {runs}"),
        "80 % intervals held": (
            held,
            f"of times of sources that the model was not fitted to; {held_rows} over runs",
        ),
    }
    return card, {label: Shown(*texts) for label, texts in figures.items()}


def whole(share: float | None) -> str:
    """Return a share in whole per cent; a dash where there is none.

    >>> whole(0.1187), whole(None)
    ('12 %', '-')
    """
    return "-" if share is None else per_cent(share, 0)


def plural_of(count: int, noun: str) -> str:
    """Return a count, with a comma in thousands, and its noun."""
    return f"{count:,} {plural(noun, count)}"


def spaced(share: float | None) -> str:
    """Return a share in per cent with three digits; a dash where there is none.

    >>> spaced(0.1187), spaced(0.7), spaced(1.0), spaced(None)
    ('11.9 %', '70.0 %', '100 %', '-')
    """
    return "-" if share is None else f"{100 * share:#.3g}".removesuffix(".") + " %"


def reason(run: Run) -> str:
    """Return the first words of what is known of a run's error, without the times that its source states."""
    words = [part for part in why(run).split("; ") if "=" not in part]
    return "; ".join(words[:3]) or "not explained"


class Family(NamedTuple):
    """Runs of one network on one accelerator by one source."""

    name: str
    runs: int
    worst: Row


def families(rows: Iterable[Row]) -> list[Family]:
    """Return the families of predicted rows, given the largest misses first, in the same order."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.run.workload, row.run.accelerator, row.run.source), []).append(row)
    return [
        Family(f"{network_name(network)} on {accelerator_name(accelerator)}", len(of), of[0])
        for (network, accelerator, _), of in groups.items()
    ]


def families_listed(rows: Iterable[Row], most: int) -> str:
    """Return the families with the largest misses, the worst run of each and why, as a list in Markdown."""
    return "\n".join(
        f"* **{plain(f'{each.name}: {off_words(each.worst.error or 0.0)}')}**, the worst of "
        f"{plural_of(each.runs, 'run')} of {plain(short_title(each.worst.run.source))}. "
        f"Known: {plain(reason(each.worst.run)).removesuffix('.')}."
        for each in families(rows)[:most]
    )


def misses_table(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return rows as a table for display: the case in words, why, and where it was measured."""
    return [
        {
            "case": f"{network_name(row.run.workload)}, {row.run.world_size} x "
            f"{accelerator_name(row.run.accelerator)}",
            "off": off_words(row.error or 0.0),
            "why, or what its source says": why(row.run),
            "precision": row.run.precision,
            "batch": row.run.local_batch_size,
            "strategy": row.run.strategy,
            "measured": show(measured_time(row.run) or 0.0, "s"),
            "predicted": show(row.predicted or 0.0, "s"),
            "source": addresses().get(row.run.source),
            "where": row.run.locator,
            "trust": row.run.trust,
            "run": row.run.run_id,
        }
        for row in rows
    ]


def table(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return rows as a table for display, with the addresses of their sources."""
    return [
        {
            "error": row.error,
            "run": row.run.run_id,
            "workload": row.run.workload,
            "accelerator": row.run.accelerator,
            "GPUs": row.run.world_size,
            "precision": row.run.precision,
            "batch": row.run.local_batch_size,
            "strategy": row.run.strategy,
            "measured [s]": measured_time(row.run),
            "predicted [s]": row.predicted,
            "source": addresses().get(row.run.source),
            "where": row.run.locator,
            "trust": row.run.trust,
        }
        for row in rows
    ]


@cache
def report() -> str:
    """Return the text of ``validation/report.md``."""
    return (folder("validation") / "report.md").read_text("utf-8")


@cache
def section(heading: str) -> str:
    """Return the text of one section of the report; "" if it has none of that heading."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", report(), re.DOTALL | re.MULTILINE)
    return match[1].strip() if match else ""


@cache
def misses() -> str:
    """Return the text of ``validation/misses.md``, the model's explained errors, with smaller headings."""
    text = (folder("validation") / "misses.md").read_text("utf-8")
    return re.sub(r"^#+ ", "##### ", text, flags=re.MULTILINE)
