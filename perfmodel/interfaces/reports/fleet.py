"""The page of a comparison of fleets."""

from __future__ import annotations

from typing import Any

from perfmodel.core.units import duration, rate, show
from perfmodel.decide.planning.fleets.option_words import name_of
from perfmodel.decide.planning.fleets.payback_words import payback_words
from perfmodel.decide.planning.fleets.result import FleetOption, Fleets
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.given import in_short
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans
from perfmodel.interfaces.reports.sources import sources_behind
from perfmodel.model.options.conditions import Conditions


def page_of_fleets(answer: Fleets, command: str | None, catalogue: Catalogue) -> Page:
    """Return the page of a comparison of fleets.

    Parameters
    ----------
    command : shell command that repeats it, or None
    catalogue : of the compared hardware
    """
    card = in_short(answer.card)
    tables = (card, _options(answer), _costs(answer), _mixed(answer))
    caveats = list(dict.fromkeys(line for one in (answer.have, *answer.options) for line in one.notes))
    return Page(
        question=f"What would add to {answer.headline}?",
        answer=[answer.card.advice],
        charts=[_speeds(answer)],
        tables=[table for table in tables if table.rows],
        assumptions=[line for line in answer.notes if line.startswith("assumed")],
        notes=[
            *(line for line in answer.notes if not line.startswith("assumed")),
            *caveats,
            *(f"left out: {one.option}: {one.reason}" for one in answer.left_out),
        ],
        sources=sources_behind(_scenarios(answer), catalogue, Conditions()),
        command=command,
    )


def _scenarios(answer: Fleets) -> list[dict[str, Any]]:
    """Return scenario options for each kind of machine that was compared."""
    kinds = {kind.name: kind for one in (answer.have, *answer.options) for kind in one.kinds}
    return [
        {
            "workload": answer.workload,
            "node": kind.node,
            "accelerator": kind.accelerator,
            "world_size": kind.gpus,
        }
        for kind in kinds.values()
    ]


def _speeds(answer: Fleets) -> Spans:
    """Return a chart of the speed of each option compared with the present fleet."""
    spans = [
        Span(name_of(one), ratio.value, ratio.low_80, ratio.high_80, ratio.words)
        for one in answer.options
        if (ratio := one.ratio) is not None
    ]
    return Spans(
        "How fast, as a multiple of what there is",
        spans,
        "80 % intervals; the line is what there is",
        line=1.0,
    )


def _options(answer: Fleets) -> Listing:
    """Return a table of each option's size and speed."""
    return Listing(
        "Each option in numbers",
        (
            *("option", "all together", "what takes the time of a step", "network"),
            *("GPUs", "samples a step", "iteration", "samples/s", "x as fast", "80 %", "run"),
        ),
        [
            [
                name_of(one),
                " + ".join(kind.words for kind in one.kinds),
                one.limit,
                one.network or "-",
                str(one.gpus),
                f"{one.global_batch_size:,}",
                show(one.iteration_time, "s"),
                rate(one.samples_per_second),
                "" if one.ratio is None else f"{one.ratio.value:.3g}",
                _ends(one),
                "-" if one.run_time is None else duration(one.run_time),
            ]
            for one in (answer.have, *answer.options)
        ],
        texts=4,
    )


def _ends(one: FleetOption) -> str:
    """Return the 80 % interval of an option's speed as text; empty where there is none."""
    if one.ratio is None or one.ratio.low_80 is None or one.ratio.high_80 is None:
        return ""
    return f"{one.ratio.low_80:.3g} to {one.ratio.high_80:.3g}"


def _costs(answer: Fleets) -> Listing:
    """Return a table of each option's costs and payback."""
    return Listing(
        "What it costs, and when it pays back",
        ("option", "pays back", "what", "USD", "USD/h", "of a run [USD]", "worth up to [USD]"),
        [
            [
                name_of(one),
                payback_words(one, answer.work_value),
                _items(one),
                _dollars(None if one.purchase is None else one.purchase.capital),
                _dollars(None if one.purchase is None else one.purchase.rent),
                _dollars(one.cost_of_run),
                _dollars(one.worth),
            ]
            for one in answer.options
        ],
        texts=3,
    )


def _items(one: FleetOption) -> str:
    """Return the items of a purchase in words, with unknown prices."""
    if one.purchase is None:
        return ""
    return "; ".join([*(item.at_price for item in one.purchase.items), *one.purchase.unknown])


def _dollars(amount: float | None) -> str:
    """Return an amount of money as text; a dash where it is unknown."""
    return "-" if amount is None else rate(amount)


def _mixed(answer: Fleets) -> Listing:
    """Return a table of the times of each kind of machine in mixed fleets."""
    mixed = [one for one in (answer.have, *answer.options) if len(one.kinds) > 1]
    return Listing(
        "A step of mixed fleets",
        ("fleet", "machines", "samples a GPU", "own work", "exposed exchange", "step of the fleet"),
        [
            [
                name_of(one),
                f"{kind.machines} x {kind.name}",
                f"{kind.samples_per_gpu:.4g}",
                show(kind.own_time, "s"),
                show(kind.exposed_time, "s"),
                show(one.iteration_time, "s"),
            ]
            for one in mixed
            for kind in one.kinds
        ],
        texts=2,
    )
