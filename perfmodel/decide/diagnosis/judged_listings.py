"""How often ``diagnose`` finds listings that are wrong, and how often it calls normal ones wrong.

Listings are measured rows of ``validation/measured/collectives.csv`` that one source measured on one
fabric.  Each is judged by a fit that saw nothing of its source.  Sources are in two halves: constants of the
diagnosis were chosen on one, rates are reported on the other.
``perfmodel validate --kind diagnose`` prints both.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.core.files.resources import folder
from perfmodel.decide.diagnosis.faults import FAULTS, is_material, spoiled
from perfmodel.decide.diagnosis.weighed import Weights, weigh
from perfmodel.evidence.accuracy.collectives.collective_fit import data_of, fit, judged, learned_from, spreads
from perfmodel.evidence.accuracy.collectives.collective_rows import (
    COLUMNS,
    Measurement,
    measurement_of,
    shipped_measurements,
)
from perfmodel.evidence.accuracy.measured_table import measured_lines
from perfmodel.evidence.accuracy.training_rows import TRUSTED
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.model.collectives.model import Fitted, fitted
from perfmodel.model.collectives.parameters import named
from perfmodel.model.collectives.place import Point

FEWEST_SIZES = 6
"""Least number of message sizes of a listing."""


class Listing(NamedTuple):
    """One measured listing."""

    id: str
    """Of its first row."""
    source: str
    point: Point
    sizes: Array
    times: Array
    trust: str
    is_forced: bool
    """Whether the user forced an algorithm or protocol."""

    @property
    def is_normal(self) -> bool:
        """Whether nothing is known to be wrong: trusted rows, the library left to choose, and no plug-in that
        the source says is missing."""
        return self.trust in TRUSTED and not self.is_forced and not self.lacks_plug_in

    @property
    def lacks_plug_in(self) -> bool:
        """Whether it was measured over TCP on a network that has a plug-in."""
        link = self.point.inter_link
        return link is not None and link.passes_kernel and link.family not in (None, "ethernet")


class Case(NamedTuple):
    """A listing to be judged."""

    listing: Listing
    fault: str | None
    """What is wrong; None of a normal one."""
    causes: tuple[str, ...] = ()
    """Names that are right."""
    is_real: bool = True
    """Whether its times are as published, not spoiled here."""


class Judgement(NamedTuple):
    """What the diagnosis said of a case."""

    case: Case
    weights: Weights

    @property
    def alarm(self) -> bool:
        """Whether it says that something is wrong."""
        return not self.weights.is_normal

    @property
    def named(self) -> str:
        """The likeliest cause."""
        return self.weights.name

    @property
    def right(self) -> bool:
        """Whether the likeliest cause is the fault."""
        return self.alarm and self.named in self.case.causes

    @property
    def among_two(self) -> bool:
        """Whether the fault is one of the two likeliest causes."""
        first = {each.cause.id for each in self.weights.causes[:2]}
        return self.alarm and bool(first & set(self.case.causes))


@cache
def listings() -> tuple[Listing, ...]:
    """Return every measured listing, held-out rows included."""
    rows: dict[tuple[Any, ...], list[tuple[Measurement, Point]]] = defaultdict(list)
    catalogue = Catalogue.built_in()
    for line in measured_lines(folder("validation") / "measured" / "collectives.csv", COLUMNS, None):
        row = measurement_of(line, catalogue)
        if row.point is None or math.isnan(row.time):
            continue
        is_forced = bool(line.text("algorithm") or line.text("protocol"))
        how = line.text("library"), line.text("dtype"), is_forced
        rows[row.source, row.accelerator, row.point.place, *how].append((row, row.point))
    result = []
    for (source, *_, is_forced), group in rows.items():
        times: dict[float, list[float]] = defaultdict(list)
        for row, point in group:
            times[point.message_bytes].append(row.time)
        if len(times) < FEWEST_SIZES:
            continue
        sizes = sorted(times)
        first, point = group[0]
        trust = max(row.trust for row, _ in group)
        middle = np.array([np.median(times[size]) for size in sizes])
        result.append(Listing(first.run_id, source, point, np.array(sizes), middle, trust, is_forced))
    return tuple(result)


@cache
def fits() -> dict[str, Fitted]:
    """Return, for each source that the shipped fit learned from, a fit without it."""
    data = data_of(learned_from(shipped_measurements()))
    errors = judged(data)
    return {
        source: Fitted(
            named(fit(data.rows(data.sources != source))),
            spreads(data, errors, source),
            frozenset(data.transports[data.sources != source].tolist()),
        )
        for source in np.unique(data.sources).tolist()
    }


def chosen_on() -> frozenset[str]:
    """Return the sources on which constants were chosen: every second that a fit learned from, by name."""
    return frozenset(sorted(fits())[::2])


def normal_cases(kept: Callable[[str], bool]) -> list[Case]:
    """Return every normal listing of some sources."""
    return [Case(each, None) for each in listings() if each.is_normal and kept(each.source)]


def wrong_cases(kept: Callable[[str], bool]) -> list[Case]:
    """Return listings that are wrong: real ones, and every normal one spoiled by every fault it can have."""
    result = [case for case in _real() if kept(case.listing.source)]
    for fault in FAULTS:
        for case in normal_cases(kept):
            listing = case.listing
            if is_material(fault, *listing[2:5]):
                times = spoiled(fault, *listing[2:5])
                result.append(Case(listing._replace(times=times), fault.id, fault.causes, False))
    return result


def _real() -> Iterator[Case]:
    """Yield published listings of machines that did not work as they are said to."""
    catalogue = Catalogue.built_in()
    for each in listings():
        link = each.point.inter_link
        if link is None:
            continue
        if each.lacks_plug_in:
            stated = each.point._replace(inter_link=_with_plug_in(link, catalogue))
            yield Case(each._replace(point=stated), "plug-in not loaded", ("tcp",))
        elif each.source == "gke-h200-dranet-1gpu":
            stated = each.point._replace(nics=8)
            yield Case(each._replace(point=stated), "one adapter of eight", ("few-adapters",))
        elif each.source == "nccl-tests-issue-290" and not each.is_forced:
            yield Case(each, "reported as slow", ("few-adapters", "slow-rank", "no-gpudirect", "tcp"))


def _with_plug_in(link: Link, catalogue: Catalogue) -> Link:
    """Return the link of the same adapters by their own transport."""
    rate = link.bandwidth.value
    alike = (each for each in map(catalogue.link, catalogue.ids("links")) if each.family == link.family)
    return next(each for each in alike if each.bandwidth.value == rate and not each.passes_kernel)


def judge(cases: Iterable[Case]) -> list[Judgement]:
    """Diagnose cases, each by a fit that saw nothing of its source."""
    catalogue, shipped = Catalogue.built_in(), fitted()
    return [
        Judgement(case, weigh(*case.listing[2:5], catalogue, fits().get(case.listing.source, shipped)))
        for case in cases
    ]


class Rates(NamedTuple):
    """What the diagnosis said of wrong and of normal listings."""

    wrong: tuple[Judgement, ...]
    normal: tuple[Judgement, ...]

    @property
    def detected(self) -> float:
        """Share of the wrong listings that are called wrong."""
        return fmean(each.alarm for each in self.wrong)

    @property
    def named(self) -> float:
        """Share of the wrong listings whose likeliest cause is the fault."""
        return fmean(each.right for each in self.wrong)

    @property
    def among_two(self) -> float:
        """Share of the wrong listings of which the fault is one of the two likeliest causes."""
        return fmean(each.among_two for each in self.wrong)

    @property
    def false_alarms(self) -> float:
        """Share of the normal listings that are called wrong."""
        return fmean(each.alarm for each in self.normal)

    @property
    def detected_by_source(self) -> float:
        """The mean over sources of the share of their wrong listings that are found."""
        return over_sources(self.wrong)

    @property
    def false_alarms_by_source(self) -> float:
        """The mean over sources of the share of their normal listings that are called wrong."""
        return over_sources(self.normal)

    def by_fault(self) -> dict[str, list[Judgement]]:
        """Return the wrong listings by their fault."""
        result = defaultdict(list)
        for each in self.wrong:
            result[each.case.fault or ""].append(each)
        return dict(result)


def over_sources(judgements: Sequence[Judgement]) -> float:
    """Return the mean over sources of their shares of alarms."""
    alarms = defaultdict(list)
    for each in judgements:
        alarms[each.case.listing.source].append(each.alarm)
    return fmean(map(fmean, alarms.values()))


@cache
def rates(chosen: bool = False) -> Rates:
    """Return the rates on the half of the sources that nothing was chosen on, or on the other half."""
    kept: Callable[[str], bool] = lambda source: (source in chosen_on()) == chosen  # noqa: E731
    return Rates(tuple(judge(wrong_cases(kept))), tuple(judge(normal_cases(kept))))
