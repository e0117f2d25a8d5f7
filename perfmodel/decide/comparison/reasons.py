"""Why two jobs differ in speed by as much as they do, or why they do not: what limits each."""

from __future__ import annotations

import math
from typing import NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.units import show, three_digits
from perfmodel.decide.comparison.case import Case
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.model.prediction.card import limit_of
from perfmodel.model.prediction.limits import learned_from, without_remedy
from perfmodel.model.step.terms import COMMUNICATION, added, bound_words, by_bound

NETWORK = (
    *("inter_link", "transport", "nics", "connections", "network_cap"),
    *("oversubscription", "rack_nodes", "placement"),
)
"""Options of the network between nodes."""
FOLLOWING = ("nodes", "global_batch_size", "local_batch_size", "scaling")
"""Entries of a scenario that may follow from others."""
NAMED = 0.1
"""Smallest share of all that becomes faster or slower that is named."""
LITTLE = 0.005
"""Share of the time below which a difference is not named."""
MOST = 3
"""Differences that are named."""
HIDDEN = 0.01
"""Share of the time that communication adds below which it counts as hidden."""


class Part(NamedTuple):
    """What one activity takes in two jobs, for as many samples on an accelerator."""

    bound: str
    before: float
    """[s]"""
    after: float
    """[s]"""


def differing(first: Case, other: Case) -> set[str]:
    """Return the options in which two jobs differ, without those that may follow from others."""
    one, two = (case.prediction.scenario for case in (first, other))
    return {name for name in {*one, *two}.difference(FOLLOWING) if one.get(name) != two.get(name)}


def differ_in_network(first: Case, other: Case) -> bool:
    """Return whether two jobs differ in nothing but the network between their nodes."""
    apart = differing(first, other)
    return bool(apart) and apart <= {*NETWORK}


def common_limit(first: Case, other: Case) -> str | None:
    """Return the limit other than links that the networks of two jobs share, as text with its number."""
    limits = [case.prediction.network_limit for case in (first, other)]
    return without_remedy(limits[0]) if limits[0] is not None and limits[0] == limits[1] else None


def runs_of_tcp(*cases: Case) -> str:
    """Return which runs the rate of the kernel's TCP was learned from, where it limits a case; else empty."""
    limits = [case.prediction.network_limit or "" for case in cases]
    return next((learned_from(limit) for limit in limits if learned_from(limit)), "")


def why_nothing(first: Case, other: Case) -> str:
    """Return why a job is as fast as another, as a clause."""
    if differ_in_network(first, other):
        return _why_no_network_helps(first, other)
    apart = differing(first, other)
    if not apart:
        return f"{other.name} is the same job"
    parts = [part for part in _parts(first, other) if _is_large(part, first)]
    if parts:
        signs = {part.after > part.before for part in parts}
        head = (
            "what it gains in one part it loses in another" if len(signs) > 1 else "all that changes is that"
        )
        return f"{head}{':' if len(signs) > 1 else ''} {', '.join(map(_words, parts))}"
    return f"what limits both stays as it is: {limit_of(first.prediction)}"


def _why_no_network_helps(first: Case, other: Case) -> str:
    """Return why another network between the nodes changes nothing, as a clause."""
    one, two = (case.prediction for case in (first, other))
    if one.scenario["nodes"] == 1 and not one.scenario["servers"]:
        return "all GPUs are in one machine, and nothing crosses the network"
    share = min(added(each.terms) / each.iteration_time for each in (one, two))
    if share < HIDDEN:
        limited = f"it is limited by {limit_of(two)}"
        return f"{limited}; communication adds {_share(share)}, all that a network could save"
    free = three_digits(1 / (1 - share))
    most = f"No network is expected to make the job more than {free} x as fast: communication adds"
    limit = common_limit(first, other)
    head = f"both networks are limited by {limit}" if limit else f"it is limited by {limit_of(two)}"
    return f"{head}. {most} {_share(share)}"


