"""The page of a sensitivity: inputs by their effect on the time, limits, and crossovers."""

from __future__ import annotations

from perfmodel.core.units import per_cent, show
from perfmodel.decide.sensitivity.input_words import limit_words, value_words, words_of
from perfmodel.decide.sensitivity.levers import decision
from perfmodel.decide.sensitivity.per_sample import Effect, effects
from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport, sides_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans
from perfmodel.interfaces.reports.sources import sources_behind
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario

DRAWN = 12
"""Inputs of the chart: those with the largest effect."""
LEAST = 1e-9
"""Relative change of the time below which an input has no effect."""


def page_of_sensitivity(
    report: SensitivityReport,
    scenario: Scenario,
    command: str | None,
    catalogue: Catalogue,
    conditions: Conditions,
) -> Page:
    """Return the page of a sensitivity.

    Parameters
    ----------
    report : result of ``sensitivity_report``
    scenario, catalogue, conditions : of the sensitivity
    command : shell command that repeats it, or None
    """
    time = report.iteration_time
    swings = [each for each in effects(report.inputs, time) if each.most > LEAST]
    limits = [[limit_words(arm)] for arm in report.maxima]
    tables = [
        _inputs(report),
        _counts(report),
        Listing("Which limit sets the time, where there are several", ("",), limits),
    ]
    turns = [[turn["words"]] for turn in report.crossovers]
    tables.insert(0, Listing("Where the answer changes", ("",), turns))
    options = scenario.model_dump(mode="json", exclude_unset=True)
    return Page(
        question=f"What does the time of an iteration depend on: {report.title}?",
        answer=[
            *([f"The job {report.unfit}."] if report.unfit else []),
            f"{decision(swings, report.crossovers)} An iteration takes {show(time, 's')}.",
        ],
        charts=[_tornado(swings[:DRAWN], time)] if swings else [],
        tables=[table for table in tables if table.rows],
        assumptions=[f"price: {report.price_words}"] if report.price_words else [],
        notes=report.notes,
        sources=sources_behind([options], catalogue, conditions),
        command=command,
    )


def _changes(effect: Effect) -> tuple[float, float]:
    """Return what a quarter less and a quarter more change, as shares; 0 where it is not known."""
    return effect.less or 0.0, effect.more or 0.0


def _tornado(rows: list[Effect], time: float) -> Spans:
    """Return a chart of the times with each input a quarter smaller and larger."""
    spans = []
    for row in rows:
        changes = _changes(row)
        low, high = sorted(time * (1 + change) for change in changes)
        words = " and ".join(per_cent(change, signed=True) for change in changes)
        spans.append(Span(words_of(row.row["name"]), None, low, high, words))
    caption = (
        f"Time for the samples of an iteration, from 0, with each input between a quarter less and more; the "
        f"line is {show(time, 's')}, the words say what a quarter less and a quarter more change."
    )
    return Spans("What moves it", spans, caption, line=time)


def _inputs(report: SensitivityReport) -> Listing:
    """Return a table of the elasticities of inputs."""
    priced = report.cost_per_1000_samples is not None
    columns = ["input", "what it is", "value", "of the time"]
    columns += ["of the cost"] if priced else []
    columns += ["a quarter less", "a quarter more"]
    rows = []
    for row in report.inputs:
        value = value_words(row["value"], row["unit"])
        sides = [sides_words(row["time"]), *([sides_words(row["cost"])] if priced else [])]
        times = ["-" if row[key] is None else show(row[key], "s") for key in ("at_-25%", "at_+25%")]
        rows.append([words_of(row["name"]), row["meaning"], value, *sides, *times])
    return Listing("Percent that one percent more of an input changes", columns, rows, texts=2)


def _counts(report: SensitivityReport) -> Listing:
    """Return a table of the effects of halving and doubling counts."""
    rows = [
        [words_of(row["name"]), row["meaning"], str(row["value"]), sides_words(row["time"])]
        for row in report.counts
    ]
    return Listing(
        "Counts, halved and doubled", ("count", "what it is", "value", "of the time"), rows, texts=2
    )
