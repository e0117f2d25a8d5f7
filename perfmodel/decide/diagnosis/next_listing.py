"""Which further listing would tell the causes of a slow listing apart."""

from __future__ import annotations

from collections.abc import Callable

from perfmodel.decide.diagnosis.answer import NextMeasurement
from perfmodel.decide.diagnosis.assumptions import ADAPTERS, MACHINE
from perfmodel.decide.diagnosis.causes import causes_of
from perfmodel.decide.diagnosis.next_measurement import TELLING, spread_of
from perfmodel.decide.diagnosis.weighed import Weighed, Weights
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.all_reduce import Curve
from perfmodel.model.collectives.model import curve, fitted
from perfmodel.model.collectives.place import Point, place_of

NOT_TESTED = ("slow-rank", MACHINE, ADAPTERS)
"""Causes of which fewer ranks say nothing: which rank is slow is not known; what was assumed is looked up."""
MOST_CAUSES = 5
"""Most causes that are told apart, the likeliest."""


def next_listings(
    point: Point, weights: Weights, catalogue: Catalogue, point_of: Callable[[int, int], Point]
) -> list[NextMeasurement]:
    """Return further listings, that which tells the causes apart best first; none of a single machine.

    Parameters
    ----------
    point : the collective, of the largest message
    weights : its causes
    catalogue : where TCP is looked up
    point_of : returns the same collective over a number of ranks and of machines
    """
    hosts, ranks = point.hosts, point.group_size // point.hosts
    if point.nodes == 1 or ranks == 1:
        return []
    tested = [each for each in weights.causes if each.cause.id not in NOT_TESTED][:MOST_CAUSES]
    odds = {"normal": weights.normal, **{each.cause.id: each.probability for each in tested}}
    result = []
    for words, at in (
        (f"the {point.collective} inside each machine alone, {ranks} ranks", point_of(ranks, 1)),
        (f"the {point.collective} with one rank on each of the {hosts} machines", point_of(hosts, hosts)),
    ):
        curves = {"normal": curve(place_of(at), fitted().parameters), **_curves(tested, at, catalogue)}
        expected = {id: _bus_bandwidth(at, line) for id, line in curves.items()}
        spread = spread_of(expected, odds)
        if spread >= TELLING:
            result.append(NextMeasurement(words=words, options={}, expected=expected, spread=spread))
    return sorted(result, key=lambda each: -each.spread)


def _curves(tested: list[Weighed], at: Point, catalogue: Catalogue) -> dict[str, Curve]:
    """Return the curve of each cause at other ranks, the usual one where they cannot have it."""
    usual = curve(place_of(at), fitted().parameters)
    forms = {cause.id: cause.variants for cause in causes_of(at, fitted().parameters, catalogue)}
    return {
        each.cause.id: next(
            (form.curve for form in forms.get(each.cause.id, ()) if form.words == each.variant.words),
            forms[each.cause.id][0].curve if each.cause.id in forms else usual,
        )
        for each in tested
    }


def _bus_bandwidth(at: Point, line: Curve) -> float:
    """Return the bus bandwidth of a message with a curve [B/s]."""
    rate = at.message_bytes / float(line.time(at.message_bytes))
    return float(bus_bandwidth(at.collective, rate, at.group_size))