def why(first: Case, other: Case) -> list[str]:
    """Return why a job is faster or slower than another, and what limits it then, as at least one clause."""
    parts = [_words(part) for part in _parts(first, other) if _is_large(part, first)]
    sizes = [case.prediction.scenario["world_size"] for case in (first, other)]
    lines = []
    if not math.isclose(first.goodput, other.goodput, rel_tol=LITTLE):
        kept = [f"{case.name} keeps the work of {_share(case.goodput)}" for case in (first, other)]
        lines.append(f"{', '.join(kept)}: failures and checkpoints take the rest")
    if sizes[0] != sizes[1]:
        size = sizes[1] / sizes[0]
        each = other.prediction.samples_per_second / first.prediction.samples_per_second / size
        lines.append(f"{three_digits(size)} x the GPUs, each {three_digits(each)} x as fast")
    if parts:
        batches = [_samples(case) for case in (first, other)]
        same = "" if batches[0] == batches[1] else f"for each {batches[0]:g} samples on a GPU "
        lines.append(f"with {other.name} {same}{', '.join(parts)} with {first.name}")
    return [
        *lines,
        *_hardware(first, other),
        f"what limits {other.name} most is {limit_of(other.prediction)}",
    ]


def network_limits(first: Case, other: Case) -> list[str]:
    """Return what other than their links limits the networks of two jobs that differ in them, as clauses."""
    if not differing(first, other) & {*NETWORK}:
        return []
    limit = common_limit(first, other)
    own = [f"both networks are limited by {limit}"] if limit else map(_own_limit, (first, other))
    return [line for line in own if line]


def _own_limit(case: Case) -> str:
    """Return what limits the network of a case, as a clause; empty where its link does."""
    limit = case.prediction.network_limit
    return "" if limit is None else f"the network of {case.name} is limited by {without_remedy(limit)}"


def _samples(case: Case) -> float:
    """Return the samples of an iteration on one accelerator."""
    scenario = case.prediction.scenario
    return float(scenario["global_batch_size"] / scenario["world_size"])


def _parts(first: Case, other: Case) -> list[Part]:
    """Return what each activity takes in two jobs, the largest difference first."""
    scale = _samples(first) / _samples(other)
    before, after = (by_bound(case.prediction.terms) for case in (first, other))
    parts = [
        Part(bound, before.get(bound, 0.0), after.get(bound, 0.0) * scale)
        for bound in dict.fromkeys((*before, *after))
    ]
    return sorted(parts, key=lambda part: -abs(part.after - part.before))[:MOST]


def _is_large(part: Part, first: Case) -> bool:
    """Return whether the difference of a part is worth naming."""
    return abs(part.after - part.before) > LITTLE * first.prediction.iteration_time


def _words(part: Part) -> str:
    """Return what an activity takes before and after, as text.

    >>> _words(Part("compute-bound", 0.0793, 0.0363)), _words(Part("input-bound", 0.0, 0.012))
    ('computing takes 36.3 ms instead of 79.3 ms', 'waiting for samples takes 12 ms instead of nothing')
    >>> _words(Part(COMMUNICATION, 0.048, 0.00626))
    'communication adds 6.26 ms instead of 48 ms'
    """
    name = bound_words(part.bound)
    takes = {"pipeline-bound": "take", COMMUNICATION: "adds"}.get(part.bound, "takes")
    return f"{name}{',' * (',' in name)} {takes} {_time(part.after)} instead of {_time(part.before)}"


def _time(time: float) -> str:
    return show(time, "s") if time > 0 else "nothing"


def _share(share: float) -> str:
    """Return a share of the time, as text.

    >>> _share(0.054), _share(0.0001), _share(-1e-12), _share(1.0)
    ('5.4 % of the time', '0.01 % of the time', 'none of the time', 'all of the time')
    """
    if share == 1:
        return "all of the time"
    return f"{100 * share:.2g} % of the time" if share > 1e-5 else "none of the time"


def _hardware(first: Case, other: Case) -> list[str]:
    """Return how much faster memory and peak of another accelerator are, as a clause; empty for the same."""
    scenarios = [case.prediction.scenario for case in (first, other)]
    if scenarios[0]["accelerator"] == scenarios[1]["accelerator"]:
        return []
    chips, peaks = [], []
    try:
        for case, scenario in zip((first, other), scenarios, strict=True):
            chips.append(Catalogue.of(case.catalogue).accelerator(scenario["accelerator"]))
            peaks.append(chips[-1].training_peak(scenario["precision"])[0])
    except InputError:  # of a saved prediction, whose hardware is no longer known
        return []
    memory = chips[1].memory_bandwidth.value / chips[0].memory_bandwidth.value
    peak = peaks[1] / peaks[0]
    return [
        f"by its data sheet the memory of {accelerator_words(chips[1])} is {three_digits(memory)} x as fast, "
        f"its peak {three_digits(peak)} x"
    ]
