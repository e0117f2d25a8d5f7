"""The page of a sensitivity: inputs by their effect on the time, limits, and crossovers."""

from __future__ import annotations

from typing import Any

from perfmodel.core.units import show
from perfmodel.decide.sensitivity.input_words import limit_words, value_words, words_of
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
    swings = [row for row in report.inputs if _swing(row) > LEAST * time]
    swings.sort(key=_swing, reverse=True)
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
        answer=[*([f"The job {report.unfit}."] if report.unfit else []), _decision(swings, time)],
        charts=[_tornado(swings[:DRAWN], time)] if swings else [],
        tables=[table for table in tables if table.rows],
        assumptions=[f"price: {report.price_words}"] if report.price_words else [],
        notes=report.notes,
        sources=sources_behind([options], catalogue, conditions),
        command=command,
    )


def _ends(row: dict[str, Any]) -> tuple[float, float] | None:
    """Return the times with an input a quarter smaller and larger, in order; None if one is unknown."""
    if row["at_-25%"] is None or row["at_+25%"] is None:
        return None
    low, high = sorted((row["at_-25%"], row["at_+25%"]))
    return low, high


def _swing(row: dict[str, Any]) -> float:
    """Return the difference of these times [s]."""
    ends = _ends(row)
    return 0.0 if ends is None else ends[1] - ends[0]


def _decision(swings: list[dict[str, Any]], time: float) -> str:
    """Return a sentence on the input with the largest effect."""
    if not swings:
        return f"No input moves the iteration of {show(time, 's')}."
    less, more = (swings[0][key] / time - 1 for key in ("at_-25%", "at_+25%"))
    name = words_of(swings[0]["name"])
    return (
        f"{name[:1].upper()}{name[1:]} matters most: a quarter less of it changes the iteration of "
        f"{show(time, 's')} by {less:+.1%}, a quarter more by {more:+.1%}."
    )


def _tornado(rows: list[dict[str, Any]], time: float) -> Spans:
    """Return a chart of the times with each input a quarter smaller and larger."""
    spans = []
    for row in rows:
        ends = _ends(row)
        assert ends is not None
        words = " and ".join(f"{row[key] / time - 1:+.1%}" for key in ("at_-25%", "at_+25%"))
        spans.append(Span(words_of(row["name"]), None, *ends, words))
    caption = (
        f"Time of an iteration, from 0, with each input between a quarter less and more; the line is "
        f"{show(time, 's')}, the words say what a quarter less and a quarter more change."
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
