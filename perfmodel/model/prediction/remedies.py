"""Remedies for an iteration dominated by communication: a faster network, or another option."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.hardware.machine_words import link_words
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.limits import limit_words, limits_inside, narrowest
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import Step, evaluate
from perfmodel.model.step.fabric import Fabric, adapter_limits, crosses_network
from perfmodel.model.step.inside import inside_link
from perfmodel.model.step.library import runs_nccl
from perfmodel.model.step.messages import MERGED
from perfmodel.model.step.parts import OVERLAPS, Exchanged, exchange
from perfmodel.model.step.step_context import StepContext
from perfmodel.model.step.terms import TERMS, added, terms_of

ENOUGH = 0.25
"""Share of the exposed communication that a change must save to count as its cause.  Halving a part that
causes all of it saves half, so a saving of a quarter means that the part causes half."""


class Remedy(NamedTuple):
    """One change of a job, and its saving."""

    words: str
    """The change, as text."""
    saves: float
    """Share of the iteration time saved [1]."""


class Part(NamedTuple):
    """A part of the network to speed up: twice the bandwidths, half the latencies."""

    cause: str
    """Text of the cause if this part helps most."""
    words: str
    fields: tuple[str, ...]
    """Fields of ``Fabric``."""


HOPS_INSIDE = ("intra_hop_latency",)
OF_LIBRARY = ("launch_time", "library_hop_latency", "crowd_latency")
LATENCIES = (*HOPS_INSIDE, "inter_hop_latency", "round_trip_time", *OF_LIBRARY)
BANDWIDTHS = ("intra_link_bandwidth", "inter_link_bandwidth", "server_bandwidth")
ALONE = (
    Part("hops inside the nodes bind", "half the latency of {inside}", HOPS_INSIDE),
    Part("{narrowest} binds inside the nodes", "twice its rate", ("intra_link_bandwidth",)),
    Part("the start of each message binds", "half of what the library takes for it", OF_LIBRARY),
)
"""Single parts other than the main link, which every verdict covers."""
TOGETHER = (
    Part("{limits} bind together", "all of them doubled", BANDWIDTHS),
    Part("latencies bind together", "all of them halved", LATENCIES),
    Part("bandwidth and latency bind together", "all of it twice as fast", BANDWIDTHS + LATENCIES),
)
"""Combinations of parts that save little alone; the smallest first."""


def terms_with(
    setting: Setting, step: Step, exposed: float, contention: float, constants: Calibration
) -> dict[str, float]:
    """Return the terms of an iteration with another exposed communication and contention [s].

    If several terms are communication, each keeps its share.  Waits for slow workers at a server, or for
    samples, grow if communication becomes shorter.
    """
    before = {name: time for name, time in step.terms.items() if TERMS[name].travels and time}
    whole = sum(before.values())
    travelling = {name: time / whole * exposed for name, time in before.items()}
    travelling = travelling if len(before) > 1 else {"exposed_communication_time": exposed}
    travelling["contention_time"] = contention
    if setting.strategy != "parameter-server" and setting.scenario.input == "synthetic":
        return {**step.terms, **travelling}
    return terms_of(StepContext(setting, constants, travelling, step.work, step.anchor_factor))


def saved(setting: Setting, step: Step, instead: Sequence[Exchanged], constants: Calibration) -> list[float]:
    """Return the share of the iteration that each alternative exchange saves [1]."""
    return [
        1
        - sum(terms_with(setting, step, each.exposed, each.contention, constants).values())
        / step.iteration_time
        for each in instead
    ]


def enough(step: Step) -> float:
    """Return the share of the iteration that a change must save to explain its communication [1]."""
    return ENOUGH * float(added(step.terms)) / step.iteration_time


def remedies(
    setting: Setting, ports: Setting, step: Step, known: float, constants: Calibration
) -> list[Remedy]:
    """Return the causes of communication if a faster link, which saves ``known``, does not explain it.

    The option that saves most is added, if it saves enough to explain the communication.
    """
    result = []
    options = other_algorithm(setting, step, constants)
    if known < enough(step):
        result = [faster_part(setting, ports, step, constants)]
        options = options or other_options(setting, step, constants)
    return [*result, *sorted(options, key=lambda option: -option.saves)[:1]]


def faster_part(setting: Setting, ports: Setting, step: Step, constants: Calibration) -> Remedy:
    """Return the part of the network that explains the communication of an iteration, as a remedy.

    It is the best single part; if none saves enough, the smallest combination of parts.
    """
    faster = _with(setting, step, ALONE, constants)
    part, saves = max(
        zip(ALONE, saved(setting, step, faster, constants), strict=True), key=lambda one: one[1]
    )
    if saves < enough(step):
        faster = _with(setting, step, TOGETHER, constants)
        tried = list(zip(TOGETHER, saved(setting, step, faster, constants), strict=True))
        part, saves = next((one for one in tried if one[1] >= enough(step)), tried[-1])
    if saves < enough(step):
        instead = _instead(step.terms, terms_with(setting, step, *faster[-1][1:], constants))
        return Remedy(f"twice the speed of the whole network{instead}", saves)
    inside = link_words(inside_link(setting))
    binding = narrowest(limits_inside(setting, constants))
    names = {
        "inside": inside,
        "narrowest": inside if binding == "link" else limit_words(setting, binding),
        "limits": _limits(ports, constants),
    }
    return Remedy(f"{part.cause}: {part.words}".format_map(names), saves)


def _instead(now: dict[str, float], then: dict[str, float]) -> str:
    """Return a note on the term that grows in an iteration with less communication."""
    most = max(now, key=lambda name: then[name] - now[name])
    return f", with more {TERMS[most].label} instead," if then[most] > now[most] else ""


def _limits(ports: Setting, constants: Calibration) -> str:
    """Return the names of the limits of a node's adapters within a factor of two of the least."""
    limits = adapter_limits(ports, constants) if crosses_network(ports) else {}
    close = [name for name, rate in limits.items() if rate < 2 * min(limits.values())]
    if len(close) < 2:
        return "several limits on bandwidth"
    return " and ".join(
        link_words(ports.inter_link) if name == "link" else limit_words(ports, name) for name in close
    )


