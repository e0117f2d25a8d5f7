"""The active arm of each maximum and minimum in a prediction; inputs of other arms have no effect."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.choices import ONE_PROCESS
from perfmodel.core.units import per_cent, show
from perfmodel.decide.sensitivity.case import Case
from perfmodel.hardware.machine_words import link_words
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.limits import limit_words, limits_inside
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.communication import message_times, uses_library
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.evaluate import evaluate
from perfmodel.model.step.fabric import Fabric, adapter_limits, busiest_ports, crosses_network, port_times
from perfmodel.model.step.input_wait import stage_times
from perfmodel.model.step.inside import inside_link
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.library import library_times
from perfmodel.model.step.messages import messages
from perfmodel.model.step.parts import (
    anchor_factor,
    communicates,
    computation_of,
    fabric_of,
    merging_cost,
    scaled,
    with_cheapest_exchange,
    work_alone,
)
from perfmodel.model.step.ports import fraction


class Choice(NamedTuple):
    """A maximum or minimum with its active arm."""

    of: str
    """The time or rate that it determines."""
    kind: str
    """``max`` or ``min``."""
    unit: str
    arms: dict[str, float | None]
    """Value of every arm; None of one that is never reached."""
    active: str
    words: str
    """Which inputs have an effect, in words."""


def choices(case: Case) -> list[Choice]:
    """Return every maximum and minimum of a case with its active arm."""
    setting, constants = case.setting, case.constants
    work = computation_of(setting, setting.local_batch_size, constants, setting.accumulation_steps)
    factor = float(anchor_factor(setting, work_alone(setting, work, constants), constants))
    work = scaled(work, factor)
    result = []
    if communicates(setting):
        fabric = fabric_of(setting, constants)
        result += _rates(case, fabric)
        case = case._replace(setting=with_cheapest_exchange(setting, work, fabric, constants))
        if case.setting.overlap != "priority" and setting.strategy != ONE_PROCESS:
            result.append(_queue(case, work, fabric))
            if uses_library(setting):
                result.append(_library_algorithm(case, work, fabric))
        if setting.strategy == "parameter-server" and setting.updates is None:
            result.append(_ports(case, fabric))
    waits_as_measured = setting.profile is not None and setting.profile.measures_input
    if setting.scenario.input == "real" and not waits_as_measured:
        result.append(_input_stages(case, factor))
    return result


def _choice(of: str, kind: str, unit: str, arms: dict[str, float], without: str) -> Choice:
    """Return a choice by the values of its arms.

    Parameters
    ----------
    of, kind, unit, arms : as of ``Choice``
    without : words before the names of the inactive arms
    """
    pick = max if kind == "max" else min
    active = pick(arms, key=arms.__getitem__)
    idle = [name for name in arms if name != active and not math.isclose(arms[name], arms[active])]
    ties = [name for name in arms if name != active and name not in idle]
    words = f"{active} binds"
    if ties:
        words = f"{active} and {' and '.join(ties)} bind together: at a kink"
    if idle:
        words += f"; {without}: {', '.join(idle)}"
    known = {name: value if math.isfinite(value) else None for name, value in arms.items()}
    return Choice(of, kind, unit, known, active, words)


def _rates(case: Case, fabric: Fabric) -> list[Choice]:
    """Return the choices of bandwidth: between machines, of the ring or tree, inside a machine."""
    setting, constants = case.setting, case.constants
    result = []
    if crosses_network(setting):
        ports = busiest_ports(setting, constants)
        of = f"rate of {link_words(ports.inter_link)}"
        result.append(_choice(of, "min", "B/s", _caps(ports, constants), "without effect"))
    ring = setting.strategy == "all-reduce" and setting.scenario.algorithm in ("ring", "auto")
    if setting.domains > 1 and (ring or uses_library(setting)):
        group = "node" if setting.domains == setting.nodes else "domain"
        arms = {
            f"inside a {group}": float(fabric.intra_link_bandwidth),
            f"between {group}s": float(fabric.inter_link_bandwidth),
        }
        result.append(_choice("rate of the ring or tree", "min", "B/s", arms, "without effect"))
    inside = limits_inside(setting, constants)
    if setting.world_size > 1 and len(inside) > 1:
        arms = {inside_link(setting).id: inside.pop("link")}
        arms |= {limit_words(setting, name): rate for name, rate in inside.items()}
        result.append(_choice("rate inside a node", "min", "B/s", arms, "without effect"))
    return result


def _caps(setting: Setting, constants: Calibration) -> dict[str, float]:
    """Return the limits on the adapters of a node [B/s], with those of racks and servers."""
    limits = adapter_limits(setting, constants)
    share = fraction(setting.inter_link, constants)
    arms = {f"{per_cent(share, 0)} of its bandwidth": limits.pop("link")}
    return arms | {limit_words(setting, name): rate for name, rate in limits.items()}


def _queue(case: Case, work: Computation, fabric: Fabric) -> Choice:
    """Return the choice of which messages are exposed: none, the last, or all from some message on."""
    setting = case.setting

    def times_of(sizes: Any) -> Any:
        return message_times(setting, sizes, fabric)

    sent = messages(setting, work, times_of, merging_cost(setting, case.constants))
    times = np.asarray(times_of(sent.message_bytes), dtype=np.float64)
    ends = sent.ready_times + np.cumsum(times[::-1])[::-1]
    backward = float(work.backward_by_layer.sum())
    first, count = int(np.argmax(ends)), len(times)
    exposed = float(ends[first]) - backward
    arms: dict[str, float | None] = {
        "hidden": 0.0,
        "the last message": float(ends[-1]) - backward,
        "all messages in a row": float(ends[0]) - backward,
    }
    of = "exposed communication"
    if exposed <= 0:
        return Choice(of, "max", "s", arms, "hidden", "communication hidden: its bandwidth has no effect")
    if first == count - 1 and count > 1:
        words = (
            f"only the last of {count} messages is exposed, {show(float(sent.message_bytes[-1]), 'B')} "
            f"that wait for the end of the backward pass; the bytes of the others have no effect"
        )
        return Choice(of, "max", "s", arms, "the last message", words)
    active = "all messages in a row" if first == 0 else f"messages {first + 1} to {count} in a row"
    arms[active] = exposed
    if count == 1:
        words = "one message after the backward pass: all of its bytes are exposed"
    else:
        words = f"the network is busy from message {first + 1} of {count} to the end: their bytes count"
    return Choice(of, "max", "s", arms, active, words)


def _library_algorithm(case: Case, work: Computation, fabric: Fabric) -> Choice:
    """Return the choice of the library's algorithm that is fastest for the messages of an iteration."""
    group = gradient_group(case.setting, fabric)
    cost = merging_cost(case.setting, case.constants)
    sent = messages(case.setting, work, lambda sizes: message_times(case.setting, sizes, fabric), cost)
    times_by_algorithm = library_times(group, sent.message_bytes)
    names, times = list(times_by_algorithm), np.stack([*times_by_algorithm.values()])
    fastest = [names[row] for row in times.argmin(axis=0).tolist()]
    counts = {name: fastest.count(name) for name in dict.fromkeys(fastest)}
    words = ", ".join(f"{name} for {count} of {len(fastest)} messages" for name, count in counts.items())
    sums: dict[str, float] = dict(zip(names, times.sum(axis=1).tolist(), strict=True))
    active = min(sums, key=sums.__getitem__)
    return Choice(
        "all messages by one algorithm of the library", "min", "s", {**sums}, active, f"fastest: {words}"
    )


def _ports(case: Case, fabric: Fabric) -> Choice:
    """Return the choice of whether workers or servers limit a parameter server's exchange."""
    workers, servers = port_times(case.setting, fabric)
    arms = {"the workers' ports": workers, "the servers' ports": servers}
    return _choice("push of 1 GB", "max", "s", arms, "without effect")


def _input_stages(case: Case, factor: float) -> Choice:
    """Return the choice of the slowest input stage; an anchor scales the time of all."""
    setting, constants = case.setting, case.constants
    terms = evaluate(setting, constants).terms
    samples = setting.local_batch_size * setting.accumulation_steps
    stages = stage_times(setting, setting.accelerators_per_node, samples, constants)
    serial = float(stages.pop("serial") * factor)
    hides = setting.feed is not None and setting.feed.ahead
    arms = {"the rest of the iteration": sum(terms.values()) - terms["input_time"] + serial} if hides else {}
    arms |= {stage: float(time * factor) for stage, time in stages.items() if time}
    result = _choice("an iteration and its samples", "max", "s", arms, "without effect")
    if result.active == "the rest of the iteration" and result.words.startswith(f"{result.active} binds"):
        return result._replace(
            words="samples are there in time: reading, decoding and copying have no effect"
        )
    return result
