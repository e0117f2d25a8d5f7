"""What the advice of a comparison of networks says besides: the other cases, the TCP and adapters assumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from perfmodel.core.command_line import command_line
from perfmodel.core.errors import InputError
from perfmodel.core.sentences import capitalised
from perfmodel.decide.assumed_adapters import are_own, with_assumed, with_others
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
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.card import nics_assumed, part_of_adapters
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.speed_words import SAME, about_as_fast
from perfmodel.model.setting.transport import link_over

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
    others = others_named(standing, best)
    for case in others:
        if is_as_fast(case, best.first):
            yield f"{as_fast_because(standing, case, best.first, whole=len(others) == 1)}."
        elif _transport(case) == _transport(best.case) != _transport(best.first):
            speed = standing.speed(best.case, case)
            yield f"With the same transport, {best.case.name} is {about_as_fast(speed)}."
        else:
            yield f"{case.name} is {standing.speed(case, best.first).sentence}."
    if runs := runs_of_tcp(best.first, best.case):
        yield f"This assumes that your TCP is as fast as in {runs}: measure it with iperf3."


def others_named(standing: Standing, best: Best) -> list[Case]:
    """Return the cases besides the first and the best that the advice on networks names."""
    if best.gains_nothing or not differing(best.first, best.case) & {*NETWORK}:
        return []
    others = [case for case in standing.able if case not in (best.first, best.case)]
    return others if len(others) <= MOST else []


def is_as_fast(case: Case, first: Case) -> bool:
    """Return whether no difference in speed of two cases is expected."""
    return abs(case.rate / first.rate - 1) < SAME


def _transport(case: Case) -> str:
    """Return the transport of the link between a case's machines; of a link no longer known its name."""
    scenario = case.prediction.scenario
    link = str(scenario["inter_link"])
    try:
        return link_over(link, scenario["transport"], Catalogue.of(case.catalogue)).kind
    except InputError:  # of a saved prediction
        return link


def as_fast_because(standing: Standing, case: Case, first: Case, whole: bool = True) -> str:
    """Return that a case is as fast as another, and why, as a clause; a note has the numbers of a limit.

    Parameters
    ----------
    whole : whether it also says what the best network would gain
    """
    reason, limit = why_nothing(first, case), common_limit(first, case)
    if limit is not None:
        reason = reason.replace(limit, limit.partition(" (")[0])
    if not whole:
        reason = reason.partition(". ")[0]
    return f"{case.name} is {about_as_fast(standing.speed(case, first))}, because {reason}"


class OtherAdapters(NamedTuple):
    """A number of network adapters other than the assumed one, with which a comparison decides otherwise."""

    assumed: str
    """Beginning of a sentence: with how many it holds."""
    nics: int
    """The other number."""
    sentence: str
    """What would be with it."""


def other_adapters(standing: Standing, best: Best) -> OtherAdapters | None:
    """Return another number of adapters, where none was given for two networks and it changes the advice.

    All where a part of each machine is used, else one: a network may end at one port of a machine.
    """
    cases = (best.first, best.case)
    if not differing(*cases) & {*NETWORK}:
        return None
    counts = {case.prediction.scenario["nics"] for case in cases}
    others = {other_count(case.prediction, case.catalogue) for case in cases}
    count, wanted = counts.pop(), others.pop()
    if counts or others or wanted is None:
        return None
    every = []
    for case in cases:
        catalogue = Catalogue.of(case.catalogue)
        answer = predicted(scenario_of(case.prediction.scenario), {"nics": wanted}, catalogue)
        if answer is None:
            return None
        every.append(answer)
    ratio = ratio_between(every[1], every[0], best.first.name, best.case.catalogue)
    if _kind(best._replace(ratio=ratio), standing) == _kind(best, standing):
        return None
    condition = capitalised(with_others(wanted, is_all=wanted > 1))
    sentence = f"{condition} {best.case.name} would be {about_as_fast(ratio)}."
    is_own = all(are_own(case.prediction.defaults) for case in cases)
    return OtherAdapters(capitalised(with_assumed(count, is_own)), wanted, sentence)


def other_count(prediction: Prediction, catalogue: Catalogue | None) -> int | None:
    """Return how many adapters a machine may have other than the assumed ones; None where it may not."""
    scenario = prediction.scenario
    if scenario["nodes"] == 1 or not nics_assumed(prediction):
        return None
    count = 1
    if part_of_adapters(prediction):
        count = Catalogue.of(catalogue).node(scenario["node"]).nics or 1
    return None if count == scenario["nics"] else count


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
        or any(differing(first, other) != {"inter_link"} for other in others)
    ):
        return []
    held = "" if node.accelerator else f"/{scenario['accelerator']}"
    adapters = "" if scenario["nics"] == (node.nics or 1) else f"{scenario['nics']} x "
    have = f"{scenario['nodes']} x {node.id}{held}@{adapters}{scenario['inter_link']}"
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

    machines = {name: scenario[name] for name in ("node", "accelerator", "world_size", "inter_link", "nics")}
    options = {name: scenario[name] for name in ("workload", "local_batch_size")}
    stated = apart(options)
    options |= {name: scenario[name] for name in PASSED_ON if name in stated}
    if case.prediction.layout is not None or apart(options):
        return None
    return command_line("plan", options).removeprefix("perfmodel plan ")