def exchanges(
    setting: Setting, step: Step, variants: Fabric, count: int, constants: Calibration
) -> list[Exchanged]:
    """Return the exchange over each of several fabrics, given as arrays of shape (count, 1)."""
    times = exchange(setting, step.work, step.fabric, variants, constants)
    columns = (np.broadcast_to(time, count).tolist() for time in times)
    return [Exchanged(*each) for each in zip(*columns, strict=True)]


def _with(setting: Setting, step: Step, parts: tuple[Part, ...], constants: Calibration) -> list[Exchanged]:
    """Return the exchange with each of the parts sped up."""

    def factors(field: str) -> Any:
        factor = 0.5 if field in LATENCIES else 2.0
        return np.array([[factor if field in part.fields else 1.0] for part in parts])

    fabric = step.fabric
    variants = Fabric(*(getattr(fabric, field) * factors(field) for field in Fabric._fields))
    return exchanges(setting, step, variants, len(parts), constants)


def other_algorithm(setting: Setting, step: Step, constants: Calibration) -> list[Remedy]:
    """Return the library's choice as a remedy for a stated algorithm, if it saves enough."""
    named = setting.scenario.algorithm not in ("auto", "best")
    if setting.strategy != "all-reduce" or not named or not runs_nccl(setting.accelerator):
        return []
    chosen = _option_remedy(setting, step, constants, algorithm="auto")
    return [chosen] if chosen.saves >= enough(step) else []


def other_options(setting: Setting, step: Step, constants: Calibration) -> list[Remedy]:
    """Return the options of the exchange of gradients whose change saves enough."""
    tried = [_option_remedy(setting, step, constants, **change) for change in _alternative_options(setting)]
    return [option for option in tried if option.saves >= enough(step)]


def _alternative_options(setting: Setting) -> Iterator[dict[str, Any]]:
    """Yield changes of single options of the exchange of gradients."""
    averages = setting.updates is not None and setting.updates.kind.option == "local_steps"
    if setting.strategy != "data-parallel-single-process" and not averages:
        yield from (
            {"overlap": overlap} for overlap in OVERLAPS if overlap not in (MERGED, "none", setting.overlap)
        )
    by_library = runs_nccl(
        setting.accelerator
    )  # textbook algorithms are not comparable with measured times of a library
    if setting.strategy == "all-reduce" and setting.scenario.algorithm != "best" and not by_library:
        yield {"algorithm": "best"}
    if setting.strategy == "parameter-server":
        yield {"servers": 2 * setting.servers}
        if setting.server_shards != "even":
            yield {"server_shards": "even"}


def _option_remedy(setting: Setting, step: Step, constants: Calibration, **change: Any) -> Remedy:
    """Return the change of an option as a remedy, with its saving."""
    changed = {name: value for name, value in change.items() if name != "algorithm"}
    scenario = setting.scenario.model_copy(update=change)
    time = evaluate(setting._replace(scenario=scenario, **changed), constants).iteration_time
    words = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in change.items())
    return Remedy(words, 1 - time / step.iteration_time)
