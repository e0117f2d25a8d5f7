"""The page of a job on several numbers of accelerators."""

from __future__ import annotations

from perfmodel.core.units import counted, per_cent, rate, show, shown_part
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.figures import overflows
from perfmodel.interfaces.reports.given import in_short
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans
from perfmodel.interfaces.reports.sources import sources_behind
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.memory_odds import short_verdict
from perfmodel.model.prediction.names import accelerator_name, network_name
from perfmodel.model.prediction.scaling import Scaling

DRAWN = 16
"""Numbers of accelerators in a chart, evenly spaced; the table has all."""


def page_of_scaling(scaling: Scaling, command: str | None, catalogue: Catalogue) -> Page:
    """Return the page of a job on several numbers of accelerators.

    Parameters
    ----------
    command : shell command that repeats it, or None
    catalogue : of the predictions
    """
    last = scaling.predictions[-1]
    scenario = last.scenario
    lacking = overflows(scaling.predictions)
    warnings = dict.fromkeys(line for each in scaling.predictions for line in each.warnings)
    return Page(
        question=f"How far does {network_name(scenario['workload'])} scale on "
        f"{accelerator_name(scenario['accelerator'])}, "
        f"{scenario['precision']}, {scenario['strategy']}, {last.scaling} scaling, by the {last.model} "
        "model?",
        answer=[
            scaling.card.advice,
            *([f"{lacking}."] if lacking else []),
            last.verdict,
        ],
        charts=[*_charts(scaling)],
        tables=[in_short(scaling.card), _table(scaling)],
        assumptions=[f"defaults taken: {', '.join(last.defaults)}"] if last.defaults else [],
        notes=[*scaling.notes, *warnings],
        sources=sources_behind([scenario], catalogue, Conditions()),
        command=command,
    )


def _charts(scaling: Scaling) -> list[Spans]:
    """Return charts of efficiency and time by number of accelerators."""
    rows = scaling.rows
    step = -(-len(rows) // DRAWN)
    drawn = [row for index, row in enumerate(rows) if (len(rows) - 1 - index) % step == 0]
    efficiency = [
        Span(
            counted(row.world_size, "GPU"),
            row.scaling_efficiency,
            None,
            None,
            per_cent(row.scaling_efficiency),
        )
        for row in drawn
    ]
    times = [
        Span(
            counted(row.world_size, "GPU"),
            row.iteration_time,
            row.interval.low_80 if row.interval else None,
            row.interval.high_80 if row.interval else None,
            show(row.iteration_time, "s"),
        )
        for row in drawn
    ]
    return [
        Spans("Scaling efficiency", efficiency, "From 0; the line is 100 %.", line=1.0),
        Spans("Time of an iteration", times, "From 0, with 80 % intervals where they are known."),
    ]


def _table(scaling: Scaling) -> Listing:
    """Return a table with a row for each number of accelerators."""
    columns = ("GPUs", "iteration", "at 80 %", "samples/s", "speed-up", "efficiency", "exposed", "fits")
    return Listing(
        "Every number of accelerators",
        columns,
        [
            [
                str(row.world_size),
                show(row.iteration_time, "s"),
                f"{show(row.interval.low_80, 's')} to {show(row.interval.high_80, 's')}"
                if row.interval
                else "-",
                rate(row.samples_per_second),
                f"{row.speedup:.2f}",
                per_cent(row.scaling_efficiency),
                shown_part(row.exposed_communication_time, row.iteration_time),
                short_verdict(row.fits_probability),
            ]
            for row in scaling.rows
        ],
        texts=0,
    )
