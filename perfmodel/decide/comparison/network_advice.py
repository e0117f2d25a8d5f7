"""What the advice of a comparison of networks says besides: the other cases, the TCP and adapters assumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfmodel.core.command_line import command_line
from perfmodel.core.units import plural
from perfmodel.decide.comparison.case import Case
from perfmodel.decide.comparison.reasons import (
    NETWORK,
    common_limit,
    differing,
    runs_of_tcp,
    why_nothing,
)
from perfmodel.decide.comparison.standing import Best, Standing
from perfmodel.decide.diagnosis.changes import predicted
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.run import Shared
from perfmodel.model.options.scenario import Scenario, scenario_of
from perfmodel.model.prediction.card import nics_assumed, part_of_adapters
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.speed_words import SAME, about_as_fast

PAYS = "what a network may cost to pay: "
"""Beginning of the line with a command that says so."""
PASSED_ON = ("precision", "algorithm", "strategy", *Shared.model_fields)
"""Options of a job, but its batch, that ``plan --have`` takes."""
MOST = 2
"""Cases besides the first and the best that the advice names."""


def on_networks(standing: Standing, best: Best) -> Iterator[str]:
    """Yield sentences that follow the advice where the network between machines differs."""
    if not differing(best.first, best.case) & {*NETWORK}:
        return
    for case in others_named(standing, best):
        if is_as_fast(case, best.first):
            yield f"{as_fast_because(standing, case, best.first)}."
        else:
            ratio = standing.speed(case, best.first)
            yield f"{case.name} is {ratio.sentence}."
    if runs := runs_of_tcp(best.first, best.case):
        yield f"This assumes that your TCP is as fast as in {runs}: measure it with iperf3."
    yield from _with_other_adapters(standing, best)


def others_named(standing: Standing, best: Best) -> list[Case]:
    """Return the cases besides the first and the best that the advice on networks names."""
    if best.gains_nothing or not differing(best.first, best.case) & {*NETWORK}:
        return []
    others = [case for case in standing.able if case not in (best.first, best.case)]
    return others if len(others) <= MOST else []


def is_as_fast(case: Case, first: Case) -> bool:
    """Return whether no difference in speed of two cases is expected."""
    return abs(case.rate / first.rate - 1) < SAME


def as_fast_because(standing: Standing, case: Case, first: Case) -> str:
    """Return that a case is as fast as another, and why, as a clause; a note has the numbers of a limit."""
    reason, limit = why_nothing(first, case), common_limit(first, case)
    if limit is not None:
        reason = reason.replace(limit, limit.partition(" (")[0])
    return f"{case.name} is {about_as_fast(standing.speed(case, first))}, because {reason}"


def _with_other_adapters(standing: Standing, best: Best) -> Iterator[str]:
    """Yield what would be with another number of adapters, where none was given and it changes the advice.

    With all where a part of each machine is used, else with one: a network may end at one port of a machine.
    """
    cases = (best.first, best.case)
    if not all(nics_assumed(case.prediction) for case in cases):
        return
    counts = [case.prediction.scenario["nics"] for case in cases]
    wanted = [
        Catalogue.of(case.catalogue).node(case.prediction.scenario["node"]).nics
        if part_of_adapters(case.prediction)
        else 1
        for case in cases
    ]
    if wanted == counts:
        return
    every = []
    for case, number in zip(cases, wanted, strict=True):
        options = {"nics": number}
        answer = predicted(scenario_of(case.prediction.scenario), options, Catalogue.of(case.catalogue))
        if answer is None:
            return
        every.append(case._replace(prediction=answer))
    first, other = every
    ratio = ratio_between(other.prediction, first.prediction, first.name, best.case.catalogue)
    if _kind(best._replace(ratio=ratio), standing) == _kind(best, standing):
        return
    nics, own = counts[0], first.prediction.scenario["nics"]
    count = f"all {own}" if own > 1 else "one"
    yield (
        f"That is with {nics} {plural('network adapter', nics)} a machine; with {count} (--nics {own}) "
        f"{other.name} would be {about_as_fast(ratio)}."
    )


def _kind(best: Best, standing: Standing) -> tuple[bool, ...]:
    """Return what an advice is decided by: whether anything is gained, how surely, and by which."""
    faster = best.ratio.value > 1
    return best.gains_nothing, best.is_sure(standing.confidence), best.ratio.may_be_nothing, faster


def whether_it_pays(cases: Sequence[Case]) -> list[str]:
    """Return the command that says what a faster network of machines may cost, at most one line.

    None where the cases differ in more than the link between machines of one's own that are used whole, or
    where the command could not be given the same job: it chooses layouts itself.
    """
    first, *others = cases
    scenario = first.prediction.scenario
    node = Catalogue.of(first.catalogue).node(scenario["node"])
    if (
        node.rented
        or scenario["nodes"] == 1
        or scenario["world_size"] != scenario["nodes"] * node.accelerators
        or scenario["nics"] != (node.nics or 1)
        or any(differing(first, other) != {"inter_link"} for other in others)
    ):
        return []
    held = "" if node.accelerator else f"/{scenario['accelerator']}"
    have = f"{scenario['nodes']} x {node.id}{held}@{scenario['inter_link']}"
    buy = "".join(f" --buy {other.prediction.scenario['inter_link']}" for other in others)
    if (job := _job_words(first)) is None:
        return []
    return [f'{PAYS}perfmodel plan --have "{have}"{buy} {job}']


def _job_words(case: Case) -> str | None:
    """Return the options by which ``plan --have`` trains a case's job; None where it would train another."""
    scenario: Mapping[str, Any] = case.prediction.scenario
    catalogue = Catalogue.of(case.catalogue)

    def apart(options: Mapping[str, Any]) -> set[str]:
        """Return the options in which the job of these options differs."""
        answer = predicted(Scenario(), {**options, **machines}, catalogue)
        known: Mapping[str, Any] = {} if answer is None else answer.scenario
        return {name for name in scenario if known.get(name) != scenario[name]} - {"scaling"}

    machines = {name: scenario[name] for name in ("node", "accelerator", "world_size", "inter_link")}
    options = {name: scenario[name] for name in ("workload", "local_batch_size")}
    stated = apart(options)
    options |= {name: scenario[name] for name in PASSED_ON if name in stated}
    if case.prediction.layout is not None or apart(options):
        return None
    return command_line("plan", options).removeprefix("perfmodel plan ")
