"""What would shorten an iteration that communication takes most of: a faster network, another option."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.limits import limit_words, limits_inside, narrowest
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import Step, evaluate
from perfmodel.model.step.fabric import Fabric, adapter_limits, crosses_network, inside_link
from perfmodel.model.step.library import runs_nccl
from perfmodel.model.step.messages import MERGED
from perfmodel.model.step.parts import OVERLAPS, Exchanged, exchange
from perfmodel.model.step.terms import TERMS, StepContext, added, terms_of

ENOUGH = 0.25
"""Part of the exposed communication that a change must save to explain it.  Half as long, what alone takes
all of it saves half, so this is where one cause makes up half."""


class Remedy(NamedTuple):
    """One change of a job, and what it brings."""

    words: str
    """What changes."""
    saves: float
    """Part of the iteration time."""


class Part(NamedTuple):
    """What of a network is made faster: twice the bandwidths, half the latencies."""

    cause: str
    """What is said of the network where this helps most."""
    words: str
    fields: tuple[str, ...]
    """Of ``Fabric``."""


HOPS_INSIDE = ("intra_hop_latency",)
OF_LIBRARY = ("launch_time", "library_hop_latency", "crowd_latency")
LATENCIES = (*HOPS_INSIDE, "inter_hop_latency", "round_trip_time", *OF_LIBRARY)
BANDWIDTHS = ("intra_link_bandwidth", "inter_link_bandwidth", "server_bandwidth")
ALONE = (
    Part("hops inside the nodes bind", "half the latency of {inside}", HOPS_INSIDE),
    Part("{narrowest} binds inside the nodes", "twice its rate", ("intra_link_bandwidth",)),
    Part("the start of each message binds", "half of what the library takes for it", OF_LIBRARY),
)
"""Parts other than the link that gradients cross first of all, which every verdict speaks of."""
TOGETHER = (
    Part("{limits} bind together", "all of them doubled", BANDWIDTHS),
    Part("latencies bind together", "all of them halved", LATENCIES),
    Part("bandwidth and latency bind together", "all of it twice as fast", BANDWIDTHS + LATENCIES),
)
"""What several parts, each of which alone is worth little, are together; the fewest first."""


def terms_with(
    setting: Setting, step: Step, exposed: float, contention: float, constants: Calibration
) -> dict[str, float]:
    """Return the terms of an iteration with another exposed communication and contention [s].

    Where several things travel, each keeps its share of it.
    Whoever waits for slow workers at a server, or for samples, waits longer where communication is shorter.
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
    """Return the part of the iteration that each other exchange saves."""
    return [
        1
        - sum(terms_with(setting, step, each.exposed, each.contention, constants).values())
        / step.iteration_time
        for each in instead
    ]


def enough(step: Step) -> float:
    """Return the part of the iteration that a change must save to explain the communication in it."""
    return ENOUGH * float(added(step.terms)) / step.iteration_time


def remedies(
    setting: Setting, ports: Setting, step: Step, known: float, constants: Calibration
) -> list[Remedy]:
    """Return what explains the communication where a faster link, which saves ``known``, does not.

    And the option that saves most, where one saves as much as would explain it.
    """
    result = []
    options = other_algorithm(setting, step, constants)
    if known < enough(step):
        result = [faster_part(setting, ports, step, constants)]
        options = options or other_options(setting, step, constants)
    return [*result, *sorted(options, key=lambda option: -option.saves)[:1]]


def faster_part(setting: Setting, ports: Setting, step: Step, constants: Calibration) -> Remedy:
    """Return what of the network explains the communication of an iteration, with what makes it faster.

    The best of the parts that count alone; where none is enough, the fewest that bind together.
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
    inside = inside_link(setting).id
    binding = narrowest(limits_inside(setting, constants))
    names = {
        "inside": inside,
        "narrowest": inside if binding == "link" else limit_words(setting, binding),
        "limits": _limits(ports, constants),
    }
    return Remedy(f"{part.cause}: {part.words}".format_map(names), saves)


def _instead(now: dict[str, float], then: dict[str, float]) -> str:
    """Say what takes the place of communication in an iteration with less of it."""
    most = max(now, key=lambda name: then[name] - now[name])
    return f", with more {TERMS[most].label} instead," if then[most] > now[most] else ""


def _limits(ports: Setting, constants: Calibration) -> str:
    """Name the limits on what leaves a node that bind within a factor of two."""
    limits = adapter_limits(ports, constants) if crosses_network(ports) else {}
    close = [name for name, rate in limits.items() if rate < 2 * min(limits.values())]
    if len(close) < 2:
        return "several limits on bandwidth"
    return " and ".join(ports.inter_link.id if name == "link" else limit_words(ports, name) for name in close)


def exchanges(
    setting: Setting, step: Step, variants: Fabric, count: int, constants: Calibration
) -> list[Exchanged]:
    """Return the exchange over each of several fabrics, whose columns have the shape (count, 1)."""
    times = exchange(setting, step.work, step.fabric, variants, constants)
    columns = (np.broadcast_to(time, count).tolist() for time in times)
    return [Exchanged(*each) for each in zip(*columns, strict=True)]


def _with(setting: Setting, step: Step, parts: tuple[Part, ...], constants: Calibration) -> list[Exchanged]:
    """Return the exchange with each of the parts made faster."""

    def factors(field: str) -> Any:
        factor = 0.5 if field in LATENCIES else 2.0
        return np.array([[factor if field in part.fields else 1.0] for part in parts])

    on = step.fabric
    variants = Fabric(*(getattr(on, field) * factors(field) for field in Fabric._fields))
    return exchanges(setting, step, variants, len(parts), constants)


def other_algorithm(setting: Setting, step: Step, constants: Calibration) -> list[Remedy]:
    """Return what the library's own choice saves over the algorithm asked for, where that explains it."""
    named = setting.scenario.algorithm not in ("auto", "best")
    if setting.strategy != "all-reduce" or not named or not runs_nccl(setting.accelerator):
        return []
    chosen = _option(setting, step, constants, algorithm="auto")
    return [chosen] if chosen.saves >= enough(step) else []


def other_options(setting: Setting, step: Step, constants: Calibration) -> list[Remedy]:
    """Return what each option that says how gradients travel saves, set otherwise, where that explains it."""
    tried = [_option(setting, step, constants, **change) for change in _options(setting)]
    return [option for option in tried if option.saves >= enough(step)]


def _options(setting: Setting) -> Iterator[dict[str, Any]]:
    averages = setting.updates is not None and setting.updates.kind.option == "local_steps"
    if setting.strategy != "data-parallel-single-process" and not averages:
        yield from ({"overlap": way} for way in OVERLAPS if way not in (MERGED, "none", setting.overlap))
    by_library = runs_nccl(setting.accelerator)  # whose measured times no textbook's may be held against
    if setting.strategy == "all-reduce" and setting.scenario.algorithm != "best" and not by_library:
        yield {"algorithm": "best"}
    if setting.strategy == "parameter-server":
        yield {"servers": 2 * setting.servers}
        if setting.server_shards != "even":
            yield {"server_shards": "even"}


def _option(setting: Setting, step: Step, constants: Calibration, **change: Any) -> Remedy:
    changed = {name: value for name, value in change.items() if name != "algorithm"}
    asked = setting.scenario.model_copy(update=change)
    time = evaluate(setting._replace(scenario=asked, **changed), constants).iteration_time
    words = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in change.items())
    return Remedy(words, 1 - time / step.iteration_time)
